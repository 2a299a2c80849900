"""Sentences of the design about content, for those that no other test would miss.

Where the others are held, paragraph by paragraph:

| keys | test_identity, test_keystore, test_cli_people |
| feed | test_names, test_model, test_store_intake, test_library, test_cli_feeds, transport/test_server |
| entry | test_model, test_store_intake, test_store_strangers (parking), test_library |
| signed bytes | test_atom_signed, test_atom_plain, test_atom_vectors, test_imports |
| enclosure | test_chunking, test_blobs*, test_store_serving, transport/test_server_enclosures |
| time and forgetting | test_store_time, test_store_space, test_store_strangers |
| Atom in and out | test_atom_parse, test_atom_values, test_atom_export, test_exchange, test_imports |
| selectors | selector/ (test_brokers and test_conformance run all three ways), test_docs_selectors |
"""

from dataclasses import replace
from pathlib import Path

import pytest

from contentdb.atom import write_entry
from contentdb.errors import RemoteError
from contentdb.exchange import export_feed, import_feed
from contentdb.identity import AuthorSecret
from contentdb.intake import Fate
from contentdb.library import Draft, FeedDraft, Library
from contentdb.model import BUILT_IN_IDENTIFIERS, Category, Enclosure, Person, Signed, Text, Time
from contentdb.names import EntryKey, Root
from contentdb.query import Selection
from contentdb.rows import State, version_of
from contentdb.selector import parse
from contentdb.serving import Window
from contentdb.settings import DAY_S, Limits
from contentdb.store import Store
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    SECOND,
    author,
    entropy,
    make_descriptor,
    make_entry,
    make_signed,
    memory_store,
    take,
)

ALICE, BOB = author(1), author(2)


def written_by_hand(writer: AuthorSecret, number: int = 1) -> Signed:
    """Right, and signed, but not as our own writer has it."""
    data = write_entry(make_entry(writer, number))
    changed = data.replace(b"<title>", b"\n <!-- by hand -->\n <title >").replace(b'"', b"'")
    assert changed != data
    return writer.sign_entry(changed)


# -- feed


def test_a_descriptor_that_does_not_verify_is_refused() -> None:
    forged = replace(make_descriptor(ALICE), signature=bytes(64))
    with memory_store() as store:
        with pytest.raises(RemoteError):
            store.feeds.put_descriptor(forged)
        assert store.feeds.rows() == []


def test_a_descriptor_is_signed_by_the_key_that_it_names() -> None:
    stolen = BOB.sign_descriptor(make_descriptor(ALICE).data)
    with memory_store() as store, pytest.raises(RemoteError, match="the key inside"):
        store.feeds.put_descriptor(stolen)


def test_of_two_descriptors_of_one_sequence_the_greater_hash_wins_in_either_order() -> None:
    both = [make_descriptor(ALICE, title=Text(title)) for title in ("one", "two")]
    winner = max(both, key=lambda signed: version_of(signed.data))
    for first, second in (both, reversed(both)):
        with memory_store() as store:
            store.feeds.put_descriptor(first)
            store.feeds.put_descriptor(second)
            assert store.feeds.descriptor(OPEN_FEED) == winner


def test_the_time_of_a_feed_is_that_of_its_newest_entry_and_of_no_tombstone() -> None:
    with memory_store() as store:
        store.feeds.put_descriptor(make_descriptor(ALICE, updated=NOW + 99))
        take(store, *(make_signed(ALICE, number, updated=NOW + number) for number in (1, 2, 3)))
        take(store, make_signed(ALICE, 3, updated=NOW + 4, retracted=True))
        assert store.feeds.rows()[0].updated == NOW + 2
        assert [feed.updated for feed in store.serving.listed("", 10, 2_048)] == [NOW + 2]


# -- entry


def test_why_says_clock_also_when_there_was_no_room_to_wait() -> None:
    with memory_store(Limits(max_parked=1)) as store:
        take(store, *(make_signed(ALICE, number, updated=NOW + number * 9 * DAY) for number in (1, 2)))
        assert store.parked() == [make_entry(ALICE, 1).key]
        assert store.ledger.of("urn:example:entry:2")[-1].detail.startswith("clock")


def test_a_tombstone_replaces_copies_that_are_still_carried() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, title=Text("a secret")))
        tombstone = make_signed(ALICE, updated=NOW + 1, retracted=True)
        take(store, tombstone, source=2)
        feed = store.serving.feed(OPEN_FEED)
        assert feed is not None
        offers = store.serving.gained(Window(feed.key, 0, store.revision, NOW), 10)
        assert [data for _, _, data in store.serving.signed(offers)] == [tombstone.data]


def test_a_tombstone_says_when_the_entry_was_first_published() -> None:
    with memory_store() as store:
        library = Library(store, ALICE, entropy=entropy(2))
        feed = library.create_feed(FeedDraft("Street music"), NOW)
        entry = library.publish(feed.id, Draft("Corner"), NOW)
        tombstone = library.retract(entry.key, NOW + SECOND)
        assert (tombstone.published, tombstone.updated) == (NOW, NOW + SECOND)


def test_a_selector_sees_the_same_of_an_entry_at_hand_in_the_store_and_when_it_is_served() -> None:
    entry = make_entry(
        ALICE,
        summary=Text("s"),
        authors=(Person("Ana"),),
        published=NOW - 5,
        expires=NOW + DAY,
        language="en",
        categories=(Category("music"), Category("jazz")),
        enclosures=(Enclosure("a", "audio/ogg", 10, Root("cd" * 32)),),
        attributes={"s": "it's", "i": 2**53 + 1, "d": 0.5, "b": True, "t": Time(NOW - 7)},
    )
    seen = entry.selectable()
    assert (seen["published"], seen["updated"], seen["expires"]) == (NOW - 5, NOW, NOW + DAY)
    assert set(seen) == {*BUILT_IN_IDENTIFIERS, *entry.attributes}
    with memory_store() as store:
        take(store, ALICE.sign_entry(write_entry(entry)))
        feed = store.serving.feed(OPEN_FEED)
        assert feed is not None
        (offer,) = store.serving.gained(Window(feed.key, 0, store.revision, NOW), 10, seen)
        assert offer.seen == seen
        for name, value in seen.items():
            literal = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
            assert len(store.entries.select(Selection(NOW, where=parse(f"{name} = {literal}")))) == 1


@pytest.mark.parametrize("selector", ["title LIKE '%a_b%'", "title NOT LIKE '%a_b%'"])
def test_sql_only_gives_candidates_and_the_selector_decides(selector: str) -> None:
    """Both titles have the letters that SQL looks for; their order is the selector's to see."""
    wanted = parse(selector)
    batch = [make_signed(ALICE, number, title=Text(title)) for number, title in enumerate(("a-b", "b-a"))]
    with memory_store() as store:
        take(store, *batch)
        found = [row.title for row in store.entries.select(Selection(NOW, where=wanted))]
        assert found == [title for title in ("a-b", "b-a") if wanted.evaluate({"title": title})]


# -- signed bytes


def test_signed_bytes_are_stored_served_exported_and_imported_as_they_came(tmp_path: Path) -> None:
    signed = written_by_hand(ALICE)
    with memory_store() as store, memory_store() as other:
        store.feeds.put_descriptor(make_descriptor(ALICE))
        (outcome,) = take(store, signed)
        assert outcome.fate is Fate.STORED
        feed = store.serving.feed(OPEN_FEED)
        assert feed is not None
        offers = store.serving.gained(Window(feed.key, 0, store.revision, NOW), 10)
        assert store.serving.signed(offers) == [(signed.author, signed.signature, signed.data)]
        export_feed(store, OPEN_FEED, tmp_path / "out", NOW)
        import_feed(Library(other, BOB, entropy=entropy(2)), tmp_path / "out", NOW)
        row = other.entries.by_key(make_entry(ALICE).key)
        assert row is not None
        assert [found for _, found in other.entries.signed([row.key])] == [signed]


def test_what_does_not_verify_is_not_even_parsed() -> None:
    forged = Signed(ALICE.key, bytes(64), b"<entry>")
    with memory_store() as store:
        (outcome,) = take(store, forged)
        assert (outcome.fate, outcome.reason) == (Fate.REFUSED, "signature")


def test_the_source_of_an_imported_entry_says_all_that_its_feed_said(tmp_path: Path) -> None:
    path = tmp_path / "feed.xml"
    path.write_text(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><id>urn:example:blog</id><title>Blog</title>'
        "<updated>2020-03-03T03:03:03Z</updated><subtitle>Words</subtitle><rights>Free</rights>"
        "<author><name>Eva</name></author><contributor><name>Ida</name></contributor>"
        '<category term="music"/><icon>http://example.org/i</icon><logo>http://example.org/l</logo>'
        '<generator version="2">Hand</generator><link rel="self" href="http://example.org/feed.xml"/>'
        "<entry><id>urn:example:post</id><title>Post</title><updated>2020-02-02T02:02:02Z</updated>"
        "<content>Words</content></entry></feed>",
        encoding="utf-8",
    )
    with memory_store() as store:
        import_feed(Library(store, ALICE, entropy=entropy(2)), path, NOW)
        entry = store.entry(EntryKey("urn:example:blog", ALICE.key, "urn:example:post"))  # type: ignore[arg-type]
        assert entry is not None and entry.source is not None
        source = entry.source
        assert (source.id, source.title) == ("urn:example:blog", "Blog")
        assert (source.subtitle, source.rights) == ("Words", "Free")
        assert source.updated == 1_583_204_583_000 and source.language in ("en", None)
        assert (source.icon, source.logo) == ("http://example.org/i", "http://example.org/l")
        assert [person.name for person in (*source.authors, *source.contributors)] == ["Eva", "Ida"]
        assert [category.term for category in source.categories] == ["music"]
        assert [link.href for link in source.links] == ["http://example.org/feed.xml"]
        assert source.generator is not None and source.generator.version == "2"


# -- time and forgetting


def test_what_has_expired_is_neither_counted_for_peers_nor_are_its_files_fetched() -> None:
    file = Enclosure("a.ogg", "audio/ogg", 40_000, Root("cd" * 32))
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + SECOND, enclosures=(file,)), make_signed(ALICE, 2))
        feed = store.serving.feed(OPEN_FEED)
        assert feed is not None
        assert len(store.serving.held_ids(feed.key, NOW)) == 2
        assert [lacking.root for lacking in store.wanting.enclosures(OPEN_FEED, NOW)] == [file.root]
        assert len(store.serving.held_ids(feed.key, NOW + SECOND)) == 1
        assert list(store.wanting.enclosures(OPEN_FEED, NOW + SECOND)) == []


def test_running_time_never_runs_backwards() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE, expires=NOW + SECOND))
        store.maintain(NOW + DAY, DAY_S)
        store.maintain(NOW + DAY, -10 * DAY_S)
        store.maintain(NOW + DAY, DAY_S)
        assert store.entry(make_entry(ALICE).key) is None


def test_the_memory_of_what_is_gone_holds_key_version_and_reason() -> None:
    with memory_store(Limits(max_feed_entries=2)) as store:
        store.feeds.trust(ALICE.key)
        expired, evicted = make_signed(ALICE, 1, expires=NOW + SECOND), make_signed(ALICE, 2, updated=NOW - 1)
        take(store, expired, evicted)
        store.maintain(NOW + DAY, 60)
        store.maintain(NOW + DAY, DAY_S)
        take(store, make_signed(ALICE, 3), make_signed(ALICE, 4), at=NOW + DAY)
        with store.transaction() as connection:
            rows = connection.execute(
                "SELECT f.id, a.public, e.id, e.version, e.state FROM entries e JOIN feeds f "
                "ON f.key = e.feed JOIN authors a ON a.key = e.author WHERE e.state > 0 ORDER BY e.key"
            ).fetchall()
        assert rows == [
            (*make_entry(ALICE, 1).key, version_of(expired.data), State.EXPIRED),
            (*make_entry(ALICE, 2).key, version_of(evicted.data), State.EVICTED),
        ]


def test_a_floor_never_sinks() -> None:
    with memory_store() as store:
        take(store, make_signed(ALICE))
        feed = store.serving.feed(OPEN_FEED)
        assert feed is not None
        store.feeds.raise_floor(feed.key, NOW)
        store.feeds.raise_floor(feed.key, NOW - DAY)
        assert store.feeds.floor(OPEN_FEED) == NOW


def test_storage_is_capped_by_default() -> None:
    limits = Limits()
    assert 0 < limits.max_feed_bytes < limits.max_bytes <= 16 * 2**30
    assert 0 < limits.max_feed_entries <= 10**6 and 0 < limits.max_feed_age_s <= 2 * 366 * DAY_S


def test_what_a_neighbour_brings_in_a_day_is_counted_over_all_its_deliveries(tmp_path: Path) -> None:
    limits = Limits(peer_day_entries=2)
    with Store.open(tmp_path / "home", entropy=entropy(1), limits=limits) as store:
        fates = [take(store, make_signed(BOB, number))[0].fate for number in (1, 2, 3)]
        assert fates == [Fate.STORED, Fate.STORED, Fate.REFUSED]
    with Store.open(tmp_path / "home", entropy=entropy(1), limits=limits) as store:
        assert take(store, make_signed(BOB, 4))[0].fate is Fate.REFUSED
