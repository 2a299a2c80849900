"""A feed as a folder, out and in again: signed bytes survive, and nothing outside the folder is touched."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from contentdb import exchange
from contentdb.atom import parse_feed, write_entry
from contentdb.errors import StoreError, UsageError
from contentdb.exchange import Report, export_feed, import_feed
from contentdb.library import Draft, FeedDraft, Library
from contentdb.model import Entry, Feed, Link
from contentdb.names import FeedId, Root
from contentdb.query import Selection
from contentdb.store import Store
from tests.contentdb.atom_examples import entries as any_entries
from tests.contentdb.makers import (
    NOW,
    OPEN_FEED,
    author,
    entropy,
    make_descriptor,
    make_signed,
    memory_store,
    take,
)


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Library]:
    with Store.open(tmp_path / "ana", entropy=entropy(1)) as store:
        yield Library(store, author(1), entropy=entropy(2), name="Ana")


@pytest.fixture
def bo(tmp_path: Path) -> Iterator[Library]:
    with Store.open(tmp_path / "bo", entropy=entropy(3)) as store:
        yield Library(store, author(2), entropy=entropy(4), name="Bo")


@pytest.fixture
def feed(ana: Library, tmp_path: Path) -> Feed:
    """A feed with a file that two entries share, a file of its own, and an entry without files."""
    shared, single = tmp_path / "tåke 1.ogg", tmp_path / "single.bin"
    shared.write_bytes(random.Random(1).randbytes(50_000))
    single.write_bytes(random.Random(2).randbytes(20_000))
    feed = ana.create_feed(FeedDraft("Street music", categories=("music",), language="en"), NOW)
    ana.publish(feed.id, Draft("one", files=(shared,), attributes={"n": 1}), NOW + 1)
    ana.publish(feed.id, Draft("two", files=(shared, single), expires=NOW * 2), NOW + 2)
    ana.publish(feed.id, Draft("three", summary="<b>&amp;"), NOW + 3)
    return feed


@pytest.fixture
def folder(ana: Library, feed: Feed, tmp_path: Path) -> Path:
    export_feed(ana.store, feed.id, tmp_path / "out", NOW + 9)
    return tmp_path / "out"


def held(store: Store, feed: FeedId) -> dict[str, Any]:
    """All that must be the same on both sides, to the last byte."""
    keys = store.entries.keys(feed, NOW + 9)
    return {
        "descriptor": store.feeds.descriptor(feed),
        "entries": [signed for _, signed in store.entries.signed(keys)],
        "files": {root: contents(store, root) for root in store.blobs.roots()},
    }


def contents(store: Store, root: Root) -> bytes:
    path = store.blobs.path(root)
    assert path is not None
    return path.read_bytes()


def edit(path: Path, *changes: tuple[bytes, bytes]) -> None:
    data = path.read_bytes()
    for old, new in changes:
        assert old in data
        data = data.replace(old, new)
    path.write_bytes(data)


def summary(report: Report) -> tuple[int, int, int, int]:
    return report.entries, report.files, report.known, report.refused


# -- out and in


def test_an_import_holds_exactly_what_was_exported(
    ana: Library, bo: Library, feed: Feed, folder: Path
) -> None:
    report = import_feed(bo, folder, NOW + 9)
    assert (report.feed, summary(report), report.problems) == (feed.id, (3, 2, 0, 0), [])
    assert held(bo.store, feed.id) == held(ana.store, feed.id)
    assert not any(row.own for row in bo.store.entries.select(Selection(NOW + 9)))


def test_a_second_import_changes_nothing(bo: Library, feed: Feed, folder: Path) -> None:
    import_feed(bo, folder, NOW + 9)
    before, revision = held(bo.store, feed.id), bo.store.revision
    assert summary(import_feed(bo, folder / "feed.xml", NOW + 9)) == (0, 0, 3, 0)
    assert (held(bo.store, feed.id), bo.store.revision) == (before, revision)


def test_what_was_imported_can_be_exported_again(
    bo: Library, feed: Feed, folder: Path, tmp_path: Path
) -> None:
    import_feed(bo, folder, NOW + 9)
    export_feed(bo.store, feed.id, tmp_path / "again", NOW + 9)
    assert (tmp_path / "again" / "feed.xml").read_bytes() == (folder / "feed.xml").read_bytes()


def test_a_retraction_travels_and_takes_the_entry_away(
    ana: Library, bo: Library, feed: Feed, folder: Path, tmp_path: Path
) -> None:
    import_feed(bo, folder, NOW + 9)
    (row, *_) = ana.store.entries.select(Selection(NOW + 9, feed.id))
    ana.retract(row.entry_key, NOW + 10)
    wrote = export_feed(ana.store, feed.id, tmp_path / "later", NOW + 11)
    took = import_feed(bo, tmp_path / "later", NOW + 11)
    assert (wrote.entries, wrote.retractions, took.entries, took.retractions) == (2, 1, 0, 1)
    assert row.title not in [left.title for left in bo.store.entries.select(Selection(NOW + 11))]
    again = import_feed(bo, folder, NOW + 12)
    assert (again.entries, again.known) == (0, 3)


def test_own_entries_come_back_as_own_after_a_loss(
    ana: Library, feed: Feed, folder: Path, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "new", entropy=entropy(7)) as store:
        import_feed(Library(store, author(1), entropy=entropy(8)), folder, NOW + 9)
        assert all(row.own for row in store.entries.select(Selection(NOW + 9)))
        assert store.missing_files() == []


def test_any_reader_finds_the_files_beside_the_feed(folder: Path) -> None:
    _, entries = parse_feed((folder / "feed.xml").read_bytes())
    hrefs = {link.href for entry in entries for link in entry.links if link.rel == "enclosure"}
    assert hrefs == {"files/t%C3%A5ke%201.ogg", "files/single.bin"}
    assert sorted(os.listdir(folder / "files")) == ["single.bin", "tåke 1.ogg"]


def test_a_large_feed_takes_several_pages(
    ana: Library, bo: Library, feed: Feed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "PAGE_ENTRIES", 1)
    assert export_feed(ana.store, feed.id, tmp_path / "out", NOW + 9).entries == 3
    assert sorted(os.listdir(tmp_path / "out")) == ["feed-2.xml", "feed-3.xml", "feed.xml", "files"]
    assert summary(import_feed(bo, tmp_path / "out", NOW + 9)) == (3, 2, 0, 0)
    assert held(bo.store, feed.id) == held(ana.store, feed.id)


def test_pages_are_cut_by_their_size_too(
    ana: Library, feed: Feed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "PAGE_BYTES", 1_000)
    export_feed(ana.store, feed.id, tmp_path / "out", NOW + 9)
    assert len(list((tmp_path / "out").glob("feed*.xml"))) > 1


def test_a_feed_without_entries_travels_too(ana: Library, bo: Library, tmp_path: Path) -> None:
    empty = ana.create_feed(FeedDraft("Empty", is_owned=True, is_listed=False), NOW)
    export_feed(ana.store, empty.id, tmp_path / "out", NOW)
    assert summary(import_feed(bo, tmp_path / "out", NOW)) == (0, 0, 0, 0)
    assert bo.store.feeds.descriptor(empty.id) == ana.store.feeds.descriptor(empty.id)


def test_a_next_link_in_the_description_misleads_nobody(ana: Library, bo: Library, tmp_path: Path) -> None:
    links = (Link("https://example.org/next", "next"),)
    ana.store.feeds.put_descriptor(make_descriptor(author(5), links=links))
    export_feed(ana.store, OPEN_FEED, tmp_path / "out", NOW)
    assert import_feed(bo, tmp_path / "out", NOW).problems == []


# -- writing fails


def test_a_folder_in_use_is_refused(ana: Library, feed: Feed, folder: Path, tmp_path: Path) -> None:
    before = (folder / "feed.xml").read_bytes()
    for taken in (folder, folder / "feed.xml"):
        with pytest.raises(UsageError, match="is there already"):
            export_feed(ana.store, feed.id, taken, NOW)
    assert (folder / "feed.xml").read_bytes() == before


def test_an_empty_folder_is_filled_where_it_is(ana: Library, feed: Feed, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    inode = (tmp_path / "stick").stat().st_ino
    export_feed(ana.store, feed.id, tmp_path / "stick", NOW + 9)
    assert (tmp_path / "stick").stat().st_ino == inode
    assert sorted(os.listdir(tmp_path / "stick")) == ["feed.xml", "files"]


def test_the_remains_of_a_killed_export_are_in_nobodys_way(ana: Library, feed: Feed, tmp_path: Path) -> None:
    (tmp_path / "out" / ".passerby-export-0123").mkdir(parents=True)
    assert export_feed(ana.store, feed.id, tmp_path / "out", NOW + 9).entries == 3


@pytest.mark.parametrize("is_there", [False, True])
def test_an_export_that_fails_half_way_leaves_nothing(
    ana: Library, feed: Feed, tmp_path: Path, is_there: bool
) -> None:
    path = ana.store.blobs.path(ana.store.blobs.roots()[-1])
    assert path is not None
    path.unlink()
    target = tmp_path / "here" / "out"
    (target if is_there else target.parent).mkdir(parents=True)
    with pytest.raises(StoreError):
        export_feed(ana.store, feed.id, target, NOW + 9)
    assert list(target.parent.rglob("*")) == ([target] if is_there else [])


def test_a_place_that_cannot_be_written_is_one_sentence(ana: Library, feed: Feed, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="nothing was changed"):
        export_feed(ana.store, feed.id, tmp_path / "file" / "out", NOW)
    with pytest.raises(StoreError, match="nothing was changed"):
        export_feed(ana.store, feed.id, tmp_path / ("x" * 300), NOW)


def test_a_file_that_is_not_here_yet_is_told(
    ana: Library, bo: Library, feed: Feed, folder: Path, tmp_path: Path
) -> None:
    (folder / "files" / "single.bin").unlink()
    report = import_feed(bo, folder, NOW + 9)
    assert len(report.problems) == 1 and "'files/single.bin' is not beside the feed" in report.problems[0]
    again = export_feed(bo.store, feed.id, tmp_path / "again", NOW + 9)
    assert again.problems == ["file 'single.bin' has not been received in full; the export goes without it"]
    assert import_feed(ana, tmp_path / "again", NOW + 9).problems == []


def test_a_feed_without_description_cannot_be_exported(ana: Library, tmp_path: Path) -> None:
    take(ana.store, make_signed(author(5)))
    with pytest.raises(UsageError, match="has not arrived yet"):
        export_feed(ana.store, OPEN_FEED, tmp_path / "out", NOW)


# -- every entry there can be


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(entry=any_entries)
def test_whatever_can_be_signed_is_exported_as_valid_atom_and_survives(
    tmp_path_factory: pytest.TempPathFactory, entry: Entry
) -> None:
    small = tuple(replace(enclosure, length=enclosure.length % 999) for enclosure in entry.enclosures)
    ours = replace(
        entry,
        feed=OPEN_FEED,
        author=author(3).key,
        updated=NOW,
        expires=None,
        retracted=False,
        enclosures=small,
    )
    signed = author(3).sign_entry(write_entry(ours))
    folder = tmp_path_factory.mktemp("any") / "out"
    with memory_store() as store, memory_store() as other:
        descriptor = make_descriptor(author(4), language="de")
        store.feeds.put_descriptor(descriptor)
        assert take(store, signed)[0].fate.is_gain
        assert export_feed(store, OPEN_FEED, folder, NOW).entries == 1
        _, (exported,) = parse_feed((folder / "feed.xml").read_bytes())
        assert (exported.id, exported.title, exported.updated) == (ours.id, ours.title, NOW)
        report = import_feed(Library(other, author(9), entropy=entropy(1)), folder, NOW)
        assert (report.entries, report.refused) == (1, 0), report
        key = other.entries.keys(OPEN_FEED, NOW)
        assert [found for _, found in other.entries.signed(key)] == [signed]
        assert other.feeds.descriptor(OPEN_FEED) == descriptor
