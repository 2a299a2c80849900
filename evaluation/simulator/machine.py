"""What outlives the process of a simulated node: its disk, its keys, its clock, and what its apps remember.

A crash is a statement that never returns: a fuse counts what is written and read, and where it burns down,
the call ends, the open transaction is rolled back as SQLite would on the next opening, and whoever still
holds the old objects can do nothing with them. A power cut also takes back what was not flushed: the
database goes back to its last durable commit, and chunks of unfinished enclosures are lost at random. A full
disk is SQLite's own (`max_page_count`), so that its errors are the real ones.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from contentdb.blobs import MemoryBlobs
from contentdb.connection import Connection, Cursor
from contentdb.database import Database
from contentdb.errors import StoreError
from contentdb.identity import AuthorSecret, NodeSecret
from contentdb.names import EntryId, FeedId, Root
from contentdb.settings import Limits
from contentdb.store import Store
from contentdb.sweeping import sweep
from middleware.logbook import Logbook


class Crash(BaseException):
    """The process ended here. Not an Exception, so that nothing in the product can mistake it for one."""


class Disk:
    """The fuse and the free space that database and enclosures share."""

    def __init__(self) -> None:
        self.fuse: int | None = None  # so many operations more, then the process ends
        self.is_dead = self.is_full = False

    def operate(self) -> None:
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse <= 0:
                self.is_dead, self.fuse = True, None
        if self.is_dead:
            raise Crash

    @contextmanager
    def spied_on(self) -> Iterator[None]:
        """Whoever knows what is here without asking does not use it up."""
        fuse, self.fuse = self.fuse, None
        try:
            yield
        finally:
            self.fuse = fuse

    def write(self) -> None:
        self.operate()
        if self.is_full:
            raise StoreError("the disk of memory is full; nothing was lost: make room and try again")


class DiskConnection(Connection):
    """A connection that ends where the process does, and knows what a power cut would leave."""

    disk: Disk
    remembers = False  # keep a copy of each durable state: dear, so only where a power cut is to come
    durable: bytes | None = None
    on_durable: Callable[[], None] = staticmethod(lambda: None)
    _is_full_sync = False

    def execute(self, sql: str, parameters: Any = (), /) -> Cursor:
        self.disk.operate()
        if sql.startswith("PRAGMA journal_mode"):
            # A log beside it would not be in a copy of it; SQLite keeps one for what it was copied to.
            sql = "PRAGMA journal_mode = MEMORY"
        cursor = super().execute(sql, parameters)
        if sql.startswith("PRAGMA synchronous"):  # a store says so once, perhaps long before a power cut
            self._is_full_sync = sql.endswith("FULL")
        elif self.remembers and sql == "COMMIT" and self._is_full_sync:
            self.durable = self.serialize()
            self.on_durable()
        return cursor

    def executemany(self, sql: str, rows: Any, /) -> Cursor:
        self.disk.operate()
        return super().executemany(sql, rows)

    def close(self) -> None:
        """Whoever opens it next finds the same content: what is closed is a file, and this is its disk."""
        if self.in_transaction:
            Connection.execute(self, "ROLLBACK")


class DiskBlobs(MemoryBlobs):
    """Enclosures on a disk that may be full, or belong to a process that has ended."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self._disk = disk

    def add_bytes(self, data: bytes) -> tuple[Root, int]:
        self._disk.write()
        return super().add_bytes(data)

    def begin(self, root: Root, length: int) -> bool:
        self._disk.write()
        return super().begin(root, length)

    def set_leaves(self, root: Root, first: int, hashes: bytes) -> None:
        self._disk.write()
        super().set_leaves(root, first, hashes)

    def write_chunk(self, root: Root, index: int, data: bytes | memoryview) -> bool:
        self._disk.write()
        return super().write_chunk(root, index, data)

    def read_chunk(self, root: Root, index: int) -> bytes:
        self._disk.operate()
        return super().read_chunk(root, index)

    def remove(self, root: Root) -> None:
        self._disk.operate()
        super().remove(root)

    def survivor(self, disk: Disk, is_lost: Callable[[], bool]) -> "DiskBlobs":
        """What the next process finds. What was complete was flushed; of the rest anything may be lost."""
        survivor = DiskBlobs(disk)
        survivor._kept = self._kept
        for kept in survivor._kept.values():
            if not kept.is_complete:
                for index in [index for index in kept.chunks if is_lost()]:
                    del kept.chunks[index]
        return survivor


class DiskDatabase(Database):
    """Opens what is on the machine's disk, cleanly stopped or not."""

    def __init__(self, machine: "Machine", entropy: Callable[[int], bytes]) -> None:
        self._machine = machine
        super().__init__(None, entropy)

    def _connect(self) -> Connection:
        return self._machine.connection

    def _take_stop_mark(self) -> bool:
        was_clean, self._machine.is_clean = self._machine.is_clean, False
        return was_clean

    def close(self) -> None:
        self._machine.is_clean = True


@dataclass(slots=True)
class Given:
    """An entry given to an app. It is excused if a crash came before the app, or its mark, was safe."""

    app: str
    feed: FeedId
    entry: EntryId
    version: bytes
    is_excused: bool = False


class Machine:
    def __init__(self, entropy: Callable[[int], bytes]) -> None:
        self.author = AuthorSecret.generate(entropy)
        self.secret = NodeSecret.generate(entropy)
        self.clock_ms = 0  # how far its wall clock is ahead of the world's
        self.given: list[Given] = []
        self.logbook = Logbook(self.secret.node_id)  # its lines are on disk, so their numbers go on
        self.is_clean = True
        self.disk = Disk()
        self.connection = self._connection(b"")
        self.blobs = DiskBlobs(self.disk)
        self._safe = 0  # what had been given when the database was last durable

    def _connection(self, content: bytes) -> DiskConnection:
        connection = DiskConnection(":memory:", isolation_level=None)
        connection.disk = self.disk
        connection.on_durable = self._is_durable
        if content:
            connection.deserialize(content)
        return connection

    def _is_durable(self) -> None:
        self._safe = len(self.given)

    def open_store(self, entropy: Callable[[int], bytes], limits: Limits) -> Store:
        """Open what is there, as the product does. A StoreError leaves it as it was."""
        database = DiskDatabase(self, entropy)
        store = Store(database, self.blobs, limits)
        sweep(database, self.blobs)
        return store

    def dread_power_cuts(self) -> None:
        self.connection.remembers = True
        self.connection.durable = self.connection.serialize()
        self._is_durable()

    def killed(self) -> None:
        """The process is gone, and with it everything that was not committed."""
        self.disk.is_dead = True
        content = self._content()
        self._next_process(content, lambda: False)

    def power_failed(self, rng: Random) -> None:
        """The power is gone, and with it everything that was not flushed."""
        self.disk.is_dead = True
        content = self.connection.durable
        assert content is not None, "only a machine that dreads power cuts knows what they leave"
        for given in self.given[self._safe :]:
            given.is_excused = True
        self._next_process(content, lambda: rng.random() < 0.5)

    def _content(self) -> bytes:
        self.connection.close()
        return self.connection.serialize()

    def _next_process(self, content: bytes, is_lost: Callable[[], bool]) -> None:
        is_full, remembers = self.disk.is_full, self.connection.remembers
        self.disk = Disk()
        self.disk.is_full = is_full
        self.connection = self._connection(content)
        self.blobs = self.blobs.survivor(self.disk, is_lost)
        if remembers:
            self.dread_power_cuts()
        self._limit_pages()

    def fill(self) -> None:
        """From now on nothing more fits on the disk."""
        self.disk.is_full = True
        self._limit_pages()

    def make_room(self) -> None:
        self.disk.is_full = False
        self._limit_pages()

    def _limit_pages(self) -> None:
        # One page is the least that SQLite takes; what is there already stays, and only growth fails.
        most = 1 if self.disk.is_full else 1_073_741_823
        Connection.execute(self.connection, f"PRAGMA max_page_count = {most}")
