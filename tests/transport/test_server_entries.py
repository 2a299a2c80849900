"""Entries of one feed: what is sent, what is withheld, and that going on gives each version once."""

from random import Random
from typing import Any

import pytest

from contentdb.bloom import MAX_FILTER_BYTES, Filter, encode_filter
from contentdb.model import Content, Enclosure, Signed, Text
from contentdb.names import EntryId, FeedId, Root
from contentdb.rows import version_of
from contentdb.settings import Limits
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    SECOND,
    author,
    entropy,
    make_descriptor,
    make_signed,
    memory_store,
    owned_feed,
    take,
)
from tests.transport.asking import ALICE, BOB, Asking, store_with
from transport.messages import (
    MAX_ANSWER_BYTES,
    MAX_BODY_BYTES,
    MAX_IDS_ASKED,
    EntriesReply,
    Except,
    FeedRequest,
    How,
    Ids,
    OneEntry,
    Reply,
    Since,
)
from transport.solicitation.answers import Settings

ELSEWHERE = "fedcba9876543210"
ALL = Since(ELSEWHERE, 99)  # of another epoch, so everything


def entry(number: int, writer: Any = ALICE, **fields: Any) -> Signed:
    return make_signed(writer, number, **({"title": Text(str(number))} | fields))


def entries(count: int, **fields: Any) -> list[Signed]:
    return [entry(number, **fields) for number in range(count)]


def request(
    how: How, selector: str | None = None, *, feed: FeedId = OPEN_FEED, sequence: int | None = 1
) -> FeedRequest:
    return FeedRequest(feed, how, selector, sequence)


def short_id(signed: Signed) -> bytes:
    return version_of(signed.data)[:8]


def filter_of(*known: Signed) -> bytes:
    return encode_filter(Filter.build([short_id(signed) for signed in known], entropy(3)(8), 0.0001))


# -- since


def test_since_gives_what_was_gained_later_in_the_order_it_was_gained() -> None:
    asking = Asking(store_with(entry(3), entry(1), entry(2)))
    seen = asking.store.revision
    take(asking.store, entry(9), entry(8))
    found, last = asking.entries(request(Since(asking.store.epoch, seen)))
    assert found.titles == ["9", "8"]
    assert (last.epoch, last.revision, last.next) == (asking.store.epoch, asking.store.revision, None)
    assert asking.all_entries(request(Since(asking.store.epoch, 0))).titles == ["3", "1", "2", "9", "8"]


def test_since_of_another_epoch_begins_at_the_beginning() -> None:
    asking = Asking(store_with(entry(1), entry(2)))
    assert asking.entries(request(Since(ELSEWHERE, 10**6)))[0].titles == ["1", "2"]


def test_nothing_new_is_an_empty_reply_with_our_pair() -> None:
    asking = Asking(store_with(entry(1)))
    found, last = asking.entries(request(Since(asking.store.epoch, 10**9)))
    assert (found.entries, last.count, last.revision) == ([], 0, asking.store.revision)


def test_an_answer_is_cut_into_parts_and_ends_at_a_mebibyte() -> None:
    asking = Asking(store_with(*entries(60, content=Content(text="x" * 30_000))))
    found, last = asking.entries(request(ALL))
    assert last.next is not None and 30 <= len(found.entries) < 60
    assert found.replies >= 15 and found.largest_body <= 65_000
    whole = asking.all_entries(request(ALL))
    assert whole.titles == [str(number) for number in range(60)]
    assert whole.requests == 2


def test_the_largest_entries_still_get_through() -> None:
    asking = Asking(store_with(*entries(12, content=Content(text="x" * 130_000))))
    whole = asking.all_entries(request(ALL, sequence=None))
    assert whole.titles == [str(number) for number in range(12)]
    assert whole.requests == 2 and len(whole.descriptors) == 1


def test_what_is_added_while_a_slow_client_reads_comes_with_the_next_request_and_once() -> None:
    asking = Asking(store_with(*entries(8, content=Content(text="x" * 30_000))))
    steps = asking.steps(request(ALL))
    replies = [next(steps)[0]]
    take(
        asking.store, entry(100), entry(0, updated=NOW + SECOND)
    )  # a new one, and a new version of the first
    replies += [message for message, _ in steps]
    counts = [message.answer.count for message in replies]  # type: ignore[union-attr]
    last = replies[-1].answer  # type: ignore[union-attr]
    assert sum(counts) == 8 and last.next is None  # type: ignore[union-attr]
    again, _ = asking.entries(request(Since(last.epoch, last.revision)))  # type: ignore[union-attr]
    assert again.titles == ["100", "0"]


@pytest.mark.parametrize("seed", range(5))
def test_going_on_ends_and_gives_each_entry_once_while_others_are_added(seed: int) -> None:
    dice, asking = Random(seed), Asking(store_with(*entries(60)), Settings(max_evaluated=7, part_bytes=1_500))
    titles: list[str] = []
    how, number, requests = Since(asking.store.epoch, 0), 1_000, 0
    while requests < 60:
        found, last = asking.entries(request(how))
        titles += found.titles
        requests += 1
        if last.next is None:
            break
        how = Since(last.epoch, last.next)
        if number < 1_040:
            more = dice.randrange(4)
            take(asking.store, *(entry(number + extra) for extra in range(more)))
            number += more
    assert last.next is None
    assert titles == [str(number) for number in [*range(60), *range(1_000, number)]]


def test_an_entry_that_goes_while_it_waits_to_be_sent_is_left_out() -> None:
    store = memory_store(Limits(max_feed_entries=50))
    store.feeds.trust(ALICE.key)
    take(store, *entries(40, content=Content(text="x" * 3_000)))
    asking = Asking(store)
    steps = asking.steps(request(ALL))
    first = next(steps)[0].answer.count  # type: ignore[union-attr]
    take(store, *(entry(100 + number, updated=NOW + SECOND) for number in range(40)))
    rest = [message.answer.count for message, _ in steps]  # type: ignore[union-attr]
    assert first + sum(rest) < 40


# -- what never leaves


def test_what_has_expired_is_never_sent_by_any_way() -> None:
    fleeting = entry(1, expires=NOW + SECOND)
    asking = Asking(store_with(fleeting, entry(2)))
    ways = [(request(ALL), b""), (request(Except()), filter_of()), (request(Ids()), short_id(fleeting)),
            (request(OneEntry(EntryId("urn:example:entry:1"))), b"")]  # fmt: skip
    for ask, body in ways:
        assert "1" in asking.entries(ask, body, at=NOW)[0].titles
        assert "1" not in asking.entries(ask, body, at=NOW + SECOND)[0].titles


def test_what_waits_for_the_clock_is_never_sent() -> None:
    early = entry(1, updated=NOW + 2 * DAY)
    asking = Asking(store_with(early, entry(2)))
    assert asking.store.parked()
    assert asking.entries(request(ALL))[0].titles == ["2"]
    assert asking.entries(request(Ids()), short_id(early))[0].titles == []


def test_what_was_retracted_or_replaced_is_gone_and_its_tombstone_travels_whatever_the_selector() -> None:
    old = [entry(1, attributes={"genre": "jazz"}), entry(2, attributes={"genre": "jazz"})]
    asking = Asking(store_with(*old))
    take(asking.store, entry(1, title=Text("gone"), updated=NOW + 1, retracted=True),
         entry(2, title=Text("new"), updated=NOW + 1))  # fmt: skip
    assert asking.entries(request(ALL, "genre = 'jazz'"))[0].titles == ["gone"]
    found, _ = asking.entries(request(Ids()), b"".join(map(short_id, old)))
    assert found.titles == []


# -- selectors


def test_a_selector_is_evaluated_before_bytes_are_spent() -> None:
    asking = Asking(store_with(*(entry(n, attributes={"bpm": n, "mood": "calm"}) for n in range(10))))
    found, last = asking.entries(request(ALL, "bpm >= 4 AND mood = 'calm' AND title <> '7'"))
    assert found.titles == ["4", "5", "6", "8", "9"]
    assert (found.withheld, last.next) == (5, None)


def test_a_selector_sees_of_an_entry_what_the_entry_itself_would_show() -> None:
    asking = Asking(
        store_with(
            entry(1, enclosures=(Enclosure("a.ogg", "audio/ogg", 70, Root("ab" * 32)),), published=NOW - 5,
                  expires=NOW + DAY, language="de", summary=Text("short"), attributes={"x": 1.5, "y": True}),
            entry(2, BOB),
        )
    )  # fmt: skip
    for found in asking.entries(request(ALL))[0].entries:
        for name, value in found.selectable().items():
            literal = f"'{value}'" if isinstance(value, str) else str(value).upper()
            assert found.title in asking.entries(request(ALL, f"{name} = {literal}"))[0].titles, name
    assert asking.entries(request(ALL, "nobody = 1 OR language IS NULL"))[0].titles == ["2"]


def test_an_empty_selector_withholds_nothing() -> None:
    assert asking_three().entries(request(ALL, ""))[0].titles == ["0", "1", "2"]


def asking_three() -> Asking:
    return Asking(store_with(*entries(3)))


@pytest.mark.parametrize("selector", ["3 + 5", "title =", "x" * 5_000, "(" * 100])
def test_a_selector_that_cannot_be_read_is_refused(selector: str) -> None:
    assert asking_three().refusal(request(ALL, selector)) == "unknown"


def test_evaluating_is_bounded_and_going_on_comes_to_the_end() -> None:
    asking = Asking(store_with(*entries(50)), Settings(max_evaluated=8))
    found, last = asking.entries(request(ALL, "title = '49'"))
    assert (found.withheld, last.next is None) == (8, False)
    whole = asking.all_entries(request(ALL, "title = '49'"))
    assert (whole.titles, whole.withheld, whole.requests) == (["49"], 49, 7)


def test_a_search_that_finds_nothing_is_answered_in_parts_so_that_others_get_their_turn() -> None:
    asking = Asking(store_with(*entries(50)), Settings(max_evaluated=30, evaluated_per_reply=8))
    answers = []
    for message, _ in asking.ask(request(ALL, "title = 'none'")):
        assert isinstance(message, Reply) and isinstance(message.answer, EntriesReply)
        answers.append((message.answer.withheld, message.more))
    assert answers == [(8, True), (8, True), (8, True), (6, False)]
    whole = asking.all_entries(request(ALL, "title = 'none'"))
    assert (whole.titles, whole.withheld, whole.replies) == ([], 50, 7)


def test_a_dear_selector_is_evaluated_for_fewer_entries() -> None:
    dear = " OR ".join(["title LIKE '%_x_y%'"] * 170)
    texts = entries(12, summary=Text("y" * 12_800))
    asking = Asking(store_with(*texts), Settings(max_evaluated=300))
    assert asking.entries(request(ALL, dear))[0].withheld == 5  # each counts for 1 + 3,906 // 64
    assert asking.entries(request(ALL, "summary = 'x'"))[0].withheld == 3  # each counts for 1 + 12,800 // 128
    assert asking.all_entries(request(ALL, dear[: 23 * 150 - 4].replace("title", "summary"))).withheld == 12


# -- descriptors


@pytest.mark.parametrize(("sequence", "comes"), [(None, True), (1, True), (2, False), (3, False)])
def test_the_descriptor_comes_first_to_who_has_none_or_an_older_one(
    sequence: int | None, comes: bool
) -> None:
    asking = Asking(store_with(entry(1), sequence=2))
    found, last = asking.entries(request(ALL, sequence=sequence))
    assert (len(found.descriptors), last.count, found.titles) == (int(comes), 1, ["1"])
    if comes:
        assert found.descriptors[0] == asking.store.feeds.descriptor(OPEN_FEED)


def test_entries_that_came_before_their_descriptor_are_served_without() -> None:
    store = memory_store()
    take(store, entry(1))
    found, last = Asking(store).entries(request(ALL, sequence=None))
    assert (found.titles, last.descriptor) == (["1"], False)


def test_an_unlisted_feed_is_served_to_who_names_it() -> None:
    feed = owned_feed(ALICE)
    asking = Asking(store_with(entry(1, feed=feed), feed=feed, listed=False))
    assert asking.entries(request(ALL, feed=feed))[0].titles == ["1"]


def test_a_feed_that_is_not_here_or_was_only_heard_of_is_unknown() -> None:
    asking = Asking(store_with())
    assert asking.refusal(request(ALL)) == "unknown"
    assert asking.refusal(request(ALL, feed=FeedId("urn:example:nowhere"))) == "unknown"


def test_an_own_feed_is_served_before_it_has_entries() -> None:
    store = memory_store()
    store.feeds.put_descriptor(make_descriptor(ALICE), own=True)
    assert len(Asking(store).entries(request(ALL, sequence=None))[0].descriptors) == 1


def test_the_entries_of_other_feeds_stay_where_they_are() -> None:
    asking = Asking(store_with(entry(1), entry(2, feed=FeedId("urn:example:other"))))
    for how, body in ((ALL, b""), (Ids(), short_id(entry(2, feed=FeedId("urn:example:other"))))):
        assert "2" not in asking.entries(request(how), body)[0].titles


def test_what_the_client_names_beside_since_is_not_sent_again() -> None:
    asking = Asking(store_with(*entries(5)), Settings(max_evaluated=2))
    known = short_id(entry(1)) + short_id(entry(3)) + b"12345678"
    whole = asking.all_entries(request(ALL), known)
    assert (whole.titles, whole.withheld, whole.requests) == (["0", "2", "4"], 0, 3)


@pytest.mark.parametrize(("body", "reason"), [(b"cut", "unknown"), (bytes(8 * 8_192 + 8), "limit")])
def test_what_is_named_beside_since_has_the_form_and_bound_of_ids(body: bytes, reason: str) -> None:
    assert asking_three().refusal(request(ALL), body) == reason


# -- except


def test_except_gives_what_the_filter_does_not_hold() -> None:
    known = entries(40)
    asking = Asking(store_with(*known, entry(100), entry(101)))
    found, last = asking.entries(request(Except()), filter_of(*known))
    assert (found.titles, found.withheld, last.next) == (["100", "101"], 0, None)


def test_a_new_version_is_not_hidden_by_the_old_one_in_the_filter() -> None:
    old = entry(1)
    asking = Asking(store_with(old))
    take(asking.store, entry(1, title=Text("new"), updated=NOW + 1))
    assert asking.entries(request(Except()), filter_of(old))[0].titles == ["new"]


def test_except_goes_on_after_a_revision_and_counts_only_what_the_selector_withheld() -> None:
    known = entries(30)
    asking = Asking(store_with(*known, *(entry(100 + n) for n in range(30))), Settings(max_evaluated=9))
    whole = asking.all_entries(request(Except(), "title LIKE '%5'"), filter_of(*known))
    assert (whole.titles, whole.withheld, whole.requests) == (["105", "115", "125"], 27, 7)


@pytest.mark.parametrize("body", [b"", b"rubbish", filter_of()[:-1], b"PBF1" + bytes(18), bytes(1_000)])
def test_a_filter_that_cannot_be_read_is_refused(body: bytes) -> None:
    assert asking_three().refusal(request(Except()), body) == "unknown"


def test_a_filter_that_fits_into_no_frame_is_refused() -> None:
    for size in (MAX_BODY_BYTES + 1, MAX_FILTER_BYTES + 22):
        assert asking_three().refusal(request(Except()), bytes(size)) == "limit"


# -- ids and one entry


def test_ids_give_those_that_are_held_once_each() -> None:
    asking = asking_three()
    body = short_id(entry(2)) + bytes(8) + short_id(entry(0)) * 2 + b"\xff" * 8
    assert asking.entries(request(Ids()), body)[0].titles == ["0", "2"]


def test_thousands_of_ids_are_answered_part_by_part() -> None:
    many = entries(700, content=Content(text="x" * 2_000))
    asking = Asking(store_with(*many))
    body = b"".join(map(short_id, many)) + bytes(8 * (MAX_IDS_ASKED - 700))
    whole = asking.all_entries(request(Ids()), body)
    assert whole.titles == [str(number) for number in range(700)]
    assert 1 < whole.requests <= 1 + 700 * 3_000 // MAX_ANSWER_BYTES


@pytest.mark.parametrize(
    ("body", "reason"), [(b"1234567", "unknown"), (bytes(8 * MAX_IDS_ASKED + 8), "limit")]
)
def test_ids_that_are_cut_or_too_many_are_refused(body: bytes, reason: str) -> None:
    assert asking_three().refusal(request(Ids()), body) == reason


def test_one_entry_comes_in_the_versions_of_all_its_authors() -> None:
    writers = [author(number) for number in range(10, 22)]
    mine = [entry(1, writer, title=Text(writer.key[:8])) for writer in writers]
    asking = Asking(store_with(*mine, entry(2), entry(3, BOB)))
    found, _ = asking.entries(request(OneEntry(EntryId("urn:example:entry:1"))))
    assert found.titles == [writer.key[:8] for writer in writers]
    assert asking.entries(request(OneEntry(EntryId("urn:example:nothing"))))[0].titles == []


def test_one_entry_of_very_many_authors_is_answered_part_by_part() -> None:
    writers = [author(number) for number in range(10, 25)]
    asking = Asking(
        store_with(*(entry(1, writer, content=Content(text="x" * 100_000)) for writer in writers))
    )
    whole = asking.all_entries(request(OneEntry(EntryId("urn:example:entry:1"))))
    assert [found.author for found in whole.entries] == [writer.key for writer in writers]
    assert whole.requests == 2
