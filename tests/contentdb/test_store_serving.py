"""What the store gives out, to neighbours and to apps: by short id, by subscription, by name, by chunk."""

from collections.abc import Iterator

import pytest

from contentdb.arrivals import read_verified
from contentdb.blobs import MemoryBlobs
from contentdb.errors import UsageError
from contentdb.intake import Fate
from contentdb.ledger import MAX_TELLERS, Event, Happening
from contentdb.model import Enclosure, Text
from contentdb.names import Address, FeedId, Root
from contentdb.query import EntryRow, Selection
from contentdb.rows import version_of
from contentdb.selector import parse
from contentdb.settings import Limits
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    SECOND,
    author,
    make_descriptor,
    make_signed,
    memory_store,
    node,
    take,
)

ALICE, BOB = author(1), author(2)


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store() as store:
        yield store


def short_id(store: Store, number: int) -> int:
    (row,) = store.entries.find(f"urn:example:entry:{number}")
    return int.from_bytes(row.version[:8], "big")


def numbers(rows: list[EntryRow]) -> list[int]:
    return [int(row.id.rpartition(":")[2]) for row in rows]


# -- short ids and sketches


def test_short_ids_of_a_sketch_name_the_entries_of_their_feed(store: Store) -> None:
    take(store, *(make_signed(ALICE, number) for number in range(20)))
    take(store, make_signed(ALICE, 99, feed=FeedId("urn:example:other")))
    wanted = [short_id(store, number) for number in (3, 7, 99)]
    assert any(value >= 2**63 for value in [short_id(store, number) for number in range(20)])
    assert numbers(store.entries.by_short_ids(OPEN_FEED, [*wanted, 12345], NOW)) == [3, 7]
    assert store.entries.by_short_ids(FeedId("urn:example:nobody"), wanted, NOW) == []


def test_tombstones_are_served_by_short_id_and_what_they_retracted_is_not(store: Store) -> None:
    take(store, make_signed(ALICE))
    old = short_id(store, 1)
    tombstone = make_signed(ALICE, updated=NOW + 1, retracted=True)
    take(store, tombstone)
    new = int.from_bytes(version_of(tombstone.data)[:8], "big")
    assert [row.updated for row in store.entries.by_short_ids(OPEN_FEED, [old, new], NOW)] == [NOW + 1]


def test_an_expired_entry_is_served_neither_by_short_id_nor_in_a_sketch(store: Store) -> None:
    take(store, make_signed(ALICE, 1, expires=NOW + SECOND), make_signed(ALICE, 2))
    ids = [short_id(store, 1), short_id(store, 2)]
    assert store.held_sketch(OPEN_FEED, NOW).size == 2
    later = NOW + SECOND
    assert numbers(store.entries.by_short_ids(OPEN_FEED, ids, later)) == [2]
    assert store.held_sketch(OPEN_FEED, later).size == 1
    assert store.known_sketch(OPEN_FEED).size == 2  # it is not asked for again
    assert store.held_sketch(OPEN_FEED, NOW).size == 2  # and is back if the clock goes back


def test_an_expired_entry_is_still_found_by_its_id(store: Store) -> None:
    store.publish(make_signed(ALICE, expires=NOW + SECOND), NOW)
    assert numbers(store.entries.find("urn:example:entry:1")) == [1]
    assert store.entries.select(Selection(NOW + DAY)) == []


def test_a_descriptor_leaves_the_sketches_of_all_feeds_as_they_are(store: Store) -> None:
    take(store, *(make_signed(ALICE, number) for number in range(5)))
    warm = store.held_sketch(OPEN_FEED, NOW)
    store.feeds.put_descriptor(make_descriptor(BOB, FeedId("urn:example:other")))
    store.feeds.put_descriptor(make_descriptor(ALICE))
    assert store.held_sketch(OPEN_FEED, NOW) is warm


def test_a_selector_over_feeds_sees_the_time_of_the_newest_entry_held(store: Store) -> None:
    store.feeds.put_descriptor(make_descriptor(ALICE, updated=NOW + 77))
    take(store, make_signed(ALICE, updated=NOW + 9))
    (row,) = store.feeds.rows()
    assert row.feed is not None
    assert parse(f"updated = {NOW + 9}").evaluate(row.feed.selectable(row.updated)) is True
    assert parse(f"updated = {NOW + 77}").evaluate(row.feed.selectable(row.updated)) is False


# -- subscriptions


def subscribe(store: Store, **options: int | str | None) -> Subscription:
    return store.subscriptions.add(Subscription(0, "app", OPEN_FEED, **options))  # type: ignore[arg-type]


def undelivered(store: Store, subscription: Subscription, at: int = NOW) -> list[int]:
    return numbers(list(store.entries.undelivered(subscription, at, parse(subscription.selector))))


def test_what_was_not_delivered_comes_oldest_first_until_it_is_marked(store: Store) -> None:
    take(store, *(make_signed(ALICE, n, updated=NOW - n, attributes={"n": n}) for n in range(5)))
    subscription = subscribe(store, selector="n < 4")
    assert undelivered(store, subscription) == [3, 2, 1, 0]
    rows = list(store.entries.undelivered(subscription, NOW, parse("n < 4")))
    store.subscriptions.mark_delivered(subscription.key, [(row.key, row.version) for row in rows[:2]])
    assert undelivered(store, subscription) == [1, 0]


def test_a_new_version_is_delivered_again(store: Store) -> None:
    take(store, make_signed(ALICE))
    subscription = subscribe(store)
    (row,) = store.entries.undelivered(subscription, NOW, parse(""))
    store.subscriptions.mark_delivered(subscription.key, [(row.key, row.version)])
    assert undelivered(store, subscription) == []
    take(store, make_signed(ALICE, updated=NOW + 1, title=Text("changed")))
    assert undelivered(store, subscription) == [1]


def test_a_subscription_is_given_nothing_older_than_it_wants(store: Store) -> None:
    take(store, *(make_signed(ALICE, n, updated=NOW - n * SECOND) for n in range(5)))
    assert undelivered(store, subscribe(store, max_age_s=2)) == [2, 1, 0]
    assert undelivered(store, subscribe(store, max_age_s=2), NOW + SECOND) == [1, 0]


def test_a_subscription_is_given_only_so_many_and_the_newest(store: Store) -> None:
    take(store, *(make_signed(ALICE, n, updated=NOW - n) for n in range(5)))
    subscription = subscribe(store, max_count=2)
    (older, _newer) = store.entries.undelivered(subscription, NOW, parse(""))
    assert undelivered(store, subscription) == [1, 0]
    store.subscriptions.mark_delivered(subscription.key, [(older.key, older.version)])
    assert undelivered(store, subscription) == [0]  # what is older does not move up


@pytest.mark.parametrize(
    ("files", "wanted"), [("all", [0, 1000, 1001]), ("none", []), ("max=1000", [0, 1000]), ("max=0", [0])]
)
def test_a_subscription_says_which_files_it_wants(files: str, wanted: list[int]) -> None:
    subscription = Subscription(1, "app", OPEN_FEED, files=files)
    assert [length for length in (0, 1000, 1001) if subscription.wants_file(length)] == wanted


def test_a_mark_that_comes_too_late_hides_nothing_from_the_next_subscription(store: Store) -> None:
    take(store, make_signed(ALICE))
    old = subscribe(store)
    (row,) = store.entries.undelivered(old, NOW, parse(""))
    store.subscriptions.remove(old.key)
    new = subscribe(store)
    store.subscriptions.mark_delivered(old.key, [(row.key, row.version)])
    assert new.key != old.key and undelivered(store, new) == [1]
    assert store.subscriptions.delivered([(old.key, row.key)]) == {}


def test_an_app_with_all_the_subscriptions_it_may_have_can_renew_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentdb.subscriptions.MAX_PER_APP", 2)
    subscribe(store)
    subscribe(store, selector="a = 1")
    assert subscribe(store, files="none").files == "none"
    with pytest.raises(UsageError, match="most allowed"):
        subscribe(store, selector="a = 2")


# -- contact history


def test_contact_history_remembers_when_where_and_how_far_we_synchronised(store: Store) -> None:
    store.peers.met(node(1), NOW, Address("ip:10.0.0.1:4747"))
    store.peers.synchronised(node(1), epoch="ab" * 8, revision=7, subscriptions=3, at=NOW + 5)
    store.peers.met(node(1), NOW + 2)  # told late: neither the time nor the address goes back
    peer = store.peers.get(node(1))
    assert peer is not None and (peer.epoch, peer.revision, peer.subscriptions) == ("ab" * 8, 7, 3)
    assert (peer.first_seen_at, peer.last_seen_at, peer.address) == (NOW, NOW + 5, "ip:10.0.0.1:4747")
    assert store.peers.get(node(2)) is None


def test_peers_are_listed_by_the_last_meeting_and_those_met_longest_ago_are_forgotten() -> None:
    with memory_store(Limits(max_peers=2)) as store:
        for number in (1, 2, 3):
            store.peers.met(node(number), NOW + number)
        assert [peer.node for peer in store.peers.all()] == [node(3), node(2), node(1)]
        store.maintain(NOW + 10, 60)
        assert [peer.node for peer in store.peers.all()] == [node(3), node(2)]


def test_a_forgotten_peer_that_returns_is_met_and_delivers_again() -> None:
    with memory_store(Limits(max_peers=1)) as store:
        take(store, make_signed(BOB, 1), source=1)
        store.peers.met(node(2), NOW + 10)
        store.maintain(NOW + 20, 60)
        store.peers.synchronised(node(1), epoch="e", revision=1, at=NOW + 21)
        returned = store.peers.get(node(1))
        assert returned is not None and returned.revision == 1
        assert take(store, make_signed(BOB, 2), source=1)[0].fate is Fate.STORED


def test_no_peer_inherits_what_a_forgotten_one_brought() -> None:
    with memory_store(Limits(max_peers=1)) as store:
        store.peers.met(node(2), NOW + 100)
        take(store, make_signed(BOB, 1), source=1)
        store.maintain(NOW + 20, 60)
        store.peers.met(node(3), NOW + 200)
        with store.transaction() as connection:
            sources = connection.execute("SELECT p.node FROM entries e JOIN peers p ON p.key = e.source")
            assert sources.fetchall() == []


# -- the ledger


def test_of_a_long_story_the_ledger_tells_the_end(store: Store) -> None:
    for at in range(300):
        store.ledger.note(Happening("urn:e", at, Event.REFUSED, f"reason {at % 2}"))
    store.ledger.note(Happening("urn:e", 300, Event.RECEIVED, ""))
    told = store.ledger.of("urn:e")
    assert [happening.at for happening in told] == list(range(101, 301))
    assert told[-1].event is Event.RECEIVED


def test_of_what_is_renewed_there_is_one_line_for_each_neighbour(store: Store) -> None:
    for at in range(10):
        for who in ("bob", "bobby"):
            store.ledger.renew([Happening("urn:e", at, Event.OFFERED, who)])
        store.ledger.renew([Happening("urn:e", at, Event.WITHHELD, f"bob {at} genre = 'jazz'")])
    assert [(h.at, h.event.value, h.detail) for h in store.ledger.of("urn:e")] == [
        (9, "offered", "bob"), (9, "offered", "bobby"), (9, "withheld", "bob 9 genre = 'jazz'")
    ]  # fmt: skip
    store.ledger.strike("urn:e", Event.OFFERED, "bob")
    assert [h.detail.split()[0] for h in store.ledger.of("urn:e")] == ["bobby", "bob"]


def test_neighbours_without_number_do_not_fill_the_ledger(store: Store) -> None:
    for number in range(100):
        store.ledger.renew([Happening("urn:e", number, Event.OFFERED, f"node{number}")])
    assert [h.at for h in store.ledger.of("urn:e")] == list(range(100 - MAX_TELLERS, 100))


# -- enclosures


def offer(data: bytes) -> tuple[MemoryBlobs, Root, int]:
    blobs = MemoryBlobs()
    return blobs, *blobs.add_bytes(data)


def test_an_enclosure_is_begun_once_an_entry_names_it_and_is_complete_with_its_last_chunk(
    store: Store,
) -> None:
    blobs, root, length = offer(b"a" * 50_000)
    with pytest.raises(UsageError, match="no entry here has"):
        store.begin_enclosure(root, length)
    take(store, make_signed(ALICE, enclosures=(Enclosure("x", "a/b", length, root),)))
    assert not store.begin_enclosure(root, length)
    store.blobs.set_leaves(root, 1, blobs.leaves(root, 1, 4))
    done = [store.blobs.write_chunk(root, index, blobs.read_chunk(root, index)) for index in (1, 2, 3, 4)]
    assert done == [False, False, False, True] and store.begin_enclosure(root, length)


@pytest.mark.parametrize("claimed", [20_000, 50_001, 200_000])
def test_a_wrong_length_under_the_same_root_stops_no_download(store: Store, claimed: int) -> None:
    _blobs, root, length = offer(b"a" * 50_000)
    take(store, make_signed(BOB, 1, enclosures=(Enclosure("x", "a/b", claimed, root),)))
    take(store, make_signed(ALICE, 2, enclosures=(Enclosure("x", "a/b", length, root),)))
    assert not store.begin_enclosure(root, claimed)
    assert not store.begin_enclosure(root, length)
    assert store.blobs.length(root) == length
    with pytest.raises(UsageError, match="of 49999 bytes"):
        store.begin_enclosure(root, 49_999)


# -- publishing


def test_several_entries_are_published_together(store: Store) -> None:
    outcomes = store.publish_many(read_verified([make_signed(ALICE, number) for number in range(3)]), NOW)
    assert [outcome.fate for outcome in outcomes] == [Fate.STORED] * 3
    assert [row.own for row in store.entries.select(Selection(NOW))] == [1, 1, 1]


def test_of_several_entries_all_are_published_or_none(store: Store) -> None:
    store.publish(make_signed(ALICE, 1), NOW)
    with pytest.raises(UsageError, match="duplicate"):
        store.publish_many(read_verified([make_signed(ALICE, 2), make_signed(ALICE, 1)]), NOW)
    assert numbers(store.entries.select(Selection(NOW))) == [1] and store.revision == 1


def test_publishing_into_a_store_with_room_reads_no_other_entry(store: Store) -> None:
    take(store, *(make_signed(BOB, number) for number in range(50)))
    steps = []
    with store.transaction() as connection:
        pass
    connection.set_progress_handler(lambda: steps.append(1), 10)  # every ten steps of SQLite's machine
    store.ensure_room(0)
    connection.set_progress_handler(None, 0)
    assert len(steps) < 10


def test_many_rows_are_looked_up_in_the_order_they_are_asked_for(store: Store) -> None:
    take(store, *[make_signed(ALICE, number) for number in range(120)])
    keys = [row.key for row in store.entries.since(OPEN_FEED, 0, 200, NOW)]
    asked = [*reversed(keys), 9_999]
    assert [row.key for row in store.entries.rows(asked)] == asked[:-1]


def test_marks_of_many_rows_are_looked_up_at_once(store: Store) -> None:
    wanted = store.subscriptions.add(Subscription(0, "quiz", OPEN_FEED))
    take(store, *[make_signed(ALICE, number) for number in range(120)])
    rows = store.entries.since(OPEN_FEED, 0, 200, NOW)
    marks = [(row.key, row.version) for row in rows[::2]]
    store.subscriptions.mark_delivered(wanted.key, marks)
    pairs = [(wanted.key, row.key) for row in rows]
    assert store.subscriptions.delivered(pairs) == {(wanted.key, key): version for key, version in marks}
