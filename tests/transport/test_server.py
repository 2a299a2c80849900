"""The other requests: filter, feeds by selector, cells, hashes and chunks; each limit and each refusal."""

from dataclasses import replace
from typing import Any

import pytest

from contentdb.atom import read_signed_descriptor
from contentdb.bloom import HEADER, decode_filter, sized_for
from contentdb.chunking import MAX_RANGE_HASHES, leaves_of, verify_range
from contentdb.errors import UsageError
from contentdb.model import CHUNK_BYTES, Enclosure, Text
from contentdb.names import EntryId, FeedId, Root
from contentdb.rows import version_of
from contentdb.sketch import MAX_CELLS, SetFingerprint, Sketch
from contentdb.sketch_codec import MAX_BLOCK_CELLS, decode_cells
from contentdb.sketch_decoder import Decoder, Progress
from contentdb.sketch_request import encode_continuation, encode_opening
from contentdb.store import Store
from tests.contentdb.makers import (
    NOW,
    OPEN_FEED,
    SECOND,
    author,
    entropy,
    make_descriptor,
    make_signed,
    memory_store,
    node,
    take,
)
from tests.transport.asking import ALICE, BOB, Asking, store_with
from transport.messages import (
    MAX_BODY_BYTES,
    MAX_CHUNKS_ASKED,
    MAX_HAVE_RANGES,
    Ask,
    BloomReply,
    BloomRequest,
    BySketch,
    CellsReply,
    ChunksReply,
    ChunksRequest,
    Except,
    FeedRequest,
    FeedsRequest,
    HashesRequest,
    Ids,
    Message,
    Reject,
    Reply,
    Request,
    SessionHello,
    UnknownRequest,
)
from transport.solicitation import cells
from transport.solicitation.answers import Refusal, Settings
from transport.solicitation.server import ERROR_RATES, Server, error_rate

MINUTE = 60 * SECOND


def test_the_hello_tells_our_pair() -> None:
    store = store_with(make_signed(ALICE))
    assert Asking(store).server.hello() == SessionHello(store.epoch, store.revision)


def test_a_request_of_a_later_version_is_refused() -> None:
    assert Asking(memory_store()).refusal(UnknownRequest()) == "unknown"


def test_an_answer_is_found_only_as_far_as_it_is_read() -> None:
    store = store_with(make_signed(ALICE))
    server = Server(store, node(1), entropy=entropy(1))
    steps = server.answer(Request(1, BloomRequest()), b"", NOW)
    take(store, make_signed(ALICE, 2))
    _, body = next(steps)
    assert isinstance(body, bytes) and "urn:example:entry:2" in decode_filter(body)


@pytest.mark.parametrize("wrong", [{"chunks_per_reply": 0}, {"chunks_per_reply": 64}, {"max_evaluated": 0}])
def test_settings_that_would_never_end_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Settings(**wrong)


# -- bloom


def test_the_filter_holds_listed_feeds_and_their_entries_and_no_others() -> None:
    secret, heard = FeedId("urn:example:secret"), FeedId("urn:example:heard")
    store = store_with(make_signed(ALICE, 1), make_signed(BOB, 2, updated=NOW + 1, retracted=True))
    store.feeds.put_descriptor(make_descriptor(ALICE, secret, listed=False))
    store.feeds.put_descriptor(make_descriptor(ALICE, heard))
    take(store, make_signed(ALICE, 3, feed=secret), make_signed(ALICE, 4, expires=NOW + SECOND))
    answer, body = Asking(store).one(BloomRequest(), at=NOW + SECOND)
    held = decode_filter(body)
    assert answer == BloomReply() and len(held) == 3
    assert all(id in held for id in (OPEN_FEED, "urn:example:entry:1", "urn:example:entry:2"))


def test_the_filter_is_kept_for_minutes_and_no_longer_than_it_is_true() -> None:
    asking = Asking(store_with(make_signed(ALICE)))
    first = asking.one(BloomRequest())[1]
    assert asking.one(BloomRequest(), at=NOW + 4 * MINUTE)[1] == first
    later = asking.one(BloomRequest(), at=NOW + 5 * MINUTE)[1]
    assert decode_filter(later).salt != decode_filter(first).salt
    assert asking.one(BloomRequest(), at=NOW)[1] != later  # the clock went back
    take(asking.store, make_signed(ALICE, 2))
    assert "urn:example:entry:2" in decode_filter(asking.one(BloomRequest(), at=NOW)[1])


def test_a_filter_of_nothing_is_a_filter() -> None:
    assert len(decode_filter(Asking(memory_store()).one(BloomRequest())[1])) == 0


def test_a_filter_grows_coarser_until_it_fits_into_a_frame() -> None:
    counts = [1_000, *range(200_000, 2_800_000, 100_000)]
    rates = [error_rate(count) for count in counts]
    assert rates == sorted(rates) and rates[0] == ERROR_RATES[0] and rates[-1] == ERROR_RATES[-1]
    for count, rate in zip(counts, rates, strict=True):
        assert sized_for(count, rate).num_bits // 8 + HEADER.size < MAX_BODY_BYTES
    with pytest.raises(Refusal, match="limit"):
        error_rate(5_000_000)


# -- feeds by selector


def library(count: int, **fields: Any) -> Store:
    store = memory_store()
    for number in range(count):
        feed = FeedId(f"urn:example:{number:03}")
        described = {"title": Text(f"Feed {number}")} | fields
        store.feeds.put_descriptor(make_descriptor(ALICE, feed, **described), own=True)
    return store


def titles(found: list[Any]) -> list[str]:
    return [str(read_signed_descriptor(signed.data).title) for signed in found]


def test_feeds_that_match_come_in_the_order_of_their_ids() -> None:
    found, withheld, requests = Asking(library(20)).all_feeds(
        FeedsRequest("title LIKE '%15' OR title = 'Feed 3'")
    )
    assert (titles(found), withheld, requests) == (["Feed 3", "Feed 15"], 18, 1)


def test_an_empty_selector_matches_every_feed_that_is_listed_and_held() -> None:
    store = library(2)
    store.feeds.put_descriptor(make_descriptor(ALICE, FeedId("urn:example:secret"), listed=False), own=True)
    store.feeds.put_descriptor(make_descriptor(ALICE, FeedId("urn:example:heard")))
    take(store, make_signed(ALICE, feed=FeedId("urn:example:nameless")))
    found, withheld, _ = Asking(store).all_feeds(FeedsRequest())
    assert (titles(found), withheld) == (["Feed 0", "Feed 1"], 0)


def test_feeds_go_on_after_an_id_and_come_once_each_while_others_are_added() -> None:
    asking = Asking(library(30), Settings(max_feeds_evaluated=4))
    found, withheld, requests = asking.all_feeds(FeedsRequest("title <> 'Feed 7'"))
    assert (len(found), withheld, requests) == (29, 1, 8)
    answer, _ = asking.one(FeedsRequest())
    late = make_descriptor(ALICE, FeedId("urn:example:000:late"), title=Text("late"))
    asking.store.feeds.put_descriptor(late, own=True)
    assert "late" not in titles(asking.all_feeds(FeedsRequest(after=answer.next))[0])


def test_many_descriptors_are_cut_into_parts_and_answers() -> None:
    asking = Asking(library(30, subtitle=Text("x" * 50_000)))
    assert len(asking.ask(FeedsRequest())) > 10
    found, _, requests = asking.all_feeds(FeedsRequest())
    assert titles(found) == [f"Feed {number}" for number in range(30)]
    assert requests == 2


def test_a_feed_whose_id_fits_into_no_header_is_left_out_and_stops_nobody() -> None:
    store = library(3)
    for filler in ("&" * 1_000, "\U0001f3b7" * 2_000):
        store.feeds.put_descriptor(make_descriptor(ALICE, FeedId("urn:example:0" + filler)), own=True)
    found, _, _ = Asking(store, Settings(max_feeds_evaluated=1)).all_feeds(FeedsRequest())
    assert titles(found) == ["Feed 0", "Feed 1", "Feed 2"]


@pytest.mark.parametrize("selector", ["title =", "1 + 1", "'" * 4_001])
def test_a_selector_over_feeds_that_cannot_be_read_is_refused(selector: str) -> None:
    assert Asking(library(1)).refusal(FeedsRequest(selector)) == "unknown"


# -- sketch


def sketch_request(feed: FeedId = OPEN_FEED) -> FeedRequest:
    return FeedRequest(feed, BySketch(), None, 1)


def difference(ours: Store, asking: Asking) -> tuple[Decoder, int]:
    """What a client does with its known set; returns its decoder and the number of requests."""
    known = ours.known_sketch(OPEN_FEED)
    decoder, body, requests = Decoder(known), encode_opening(known), 0
    while True:
        answer, content = asking.one(sketch_request(), body)
        assert answer == CellsReply(asking.store.epoch, asking.store.revision)
        requests += 1
        block = decode_cells(content)
        if block.end > decoder.own_cells:
            feed = ours.serving.feed(OPEN_FEED)
            assert feed is not None
            decoder.lengthen(Sketch.of(ours.serving.held_ids(feed.key), block.end))
        if decoder.feed(block) is not Progress.MORE:
            return decoder, requests
        body = encode_continuation(known.fingerprint, decoder.received, decoder.next_end)


@pytest.mark.parametrize(("common", "only_ours", "only_theirs"), [(5, 0, 0), (200, 3, 5), (50, 0, 400)])
def test_a_sketch_tells_which_ids_to_ask_for(common: int, only_ours: int, only_theirs: int) -> None:
    shared = [make_signed(ALICE, number) for number in range(common)]
    missing = [make_signed(BOB, number) for number in range(only_theirs)]
    ours = store_with(*shared, *(make_signed(ALICE, 1_000 + number) for number in range(only_ours)))
    asking = Asking(store_with(*shared, *missing))
    decoder, requests = difference(ours, asking)
    assert decoder.progress is Progress.DECODED and requests <= 3
    assert len(decoder.only_local) == only_ours
    body = b"".join(id.to_bytes(8, "big") for id in decoder.only_remote)
    found = asking.all_entries(FeedRequest(OPEN_FEED, Ids(), None, 1), body)
    assert {entry.id for entry in found.entries} == {
        EntryId(f"urn:example:entry:{n}") for n in range(only_theirs)
    }


def test_an_id_of_a_sketch_that_expired_meanwhile_does_not_come() -> None:
    fleeting = make_signed(ALICE, 1, expires=NOW + SECOND)
    asking = Asking(store_with(fleeting, make_signed(ALICE, 2)))
    short_id = version_of(fleeting.data)[:8]
    ask = FeedRequest(OPEN_FEED, Ids(), None, 1)
    assert asking.entries(ask, short_id, at=NOW + SECOND)[0].entries == []


def test_more_cells_than_are_kept_are_built_while_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(store_with(*(make_signed(ALICE, number) for number in range(40))))
    far = encode_continuation(SetFingerprint(3, 1, 2), MAX_CELLS - MAX_BLOCK_CELLS, MAX_CELLS - 1)
    for _ in range(2):
        block = decode_cells(asking.one(sketch_request(), far)[1])
        assert block.end == MAX_CELLS - 1
    ids = sorted(int.from_bytes(version_of(make_signed(ALICE, n).data)[:8], "big") for n in range(40))
    assert block.cells.ids == Sketch.of(ids, MAX_CELLS).cells.ids[block.first : block.end]
    monkeypatch.setattr(cells, "MAX_REBUILT_PLAINLY", 39)
    fresh = Asking(asking.store)
    assert fresh.refusal(sketch_request(), far) == "limit"
    near = encode_continuation(SetFingerprint(3, 1, 2), 16, 1_000)
    assert decode_cells(fresh.one(sketch_request(), near)[1]).end == 128  # what is kept anyway


@pytest.mark.parametrize(
    "body",
    [b"", b"\x01", bytes(25), b"\x01\xff\xff\xff\xff" + bytes(20), b"\x01\x00\x01\x40\x01" + bytes(20)],
)
def test_a_request_for_cells_beyond_all_bounds_is_refused(body: bytes) -> None:
    assert Asking(store_with(make_signed(ALICE))).refusal(sketch_request(), body) == "unknown"


def test_cells_of_an_unknown_feed_are_refused() -> None:
    body = encode_opening(Sketch(128))
    assert Asking(memory_store()).refusal(sketch_request(), body) == "unknown"


# -- hashes and chunks


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
    asking.store.begin_enclosure(root)
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
    other.store.begin_enclosure(root)
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


# -- anything at all


def test_every_request_with_a_rubbish_body_ends_in_a_reply_or_a_refusal() -> None:
    asking, root = with_file(file_of(1))
    asks: list[Ask] = [BloomRequest(), FeedsRequest(), HashesRequest(root, 1, 1), ChunksRequest(root, 1, 1)]
    asks += [FeedRequest(OPEN_FEED, how) for how in (BySketch(), Ids(), Except())]
    for ask in asks:
        for body in (b"", b"x", bytes(121), entropy(5)(4_096)):
            message, _ = asking.ask(ask, body)[-1]
            assert isinstance(message, Reply | Reject)


def test_two_servers_over_one_store_answer_alike() -> None:
    store = store_with(*(make_signed(author(number), 1) for number in range(5)))
    ask = FeedRequest(OPEN_FEED, Ids())
    assert Asking(store).ask(ask) == Asking(store).ask(replace(ask))
