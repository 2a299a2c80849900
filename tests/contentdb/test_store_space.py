"""Space: caps hold, strangers push out only one another, own and pinned content stays."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.arrivals import verify_and_read
from contentdb.blobs import MemoryBlobs
from contentdb.errors import UsageError
from contentdb.identity import AuthorSecret
from contentdb.intake import Delivery, Fate
from contentdb.model import CHUNK_BYTES, Content, Enclosure, Signed
from contentdb.query import Selection
from contentdb.settings import DAY_S, Limits
from contentdb.store import Store
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    author,
    make_entry,
    make_signed,
    memory_store,
    owned_feed,
    take,
)

ALICE, BOB, MALLORY = author(1), author(2), author(66)


def large(writer: Any, number: int, size: int = 10_000, **fields: Any) -> Signed:
    return make_signed(writer, number, content=Content("text", "x" * size), **fields)


def held(store: Store) -> list[str]:
    return sorted(row.id.removeprefix("urn:example:entry:") for row in store.entries.select(Selection(NOW)))


def test_beyond_the_cap_the_oldest_go_first() -> None:
    with memory_store(Limits(max_bytes=52_000, max_feed_bytes=10**9, stranger_share=1)) as store:
        for number in range(6):
            take(store, large(ALICE, number, updated=NOW + number))
        assert held(store) == ["2", "3", "4", "5"]
        assert store.usage().used <= 52_000
        assert store.problems() == []


def test_expired_entries_go_before_anything_else() -> None:
    with memory_store(Limits(max_bytes=50_000, max_feed_bytes=10**9, stranger_share=1)) as store:
        take(store, large(ALICE, 0), large(ALICE, 1, updated=NOW + 9, expires=NOW + 10))
        take(store, *(large(ALICE, number, updated=NOW + 1) for number in (2, 3)), at=NOW + 20)
        take(store, large(ALICE, 4, updated=NOW + 2), at=NOW + 20)
        assert held(store) == ["0", "2", "3", "4"]


def test_a_feed_keeps_to_its_number_of_entries() -> None:
    with memory_store(Limits(max_feed_entries=10, stranger_share=1)) as store:
        for number in range(15):
            take(store, make_signed(ALICE, 100 + number, updated=NOW + number))
        assert held(store) == [str(100 + number) for number in range(5, 15)]


def test_own_content_is_never_evicted() -> None:
    with memory_store(Limits(max_bytes=52_000, max_feed_bytes=52_000, stranger_share=1)) as store:
        store.publish(large(ALICE, 1, updated=NOW - 9), NOW)
        for number in range(2, 12):
            take(store, large(BOB, number, updated=NOW + number))
        assert "1" in held(store)


def test_pinned_entries_and_feeds_are_never_evicted() -> None:
    with memory_store(Limits(max_bytes=52_000, max_feed_bytes=52_000, stranger_share=1)) as store:
        take(store, large(BOB, 1, updated=NOW - 9), large(BOB, 2, updated=NOW - 8, feed="urn:example:other"))
        store.pin(make_entry(BOB, 1).key)
        store.pin_feed("urn:example:other")  # type: ignore[arg-type]
        for number in range(3, 12):
            take(store, large(BOB, number, updated=NOW + number))
        assert {"1", "2"} <= set(held(store))
        store.pin(make_entry(BOB, 1).key, pinned=False)
        take(store, large(BOB, 12, updated=NOW + 12), large(BOB, 13, updated=NOW + 13))
        assert "1" not in held(store)


def test_what_was_evicted_is_not_fetched_again() -> None:
    with memory_store(Limits(max_bytes=25_000, max_feed_bytes=10**9, stranger_share=1)) as store:
        oldest = large(ALICE, 1)
        take(store, oldest)
        known = store.known_sketch(OPEN_FEED).size
        take(store, large(ALICE, 2, updated=NOW + 1), large(ALICE, 3, updated=NOW + 2))
        assert held(store) == ["2", "3"]
        assert [outcome.fate for outcome in take(store, oldest)] == [Fate.DUPLICATE]
        assert store.known_sketch(OPEN_FEED).size == known + 2
        assert store.held_sketch(OPEN_FEED, NOW).size == 2


def test_strangers_share_a_fifth_of_a_feed_and_push_out_one_another_only() -> None:
    limits = Limits(max_feed_entries=50)
    with memory_store(limits) as store:
        take(store, *(make_signed(ALICE, number, updated=NOW - DAY) for number in range(8)))
        store.maintain(NOW, 2 * DAY_S)  # Alice is nobody new any more
        flood = [
            make_signed(author(100 + number), 1_000 + number, updated=NOW + number) for number in range(60)
        ]
        for signed in flood:
            take(store, signed)
        mine = [name for name in held(store) if int(name) < 1_000]
        assert len(mine) == 8
        assert len(held(store)) - len(mine) == 10


def test_a_trusted_key_is_no_stranger() -> None:
    with memory_store(Limits(max_feed_entries=10)) as store:
        store.feeds.trust(BOB.key)
        take(store, *(make_signed(BOB, number) for number in range(5)))
        take(store, *(make_signed(MALLORY, 100 + number) for number in range(5)))
        assert len([name for name in held(store) if int(name) < 100]) == 5
        assert len([name for name in held(store) if int(name) >= 100]) == 2


def test_writers_of_an_owned_feed_are_no_strangers() -> None:
    with memory_store(Limits(max_feed_entries=10)) as store:
        take(store, *(make_signed(BOB, number, feed=owned_feed(BOB)) for number in range(6)))
        assert len(held(store)) == 6


def test_a_neighbour_brings_its_share_of_entries_and_bytes_and_no_more() -> None:
    with memory_store(Limits(peer_day_entries=3)) as store:
        flood = [make_signed(MALLORY, number) for number in range(5)]
        assert [outcome.fate for outcome in take(store, *flood, source=1)].count(Fate.REFUSED) == 2
        assert [outcome.fate for outcome in take(store, *flood[3:], source=2)] == [Fate.STORED, Fate.STORED]
        tomorrow = [make_signed(MALLORY, number) for number in range(10, 12)]
        assert [outcome.fate for outcome in take(store, *tomorrow, at=NOW + DAY)] == [
            Fate.STORED,
            Fate.STORED,
        ]
    with memory_store(Limits(peer_day_bytes=25_000)) as store:
        outcomes = take(store, *(large(MALLORY, number) for number in range(4)))
        assert [outcome.fate for outcome in outcomes].count(Fate.STORED) == 2
        assert "share for today" in outcomes[-1].reason


def test_what_a_neighbour_could_not_bring_today_is_welcome_tomorrow() -> None:
    with memory_store(Limits(peer_day_entries=1)) as store:
        take(store, make_signed(BOB, 1), make_signed(BOB, 2))
        assert [outcome.fate for outcome in take(store, make_signed(BOB, 2), at=NOW + DAY)] == [Fate.STORED]


def test_an_own_entry_that_does_not_fit_is_refused_and_nothing_is_lost() -> None:
    with memory_store(Limits(max_bytes=15_000)) as store:
        store.publish(large(ALICE, 1), NOW)
        with pytest.raises(UsageError, match="does not fit"):
            store.publish(large(ALICE, 2), NOW)
        assert held(store) == ["1"]
        assert store.problems() == []


def test_enclosures_that_no_entry_names_any_more_are_removed() -> None:
    with memory_store() as store:
        root, length = store.blobs.add_bytes(b"shared" * 10_000)
        file = Enclosure("a.bin", "application/octet-stream", length, root)
        store.publish(make_signed(ALICE, 1, enclosures=(file,)), NOW)
        store.publish(make_signed(ALICE, 2, enclosures=(file,)), NOW)
        store.publish(make_signed(ALICE, 1, retracted=True, updated=NOW + 1), NOW)
        assert store.blobs.roots() == [root]
        store.publish(make_signed(ALICE, 2, retracted=True, updated=NOW + 1), NOW)
        assert store.blobs.roots() == []


def test_a_new_version_with_the_same_file_keeps_its_bytes() -> None:
    with memory_store() as store:
        root, length = store.blobs.add_bytes(b"song" * 10_000)
        file = Enclosure("a.ogg", "audio/ogg", length, root)
        store.publish(make_signed(ALICE, 1, enclosures=(file,)), NOW)
        store.publish(make_signed(ALICE, 1, enclosures=(file,), updated=NOW + 1), NOW)
        assert store.blobs.is_complete(root)


def test_a_new_version_drops_the_part_of_a_file_that_was_fetched_for_the_old_one() -> None:
    sender = MemoryBlobs()
    root, length = sender.add_bytes(b"song" * 10_000)
    with memory_store() as store:
        take(store, make_signed(ALICE, enclosures=(Enclosure("a.ogg", "audio/ogg", length, root),)))
        store.blobs.begin(root, length)
        store.blobs.set_leaves(root, 1, sender.hashes(root, 1, 3)[0])
        store.blobs.write_chunk(root, 1, sender.read_chunk(root, 1))
        assert store.blobs.received(root) == CHUNK_BYTES
        take(store, make_signed(ALICE, updated=NOW + 1))
        assert store.blobs.roots() == []


STEP = st.tuples(
    st.integers(1, 4),  # author
    st.integers(0, 12),  # entry
    st.sampled_from([0, 1, 2, 3, 90]),  # days its version is ahead
    st.sampled_from(["take", "publish", "retract", "block", "unblock", "maintain", "restart"]),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=40))
def test_after_any_history_counts_and_sketches_agree_with_the_rows(
    steps: list[tuple[int, int, int, str]],
) -> None:
    limits = Limits(
        max_bytes=9_000, max_feed_entries=8, stranger_share=0.5, max_removed=4, max_known_versions=6
    )
    with memory_store(limits) as store:
        for moment, (writer, number, ahead, act) in enumerate(steps):
            _act(store, NOW + moment * DAY // 2, author(writer), number, ahead, act)
            _ = store.held_sketch(OPEN_FEED, NOW), store.known_sketch(OPEN_FEED)  # keeps them warm
        assert store.problems() == []
        warm = store.held_sketch(OPEN_FEED, NOW).fingerprint, store.known_sketch(OPEN_FEED).fingerprint
        store.feeds.knowledge.forget()
        cold = store.held_sketch(OPEN_FEED, NOW).fingerprint, store.known_sketch(OPEN_FEED).fingerprint
        assert warm == cold


def _act(store: Store, at: int, writer: AuthorSecret, number: int, ahead: int, act: str) -> None:
    if act in ("block", "unblock"):
        store.feeds.block(writer.key, blocked=act == "block")
    elif act == "maintain":
        store.maintain(at, DAY_S // 2)
    elif act == "restart":
        store.feeds.knowledge.forget()
    else:
        expires = NOW + (number + 1) * DAY if number % 2 else None
        signed = make_signed(
            writer, number, updated=NOW + ahead * DAY, retracted=act == "retract", expires=expires
        )
        store.take_in(verify_and_read([signed]), Delivery(at, own=act == "publish"))


def test_what_is_own_and_what_is_pinned_besides_are_told_apart() -> None:
    diary = owned_feed(BOB)
    with memory_store() as store:
        for number in (1, 2):
            store.publish(large(ALICE, number), NOW)
        take(store, *(large(BOB, number) for number in (3, 4)), large(BOB, 5, feed=diary))
        before = store.usage()
        assert before.own > 20_000 and before.pinned == 0 and before.entries == 5
        store.pin(make_entry(ALICE, 1).key)
        store.pin(make_entry(BOB, 3).key)
        one = store.usage()
        assert one.own == before.own and 10_000 < one.pinned < 12_000
        store.pin_feed(diary)
        assert 20_000 < store.usage().pinned < 24_000 and store.usage().own == before.own


def test_counting_what_is_kept_and_hidden_takes_no_longer_with_more_entries() -> None:
    def steps(entries: int) -> int:
        """Of SQLite's machine, in tens."""
        taken: list[None] = []
        with memory_store(Limits(stranger_share=1)) as store:
            take(store, *(make_signed(ALICE, number) for number in range(entries)))
            store.usage()
            with store.transaction() as connection:
                connection.set_progress_handler(lambda: taken.append(None), 10)
                store.usage()
                store.entries.hidden(NOW)
                connection.set_progress_handler(None, 10)
        return len(taken)

    assert steps(500) <= steps(20) + 2


def test_the_newest_of_all_feeds_come_first_however_many_newer_ones_are_hidden() -> None:
    with memory_store(Limits(stranger_share=1)) as store:
        take(store, *(make_signed(ALICE, number, updated=NOW - number) for number in range(8)))
        gone = (make_signed(BOB, 50 + n, updated=NOW + n, expires=NOW + 100) for n in range(30))
        take(store, *gone, make_signed(ALICE, 9, feed=owned_feed(ALICE), updated=NOW - 1))
        for limit in (1, 2, 5, 20):
            found = store.entries.select(Selection(NOW + 200, limit=limit))
            times = [row.updated - NOW for row in found]
            assert times == [0, -1, -1, -2, -3, -4, -5, -6, -7][:limit]
            assert len({row.key for row in found}) == len(found)
