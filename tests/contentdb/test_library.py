"""Publishing: what is stored when it works, and that nothing is left or lost when it does not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contentdb.arrivals import read_verified
from contentdb.errors import UsageError
from contentdb.intake import Delivery, Fate
from contentdb.library import Draft, FeedDraft, Library
from contentdb.model import MAX_ENCLOSURES, Feed
from contentdb.names import EntryId, EntryKey
from contentdb.query import Selection
from contentdb.settings import Limits
from contentdb.store import Store
from tests.contentdb.makers import DAY, NOW, OPEN_FEED, author, entropy, make_signed, memory_store, take

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Store.open(tmp_path / "home", entropy=entropy(1)) as store:
        yield Library(store, author(1), entropy=entropy(2), name="Ana")


@pytest.fixture
def feed(library: Library) -> Feed:
    return library.create_feed(FeedDraft("Street music"), NOW)


def make_file(folder: Path, name: str, size: int = 40_000) -> Path:
    path = folder / name
    path.write_bytes(os.urandom(size))
    return path


def titles(store: Store) -> list[str]:
    return [row.title for row in store.entries.select(Selection(NOW + 1))]


def test_what_is_published_is_there_after_opening_again(tmp_path: Path) -> None:
    song = make_file(tmp_path, "song.ogg")
    with Store.open(tmp_path / "home", entropy=entropy(1)) as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("F"), NOW)
        entry = library.publish(feed.id, Draft("T", files=(song,), attributes={"n": 1}), NOW)
    with Store.open(tmp_path / "home", entropy=entropy(3)) as store:
        assert store.entry(entry.key) == entry
        path = store.blobs.path(entry.enclosures[0].root)
        assert path is not None and path.read_bytes() == song.read_bytes()


@pytest.mark.parametrize(
    "draft",
    [
        Draft(" "),
        Draft("T", id="no iri"),
        Draft("T", language="not a language"),
        Draft("T\x00"),
        Draft("T", attributes={"title": 1}),
        Draft("T", categories=("\ud800",)),
        Draft("T" * 200_000),
    ],
)
def test_wrong_words_are_found_before_any_file_is_read(
    library: Library, feed: Feed, tmp_path: Path, draft: Draft
) -> None:
    seen: list[int] = []
    files = (make_file(tmp_path, "song.ogg"),)
    with pytest.raises(UsageError):
        library.publish(
            feed.id,
            replace(draft, files=files),
            NOW,
            progress=lambda done, total: seen.append(done),
        )
    assert seen == [] and library.store.blobs.roots() == [] and titles(library.store) == []


def test_a_missing_second_file_leaves_nothing_of_the_first(
    library: Library, feed: Feed, tmp_path: Path
) -> None:
    first = make_file(tmp_path, "first")
    with pytest.raises(UsageError, match=r"cannot read .*nothing: No such file"):
        library.publish(feed.id, Draft("T", files=(first, tmp_path / "nothing")), NOW)
    assert library.store.blobs.roots() == []


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_only_plain_files_are_published(library: Library, feed: Feed, tmp_path: Path, kind: str) -> None:
    first, odd = make_file(tmp_path, "first"), tmp_path / kind
    odd.mkdir() if kind == "folder" else os.mkfifo(odd)
    with pytest.raises(UsageError, match="only plain files"):
        library.publish(feed.id, Draft("T", files=(first, odd)), NOW)
    assert library.store.blobs.roots() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_is_said_to_be_so(library: Library, feed: Feed, tmp_path: Path) -> None:
    secret = make_file(tmp_path, "secret")
    secret.chmod(0)
    with pytest.raises(UsageError, match="Permission denied"):
        library.publish(feed.id, Draft("T", files=(secret,)), NOW)


def test_a_file_that_changes_while_it_is_read_is_refused(
    library: Library, feed: Feed, tmp_path: Path
) -> None:
    first, growing = make_file(tmp_path, "first"), make_file(tmp_path, "growing", 600_000)

    def grow(done: int, total: int) -> None:
        with growing.open("ab") as file:
            file.write(b"more")

    with pytest.raises(UsageError, match="changed while it was read"):
        library.publish(feed.id, Draft("T", files=(first, growing)), NOW, progress=grow)
    assert library.store.blobs.roots() == [] and titles(library.store) == []


def test_a_file_larger_than_the_store_is_refused_before_it_is_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(2**40)
    limits = Limits(max_bytes=1_000_000)
    with Store.open(tmp_path / "home", entropy=entropy(1), limits=limits) as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("F"), NOW)
        with pytest.raises(UsageError, match="does not fit"):
            library.publish(feed.id, Draft("T", files=(huge,)), NOW)
        assert store.blobs.roots() == []


def test_a_failed_publication_takes_no_file_from_another_entry(
    library: Library, feed: Feed, tmp_path: Path
) -> None:
    song = make_file(tmp_path, "song")
    entry = library.publish(feed.id, Draft("T", files=(song,)), NOW)
    with pytest.raises(UsageError):
        library.publish(feed.id, Draft("U", files=(song, tmp_path / "nothing")), NOW)
    assert library.store.blobs.is_complete(entry.enclosures[0].root)


def test_a_failed_publication_leaves_files_that_outlived_their_database(tmp_path: Path) -> None:
    song = make_file(tmp_path, "song")
    with Store.open(tmp_path / "home", entropy=entropy(1)) as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("F"), NOW)
        root = library.publish(feed.id, Draft("T", files=(song,)), NOW).enclosures[0].root
    for path in (tmp_path / "home").glob("passerby.sqlite*"):
        path.unlink()
    with Store.open(tmp_path / "home", entropy=entropy(1)) as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("F"), NOW)
        with pytest.raises(UsageError):
            library.publish(feed.id, Draft("U", files=(song, tmp_path / "nothing")), NOW)
        assert store.blobs.roots() == [root]


def test_too_many_files_are_refused_before_any_is_read(library: Library, feed: Feed, tmp_path: Path) -> None:
    song = make_file(tmp_path, "song")
    with pytest.raises(UsageError, match=f"at most {MAX_ENCLOSURES} files"):
        library.publish(feed.id, Draft("T", files=(song,) * (MAX_ENCLOSURES + 1)), NOW)


def test_a_new_version_is_later_even_when_the_clock_went_back(library: Library, feed: Feed) -> None:
    first = library.publish(feed.id, Draft("old", id="urn:x:1"), NOW)
    second = library.publish(feed.id, Draft("new", id="urn:x:1"), NOW - 5_000)
    assert (second.updated, second.published) == (first.updated + 1, NOW)
    assert titles(library.store) == ["new"]


def test_what_was_retracted_may_be_published_again(library: Library, feed: Feed) -> None:
    entry = library.publish(feed.id, Draft("T", id="urn:x:1"), NOW)
    tombstone = library.retract(entry.key, NOW)
    assert tombstone.updated > entry.updated and titles(library.store) == []
    library.publish(feed.id, Draft("again", id="urn:x:1"), NOW)
    assert titles(library.store) == ["again"]


def test_nobody_retracts_what_is_not_there_or_not_his(library: Library, feed: Feed) -> None:
    with pytest.raises(UsageError, match="there is no entry"):
        library.retract(EntryKey(feed.id, library.key, EntryId("urn:x:nothing")), NOW)
    take(library.store, make_signed(author(2), feed=feed.id))
    with pytest.raises(UsageError, match="only its author"):
        library.retract(EntryKey(feed.id, author(2).key, EntryId("urn:example:entry:1")), NOW)


# -- a full disk

FILLER = """
import resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import passerby
sys.exit(passerby.main(sys.argv[2:]))
"""


def publish_with_limit(home: Path, limit: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """In a process that may write no file longer than the limit, which looks like a full disk."""
    return subprocess.run(
        [sys.executable, "-c", FILLER, str(limit), "--home", str(home), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_disk_that_fills_up_while_publishing_loses_nothing(tmp_path: Path) -> None:
    song, small = make_file(tmp_path, "song", 3_000_000), make_file(tmp_path, "small", 1_000)
    home = tmp_path / "home"
    with Store.open(home, entropy=entropy(1)) as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("F"), NOW)
        before = library.publish(feed.id, Draft("before", files=(small,)), NOW)
    done = publish_with_limit(
        home, 1_000_000, "publish", feed.id, "--title", "T", "--file", str(small), "--file", str(song)
    )
    assert done.returncode == 1 and "the disk is full" in done.stderr and done.stderr.count("\n") == 1
    with Store.open(home, entropy=entropy(1)) as store:
        assert store.problems() == [] and store.missing_files() == []
        assert store.entry(before.key) == before
        assert store.blobs.roots() == [before.enclosures[0].root]


@pytest.mark.parametrize("limit", [20_000, 60_000, 120_000, 180_000])
def test_a_database_that_cannot_grow_keeps_what_it_has(tmp_path: Path, limit: int) -> None:
    home = tmp_path / "home"
    with Store.open(home, entropy=entropy(1)) as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("F"), NOW)
        before = library.publish(feed.id, Draft("before"), NOW)
    done = publish_with_limit(home, limit, "publish", feed.id, "--title", "T", "--summary", "x" * 100_000)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    with Store.open(home, entropy=entropy(1)) as store:
        assert store.problems() == [] and store.entry(before.key) == before
        assert len(titles(store)) + len(store.parked()) >= 1


def test_after_a_clock_error_of_a_year_ones_own_entry_can_be_replaced_and_retracted() -> None:
    with memory_store() as store:
        library = Library(store, author(1), entropy=entropy(2))
        feed = library.create_feed(FeedDraft("Street music"), NOW)
        entry = library.publish(feed.id, Draft("early"), NOW + 400 * DAY)
        better = library.publish(feed.id, Draft("better", id=entry.id), NOW)
        assert better.updated == entry.updated + 1
        library.retract(entry.key, NOW)
        assert titles(store) == []


def test_what_one_wrote_is_own_whoever_brings_it() -> None:
    with memory_store() as store:
        library = Library(store, author(1), entropy=entropy(2))
        store.publish(make_signed(author(1), 1), NOW)
        take(store, make_signed(author(1), 1, updated=NOW + 1), make_signed(author(1), 2))
        assert library.key == author(1).key
        assert [row.own for row in store.entries.select(Selection(NOW))] == [1, 1]


def test_what_came_before_the_key_is_own_from_then_on() -> None:
    with memory_store() as store:
        take(store, make_signed(author(1), 1), make_signed(author(2), 2))
        Library(store, author(1), entropy=entropy(2))
        own = {row.id: row.own for row in store.entries.select(Selection(NOW))}
        assert own == {"urn:example:entry:1": 1, "urn:example:entry:2": 0}


def test_publishing_what_a_neighbour_brought_makes_it_own_and_what_was_evicted_comes_back() -> None:
    mine = make_signed(author(1), 1, updated=NOW - 1)
    with memory_store(Limits(max_feed_entries=1, stranger_share=1)) as store:
        take(store, mine, make_signed(author(2), 2))
        assert titles(store) == ["Entry 2"]
        known = store.known_sketch(OPEN_FEED).fingerprint
        for fate in (Fate.STORED, Fate.DUPLICATE):
            (outcome,) = store.take_in(read_verified([mine]), Delivery(NOW, own=True))
            assert outcome.fate is fate
        assert titles(store) == ["Entry 1"]
        assert store.known_sketch(OPEN_FEED).fingerprint == known
