"""Feeds as the store knows them: descriptors, who may write, counts, blocked keys, and sets to reconcile."""

from collections.abc import Iterable
from dataclasses import dataclass

from contentdb.atom import read_signed_descriptor
from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.errors import RemoteError
from contentdb.identity import verify_descriptor
from contentdb.knowledge import Knowledge
from contentdb.model import MIN_INTEGER, Feed, Signed
from contentdb.names import AuthorKey, FeedId, owner_of
from contentdb.rows import version_of
from contentdb.stored import stored_descriptor


@dataclass(frozen=True, slots=True)
class Gate:
    """What decides quickly whether an entry may enter a feed."""

    key: int
    floor: int
    owner: AuthorKey | None
    writers: frozenset[AuthorKey]

    def may_write(self, author: AuthorKey) -> bool:
        return self.owner is None or author == self.owner or author in self.writers


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A feed as it is listed. `updated` is the newest entry held: computed, never what anybody claims."""

    id: FeedId
    feed: Feed | None  # None: entries have arrived before the descriptor
    updated: int | None
    entries: int
    bytes: int
    own: bool
    pinned: bool
    listed: bool
    subscribed: bool


# Feeds whose gate is kept at hand; a flood of invented feeds costs look-ups, never memory.
MAX_GATES = 10_000


class Feeds:
    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self.knowledge = Knowledge(database)
        self._gates: dict[str, Gate] = {}
        self._counts: dict[int, tuple[int, int]] = {}
        self._blocked = self._load_blocked()
        database.before_commit(self._write_counts)
        database.on_rollback(self._forget)

    def _forget(self) -> None:
        self._gates.clear()
        self._counts.clear()
        self._blocked = self._load_blocked()

    def gate(self, feed: FeedId) -> Gate:
        gate = self._gates.get(feed)
        if gate is None:
            key = self._catalogue.feed(feed)
            floor, data = self._run.execute("SELECT floor, data FROM feeds WHERE key = ?", (key,)).fetchone()
            writers = stored_descriptor(data).writers if data is not None else ()
            gate = Gate(key, floor, owner_of(feed), frozenset(writers))
            if len(self._gates) >= MAX_GATES:
                self._gates.clear()
            self._gates[feed] = gate
        return gate

    # -- descriptors

    def put_descriptor(self, signed: Signed, *, own: bool = False) -> bool:
        """Take a descriptor; True if it is new. The first signer of an open feed stays its only one.

        Raises RemoteError when it does not verify or comes from somebody who may not describe this feed.
        """
        verify_descriptor(signed)
        feed = read_signed_descriptor(signed.data)
        if feed.signer != signed.author:
            raise RemoteError("the key inside the descriptor is not the key that signed it")
        with self._database.transaction(durable=own):
            return self._replace_descriptor(feed, signed, own=own)

    def _replace_descriptor(self, feed: Feed, signed: Signed, *, own: bool) -> bool:
        key = self._catalogue.feed(feed.id)
        signer = self._catalogue.author(signed.author)
        pinned_signer, sequence, data = self._run.execute(
            "SELECT signer, sequence, data FROM feeds WHERE key = ?", (key,)
        ).fetchone()
        if pinned_signer not in (None, signer):
            raise RemoteError(
                f"feed {feed.id} is described by another key already; a second one changes nothing"
            )
        if data is not None and (feed.sequence, version_of(signed.data)) <= (sequence, version_of(data)):
            return False
        self._run.execute(
            "UPDATE feeds SET signer = ?, sequence = ?, signature = ?, data = ?, listed = ?, "
            "own = max(own, ?) WHERE key = ?",
            (signer, feed.sequence, signed.signature, signed.data, feed.listed, own, key),
        )
        # Whoever was no writer under the old list may be one now.
        self._forget_refusals(key, "not a writer of this feed")
        self._gates.pop(feed.id, None)
        self._database.next_revision()
        return True

    def _forget_refusals(self, feed: int | None, reason: str) -> None:
        condition = "reason = ?" if feed is None else "reason = ? AND feed = ?"
        forgotten = self._run.execute(
            f"DELETE FROM known_versions WHERE {condition}", (reason,) if feed is None else (reason, feed)
        )
        if forgotten.rowcount:
            self.knowledge.forget(feed)

    def descriptor(self, feed: FeedId) -> Signed | None:
        row = self._run.execute(
            "SELECT a.public, f.signature, f.data FROM feeds f JOIN authors a ON a.key = f.signer "
            "WHERE f.id = ?",
            (feed,),
        ).fetchone()
        return None if row is None or row[2] is None else Signed(*row)

    def rows(self, ids: Iterable[FeedId] | None = None) -> list[FeedRow]:
        """The feeds named, or all of them, ordered by id."""
        wanted = None if ids is None else set(ids)
        rows = self._run.execute(
            "SELECT f.id, f.data, (SELECT max(updated) FROM entries e WHERE e.feed = f.key "
            "AND e.state = 0 AND e.retracted = 0), f.entries, f.bytes, f.own, f.pinned, f.listed, "
            "EXISTS (SELECT 1 FROM subscriptions s WHERE s.feed = f.id) FROM feeds f "
            + ("" if wanted is None else f"WHERE f.id IN ({','.join('?' * len(wanted))}) ")
            + "ORDER BY f.id",
            sorted(wanted) if wanted is not None else (),
        ).fetchall()
        return [
            FeedRow(
                FeedId(feed_id),
                stored_descriptor(data) if data is not None else None,
                updated,
                entries,
                size,
                bool(own),
                bool(pinned),
                bool(listed),
                bool(subscribed),
            )
            for feed_id, data, updated, entries, size, own, pinned, listed, subscribed in rows
        ]

    # -- people

    def block(self, author: AuthorKey, *, blocked: bool = True) -> None:
        """Refuse this key's entries from now on, or stop refusing them."""
        with self._database.transaction(durable=True):
            key = self._catalogue.author(author)
            self._run.execute("UPDATE authors SET blocked = ? WHERE key = ?", (blocked, key))
            if not blocked:
                self._forget_refusals(None, "blocked")
        self._blocked = self._load_blocked()

    def trust(self, author: AuthorKey, *, own: bool = False) -> None:
        """A trusted key is no stranger, however lately it was first seen."""
        with self._database.transaction(durable=True):
            key = self._catalogue.author(author)
            self._run.execute("UPDATE authors SET trusted = 1, own = max(own, ?) WHERE key = ?", (own, key))

    def is_blocked(self, author: int) -> bool:
        return author in self._blocked

    def blocked(self) -> list[AuthorKey]:
        return [
            row[0] for row in self._run.execute("SELECT public FROM authors WHERE blocked ORDER BY public")
        ]

    def _load_blocked(self) -> frozenset[int]:
        return frozenset(row[0] for row in self._run.execute("SELECT key FROM authors WHERE blocked"))

    # -- counts and sets, kept up to date by whoever stores or removes entries

    def count(self, feed: int, entries: int, size: int) -> None:
        old_entries, old_size = self._counts.get(feed, (0, 0))
        self._counts[feed] = (old_entries + entries, old_size + size)

    def _write_counts(self) -> None:
        if self._counts:
            self._run.executemany(
                "UPDATE feeds SET entries = entries + ?, bytes = bytes + ? WHERE key = ?",
                [(entries, size, feed) for feed, (entries, size) in self._counts.items()],
            )
            self._counts.clear()

    def usage(self) -> int:
        """All bytes that entries and their enclosures count for."""
        self._write_counts()
        (total,) = self._run.execute("SELECT coalesce(sum(bytes), 0) FROM feeds").fetchone()
        return int(total)

    def changed(self, feed: int, *, removed: int | None, added: int | None) -> None:
        self.knowledge.changed(feed, removed=removed, added=added)

    def learnt(self, feed: int, short_id: int) -> None:
        self.knowledge.learnt(feed, short_id)

    def raise_floor(self, feed: int, floor: int) -> None:
        self._run.execute("UPDATE feeds SET floor = max(floor, ?) WHERE key = ?", (floor, feed))
        self._gates.clear()

    def floor(self, feed: FeedId) -> int | None:
        """The time below which nothing of this feed is fetched; None if everything is."""
        row = self._run.execute("SELECT floor FROM feeds WHERE id = ?", (feed,)).fetchone()
        return None if row is None or row[0] == MIN_INTEGER else row[0]
