"""A store at rest: housekeeping is left out until something is written or a moment comes, and not longer."""

import pytest

from contentdb.housekeeping import LONGEST_S
from contentdb.intake import Fate
from contentdb.settings import DAY_S
from contentdb.store import Store
from tests.contentdb.makers import DAY, NOW, SECOND, author, make_entry, make_signed, memory_store, take

ALICE, BOB = author(1), author(2)
MINUTE = 60 * SECOND


def statements(store: Store, at: int, ran_s: int = 60) -> list[str]:
    """What one housekeeping asks of SQLite."""
    said: list[str] = []
    connection = store._database.connection
    connection.set_trace_callback(said.append)
    store.maintain(at, ran_s)
    connection.set_trace_callback(None)
    return said


def is_resting(store: Store, at: int, ran_s: int = 60) -> bool:
    return len(statements(store, at, ran_s)) == 1


def at_rest() -> Store:
    store = memory_store()
    take(store, make_signed(ALICE, expires=NOW + DAY), make_signed(BOB, 2))
    store.maintain(NOW, 60)
    store.maintain(NOW, 60)
    return store


def test_a_store_at_rest_writes_its_running_time_and_does_nothing_else() -> None:
    with at_rest() as store:
        before = store.retention.running_s
        (said,) = statements(store, NOW + MINUTE)
        assert "meta" in said
        assert is_resting(store, NOW + 2 * MINUTE)
        assert int(store._database.meta("running_s") or 0) == before + 120


def test_an_empty_store_is_seen_to_be_empty_and_left_alone() -> None:
    with memory_store() as store:
        assert len(statements(store, NOW)) <= 3
        assert store.retention.running_s == 60
        take(store, make_signed(ALICE))
        assert len(statements(store, NOW)) > 3


def test_whatever_is_written_ends_the_rest() -> None:
    with at_rest() as store:
        store.pin(make_entry(ALICE).key)
        assert not is_resting(store, NOW)
        assert is_resting(store, NOW)
        take(store, make_signed(BOB, 3))
        assert not is_resting(store, NOW)


def test_an_entry_that_expires_is_marked_then_deleted_in_time() -> None:
    with at_rest() as store:
        assert is_resting(store, NOW + DAY - 1)
        assert not is_resting(store, NOW + DAY)  # marks it
        assert not is_resting(store, NOW + DAY)  # sees that nothing is left to do
        assert is_resting(store, NOW + DAY)
        for _ in range(DAY_S // LONGEST_S):
            assert store.entry(make_entry(ALICE).key) is not None
            store.maintain(NOW + 2 * DAY, LONGEST_S)
        assert store.entry(make_entry(ALICE).key) is None


def test_a_clock_that_is_set_back_ends_the_rest() -> None:
    with at_rest() as store:
        for _ in range(3):
            store.maintain(NOW + 2 * DAY, 60)
        assert is_resting(store, NOW + 2 * DAY)
        assert not is_resting(store, NOW)  # and the mark is taken back
        store.maintain(NOW, 2 * DAY_S)
        assert store.entry(make_entry(ALICE).key) is not None


def test_what_is_parked_leaves_at_its_time_also_from_a_store_at_rest() -> None:
    with memory_store() as store:
        assert take(store, make_signed(ALICE, updated=NOW + 3 * DAY))[0].fate is Fate.PARKED
        for _ in range(2):
            store.maintain(NOW, 60)
        assert is_resting(store, NOW + DAY)
        (outcome,) = store.maintain(NOW + 2 * DAY, 60)
        assert outcome.fate is Fate.STORED


def test_with_an_entry_ahead_of_the_clock_there_is_no_rest() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, updated=NOW + MINUTE))
        assert not any(is_resting(store, NOW) for _ in range(3))
        store.maintain(NOW + MINUTE, 60)
        assert is_resting(store, NOW + MINUTE)


def test_the_longest_rest_is_an_hour_of_running() -> None:
    with at_rest() as store:
        assert not is_resting(store, NOW, LONGEST_S)
        assert is_resting(store, NOW, LONGEST_S - 1)


def test_a_rolled_back_transaction_counts_no_time_and_ends_the_rest() -> None:
    with at_rest() as store:
        before = store.retention.running_s
        with pytest.raises(KeyError), store.transaction():
            store.maintain(NOW, 60)
            raise KeyError
        assert not is_resting(store, NOW)
        assert store.retention.running_s == before + 60
