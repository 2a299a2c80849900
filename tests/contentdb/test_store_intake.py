"""What may enter the store, and what replaces what: the sentences of the design about feeds and entries."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.errors import RemoteError
from contentdb.identity import AuthorSecret
from contentdb.intake import Fate
from contentdb.ledger import Event
from contentdb.model import Entry, Signed, Text, Time
from contentdb.names import EntryKey
from contentdb.query import Selection
from contentdb.rows import version_of
from contentdb.settings import Limits
from contentdb.store import Store
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

ALICE, BOB, CAROL = author(1), author(2), author(3)


def fates(store: Store, *batch: Signed, at: int = NOW) -> list[Fate]:
    return [outcome.fate for outcome in take(store, *batch, at=at)]


def titles(store: Store, at: int = NOW) -> list[str]:
    return sorted(row.title for row in store.entries.select(Selection(at)))


def held(store: Store, writer: AuthorSecret, number: int = 1) -> Entry | None:
    return store.entry(make_entry(writer, number).key)


# -- identity and replacement


def test_an_entry_that_was_stored_comes_back_as_it_was_signed() -> None:
    signed = make_signed(ALICE, attributes={"s": "a", "i": -(2**63), "d": 0.5, "b": True, "t": Time(NOW)})
    with memory_store() as store:
        (outcome,) = take(store, signed)
        assert outcome.fate is Fate.STORED
        assert [found for _, found in store.entries.signed([outcome.key])] == [signed]
        entry = held(store, ALICE)
        assert entry is not None
        assert dict(entry.attributes) == {"s": "a", "i": -(2**63), "d": 0.5, "b": True, "t": Time(NOW)}


def test_the_same_id_of_two_authors_names_two_entries() -> None:
    with memory_store() as store:
        assert fates(store, make_signed(ALICE), make_signed(BOB)) == [Fate.STORED, Fate.STORED]
        assert len(store.entries.select(Selection(NOW))) == 2


def test_the_same_id_in_two_feeds_names_two_entries() -> None:
    with memory_store() as store:
        there = make_signed(ALICE, feed="urn:example:elsewhere")
        assert fates(store, make_signed(ALICE), there) == [Fate.STORED, Fate.STORED]


def test_a_later_version_of_the_same_author_replaces_the_entry() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE))
        later = make_signed(ALICE, title=Text("better"), updated=NOW + 1)
        assert fates(store, later) == [Fate.REPLACED]
        assert titles(store) == ["better"]


def test_another_author_cannot_replace_an_entry_however_late() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE), make_signed(BOB, title=Text("mine now"), updated=NOW + 10_000))
        assert titles(store) == ["Entry 1", "mine now"]


def test_an_earlier_version_is_stale_and_changes_nothing() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE))
        assert fates(store, make_signed(ALICE, title=Text("old"), updated=NOW - 1)) == [Fate.STALE]
        assert titles(store) == ["Entry 1"]


def test_of_two_versions_of_one_moment_the_greater_hash_wins_in_either_order() -> None:
    first, second = make_signed(ALICE, title=Text("one")), make_signed(ALICE, title=Text("two"))
    winner = max(first, second, key=lambda signed: version_of(signed.data))
    for order in ((first, second), (second, first)):
        with memory_store() as store:
            take(store, order[0])
            take(store, order[1])
            (row,) = store.entries.select(Selection(NOW))
            assert row.version == version_of(winner.data)


def test_the_same_entry_again_is_a_duplicate() -> None:
    with memory_store() as store:
        assert fates(store, make_signed(ALICE), make_signed(ALICE)) == [Fate.STORED, Fate.DUPLICATE]
        assert store.problems() == []


@settings(max_examples=40, deadline=None)
@given(
    versions=st.lists(
        st.tuples(st.sampled_from([ALICE, BOB]), st.integers(1, 3), st.integers(0, 3), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    data=st.data(),
)
def test_whatever_the_order_of_arrival_the_same_entries_are_held(
    versions: list[tuple[AuthorSecret, int, int, bool]], data: st.DataObject
) -> None:
    batch = [
        make_signed(writer, number, updated=NOW + age, retracted=gone)
        for writer, number, age, gone in versions
    ]
    other = data.draw(st.permutations(batch))
    size = data.draw(st.integers(1, len(batch)))
    with memory_store() as one, memory_store() as two:
        take(one, *batch)
        for start in range(0, len(other), size):
            take(two, *other[start : start + size])
        assert _contents(one) == _contents(two)
        assert one.problems() == two.problems() == []
        assert one.known_sketch(OPEN_FEED).fingerprint == two.known_sketch(OPEN_FEED).fingerprint


def _contents(store: Store) -> list[bytes]:
    return sorted(row.version for row in store.entries.since(OPEN_FEED, 0, 1_000, NOW))


# -- what does not verify is not stored


def test_a_forged_signature_is_refused() -> None:
    signed = make_signed(ALICE)
    forged = replace(signed, signature=bytes(64))
    with memory_store() as store:
        (outcome,) = take(store, forged)
        assert (outcome.fate, outcome.reason) == (Fate.REFUSED, "signature")


def test_one_changed_byte_is_refused() -> None:
    signed = make_signed(ALICE)
    with memory_store() as store:
        assert fates(store, replace(signed, data=signed.data.replace(b"Entry 1", b"Entry 2"))) == [
            Fate.REFUSED
        ]


def test_somebody_elses_entry_under_ones_own_signature_is_refused() -> None:
    stolen = BOB.sign_entry(make_signed(ALICE).data)
    with memory_store() as store:
        (outcome,) = take(store, stolen)
        assert outcome.fate is Fate.REFUSED
        assert "the key inside is not the key that signed" in outcome.reason


def test_signed_rubbish_is_refused_and_its_neighbours_in_the_batch_are_not() -> None:
    with memory_store() as store:
        rubbish = ALICE.sign_entry(b"<entry>")
        assert fates(store, make_signed(ALICE, 1), rubbish, make_signed(ALICE, 2)) == [
            Fate.STORED,
            Fate.REFUSED,
            Fate.STORED,
        ]


# -- time


def test_an_entry_more_than_a_day_ahead_is_parked_and_neither_delivered_nor_served() -> None:
    with memory_store() as store:
        ahead = make_signed(ALICE, updated=NOW + DAY + 1)
        assert fates(store, ahead, make_signed(ALICE, 2, updated=NOW + DAY)) == [Fate.PARKED, Fate.STORED]
        assert titles(store) == ["Entry 2"]
        assert [row.id for row in store.entries.since(OPEN_FEED, 0, 10, NOW)] == ["urn:example:entry:2"]
        assert store.parked() == [make_entry(ALICE).key]
        assert "clock" in store.ledger.of("urn:example:entry:1")[0].detail


def test_a_parked_entry_is_stored_when_its_time_has_come() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, updated=NOW + 2 * DAY))
        assert store.maintain(NOW + DAY // 2, 60) == []
        (outcome,) = store.maintain(NOW + DAY, 60)
        assert outcome.fate is Fate.STORED
        assert store.parked() == []
        assert titles(store, NOW + DAY) == ["Entry 1"]


def test_the_car_park_is_bounded() -> None:
    with memory_store(Limits(max_parked=2)) as store:
        ahead = [make_signed(ALICE, number, updated=NOW + 9 * DAY) for number in range(3)]
        assert fates(store, *ahead) == [Fate.PARKED, Fate.PARKED, Fate.REFUSED]


# -- retraction


def test_a_tombstone_hides_the_entry_and_travels_on() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE))
        take(store, make_signed(ALICE, retracted=True, updated=NOW + 1))
        assert titles(store) == []
        assert [row.id for row in store.entries.since(OPEN_FEED, 0, 10, NOW)] == ["urn:example:entry:1"]
        assert fates(store, make_signed(ALICE)) == [Fate.STALE]


def test_a_tombstone_of_another_author_hides_nothing() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE), make_signed(BOB, retracted=True, updated=NOW + 1))
        assert titles(store) == ["Entry 1"]


# -- owned feeds and descriptors


def test_an_owned_feed_refuses_entries_of_others_even_before_its_descriptor_is_known() -> None:
    diary = owned_feed(ALICE)
    with memory_store() as store:
        outcomes = take(store, make_signed(BOB, feed=diary), make_signed(ALICE, feed=diary))
        assert [outcome.fate for outcome in outcomes] == [Fate.REFUSED, Fate.STORED]
        assert outcomes[0].reason == "not a writer of this feed"


def test_a_writer_on_the_owners_list_may_write_until_a_later_list_leaves_it_out() -> None:
    diary = owned_feed(ALICE)
    with memory_store() as store:
        assert fates(store, make_signed(BOB, feed=diary)) == [Fate.REFUSED]
        store.feeds.put_descriptor(make_descriptor(ALICE, diary, writers=(BOB.key,), sequence=2))
        assert fates(store, make_signed(BOB, feed=diary)) == [Fate.STORED]
        store.feeds.put_descriptor(make_descriptor(ALICE, diary, sequence=3))
        assert fates(store, make_signed(BOB, 2, feed=diary)) == [Fate.REFUSED]
        assert titles(store) == ["Entry 1"]


def test_an_older_list_of_writers_changes_nothing() -> None:
    diary = owned_feed(ALICE)
    with memory_store() as store:
        assert store.feeds.put_descriptor(make_descriptor(ALICE, diary, sequence=5))
        assert not store.feeds.put_descriptor(make_descriptor(ALICE, diary, writers=(BOB.key,), sequence=4))
        assert fates(store, make_signed(BOB, feed=diary)) == [Fate.REFUSED]


def test_only_the_owner_describes_an_owned_feed() -> None:
    with memory_store() as store, pytest.raises(RemoteError):
        store.feeds.put_descriptor(_descriptor_by(BOB, owned_feed(ALICE)))


def _descriptor_by(signer: AuthorSecret, feed: str) -> Signed:
    """What the model refuses to make, a stranger may still write by hand."""
    honest = make_descriptor(ALICE, feed)  # type: ignore[arg-type]
    forged, count = re.subn(rb"(?<!owned:)" + ALICE.key.encode(), signer.key.encode(), honest.data)
    assert count == 1
    return signer.sign_descriptor(forged)


def test_the_first_signer_of_an_open_feed_stays_its_only_one() -> None:
    with memory_store() as store:
        store.feeds.put_descriptor(make_descriptor(ALICE))
        with pytest.raises(RemoteError, match="another key"):
            store.feeds.put_descriptor(make_descriptor(BOB, title=Text("Mine"), sequence=99))
        (row,) = store.feeds.rows()
        assert row.feed is not None and row.feed.title == "Street music"


def test_the_first_signer_may_change_the_descriptor() -> None:
    with memory_store() as store:
        store.feeds.put_descriptor(make_descriptor(ALICE))
        assert store.feeds.put_descriptor(make_descriptor(ALICE, title=Text("Indoors"), sequence=2))
        (row,) = store.feeds.rows()
        assert row.feed is not None and row.feed.title == "Indoors"


def test_the_time_of_a_feed_is_computed_from_what_is_held() -> None:
    with memory_store() as store:
        store.feeds.put_descriptor(make_descriptor(ALICE, updated=NOW + 5))
        assert store.feeds.rows()[0].updated is None
        take(store, make_signed(ALICE, 1, updated=NOW - 7), make_signed(ALICE, 2, updated=NOW - 3))
        assert store.feeds.rows()[0].updated == NOW - 3


def test_an_unlisted_feed_says_so() -> None:
    with memory_store() as store:
        store.feeds.put_descriptor(make_descriptor(ALICE, listed=False))
        assert not store.feeds.rows()[0].listed


# -- people


def test_a_blocked_author_is_refused_until_unblocked() -> None:
    with memory_store() as store:
        store.feeds.block(BOB.key)
        assert fates(store, make_signed(BOB)) == [Fate.REFUSED]
        assert store.feeds.blocked() == [BOB.key]
        store.feeds.block(BOB.key, blocked=False)
        assert fates(store, make_signed(BOB)) == [Fate.STORED]


# -- bookkeeping


def test_the_revision_grows_with_every_gain_and_with_nothing_else() -> None:
    with memory_store() as store:
        before = store.revision
        take(store, make_signed(ALICE, 1), make_signed(ALICE, 2))
        assert store.revision == before + 2
        take(store, make_signed(ALICE, 1), replace(make_signed(ALICE, 3), signature=bytes(64)))
        assert store.revision == before + 2


def test_the_revision_grows_with_a_descriptor_that_is_new() -> None:
    with memory_store() as store:
        before = store.revision
        store.feeds.put_descriptor(make_descriptor(ALICE))
        assert store.revision == before + 1
        store.feeds.put_descriptor(make_descriptor(ALICE))
        assert store.revision == before + 1
        store.feeds.put_descriptor(make_descriptor(ALICE, title=Text("Indoors"), sequence=2))
        assert store.revision == before + 2


def test_since_gives_what_was_gained_after_a_revision_in_that_order() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, 1))
        seen = store.revision
        take(store, make_signed(ALICE, 3), make_signed(ALICE, 2), make_signed(BOB, 4))
        gained = store.entries.since(OPEN_FEED, seen, 2, NOW)
        assert [row.id for row in gained] == ["urn:example:entry:3", "urn:example:entry:2"]
        assert [row.id for row in store.entries.since(OPEN_FEED, gained[-1].revision, 2, NOW)] == [
            "urn:example:entry:4"
        ]


def test_the_ledger_tells_what_happened_to_an_entry() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE))
        take(store, make_signed(ALICE, retracted=True, updated=NOW + 1))
        events = [happening.event for happening in store.ledger.of("urn:example:entry:1")]
        assert events == [Event.RECEIVED, Event.RETRACTED]


def test_an_entry_is_found_by_its_id_and_by_the_beginning_of_it() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, id="urn:uuid:94866bd5-eba9-4fa8-ac03-7aeb616ce9fa"))
        for text in ("urn:uuid:94866bd5-eba9-4fa8-ac03-7aeb616ce9fa", "94866bd5", "urn:uuid:9486"):
            assert len(store.entries.find(text)) == 1
        assert store.entries.find("948") == store.entries.find("eba9") == []


def test_an_entry_that_is_not_here_is_none() -> None:
    with memory_store() as store:
        assert store.entry(EntryKey(OPEN_FEED, CAROL.key, "urn:example:nothing")) is None  # type: ignore[arg-type]
