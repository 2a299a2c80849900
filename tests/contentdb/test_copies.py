"""Two people take over the same web feed: a reader sees each entry once, and no stranger hides one."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.copies import MAX_COMPARED, origin_of
from contentdb.feeds import Feeds
from contentdb.identity import AuthorSecret
from contentdb.model import Signed, Source, Text
from contentdb.names import AuthorKey
from contentdb.query import Selection
from contentdb.selector import parse
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
    take,
)

EARLY, LATE, READER = author(1), author(2), author(3)
BLOG = Source(id="https://blog.example/", title=Text("Blog"))


def copy(writer: AuthorSecret, number: int = 1, **fields: Any) -> Signed:
    return make_signed(writer, number, **({"source": BLOG} | fields))


def listed(store: Store, where: str = "", at: int = NOW) -> list[AuthorKey]:
    return [row.author for row in store.entries.select(Selection(at, OPEN_FEED, parse(where)))]


def due(store: Store, subscription: Subscription) -> list[AuthorKey]:
    rows = store.entries.undelivered(subscription, NOW, parse(subscription.selector))
    return [row.author for row in rows]


def deliver(store: Store, subscription: Subscription) -> None:
    rows = store.entries.undelivered(subscription, NOW, parse(subscription.selector))
    store.subscriptions.mark_delivered(subscription.key, [(row.key, row.version) for row in rows])


def test_of_two_copies_the_one_by_the_key_known_for_longer_is_listed() -> None:
    with memory_store() as store:
        take(store, copy(EARLY, 1))
        take(store, copy(LATE, 2), copy(LATE, 1))
        take(store, copy(EARLY, 2))
        assert listed(store) == [EARLY.key, EARLY.key]
        assert listed(store, "title LIKE 'Entry%'") == [EARLY.key, EARLY.key]
        assert store.feeds.rows([OPEN_FEED])[0].entries == 4
        assert store.entries.hidden(NOW) == {OPEN_FEED: 2}


def test_a_later_date_does_not_win_over_a_key_known_for_longer() -> None:
    with memory_store() as store:
        take(store, copy(EARLY))
        take(store, copy(LATE, updated=NOW + 1))
        assert listed(store) == [EARLY.key]


def test_the_owner_comes_first_and_then_who_described_the_feed() -> None:
    with memory_store() as store:
        take(store, copy(EARLY), copy(LATE))
        store.feeds.put_descriptor(make_descriptor(LATE))
        assert listed(store) == [LATE.key]
        store.feeds.trust(READER.key, own=True)
        take(store, copy(READER))
        assert listed(store) == [READER.key]


def test_more_claims_than_are_compared_hide_no_copy_that_comes_after_them() -> None:
    claims = range(10, 10 + MAX_COMPARED)
    with memory_store() as store:
        take(store, *(copy(author(number)) for number in claims), copy(LATE))
        assert listed(store) == [author(10).key]
        for number in claims:
            store.feeds.block(author(number).key)
        assert LATE.key in listed(store)


def withdraw_by_blocking(feeds: Feeds, store: Store) -> None:
    feeds.block(EARLY.key)


def withdraw_by_retracting(feeds: Feeds, store: Store) -> None:
    take(store, make_signed(EARLY, updated=NOW + 1, retracted=True))


@pytest.mark.parametrize("withdraw", [withdraw_by_blocking, withdraw_by_retracting])
def test_when_the_copy_that_is_shown_goes_the_other_one_is_shown(withdraw: Any) -> None:
    with memory_store() as store:
        take(store, copy(EARLY), copy(LATE))
        withdraw(store.feeds, store)
        assert listed(store) == [LATE.key]


def test_a_copy_that_expired_hides_nothing() -> None:
    with memory_store() as store:
        take(store, copy(EARLY, expires=NOW + 1), copy(LATE))
        assert listed(store, at=NOW + DAY) == [LATE.key]


def test_what_is_no_copy_is_hidden_by_none() -> None:
    """An author's own entry has no source, so nobody's claim to have copied it touches it."""
    with memory_store() as store:
        take(store, copy(EARLY))
        take(store, make_signed(LATE))
        take(store, copy(READER, source=Source(id="https://other.example/")))
        assert sorted(listed(store)) == sorted([EARLY.key, LATE.key, READER.key])


def test_copies_in_other_feeds_are_entries_of_their_own() -> None:
    with memory_store() as store:
        take(store, copy(EARLY), copy(LATE, feed="urn:example:other"))
        assert len(store.entries.select(Selection(NOW))) == 2


def test_a_subscription_gets_an_entry_once_whichever_copy_comes_first() -> None:
    with memory_store() as store:
        subscription = store.subscriptions.add(Subscription(0, "reader", OPEN_FEED))
        take(store, copy(EARLY, 1))
        deliver(store, subscription)
        take(store, copy(LATE, 1), copy(LATE, 2))
        assert due(store, subscription) == [LATE.key]  # the second entry, which only they brought
        deliver(store, subscription)
        take(store, copy(EARLY, 2))
        assert listed(store) == [EARLY.key, EARLY.key]
        assert due(store, subscription) == []


def test_a_new_version_of_the_copy_that_is_shown_is_delivered() -> None:
    with memory_store() as store:
        subscription = store.subscriptions.add(Subscription(0, "reader", OPEN_FEED))
        take(store, copy(EARLY), copy(LATE))
        deliver(store, subscription)
        take(store, copy(EARLY, updated=NOW + 1), copy(LATE, updated=NOW + 1))
        assert due(store, subscription) == [EARLY.key]


def test_a_copy_is_not_delivered_again_when_the_first_one_was_evicted_or_blocked() -> None:
    with memory_store() as store:
        subscription = store.subscriptions.add(Subscription(0, "reader", OPEN_FEED))
        take(store, copy(EARLY))
        deliver(store, subscription)
        take(store, copy(LATE))
        store.feeds.block(EARLY.key)
        assert listed(store) == [LATE.key]
        assert due(store, subscription) == []


def test_all_copies_are_served_since_others_may_prefer_another_one() -> None:
    with memory_store() as store:
        take(store, copy(EARLY), copy(LATE))
        assert len(store.entries.since(OPEN_FEED, 0, 10, NOW)) == 2
        assert len(store.entries.keys(OPEN_FEED, NOW)) == 2


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.booleans()), max_size=12))
@settings(max_examples=60, deadline=None)
def test_each_origin_is_shown_exactly_once(arrivals: list[tuple[int, int, bool]]) -> None:
    with memory_store() as store:
        for writer, number, is_retracted in arrivals:
            fields = {"updated": NOW + 1, "retracted": True, "source": None} if is_retracted else {}
            take(store, copy(author(writer), number, **fields))
        retracted = {(writer, number) for writer, number, is_retracted in arrivals if is_retracted}
        held = {(writer, number) for writer, number, _ in arrivals} - retracted
        shown = [row.id for row in store.entries.select(Selection(NOW))]
        assert sorted(shown) == sorted({f"urn:example:entry:{number}" for _, number in held})
        hidden = sum(store.entries.hidden(NOW).values())
        assert hidden + len(shown) == store.feeds.rows([OPEN_FEED])[0].entries if arrivals else not shown


def test_an_origin_is_of_the_source_and_the_id_together() -> None:
    def origin(id: str, source: str | None) -> int | None:
        return origin_of(make_entry(EARLY, id=id, source=None if source is None else Source(id=source)))

    assert origin("urn:a:1", "urn:s:1") == origin("urn:a:1", "urn:s:1")
    assert (
        len({origin("urn:a:1", "urn:s:1"), origin("urn:a:2", "urn:s:1"), origin("urn:a:1", "urn:s:2")}) == 3
    )
    assert origin("urn:a:1", None) is origin("urn:a:1", "") is None
