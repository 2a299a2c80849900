"""What the store shows to neighbours, and that stores of the first schema learn to show it."""

import sqlite3
from pathlib import Path

from contentdb.database import FILE_NAME
from contentdb.migrations import FIRST, STEPS
from contentdb.model import Text
from contentdb.names import EntryId, FeedId
from contentdb.serving import IDS_PER_QUERY, Window
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
    take,
)

ALICE = author(1)


def window(store: Store, after: int = 0, at: int = NOW) -> Window:
    feed = store.serving.feed(OPEN_FEED)
    assert feed is not None
    return Window(feed.key, after, store.revision, at)


def test_an_offer_tells_how_long_the_signed_bytes_are() -> None:
    store = memory_store()
    batch = [make_signed(ALICE, number, title=Text("x" * number)) for number in range(1, 9)]
    take(store, *batch)
    offers = store.serving.gained(window(store), 100)
    assert [offer.size for offer in offers] == [len(signed.data) for signed in batch]
    assert store.serving.signed(offers) == [
        (signed.author, signed.signature, signed.data) for signed in batch
    ]


def test_what_was_replaced_after_it_was_offered_is_not_sent_in_its_place() -> None:
    store = memory_store()
    take(store, make_signed(ALICE, 1), make_signed(ALICE, 2))
    offers = store.serving.gained(window(store), 100)
    take(store, make_signed(ALICE, 1, updated=NOW + SECOND))
    assert store.serving.signed(offers) == [
        (kept.author, kept.signature, kept.data) for kept in [make_signed(ALICE, 2)]
    ]


def test_a_window_ends_where_it_says() -> None:
    store = memory_store()
    take(store, *(make_signed(ALICE, number) for number in range(6)))
    whole = store.serving.gained(window(store), 100)
    between = Window(window(store).feed, whole[1].revision, whole[3].revision, NOW)
    assert store.serving.gained(between, 100) == whole[2:4]
    assert store.serving.gained(window(store), 3) == whole[:3]
    assert store.serving.by_short_ids(between, [offer.short_id for offer in whole]) == whole[2:4]


def test_more_ids_than_one_query_takes_are_found() -> None:
    store = memory_store()
    take(store, *(make_signed(ALICE, number) for number in range(IDS_PER_QUERY + 20)))
    offers = store.serving.gained(window(store), 10_000)
    shuffled = [offer.short_id for offer in reversed(offers)]
    assert store.serving.by_short_ids(window(store), shuffled) == offers
    assert sorted(id.to_bytes(8, "big") for id in store.serving.held_ids(window(store).feed, NOW)) == sorted(
        shuffled
    )


def test_feeds_are_served_once_they_are_own_or_have_entries() -> None:
    store, heard = memory_store(), FeedId("urn:example:heard")
    store.feeds.put_descriptor(make_descriptor(ALICE, heard))
    assert store.serving.feed(heard) is None
    assert store.serving.listed("", 10, 1_000) == [] == store.serving.listed_ids(NOW)
    take(store, make_signed(ALICE, feed=heard))
    assert [id for id, *_ in store.serving.listed("", 10, 1_000)] == [heard]
    assert sorted(store.serving.listed_ids(NOW)) == [EntryId("urn:example:entry:1"), heard]


def test_a_store_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.executescript(f"{FIRST}; PRAGMA user_version = 1;")
    connection.close()
    with Store.open(tmp_path, entropy=entropy(1)) as store:
        take(store, make_signed(ALICE))
        assert len(store.serving.gained(window(store), 10)) == 1
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    connection.close()
