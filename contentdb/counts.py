"""How much each feed holds: counted in memory as entries come and go, written with the commit."""

from typing import NamedTuple

from contentdb.database import Database
from contentdb.names import FeedId


class FeedUse(NamedTuple):
    """What a feed takes of its quota."""

    key: int
    id: FeedId
    pinned: bool
    entries: int
    bytes: int


_USE = "SELECT key, id, pinned, entries, bytes FROM feeds"


class Counts:
    def __init__(self, database: Database) -> None:
        self._run = database.connection
        self._pending: dict[int, tuple[int, int]] = {}
        self._changed: set[int] = set()
        self._total: int | None = None
        database.before_commit(self._write)
        database.on_rollback(self._forget)

    def _forget(self) -> None:
        self._pending.clear()
        self._changed.clear()
        self._total = None

    def add(self, feed: int, entries: int, size: int) -> None:
        old_entries, old_size = self._pending.get(feed, (0, 0))
        self._pending[feed] = (old_entries + entries, old_size + size)
        if self._total is not None:
            self._total += size

    def _write(self) -> None:
        if self._pending:
            self._changed.update(self._pending)
            self._run.executemany(
                "UPDATE feeds SET entries = entries + ?, bytes = bytes + ? WHERE key = ?",
                [(entries, size, feed) for feed, (entries, size) in self._pending.items()],
            )
            self._pending.clear()

    def total(self) -> int:
        """All bytes that entries and their enclosures count for."""
        if self._total is None:
            self._write()
            (self._total,) = self._run.execute("SELECT coalesce(sum(bytes), 0) FROM feeds").fetchone()
        return self._total or 0

    def numbers(self) -> tuple[int, int]:
        """How many feeds there are, and how many entries in all of them."""
        self._write()
        feeds, entries = self._run.execute("SELECT count(*), coalesce(sum(entries), 0) FROM feeds").fetchone()
        return int(feeds), int(entries)

    def changed(self) -> list[FeedUse]:
        """The feeds whose counts have changed since this was last asked."""
        self._write()
        keys = ",".join(map(str, sorted(self._changed)))
        self._changed.clear()
        rows = self._run.execute(f"{_USE} WHERE key IN ({keys}) ORDER BY key").fetchall()
        return [FeedUse(*row) for row in rows]

    def all(self) -> list[FeedUse]:
        self._write()
        self._changed.clear()
        return [FeedUse(*row) for row in self._run.execute(f"{_USE} ORDER BY key").fetchall()]

    def pinned(self) -> dict[int, tuple[int, int]]:
        """Entries and bytes of each pinned feed."""
        self._write()
        rows = self._run.execute("SELECT key, entries, bytes FROM feeds WHERE pinned")
        return {key: (entries, size) for key, entries, size in rows}

    def protected_bytes(self) -> int:
        """What is never evicted: own entries, pinned ones, and pinned feeds."""
        self._write()
        (total,) = self._run.execute(
            "SELECT (SELECT coalesce(sum(bytes), 0) FROM feeds WHERE pinned) + coalesce(sum(bytes), 0) "
            "FROM entries INDEXED BY entries_protected WHERE state = 0 AND (own OR pinned) "
            "AND feed NOT IN (SELECT key FROM feeds WHERE pinned)"
        ).fetchone()
        return int(total)
