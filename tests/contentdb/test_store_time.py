"""Time and forgetting: expiry hides at once, deletion waits, and what is gone does not come back."""

from contentdb.intake import Fate
from contentdb.ledger import Event
from contentdb.model import Signed
from contentdb.query import Selection
from contentdb.settings import DAY_S, Limits
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    SECOND,
    author,
    make_entry,
    make_signed,
    memory_store,
    take,
)

ALICE, BOB = author(1), author(2)
MINUTE = 60 * SECOND


def visible(store: Store, at: int) -> int:
    return len(store.entries.select(Selection(at)))


def fate(store: Store, signed: Signed, at: int = NOW) -> Fate:
    return take(store, signed, at=at)[0].fate


def test_an_expired_entry_is_hidden_at_once_and_served_no_more() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + MINUTE))
        assert visible(store, NOW + MINUTE - 1) == 1
        assert visible(store, NOW + MINUTE) == 0
        assert store.entries.since(OPEN_FEED, 0, 10, NOW + MINUTE) == []


def test_an_expired_entry_is_deleted_after_a_day_of_running_and_not_before() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + MINUTE))
        store.maintain(NOW + 2 * MINUTE, 60)
        store.maintain(NOW + 3 * DAY, DAY_S - 1)
        assert store.entry(make_entry(ALICE).key) is not None
        store.maintain(NOW + 3 * DAY, 1)
        assert store.entry(make_entry(ALICE).key) is None
        assert store.ledger.of("urn:example:entry:1")[-1].event is Event.EXPIRED


def test_a_clock_that_jumps_ahead_and_back_destroys_nothing() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + 30 * DAY), make_signed(BOB, 2))
        for _ in range(3):
            store.maintain(NOW + 20 * 365 * DAY, 600)
            assert visible(store, NOW + 20 * 365 * DAY) == 1
        store.maintain(NOW, 60)
        store.maintain(NOW, 2 * DAY_S)
        assert visible(store, NOW) == 2


def test_own_entries_are_never_deleted_by_expiry_alone() -> None:
    with memory_store() as store:
        store.publish(make_signed(ALICE, expires=NOW + MINUTE), NOW)
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + 9 * DAY, 9 * DAY_S)
        assert store.entry(make_entry(ALICE).key) is not None


def test_a_pinned_entry_survives_its_expiry() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + MINUTE))
        store.pin(make_entry(ALICE).key)
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + 9 * DAY, 9 * DAY_S)
        assert store.entry(make_entry(ALICE).key) is not None


def test_what_was_deleted_does_not_come_back_in_the_same_or_an_older_version() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + MINUTE))
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + 2 * DAY, 2 * DAY_S)
        assert fate(store, make_signed(ALICE, expires=NOW + MINUTE)) is Fate.DUPLICATE
        assert fate(store, make_signed(ALICE, updated=NOW - 1)) is Fate.STALE
        assert visible(store, NOW) == 0
        assert fate(store, make_signed(ALICE, updated=NOW + 1)) is Fate.STORED


def test_when_the_memory_is_full_its_oldest_rows_become_the_floor_of_their_feed() -> None:
    with memory_store(Limits(max_removed=2)) as store:
        for number in range(4):
            take(store, make_signed(ALICE, number, updated=NOW + number, expires=NOW + MINUTE))
        assert store.feeds.floor(OPEN_FEED) is None
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + 2 * DAY, 2 * DAY_S)
        assert store.feeds.floor(OPEN_FEED) == NOW + 2
        # Forgotten, and below the floor; remembered, and above it; new, and above it.
        assert fate(store, make_signed(ALICE, 0, updated=NOW)) is Fate.REFUSED
        assert fate(store, make_signed(ALICE, 3, updated=NOW + 3, expires=NOW + MINUTE)) is Fate.DUPLICATE
        assert fate(store, make_signed(ALICE, 9, updated=NOW + 2)) is Fate.STORED


def test_own_entries_are_published_below_the_floor() -> None:
    with memory_store(Limits(max_removed=0)) as store:
        take(store, make_signed(BOB, expires=NOW + MINUTE))
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + 2 * DAY, 2 * DAY_S)
        assert store.publish(make_signed(ALICE, 7, updated=NOW - DAY), NOW).fate is Fate.STORED


def test_entries_far_older_than_the_newest_of_their_feed_go_after_a_day_of_running() -> None:
    with memory_store(Limits(max_feed_age_s=10 * DAY_S)) as store:
        take(
            store, make_signed(ALICE, 1, updated=NOW - 11 * DAY), make_signed(ALICE, 2, updated=NOW - 9 * DAY)
        )
        take(store, make_signed(ALICE, 3, updated=NOW))
        store.maintain(NOW, 60)
        assert visible(store, NOW) == 3
        store.maintain(NOW + DAY, DAY_S)
        assert [row.title for row in store.entries.select(Selection(NOW))] == ["Entry 3", "Entry 2"]


def test_a_clock_far_ahead_ages_nothing() -> None:
    with memory_store(Limits(max_feed_age_s=10 * DAY_S)) as store:
        take(store, make_signed(ALICE))
        store.maintain(NOW + 365 * DAY, 60)
        assert visible(store, NOW) == 1


def test_a_clock_that_jumps_destroys_nothing_even_if_something_newer_was_published_meanwhile() -> None:
    with memory_store() as store:
        take(store, *(make_signed(BOB, number, updated=NOW - number) for number in range(1, 6)))
        later = NOW + 2 * 366 * DAY
        store.publish(make_signed(ALICE, 9, updated=later), later)
        store.maintain(later, 600)
        store.maintain(NOW, 60)
        store.maintain(NOW, 2 * DAY_S)
        assert visible(store, NOW) == 6


def test_a_parked_entry_of_a_far_year_does_not_age_its_feed_when_the_clock_jumps() -> None:
    with memory_store() as store:
        take(store, make_signed(BOB, 1), make_signed(ALICE, 2, updated=NOW + 3 * 365 * DAY))
        for _ in range(2):
            store.maintain(NOW + 5 * 365 * DAY, 600)
        store.maintain(NOW, 2 * DAY_S)
        assert store.entry(make_entry(BOB, 1).key) is not None


def test_delivery_marks_outlive_the_entry() -> None:
    with memory_store() as store:
        subscription = store.subscriptions.add(Subscription(0, "jukebox", OPEN_FEED))
        (outcome,) = take(store, make_signed(ALICE, expires=NOW + MINUTE))
        row = store.entries.row(outcome.key)
        assert row is not None
        store.subscriptions.mark_delivered(subscription.key, [(row.key, row.version)])
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + 2 * DAY, 2 * DAY_S)
        assert store.subscriptions.delivered([(subscription.key, row.key)]) == {
            (subscription.key, row.key): row.version
        }


def test_housekeeping_keeps_the_newest_lines_of_the_ledger() -> None:
    with memory_store(Limits(max_ledger_rows=3)) as store:
        take(store, *(make_signed(ALICE, number) for number in range(5)))
        store.maintain(NOW, 60)
        known = [number for number in range(5) if store.ledger.of(f"urn:example:entry:{number}")]
        assert known == [2, 3, 4]
