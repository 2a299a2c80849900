"""One SQLite file with one owner: opening, transactions, the (epoch, revision) pair, and clear errors."""

import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from contentdb.blobs_files import flush_folder, store_error
from contentdb.connection import Connection
from contentdb.errors import StoreError
from contentdb.migrations import FULL_TEXT, STEPS, migrate

FILE_NAME = "passerby.sqlite"
STOP_MARK = "passerby.sqlite-stopped"
# 16 MiB of page cache: enough for the inner pages of every index over a million entries.
CACHE_KIB = 16_384
# As many short ids as fit into a hello beside the rest.
# What a crowd hands on at once is compared as a whole; a longer row of gains costs a session each.
MAX_RECENT = 1024


class Database:
    """Owns the connection. `durable` transactions survive a power cut, the others any crash of ours."""

    def __init__(self, folder: Path | None, entropy: Callable[[int], bytes]) -> None:
        self._entropy = entropy
        self._path = folder / FILE_NAME if folder is not None else None
        self._depth = 0
        self._owes_flush = False
        self._is_full = False  # is `synchronous` FULL just now?
        self._rolled_back: list[Callable[[], None]] = []
        self._before_commit: list[Callable[[], None]] = []
        self.recent: deque[int] = deque(maxlen=MAX_RECENT)  # short ids of the last gains, without a gap
        self.recent_tags: deque[str] = deque(maxlen=MAX_RECENT)  # of their feeds
        self.gain_sum = 0  # all short ids ever gained, combined by exclusive or
        self.connection = self._connect()
        try:
            self._open()
        except BaseException:
            self.connection.close()
            raise

    def _connect(self) -> Connection:
        if self._path is None:
            return self._connection(":memory:")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here, because SQLite would make it readable by everybody the umask allows.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            self._found = _identity(self._path)  # before SQLite touches it
        except OSError as error:
            raise StoreError(
                f"cannot write in {self._path.parent}: {error.strerror}; choose another folder with --home, "
                "or make this one yours"
            ) from error
        connection = self._connection(str(self._path))
        connection.place = str(self._path.parent)
        return connection

    def _connection(self, path: str) -> Connection:
        return sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=0.2, factory=Connection
        )

    def _open(self) -> None:
        run = self.connection.execute
        run("PRAGMA locking_mode = EXCLUSIVE")  # one owner; a second one is told so at once
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run(f"PRAGMA cache_size = -{CACHE_KIB}")
        run("PRAGMA temp_store = MEMORY")
        (version,) = run("PRAGMA user_version").fetchone()
        if version > len(STEPS):
            raise StoreError(
                f"the database in {self.connection.place} was written by a newer passerby (schema {version}, "
                f"this one knows {len(STEPS)}); nothing was changed: update passerby, or use another --home"
            )
        migrate(self.connection, version)
        self.full_text = self._open_full_text()
        self._open_pair()

    def _open_full_text(self) -> bool:
        """Bring the index up to date where there is FTS5; elsewhere, say that it falls behind from now on."""
        if not has_full_text():
            with self.transaction():
                self.put_meta("full_text_revision", -1)
            return False
        run = self.connection.execute
        present = run("SELECT 1 FROM sqlite_master WHERE name = 'entry_text'").fetchone()
        with self.transaction():
            run(FULL_TEXT)
            revision = self.meta("revision") or 0
            if not present or self.meta("full_text_revision") != revision:
                run("INSERT INTO entry_text (entry_text) VALUES ('delete-all')")
                run(
                    "INSERT INTO entry_text (rowid, title, summary, categories) "
                    "SELECT key, title, summary, categories FROM entries WHERE state = 0"
                )
                self.put_meta("full_text_revision", revision)
        return True

    def _open_pair(self) -> None:
        """A database that was not closed, or that is not the file it was, may have been rolled back."""
        is_as_we_left_it = self._take_stop_mark()
        if self.meta("epoch") is None or not is_as_we_left_it:
            self.renew_epoch()
        self.epoch = str(self.meta("epoch"))
        self.revision = int(self.meta("revision") or 0)
        self.gain_sum = int(self.meta("gain_sum") or 0)

    # The stop mark says which file we closed, and when it last changed. A file that was copied over this one
    # brings the old content and the old mark, but no copy can set the time of change back.

    def _take_stop_mark(self) -> bool:
        """Whether the file is as the last stop left it. The mark is gone, durably, before we write."""
        if self._path is None:
            return True
        mark = self._path.with_name(STOP_MARK)
        try:
            said = mark.read_text(encoding="ascii", errors="replace") if mark.exists() else ""
            mark.unlink(missing_ok=True)
            flush_folder(mark.parent)
        except OSError as error:
            raise store_error(error, f"taking {mark} away") from error
        return said == self._found

    def _leave_stop_mark(self) -> None:
        # While there is still a log beside it, not all of the database is safe on the disk.
        if self._path is None or self._path.with_name(FILE_NAME + "-wal").exists():
            return
        with contextlib.suppress(OSError):  # without a mark the next opening takes a new epoch, which is safe
            mark = os.open(self._path.with_name(STOP_MARK), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(mark, "w", encoding="ascii") as file:
                file.write(_identity(self._path))

    def renew_epoch(self) -> None:
        """A new epoch tells every peer that what it remembers of our revision means nothing any more."""
        with self.transaction(durable=True):
            self.put_meta("epoch", self._entropy(8).hex())
        self.epoch = str(self.meta("epoch"))

    def meta(self, name: str) -> str | int | None:
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def put_meta(self, name: str, value: str | int) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def next_revision(self, gained: int, tag: str) -> int:
        """A number that grows with every gain; written to disk with the transaction that uses it.

        `gained` is the short id of what was gained, `tag` that of its feed.
        """
        self.revision += 1
        self.recent.append(gained)
        self.recent_tags.append(tag)
        self.gain_sum ^= gained
        return self.revision

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """What a cache must do when a transaction it took part in did not happen."""
        self._rolled_back.append(forget)

    def before_commit(self, write: Callable[[], None]) -> None:
        self._before_commit.append(write)

    def transaction(self, *, durable: bool = False) -> contextlib.AbstractContextManager[Connection]:
        """Everything inside happens or nothing does; inner transactions join the outer one.

        A durable one is on the disk when it returns, or when the outermost one does. FULL costs an
        fdatasync, so only acknowledgements to people and keys pay for it.
        """
        if self._depth:
            self._owes_flush |= durable
            return contextlib.nullcontext(self.connection)
        return self._whole(durable=durable)

    @contextlib.contextmanager
    def _whole(self, *, durable: bool) -> Iterator[Connection]:
        self._owes_flush = False
        with self._outermost(durable=durable):
            yield self.connection
        if self._owes_flush and not durable:
            # SQLite cannot be made to flush once a transaction has begun. A second one, which flushes,
            # flushes the log with all that the first has written.
            with self._outermost(durable=True):
                # Another value each time: SQLite writes, and flushes, nothing for one that stays the same.
                self.put_meta("flushes", int(self.meta("flushes") or 0) + 1)

    @contextlib.contextmanager
    def _outermost(self, *, durable: bool) -> Iterator[None]:
        revision, gain_sum = getattr(self, "revision", 0), self.gain_sum
        try:
            if durable != self._is_full:  # saying so costs more than many a small transaction
                self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._is_full = durable
            self.connection.execute("BEGIN IMMEDIATE")
            self._depth = 1
            yield
            for write in self._before_commit:
                write()
            if getattr(self, "revision", 0) != revision:
                self.put_meta("revision", self.revision)
                self.put_meta("gain_sum", self.gain_sum)
                self.put_meta("full_text_revision", self.revision if self.full_text else -1)
            self.connection.execute("COMMIT")
        except BaseException:
            self._roll_back(revision, gain_sum)
            raise
        finally:
            self._depth = 0

    def _roll_back(self, revision: int, gain_sum: int) -> None:
        if self.connection.in_transaction:
            with contextlib.suppress(StoreError):  # a full disk may have rolled it back already
                self.connection.execute("ROLLBACK")
        self.revision, self.gain_sum = revision, gain_sum
        self.recent_tags.clear()
        self.recent.clear()  # the same revisions will be of something else
        for forget in self._rolled_back:
            forget()

    def problems(self) -> list[str]:
        """What SQLite's own integrity check finds; empty when all is well."""
        try:
            found = [row[0] for row in self.connection.execute("PRAGMA integrity_check(20)")]
            if self.full_text:
                self.connection.execute("INSERT INTO entry_text (entry_text) VALUES ('integrity-check')")
        except StoreError as error:
            found = [str(error)]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        self.connection.close()
        self._leave_stop_mark()


def has_full_text() -> bool:
    """Whether this SQLite has FTS5 with trigrams. Tried elsewhere, where no damage can look like a no."""
    with contextlib.closing(sqlite3.connect(":memory:")) as elsewhere:
        try:
            elsewhere.execute(FULL_TEXT)
        except sqlite3.OperationalError:
            return False
    return True


def _identity(path: Path) -> str:
    status = os.stat(path)
    return f"{status.st_dev}:{status.st_ino}:{status.st_ctime_ns}"
