"""Hashes and chunks: what verifies, what is here, and whose files nobody sees."""

from typing import Any

import pytest

from contentdb.chunking import MAX_RANGE_HASHES, leaves_of, verify_range
from contentdb.model import CHUNK_BYTES, Enclosure
from contentdb.names import Root
from tests.contentdb.makers import (
    NOW,
    SECOND,
    make_signed,
    memory_store,
    take,
)
from tests.transport.asking import ALICE, Asking
from transport.messages import (
    MAX_CHUNKS_ASKED,
    MAX_HAVE_RANGES,
    ChunksReply,
    ChunksRequest,
    HashesRequest,
    Message,
    Reject,
    Reply,
)
from transport.solicitation.answers import Settings


def file_of(chunks: float) -> bytes:
    return bytes(number % 251 for number in range(int(chunks * CHUNK_BYTES)))


def with_file(content: bytes, **fields: Any) -> tuple[Asking, Root]:
    asking = Asking(memory_store(), fields.pop("settings", None))
    root, length = asking.store.blobs.add_bytes(content)
    enclosure = Enclosure("a.bin", "application/octet-stream", length, root)
    take(asking.store, make_signed(ALICE, enclosures=(enclosure,), **fields))
    return asking, root


def with_part(content: bytes, *indices: int) -> tuple[Asking, Root]:
    """A server that has received only these chunks, and all leaf hashes."""
    whole, root = with_file(content)
    asking = Asking(memory_store())
    enclosure = Enclosure("a.bin", "application/octet-stream", len(content), root)
    take(asking.store, make_signed(ALICE, enclosures=(enclosure,)))
    asking.store.begin_enclosure(root, len(content))
    asking.store.blobs.set_leaves(root, 1, leaves_of(content))
    for index in indices:
        asking.store.blobs.write_chunk(root, index, whole.store.blobs.read_chunk(root, index))
    return asking, root


def test_hashes_verify_and_say_what_is_here() -> None:
    content = file_of(9.5)
    asking, root = with_part(content, 1, 2, 3, 5, 8)
    answer, body = asking.one(HashesRequest(root, 4, 7))
    assert (answer.first, answer.last, answer.have) == (4, 7, ((5, 5), (8, 8)))
    assert verify_range(root, len(content), 4, body[: 4 * 32], body[4 * 32 :]) == leaves_of(content)[96:224]
    assert asking.one(HashesRequest(root, 1, 10))[0].have == ((1, 3), (5, 5), (8, 8))


def test_no_more_ranges_are_told_than_fit() -> None:
    asking, root = with_part(file_of(140), *range(1, 140, 2))
    have = asking.one(HashesRequest(root, 1, 1))[0].have
    assert have == tuple((number, number) for number in range(1, 2 * MAX_HAVE_RANGES, 2))
    assert asking.one(HashesRequest(root, 129, 129))[0].have[0] == (129, 129)


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [(1, 4, "unknown"), (4, 4, "unknown"), (1, MAX_RANGE_HASHES + 1, "limit"), (2**62, 2**63 - 1, "limit"),
     (2**63 - 1, 2**63 - 1, "unknown")],
)  # fmt: skip
def test_hashes_outside_of_the_enclosure_are_refused(first: int, last: int, reason: str) -> None:
    asking, root = with_file(file_of(3))
    assert asking.refusal(HashesRequest(root, first, last)) == reason


def test_hashes_that_are_not_all_known_are_refused() -> None:
    asking, root = with_part(file_of(4), 1)
    other = Asking(memory_store())
    take(other.store, make_signed(ALICE, enclosures=(Enclosure("a", "b/c", len(file_of(4)), root),)))
    assert other.refusal(HashesRequest(root, 1, 2)) == "unknown"
    other.store.begin_enclosure(root, len(file_of(4)))
    assert other.refusal(HashesRequest(root, 1, 2)) == "unknown"
    _, body = asking.one(HashesRequest(root, 1, 2))
    other.store.blobs.set_leaves(root, 1, verify_range(root, len(file_of(4)), 1, body[:64], body[64:]))
    other.store.blobs.write_chunk(root, 1, asking.store.blobs.read_chunk(root, 1))
    assert other.refusal(HashesRequest(root, 1, 2)) == "unknown"
    assert other.ask(ChunksRequest(root, 1, 1))[0][1] == file_of(4)[:CHUNK_BYTES]


def spans(answer: list[tuple[Message, bytes]]) -> list[tuple[int, int, bool]]:
    found = []
    for message, _ in answer:
        assert isinstance(message, Reply) and isinstance(message.answer, ChunksReply)
        found.append((message.answer.first, message.answer.last, message.more))
    return found


def test_chunks_come_in_order_three_to_a_reply() -> None:
    content = file_of(7.25)
    asking, root = with_file(content)
    answer = asking.ask(ChunksRequest(root, 1, 8))
    assert spans(answer) == [(1, 3, True), (4, 6, True), (7, 8, False)]
    assert b"".join(body for _, body in answer) == content


@pytest.mark.parametrize("step", [1, 4, 63])
def test_how_many_chunks_a_reply_holds_is_a_setting(step: int) -> None:
    asking, root = with_file(file_of(MAX_CHUNKS_ASKED), settings=Settings(chunks_per_reply=step))
    answer = asking.ask(ChunksRequest(root, 1, MAX_CHUNKS_ASKED))
    assert len(answer) == -(-MAX_CHUNKS_ASKED // step)
    assert b"".join(body for _, body in answer) == file_of(MAX_CHUNKS_ASKED)


def test_a_chunk_that_is_missing_ends_the_answer_after_those_before_it() -> None:
    asking, root = with_part(file_of(6), 1, 2, 3, 4, 6)
    *sent, (last, _) = asking.ask(ChunksRequest(root, 1, 6))
    assert spans(sent) == [(1, 3, True), (4, 4, True)]
    assert last == Reject("unknown", 7)


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [(1, 65, "limit"), (1, 2**63 - 1, "limit"), (4, 4, "unknown"), (2**63 - 1, 2**63 - 1, "unknown")],
)
def test_chunks_beyond_the_bounds_are_refused(first: int, last: int, reason: str) -> None:
    asking, root = with_file(file_of(3))
    assert asking.refusal(ChunksRequest(root, first, last)) == reason


@pytest.mark.parametrize("kind", [HashesRequest, ChunksRequest])
def test_an_enclosure_is_served_only_while_an_entry_that_may_be_seen_names_it(kind: Any) -> None:
    asking, root = with_file(file_of(2), expires=NOW + SECOND)
    assert len(asking.ask(kind(root, 1, 2))) == 1
    assert asking.refusal(kind(root, 1, 2), at=NOW + SECOND) == "unknown"
    assert asking.refusal(kind(Root("ab" * 32), 1, 1)) == "unknown"
    unnamed, _ = asking.store.blobs.add_bytes(b"left from a lost database")
    assert asking.refusal(kind(unnamed, 1, 1)) == "unknown"


@pytest.mark.parametrize("kind", [HashesRequest, ChunksRequest])
def test_the_file_of_a_retracted_entry_is_gone(kind: Any) -> None:
    asking, root = with_file(file_of(2))
    take(asking.store, make_signed(ALICE, updated=NOW + 1, retracted=True))
    assert asking.refusal(kind(root, 1, 1)) == "unknown"


def test_the_empty_file_has_nothing_to_ask_for() -> None:
    asking, root = with_file(b"")
    assert asking.refusal(ChunksRequest(root, 1, 1)) == "unknown"
    assert asking.refusal(HashesRequest(root, 1, 1)) == "unknown"
