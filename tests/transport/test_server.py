"""The server in general, its filter, and feeds by selector; each limit and each refusal."""

from dataclasses import replace
from typing import Any

import pytest

from contentdb.atom import read_signed_descriptor
from contentdb.bloom import HEADER, decode_filter, sized_for
from contentdb.errors import UsageError
from contentdb.model import Text
from contentdb.names import FeedId, Root
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
    Ask,
    BloomReply,
    BloomRequest,
    BySketch,
    ChunksRequest,
    Except,
    FeedRequest,
    FeedsRequest,
    HashesRequest,
    Ids,
    Reject,
    Reply,
    Request,
    SessionHello,
    UnknownRequest,
)
from transport.solicitation.answers import Refusal, Settings
from transport.solicitation.server import ERROR_RATES, Server, error_rate

MINUTE = 60 * SECOND


def test_the_hello_tells_our_pair() -> None:
    store = store_with(make_signed(ALICE))
    assert Asking(store).server.hello() == SessionHello(store.epoch, store.revision, sum=store.gains.sum)


def test_a_request_of_a_later_version_is_refused() -> None:
    assert Asking(memory_store()).refusal(UnknownRequest()) == "unknown"


def test_an_answer_is_found_only_as_far_as_it_is_read() -> None:
    store = store_with(make_signed(ALICE))
    server = Server(store, node(1), entropy=entropy(1))
    steps = server.answer(Request(1, BloomRequest()), b"", NOW)
    take(store, make_signed(ALICE, 2))
    _, body = next(steps)
    assert "urn:example:entry:2" in decode_filter(b"".join(body))


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


def test_a_search_for_feeds_that_finds_none_is_answered_in_parts() -> None:
    asking = Asking(library(30), Settings(max_feeds_evaluated=20, feeds_per_reply=8))
    assert len(asking.ask(FeedsRequest("title = 'none'"))) == 3
    assert asking.all_feeds(FeedsRequest("title = 'none'")) == ([], 30, 2)


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


# -- anything at all


def test_every_request_with_a_rubbish_body_ends_in_a_reply_or_a_refusal() -> None:
    asking, root = Asking(store_with(make_signed(ALICE))), Root("ab" * 32)
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
