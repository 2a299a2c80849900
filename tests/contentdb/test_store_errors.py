"""What the store says when disk, file or another owner will not have it: one sentence, nothing lost."""

import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from contentdb.database import FILE_NAME
from contentdb.errors import StoreError
from contentdb.intake import Fate
from contentdb.model import Content, Enclosure
from contentdb.query import Selection
from contentdb.store import Store
from tests.contentdb.makers import NOW, OPEN_FEED, author, entropy, make_signed, take

ALICE = author(1)


def open_store(folder: Path) -> Store:
    return Store.open(folder, entropy=entropy(1))


def filled(folder: Path, entries: int = 20) -> None:
    with open_store(folder) as store:
        take(store, *(make_signed(ALICE, number) for number in range(entries)))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_only_the_owner_can_read_the_database(tmp_path: Path) -> None:
    filled(tmp_path / "home")
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "home" / FILE_NAME).stat().st_mode) == 0o600


def test_a_second_owner_is_told_that_there_is_a_first(tmp_path: Path) -> None:
    with open_store(tmp_path), pytest.raises(StoreError, match="another passerby is using"):
        open_store(tmp_path)
    open_store(tmp_path).close()


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    filled(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="newer passerby"):
        open_store(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before[str(tmp_path / FILE_NAME)]


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"my holiday diary\n" * 500)
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="damaged"):
        open_store(tmp_path)
    assert contents(tmp_path) == before


def test_damaged_pages_are_said_and_nothing_is_deleted(tmp_path: Path) -> None:
    filled(tmp_path, 2_000)
    path = tmp_path / FILE_NAME
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(data)
    size = path.stat().st_size
    with pytest.raises(StoreError, match="damaged"), open_store(tmp_path) as store:
        assert store.problems()
        store.entries.select(Selection(NOW))
        store.feeds.rows()
        take(store, make_signed(ALICE, 9_999))
    assert path.stat().st_size >= size


def test_an_unwritable_folder_is_said(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    with pytest.raises(StoreError, match="cannot write in"):
        open_store(place)
    with pytest.raises(StoreError, match="cannot write in"):
        open_store(Path("/proc/passerby"))


def test_files_older_than_the_database_stay(tmp_path: Path) -> None:
    """Whoever moves a damaged database away must not lose the enclosures by it."""
    with open_store(tmp_path) as store:
        root, length = store.blobs.add_bytes(b"precious" * 10_000)
        file = Enclosure("song.ogg", "audio/ogg", length, root)
        store.publish(make_signed(ALICE, enclosures=(file,)), NOW)
    (tmp_path / FILE_NAME).rename(tmp_path / "damaged.sqlite")
    for _ in range(2):
        with open_store(tmp_path) as store:
            assert store.blobs.roots() == [root]


def test_bytes_of_an_entry_that_never_came_are_swept_at_the_next_opening(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.blobs.add_bytes(b"orphan" * 10_000)
    with open_store(tmp_path) as store:
        assert store.blobs.roots() == []


def test_a_missing_enclosure_file_is_told_and_the_rest_is_served(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        root, length = store.blobs.add_bytes(b"precious" * 10_000)
        file = Enclosure("song.ogg", "audio/ogg", length, root)
        store.publish(make_signed(ALICE, enclosures=(file,)), NOW)
    shutil.rmtree(tmp_path / "enclosures")
    with open_store(tmp_path) as store:
        assert len(store.entries.select(Selection(NOW))) == 1
        (problem,) = store.missing_files()
        assert "song.ogg" in problem
        with pytest.raises(StoreError):
            store.blobs.path(root)
        assert store.blobs.add_bytes(b"precious" * 10_000) == (root, length)
        assert store.missing_files() == []


def test_a_full_disk_loses_nothing_and_is_over_when_there_is_room(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.contentdb.test_store_errors import fill_until_it_fails\n"
        "fill_until_it_fails(Path(sys.argv[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "home")], capture_output=True, text=True, check=True
    )
    acknowledged = int(done.stdout)
    assert acknowledged > 10
    with open_store(tmp_path / "home") as store:
        assert store.problems() == []
        assert len(store.entries.select(Selection(NOW, limit=10_000))) == acknowledged
        assert take(store, make_signed(ALICE, 99_999))[0].fate is Fate.STORED


def fill_until_it_fails(folder: Path) -> None:
    """Runs in a process of its own, whose files may not grow beyond a megabyte, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
    acknowledged = 0
    store = open_store(folder)
    try:
        for number in range(10_000):
            outcomes = take(
                store, make_signed(ALICE, number, content=Content("text", "x" * 5_000)), source=None
            )
            acknowledged += outcomes[0].fate is Fate.STORED
    except StoreError as error:
        assert "disk" in str(error), error
        # Still there, still readable, in the same process.
        assert len(store.entries.select(Selection(NOW, OPEN_FEED, limit=10_000))) == acknowledged
        print(acknowledged)
        return
    raise AssertionError("a megabyte was enough for everything")
