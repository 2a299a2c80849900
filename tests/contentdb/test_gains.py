"""The last gains of a store, by which a neighbour sees that it knows them all."""

import os
from pathlib import Path

import pytest

from contentdb.arrivals import verify_and_read
from contentdb.errors import StoreError
from contentdb.gains import feed_tag
from contentdb.identity import AuthorSecret
from contentdb.intake import Delivery
from contentdb.library import Attachment, Draft, FeedDraft, Library
from contentdb.model import Enclosure
from contentdb.names import FeedId, Root
from contentdb.rows import version_of
from contentdb.store import Store

AT = 1_790_000_000_000


def library(store: Store) -> Library:
    return Library(store, AuthorSecret.generate(os.urandom), entropy=os.urandom, name="Ada")


def copy(source: Store, target: Store, feed: FeedId, *, newest_first: bool = False) -> None:
    descriptor = source.feeds.descriptor(feed)
    assert descriptor is not None
    target.feeds.put_descriptor(descriptor)
    signed = [each for _, each in source.entries.signed(source.entries.keys(feed, AT + 9, tombstones=True))]
    target.take_in(
        verify_and_read(signed[::-1] if newest_first else signed), Delivery(at=AT + 9, source=None)
    )


@pytest.fixture
def ada() -> Store:
    return Store.open(None, entropy=os.urandom)


@pytest.fixture
def ben() -> Store:
    return Store.open(None, entropy=os.urandom)


def test_each_revision_is_one_gain_under_the_short_id_that_others_know_it_by(ada: Store, ben: Store) -> None:
    feed = library(ada).create_feed(FeedDraft("news"), AT)
    entry = library(ada).publish(feed.id, Draft("one"), AT)
    row = ada.entries.by_key(entry.key)
    descriptor = ada.feeds.descriptor(feed.id)
    assert row is not None and descriptor is not None
    assert ada.gains.recent() == (version_of(descriptor.data).hex()[:16], row.version.hex()[:16])
    assert len(ada.gains.recent()) == ada.revision
    assert not ben.gains.has_seen(ada.gains.recent()[:1]) and not ben.gains.has_seen(ada.gains.recent()[1:])
    assert not ben.gains.has_seen_any(ada.gains.recent()) and not ben.gains.has_seen_any(())
    copy(ada, ben, feed.id)
    assert ben.gains.has_seen(ada.gains.recent()) and ben.gains.has_seen(())
    other = "0123456789abcdef"
    assert not ben.gains.has_seen((*ada.gains.recent(), other))
    assert ben.gains.has_seen_any((ada.gains.recent()[0], other)) and not ben.gains.has_seen_any((other,))


def test_only_the_last_are_kept(ada: Store) -> None:
    author = library(ada)
    feed = author.create_feed(FeedDraft("news"), AT)
    for number in range(20):
        author.publish(feed.id, Draft(f"news {number}"), AT)
    assert len(ada.gains.recent()) == 16 and ada.revision == 21


def test_a_file_is_a_gain_that_whoever_names_it_knows(ada: Store, ben: Store) -> None:
    author = library(ada)
    feed = author.create_feed(FeedDraft("songs"), AT)
    entry = author.publish(feed.id, Draft("song", files=(Attachment("a.bin", b"x" * 40_000),)), AT)
    (enclosure,) = entry.enclosures
    assert isinstance(enclosure, Enclosure)
    before = ada.revision
    ada.gained(enclosure.root)
    assert (ada.revision, ada.gains.recent()[-1]) == (before + 1, enclosure.root[:16])
    assert not ben.gains.has_seen(ada.gains.recent()[-1:])
    copy(ada, ben, feed.id)
    assert ben.gains.has_seen(ada.gains.recent()[-1:])
    assert not ben.gains.has_seen((Root("f" * 64)[:16],))


def test_what_was_held_and_is_gone_is_known_still(ada: Store, ben: Store) -> None:
    author = library(ada)
    feed = author.create_feed(FeedDraft("news"), AT)
    first = author.publish(feed.id, Draft("one"), AT)
    copy(ada, ben, feed.id)
    told = ada.gains.recent()
    author.publish(feed.id, Draft("one, corrected", id=first.id), AT + 5)
    copy(ada, ben, feed.id)
    assert ben.gains.has_seen(told) and ben.gains.has_seen(ada.gains.recent())


def test_what_was_rolled_back_was_not_gained(ada: Store) -> None:
    feed = library(ada).create_feed(FeedDraft("news"), AT)
    with pytest.raises(StoreError), ada.transaction():
        library(ada).publish(feed.id, Draft("one"), AT)
        raise StoreError("no room")
    assert (ada.revision, ada.gains.recent()) == (1, ())


def test_what_came_to_two_is_the_same_in_whatever_order_and_among_what_else(ada: Store, ben: Store) -> None:
    author = library(ada)
    feed = author.create_feed(FeedDraft("news"), AT)
    library(ben).create_feed(FeedDraft("before"), AT)
    before = ada.gains.sum
    for number in range(20):
        author.publish(feed.id, Draft(f"news {number}"), AT)
    copy(ada, ben, feed.id, newest_first=True)
    assert ben.gains.came_together(20, before, ada.gains.sum)
    library(ben).create_feed(FeedDraft("after"), AT)
    assert ben.gains.came_together(20, before, ada.gains.sum)
    for count in (0, 1, 19, 21, 2000):
        assert not ben.gains.came_together(count, before, ada.gains.sum)
    author.publish(feed.id, Draft("and one more"), AT)
    assert not ben.gains.came_together(21, before, ada.gains.sum)


def test_a_gain_has_the_tag_of_its_feed_and_a_file_has_none(ada: Store) -> None:
    one, two = (library(ada).create_feed(FeedDraft(title), AT) for title in ("one", "two"))
    library(ada).publish(one.id, Draft("news"), AT)
    ada.gained(Root("f" * 64))
    assert ada.gains.recent_tags() == (feed_tag(one.id), feed_tag(two.id), feed_tag(one.id), "00")
    assert ada.gains.recent_tags(1) == ("00",)
    # As in docs/protocol/hello-v1.md.
    assert feed_tag(FeedId("urn:example:street-music")) == "7f"
    assert all(feed_tag(FeedId(f"urn:example:{number}")) != "00" for number in range(2_000))


def test_a_sum_knows_nothing_of_what_was_rolled_back(ada: Store) -> None:
    feed = library(ada).create_feed(FeedDraft("news"), AT)
    before = ada.gains.sum
    with pytest.raises(StoreError), ada.transaction():
        library(ada).publish(feed.id, Draft("one"), AT)
        raise StoreError("no room")
    assert ada.gains.sum == before != "0" * 16


def test_a_store_that_is_opened_again_names_only_what_comes_from_then_on(tmp_path: Path) -> None:
    with Store.open(tmp_path, entropy=os.urandom) as store:
        feed = library(store).create_feed(FeedDraft("news"), AT)
        told = store.gains.sum
    with Store.open(tmp_path, entropy=os.urandom) as store:
        assert store.gains.recent() == () and store.gains.sum == told
        library(store).publish(feed.id, Draft("one"), AT)
        assert len(store.gains.recent()) == 1 and store.revision == 2
