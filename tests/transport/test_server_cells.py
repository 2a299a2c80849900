"""A sketch tells a client which ids to ask for, and what cells may cost is bounded."""

import pytest

from contentdb.names import EntryId, FeedId
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
    make_signed,
    memory_store,
)
from tests.transport.asking import ALICE, BOB, Asking, store_with
from transport.messages import (
    BySketch,
    CellsReply,
    FeedRequest,
    Ids,
)
from transport.solicitation.answers import Settings


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
            decoder.lengthen(Sketch.of(ours.serving.held_ids(feed.key, NOW), block.end))
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


def test_more_cells_than_are_kept_are_built_while_that_is_cheap() -> None:
    asking = Asking(store_with(*(make_signed(ALICE, number) for number in range(40))))
    far = encode_continuation(SetFingerprint(3, 1, 2), MAX_CELLS - MAX_BLOCK_CELLS, MAX_CELLS - 1)
    for _ in range(2):
        block = decode_cells(asking.one(sketch_request(), far)[1])
        assert block.end == MAX_CELLS - 1
    ids = sorted(int.from_bytes(version_of(make_signed(ALICE, n).data)[:8], "big") for n in range(40))
    assert block.cells.ids == Sketch.of(ids, MAX_CELLS).cells.ids[block.first : block.end]
    fresh = Asking(asking.store, Settings(max_rebuilt_ids=39))
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
