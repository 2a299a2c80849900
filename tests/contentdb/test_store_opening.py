"""Opening and closing: the (epoch, revision) pair, schema steps, SQLite without FTS5, what is swept."""

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from contentdb.database import FILE_NAME, STOP_MARK
from contentdb.errors import StoreError
from contentdb.migrations import FULL_TEXT, STEPS, migrate
from contentdb.model import Enclosure, Text
from contentdb.query import Selection
from contentdb.selector import parse
from contentdb.settings import Limits
from contentdb.store import Store
from tests.contentdb.makers import (
    NOW,
    author,
    make_descriptor,
    make_signed,
    memory_store,
    take,
)

ALICE, BOB = author(1), author(2)


def open_store(folder: Path) -> Store:
    return Store.open(folder, entropy=os.urandom)


def pair(folder: Path) -> tuple[str, int]:
    with open_store(folder) as store:
        return store.epoch, store.revision


# -- epoch


def test_two_databases_never_have_one_epoch(tmp_path: Path) -> None:
    epochs = {pair(tmp_path / "one")[0], pair(tmp_path / "two")[0]}
    assert len(epochs) == 2 and all(len(bytes.fromhex(epoch)) == 8 for epoch in epochs)


def test_a_clean_stop_keeps_epoch_and_revision(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        take(store, make_signed(ALICE))
        before = store.epoch, store.revision
    assert pair(tmp_path) == pair(tmp_path) == before
    assert stat.S_IMODE((tmp_path / STOP_MARK).stat().st_mode) == 0o600


def test_an_unclean_stop_makes_a_new_epoch(tmp_path: Path) -> None:
    with open_store(tmp_path / "home") as store:
        take(store, make_signed(ALICE))
        shutil.copytree(tmp_path / "home", tmp_path / "crashed")  # as a kill would leave it at this moment
        before = store.epoch
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "crashed").rename(tmp_path / "home")
    assert pair(tmp_path / "home")[0] != before


@pytest.mark.parametrize("with_mark", [True, False])
def test_a_backup_copied_over_the_home_makes_a_new_epoch(tmp_path: Path, with_mark: bool) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    with open_store(home) as store:
        take(store, make_signed(ALICE, 1))
    shutil.copytree(home, backup)
    with open_store(home) as store:
        take(store, make_signed(ALICE, 2))
        before = store.epoch, store.revision
    for name in (FILE_NAME, STOP_MARK) if with_mark else (FILE_NAME,):
        shutil.copy2(backup / name, home / name)  # into the same file, with the times of the backup
    epoch, revision = pair(home)
    assert revision < before[1] and epoch != before[0]


def test_a_backup_put_in_place_of_the_home_makes_a_new_epoch(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    before = pair(home)[0]
    shutil.copytree(home, backup)
    shutil.rmtree(home)
    backup.rename(home)
    assert pair(home)[0] != before


def test_whoever_says_that_the_store_was_restored_gets_a_new_epoch(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        before = store.epoch
        store.restored()
        assert store.epoch != before
        renewed = store.epoch
    assert pair(tmp_path)[0] == renewed


# -- revision


def test_the_revision_grows_with_descriptors_and_not_with_what_is_lost() -> None:
    with memory_store(Limits(max_feed_entries=2, stranger_share=1)) as store:
        store.feeds.put_descriptor(make_descriptor(ALICE))
        assert store.revision == 1
        store.feeds.put_descriptor(make_descriptor(ALICE))  # the same again
        store.feeds.put_descriptor(make_descriptor(ALICE, sequence=2, title=Text("Other")))
        assert store.revision == 2
        take(store, *(make_signed(BOB, number, updated=NOW + number) for number in range(4)))
        assert store.revision == 6 and len(store.entries.select(Selection(NOW))) == 2


def test_a_transaction_that_fails_takes_the_revision_back() -> None:
    with memory_store() as store:
        with pytest.raises(KeyError), store.transaction():
            take(store, make_signed(ALICE))
            raise KeyError
        assert store.revision == 0 and store.entries.select(Selection(NOW)) == []
        take(store, make_signed(ALICE))
        assert store.revision == 1


# -- schema


@pytest.mark.parametrize("version", range(len(STEPS)))
def test_a_database_of_each_older_version_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    migrate(connection, 0, STEPS[:version])
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    connection.close()
    with open_store(tmp_path) as store:
        take(store, make_signed(ALICE))
        assert store.problems() == []
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    connection.close()


def test_only_the_steps_that_are_missing_are_applied_and_what_was_there_stays() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, 0, ["CREATE TABLE words (word TEXT);"])
    connection.execute("INSERT INTO words VALUES ('kept')")
    migrate(connection, 1, ["not SQL: applied already", "ALTER TABLE words ADD COLUMN length INTEGER;"])
    assert connection.execute("SELECT * FROM words").fetchall() == [("kept", None)]
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_step_that_fails_leaves_the_database_at_the_step_before(tmp_path: Path) -> None:
    steps = ["CREATE TABLE words (word TEXT);", "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1);"]
    connection = sqlite3.connect(tmp_path / "some.sqlite", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, 0, steps)
    connection.close()
    connection = sqlite3.connect(tmp_path / "some.sqlite")
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("words",)]
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


# -- full text


def without_full_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contentdb.database.FULL_TEXT", FULL_TEXT.replace("fts5", "not_compiled_in"))


def found(store: Store, word: str) -> int:
    return len(store.entries.select(Selection(NOW, where=parse(f"title LIKE '%{word}%'"))))


def test_without_fts5_the_store_opens_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    without_full_text(monkeypatch)
    with memory_store() as store:
        assert not store.has_full_text
        take(store, make_signed(ALICE, title=Text("a needle in a haystack")), make_signed(ALICE, 2))
        assert found(store, "needle") == 1 and store.problems() == []


def test_a_database_that_was_elsewhere_without_fts5_gets_its_index_back(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        take(store, make_signed(ALICE, 1, title=Text("first needle")))
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_full_text(monkeypatch)
        with open_store(tmp_path) as store:
            take(store, make_signed(ALICE, 1, title=Text("changed"), updated=NOW + 1))
            take(store, make_signed(ALICE, 2, title=Text("second needle")))
            assert found(store, "needle") == 1 and store.problems() == []
    with open_store(tmp_path) as store:
        assert store.has_full_text and found(store, "needle") == 1 and store.problems() == []


# -- sweeping


def publish_song(store: Store, number: int = 1) -> str:
    root, length = store.blobs.add_bytes(bytes([number]) * 50_000)
    file = Enclosure("song.ogg", "audio/ogg", length, root)
    store.publish(make_signed(ALICE, number, enclosures=(file,)), NOW)
    return root


def lose_database(folder: Path) -> None:
    for path in folder.glob(FILE_NAME + "*"):
        path.unlink()


def test_a_first_opening_that_fails_half_way_loses_no_file_at_the_second(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        roots = sorted(publish_song(store, number) for number in range(3))
    lose_database(tmp_path)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("contentdb.blobs_recovery.recover", failing_disk)
        with pytest.raises(StoreError, match="input/output"):
            open_store(tmp_path)
    for _ in range(2):
        with open_store(tmp_path) as store:
            assert store.blobs.roots() == roots


def failing_disk(shelf: object) -> None:
    raise OSError(5, "input/output error")


def test_beside_files_that_are_older_than_the_database_later_orphans_are_swept(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        older = publish_song(store)
    lose_database(tmp_path)
    with open_store(tmp_path) as store:
        store.blobs.add_bytes(b"orphan" * 20_000)  # as a kill between file and entry leaves it
    with open_store(tmp_path) as store:
        assert store.blobs.roots() == [older]


def test_a_stranger_cannot_take_an_older_file_away_by_naming_it(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        older = publish_song(store)
    lose_database(tmp_path)
    with open_store(tmp_path) as store:
        file = Enclosure("song.ogg", "audio/ogg", 50_000, store.blobs.roots()[0])
        take(store, make_signed(BOB, enclosures=(file,)))
        take(store, make_signed(BOB, updated=NOW + 1, retracted=True))
        assert store.blobs.roots() == [older]


def test_an_older_file_that_an_own_entry_names_goes_with_that_entry(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        publish_song(store)
    lose_database(tmp_path)
    with open_store(tmp_path) as store:
        publish_song(store)
    with open_store(tmp_path) as store:
        store.publish(make_signed(ALICE, updated=NOW + 1, retracted=True), NOW + 1)
        assert store.blobs.roots() == []


# -- durability


def flushed_commits(store: Store, work: str) -> list[str]:
    """What SQLite was told about flushing, and its commits, while the work was done."""
    said: list[str] = []
    with store.transaction() as connection:
        pass
    connection.set_trace_callback(said.append)
    if work == "publish":
        store.publish(make_signed(ALICE), NOW)
    elif work == "take":
        take(store, make_signed(ALICE))
    else:
        with store.transaction():
            store.publish(make_signed(ALICE), NOW)
    connection.set_trace_callback(None)
    words = [line.removeprefix("PRAGMA synchronous = ") for line in said]
    return [word for word in words if word in ("FULL", "NORMAL", "COMMIT")]


def test_own_publications_are_flushed_and_what_neighbours_bring_is_not(tmp_path: Path) -> None:
    with open_store(tmp_path / "own") as store:
        assert flushed_commits(store, "publish") == ["FULL", "COMMIT"]
    with open_store(tmp_path / "other") as store:
        assert flushed_commits(store, "take") == ["COMMIT"]


def test_a_publication_inside_a_larger_transaction_is_flushed_with_it(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        assert flushed_commits(store, "publish inside") == ["COMMIT", "FULL", "COMMIT"]
