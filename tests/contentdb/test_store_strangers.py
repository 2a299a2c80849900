"""Floods: whatever strangers bring, and wherever they spread it, real content and the store's limits stay."""

from typing import Any

import pytest

from contentdb.identity import AuthorSecret
from contentdb.intake import Fate
from contentdb.ledger import Event
from contentdb.model import Content, Enclosure, Signed, Text
from contentdb.names import FeedId, Root
from contentdb.query import Selection
from contentdb.settings import DAY_S, Limits
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    author,
    make_descriptor,
    make_entry,
    make_signed,
    memory_store,
    owned_feed,
    take,
)

ALICE, BOB, MALLORY = author(1), author(2), author(66)
OTHER = FeedId("urn:example:other")


def large(writer: AuthorSecret, number: int, size: int = 9_000, **fields: Any) -> Signed:
    return make_signed(writer, number, content=Content("text", "x" * size), **fields)


def claiming(writer: AuthorSecret, number: int, length: int, **fields: Any) -> Signed:
    """An entry that counts for much, of which nothing was sent."""
    return make_signed(
        writer, number, enclosures=(Enclosure("f", "a/b", length, Root(f"{number:064x}")),), **fields
    )


def held(store: Store, feed: FeedId = OPEN_FEED, at: int = NOW) -> list[int]:
    rows = store.entries.select(Selection(at, feed=feed))
    return sorted(int(row.id.removeprefix("urn:example:entry:")) for row in rows)


def count(store: Store, table: str) -> int:
    with store.transaction() as connection:
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(rows)


def fates(store: Store, *batch: Signed, at: int = NOW, source: int = 1) -> list[Fate]:
    return [outcome.fate for outcome in take(store, *batch, at=at, source=source)]


# -- space


@pytest.mark.parametrize("owned", [False, True])
def test_strangers_who_spread_over_many_feeds_push_out_no_real_content(owned: bool) -> None:
    limits = Limits(max_bytes=1_000_000, max_feed_bytes=500_000, peer_day_bytes=500_000)
    with memory_store(limits) as store:
        store.feeds.trust(BOB.key)
        take(store, *(claiming(BOB, number, 40_000) for number in range(10)), source=9)
        for number in range(15):
            flooder = author(500 + number)
            feed = owned_feed(flooder) if owned else FeedId(f"urn:example:flood:{number}")
            take(store, claiming(flooder, 100 + number, 95_000, feed=feed), source=2 + number // 5)
        assert held(store) == list(range(10))
        assert store.usage().used <= limits.max_bytes


def test_when_a_feed_is_full_its_strangers_go_before_its_oldest_entries() -> None:
    with memory_store(Limits(max_feed_entries=10)) as store:
        store.feeds.trust(BOB.key)
        take(store, *(make_signed(BOB, number, updated=NOW - DAY) for number in range(9)))
        take(store, make_signed(MALLORY, 100), make_signed(MALLORY, 101))
        assert held(store) == [*range(9), 101]
        take(store, make_signed(BOB, 9, updated=NOW - DAY))
        assert held(store) == list(range(10))


def test_the_cap_holds_with_a_pinned_feed_that_strangers_flood() -> None:
    limits = Limits(max_bytes=100_000, max_feed_bytes=50_000)
    with memory_store(limits) as store:
        take(store, large(BOB, 1, 4_000, feed=OTHER), large(BOB, 2, 4_000, feed=OTHER), make_signed(ALICE, 3))
        store.pin_feed(OPEN_FEED)
        for number in range(100, 150):
            take(store, large(author(number), number))
        assert held(store, OTHER) == [1, 2]
        assert 3 in held(store)  # what was there when the feed was pinned
        assert store.usage().pinned <= limits.max_feed_bytes * limits.stranger_share
        store.publish(make_signed(ALICE, 5), NOW)


def test_a_pinned_feed_that_is_full_takes_nothing_more_and_loses_nothing() -> None:
    with memory_store(Limits(max_feed_entries=3, stranger_share=1)) as store:
        take(store, *(make_signed(ALICE, number) for number in range(3)))
        store.pin_feed(OPEN_FEED)
        (outcome,) = take(store, make_signed(ALICE, 4, updated=NOW + 1))
        assert (outcome.fate, outcome.reason[:7]) == (Fate.REFUSED, "no room")
        assert fates(store, make_signed(ALICE, 2, updated=NOW + 1)) == [Fate.REPLACED]
        assert held(store) == [0, 1, 2]


def test_a_version_that_does_not_fit_leaves_the_pinned_one_in_place() -> None:
    with memory_store(Limits(max_bytes=20_000, stranger_share=1)) as store:
        take(store, large(ALICE, 1))
        store.pin(make_entry(ALICE, 1).key)
        assert fates(store, large(ALICE, 1, 19_000, updated=NOW + 1)) == [Fate.REPLACED]
        assert fates(store, claiming(ALICE, 1, 19_900, updated=NOW + 2)) == [Fate.REFUSED]
        assert fates(store, make_signed(ALICE, 1, updated=NOW + 3, retracted=True)) == [Fate.REPLACED]


def test_what_found_no_room_is_remembered_until_there_is_room() -> None:
    with memory_store(Limits(max_bytes=20_000, stranger_share=1)) as store:
        take(store, large(ALICE, 1, 15_000))
        store.pin_feed(OPEN_FEED)
        known = store.known_sketch(OPEN_FEED).size
        assert fates(store, large(ALICE, 2)) == [Fate.REFUSED]
        assert store.known_sketch(OPEN_FEED).size == known + 1
        store.pin_feed(OPEN_FEED, pinned=False)
        store.maintain(NOW, 60)
        assert store.known_sketch(OPEN_FEED).size == known
        assert fates(store, large(ALICE, 2, updated=NOW)) == [Fate.STORED]


def test_what_has_to_go_as_soon_as_it_came_is_not_called_stored() -> None:
    with memory_store(Limits(max_bytes=20_000)) as store:
        store.publish(large(ALICE, 1, 15_000), NOW)
        (outcome,) = take(store, large(BOB, 2))
        assert (outcome.fate, outcome.key) == (Fate.REFUSED, 0)
    with memory_store(Limits(max_feed_entries=10, stranger_share=0.1)) as store:
        outcomes = take(store, make_signed(BOB, 1, updated=NOW - 1), make_signed(BOB, 2))
        assert [outcome.fate for outcome in outcomes] == [Fate.REFUSED, Fate.STORED]
        assert store.entry_of_row(outcomes[1].key).id == "urn:example:entry:2"


def test_a_length_beyond_the_quota_is_refused_for_that_and_remembered() -> None:
    with memory_store(Limits(max_bytes=10**9, peer_day_bytes=10**6)) as store:
        take(store, make_signed(ALICE, 1))
        known = store.known_sketch(OPEN_FEED).size
        (outcome,) = take(store, claiming(ALICE, 2, 10**12))
        assert (outcome.fate, outcome.reason) == (Fate.REFUSED, "larger than the whole store may be")
        assert store.known_sketch(OPEN_FEED).size == known + 1
        assert store.blobs.roots() == []


# -- the floor


def test_strangers_cannot_silence_a_feed_through_its_floor() -> None:
    with memory_store(Limits(max_feed_entries=50, max_removed=10)) as store:
        take(store, make_signed(ALICE, 1))
        store.maintain(NOW, 2 * DAY_S)
        for number in range(100, 140):
            take(store, make_signed(author(number), number, updated=NOW + DAY))
        store.maintain(NOW, 2 * DAY_S)  # by now those who flooded are no strangers, but they were
        assert store.feeds.floor(OPEN_FEED) is None
        tombstone = make_signed(ALICE, 1, updated=NOW + 1, retracted=True)
        assert fates(store, make_signed(ALICE, 2, updated=NOW - DAY), tombstone) == [
            Fate.STORED,
            Fate.REPLACED,
        ]


def test_no_floor_reaches_into_the_last_day() -> None:
    with memory_store(Limits(max_removed=0)) as store:
        store.feeds.trust(MALLORY.key)
        take(store, make_signed(MALLORY, 1, updated=NOW + DAY, expires=NOW + 1))
        store.maintain(NOW + 2, 60)
        store.maintain(NOW + 3, DAY_S)
        assert store.feeds.floor(OPEN_FEED) == NOW + 3 - DAY


def test_versions_of_what_is_held_pass_below_the_floor_and_other_refusals_are_remembered() -> None:
    with memory_store(Limits(max_removed=0)) as store:
        take(store, make_signed(ALICE, 1, updated=NOW - 9), make_signed(BOB, 2, expires=NOW + 1))
        store.maintain(NOW + 2 * DAY, 60)
        store.maintain(NOW + 2 * DAY, 2 * DAY_S)
        assert store.feeds.floor(OPEN_FEED) == NOW + 1
        assert fates(store, make_signed(ALICE, 1, updated=NOW - 8)) == [Fate.REPLACED]
        known = store.known_sketch(OPEN_FEED).size
        assert fates(store, make_signed(ALICE, 3)) == [Fate.REFUSED]
        assert store.known_sketch(OPEN_FEED).size == known + 1


# -- the car park


def test_one_neighbour_does_not_hold_the_car_park() -> None:
    with memory_store(Limits(max_parked=5, max_parked_per_source=3)) as store:
        far = [make_signed(MALLORY, number, updated=NOW + 3_000 * DAY) for number in range(4)]
        assert fates(store, *far) == [Fate.PARKED] * 3 + [Fate.REFUSED]
        assert fates(store, make_signed(ALICE, 50, updated=NOW + 2 * DAY), source=2) == [Fate.PARKED]


def test_when_the_car_park_is_full_what_has_longest_to_wait_leaves_it() -> None:
    with memory_store(Limits(max_parked=2)) as store:
        far, farther = (make_signed(MALLORY, days, updated=NOW + days * DAY) for days in (500, 900))
        near = make_signed(ALICE, 3, updated=NOW + 3 * DAY)
        assert fates(store, far, farther, near) == [Fate.PARKED] * 3
        assert store.parked() == [make_entry(ALICE, 3).key, make_entry(MALLORY, 500).key]
        assert store.ledger.of("urn:example:entry:900")[-1].event is Event.REFUSED
        assert fates(store, farther) == [Fate.REFUSED]


def test_what_is_parked_counts_once_against_what_a_neighbour_may_bring() -> None:
    with memory_store(Limits(peer_day_entries=1)) as store:
        ahead = [make_signed(ALICE, number, updated=NOW + 2 * DAY) for number in range(2)]
        assert fates(store, *ahead, ahead[0]) == [Fate.PARKED, Fate.REFUSED, Fate.PARKED]
        assert fates(store, make_signed(BOB, 7, updated=NOW + DAY), at=NOW + DAY) == [Fate.STORED]
        assert [outcome.fate for outcome in store.maintain(NOW + DAY, 60)] == [Fate.STORED]


# -- names


def test_what_is_refused_leaves_no_names_behind() -> None:
    with memory_store(Limits(peer_day_entries=1)) as store:
        batch = [
            make_signed(
                author(1_000 + number), number, feed=f"urn:example:{number}", attributes={f"a{number}": 1}
            )
            for number in range(20)
        ]
        assert fates(store, *batch).count(Fate.REFUSED) == 19
        assert (count(store, "feeds"), count(store, "authors")) == (1, 1)
        assert count(store, "attribute_names") == 2  # one, and that of categories


def test_names_go_with_the_last_entry_that_bears_them() -> None:
    with memory_store(Limits(max_removed=0)) as store:
        take(store, make_signed(BOB, 1, feed=OTHER, attributes={"genre": "jazz"}, expires=NOW + 1))
        take(store, make_signed(ALICE, 2))
        store.maintain(NOW + 2, 60)
        store.maintain(NOW + 3, DAY_S // 2)
        assert (count(store, "feeds"), count(store, "authors")) == (2, 2)
        store.maintain(NOW + 3, DAY_S // 2 - 60)
        store.maintain(NOW + 3, 60)
        assert count(store, "authors") == 1
        assert count(store, "attribute_names") == 1
        assert held(store) == [2]
        assert fates(store, make_signed(MALLORY, 5, feed=FeedId("urn:example:new"))) == [Fate.STORED]
        assert store.problems() == []


def test_feeds_are_bounded_but_for_those_somebody_here_subscribes_to() -> None:
    with memory_store(Limits(max_feeds=3)) as store:
        feeds = [FeedId(f"urn:example:{number}") for number in range(5)]
        batch = [make_signed(BOB, number, feed=feed) for number, feed in enumerate(feeds)]
        assert fates(store, *batch) == [Fate.STORED] * 3 + [Fate.REFUSED] * 2
        store.subscriptions.add(Subscription(0, "jukebox", feeds[4]))
        assert fates(store, *batch[3:]) == [Fate.REFUSED, Fate.STORED]


def test_of_the_feeds_that_were_only_described_the_newest_are_kept() -> None:
    with memory_store(Limits(max_discovered=5)) as store:
        take(store, make_signed(BOB, 1))
        for number in range(200):
            described = FeedId(f"urn:example:{number:03}")
            store.feeds.put_descriptor(make_descriptor(author(number), described))
            assert store.usage().feeds <= 1 + 5 + 64
        store.maintain(NOW, 60)
        kept = [row.id for row in store.feeds.rows()]
        assert kept == [*(f"urn:example:{number}" for number in range(195, 200)), OPEN_FEED]
        assert count(store, "authors") == 6


def test_the_bytes_of_descriptors_are_bounded() -> None:
    with memory_store(Limits(max_discovered_bytes=300_000)) as store:
        for number in range(10):
            described = FeedId(f"urn:example:{number}")
            store.feeds.put_descriptor(make_descriptor(ALICE, described, subtitle=Text("x" * 100_000)))
        store.maintain(NOW, 60)
        assert [row.id for row in store.feeds.rows()] == ["urn:example:8", "urn:example:9"]


def test_refusals_and_the_ledger_are_bounded_without_housekeeping() -> None:
    with memory_store(Limits(max_known_versions=10, max_ledger_rows=10)) as store:
        take(store, make_signed(ALICE, 1))
        store.feeds.block(MALLORY.key)
        for start in range(0, 200, 50):
            take(store, *(make_signed(MALLORY, start + number) for number in range(50)))
        assert count(store, "known_versions") <= 10
        assert count(store, "ledger") <= 10
