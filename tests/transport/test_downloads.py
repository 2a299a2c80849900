"""One book of downloads for all sessions: what is asked of whom, and what is free again."""

from random import Random

import pytest

from contentdb.blobs import MemoryBlobs
from contentdb.errors import RemoteError
from contentdb.model import CHUNK_BYTES
from contentdb.names import NodeId, Root
from transport.messages import ChunksRequest, HashesRequest
from transport.solicitation.downloads import CHUNKS_A_REQUEST, Downloads

ANN, BEN, CAT = (NodeId(letter * 40) for letter in "abc")


def file_of(chunks: int, seed: int = 1) -> tuple[MemoryBlobs, Root, bytes]:
    """Somebody who has a file, its root, and its bytes."""
    blobs, data = MemoryBlobs(), Random(seed).randbytes(chunks * CHUNK_BYTES - 5)
    root, _ = blobs.add_bytes(data)
    return blobs, root, data


def wanting(root: Root, data: bytes, *peers: NodeId) -> tuple[Downloads, MemoryBlobs]:
    blobs = MemoryBlobs()
    downloads = Downloads(blobs)
    for peer in peers:
        downloads.opened(peer)
    assert downloads.want(root, len(data))
    return downloads, blobs


def answer_hashes(downloads: Downloads, has: MemoryBlobs, peer: NodeId, count: int) -> None:
    ask = downloads.next_ask(peer)
    assert isinstance(ask, HashesRequest)
    hashes, proof = has.hashes(ask.root, ask.first, ask.last)
    downloads.hashes_received(peer, ask, ((1, count),), hashes + proof)


def answer_chunks(downloads: Downloads, has: MemoryBlobs, peer: NodeId) -> bool:
    ask = downloads.next_ask(peer)
    assert isinstance(ask, ChunksRequest)
    done = [
        downloads.chunk_received(ask.root, index, has.read_chunk(ask.root, index))
        for index in range(ask.first, ask.last + 1)
    ]
    downloads.answered(peer, ask, is_whole=True)
    return any(done)


def test_hashes_come_first_then_chunks_in_order_until_the_file_is_whole() -> None:
    has, root, data = file_of(20)
    downloads, blobs = wanting(root, data, ANN)
    answer_hashes(downloads, has, ANN, 20)
    assert [answer_chunks(downloads, has, ANN) for _ in range(3)] == [False, False, True]
    assert blobs.is_complete(root) and root not in downloads and downloads.next_ask(ANN) is None


def test_two_peers_are_asked_for_different_chunks() -> None:
    has, root, data = file_of(20)
    downloads, _ = wanting(root, data, ANN, BEN)
    answer_hashes(downloads, has, ANN, 20)
    first, second = downloads.next_ask(ANN), downloads.next_ask(BEN)
    assert first == ChunksRequest(root, 1, CHUNKS_A_REQUEST)
    assert second == ChunksRequest(root, CHUNKS_A_REQUEST + 1, 2 * CHUNKS_A_REQUEST)


def test_what_a_lost_peer_was_asked_for_is_free_again_but_for_what_came() -> None:
    has, root, data = file_of(20)
    downloads, _ = wanting(root, data, ANN, BEN)
    answer_hashes(downloads, has, ANN, 20)
    ask = downloads.next_ask(ANN)
    assert isinstance(ask, ChunksRequest)
    downloads.chunk_received(root, 1, has.read_chunk(root, 1))
    downloads.closed(ANN)
    assert downloads.next_ask(BEN) == ChunksRequest(root, 2, CHUNKS_A_REQUEST + 1)


def test_a_peer_that_lacks_it_is_not_asked_again_and_others_are() -> None:
    has, root, data = file_of(4)
    downloads, _ = wanting(root, data, ANN, BEN)
    ask = downloads.next_ask(ANN)
    assert isinstance(ask, HashesRequest)
    downloads.refused(ANN, ask)
    assert downloads.next_ask(ANN) is None
    answer_hashes(downloads, has, BEN, 4)
    assert downloads.next_ask(ANN) is None and answer_chunks(downloads, has, BEN)


def test_who_was_turned_away_is_asked_when_another_lacks_it_for_the_second_time() -> None:
    # Seed 1971 of the simulator: Ben, who had it, ended with nothing to do while Ann was asked once more.
    _, root, data = file_of(4)
    downloads, _ = wanting(root, data, ANN)
    versions = []
    for is_ben_there in (False, True, False):
        ask = downloads.next_ask(ANN)
        assert isinstance(ask, HashesRequest)
        if is_ben_there:
            downloads.opened(BEN)
            assert downloads.next_ask(BEN) is None
            downloads.closed(BEN)
        downloads.refused(ANN, ask)
        downloads.closed(ANN)
        downloads.opened(ANN)
        versions.append(downloads.version)
    assert versions[0] < versions[1] == versions[2]


def test_a_peer_is_asked_only_for_chunks_it_says_it_has() -> None:
    has, root, data = file_of(9)
    downloads, _ = wanting(root, data, ANN)
    ask = downloads.next_ask(ANN)
    assert isinstance(ask, HashesRequest)
    hashes, proof = has.hashes(root, 1, 9)
    downloads.hashes_received(ANN, ask, ((3, 4), (8, 8)), hashes + proof)
    assert [downloads.next_ask(ANN) for _ in range(3)] == [
        ChunksRequest(root, 3, 4),
        ChunksRequest(root, 8, 8),
        None,
    ]


def test_from_three_sources_on_the_rarest_chunk_is_asked_for_first() -> None:
    has, root, data = file_of(6)
    downloads, _ = wanting(root, data, ANN, BEN, CAT)
    ask = downloads.next_ask(ANN)
    assert isinstance(ask, HashesRequest)
    hashes, proof = has.hashes(root, 1, 6)
    downloads.hashes_received(ANN, ask, ((1, 2), (5, 5)), hashes + proof)
    downloads.heard(BEN, root, ((1, 2),))
    assert downloads.next_ask(ANN) == ChunksRequest(root, 5, 5)


def test_the_rarest_chunk_comes_first_also_where_it_follows_upon_common_ones() -> None:
    has, root, data = file_of(40)
    downloads, _ = wanting(root, data, ANN, BEN, CAT)
    answer_hashes(downloads, has, ANN, 40)  # the author has all
    downloads.heard(BEN, root, ((1, 20), (31, 35)))
    downloads.heard(CAT, root, ((1, 18),))
    asked = [downloads.next_ask(ANN) for _ in range(4)]
    assert asked == [ChunksRequest(root, *run) for run in ((21, 28), (29, 30), (36, 40), (19, 20))]
    assert downloads.next_ask(CAT) == ChunksRequest(root, 1, CHUNKS_A_REQUEST)


def test_from_one_source_chunks_come_in_order_whatever_others_without_them_are_there() -> None:
    has, root, data = file_of(20)
    downloads, _ = wanting(root, data, ANN, BEN, CAT)
    answer_hashes(downloads, has, ANN, 20)
    for peer in (BEN, CAT):
        downloads.heard(peer, root, ())
    asked = [downloads.next_ask(ANN) for _ in range(3)]
    assert asked == [ChunksRequest(root, *run) for run in ((1, 8), (9, 16), (17, 20))]


def test_wrong_hashes_and_wrong_chunks_are_refused_and_asked_for_elsewhere() -> None:
    has, root, data = file_of(4)
    downloads, blobs = wanting(root, data, ANN, BEN)
    ask = downloads.next_ask(ANN)
    assert isinstance(ask, HashesRequest)
    hashes, proof = has.hashes(root, 1, 4)
    with pytest.raises(RemoteError):
        downloads.hashes_received(ANN, ask, ((1, 4),), hashes[::-1] + proof)
    downloads.closed(ANN)
    answer_hashes(downloads, has, BEN, 4)
    with pytest.raises(RemoteError):
        downloads.chunk_received(root, 1, bytes(CHUNK_BYTES))
    assert blobs.received(root) == 0


def test_the_lower_turn_is_asked_for_first() -> None:
    _, late, data = file_of(2, seed=2)
    _, early, other = file_of(2, seed=3)
    downloads = Downloads(MemoryBlobs())
    downloads.opened(ANN)
    downloads.want(late, len(data), (5.0,))
    downloads.want(early, len(other), (1.0,))
    ask = downloads.next_ask(ANN)
    assert ask is not None and ask.root == early


def test_what_is_complete_or_forgotten_is_not_asked_for() -> None:
    has, root, data = file_of(2)
    assert not Downloads(has).want(root, len(data))
    downloads, _ = wanting(root, data, ANN)
    downloads.forget(root)
    assert downloads.next_ask(ANN) is None and len(downloads) == 0
