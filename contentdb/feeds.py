"""Feeds as the store knows them: descriptors, who may write, counts, known keys, and sets to reconcile."""

from collections.abc import Iterable
from dataclasses import dataclass

from contentdb.atom import read_signed_descriptor
from contentdb.catalogue import Catalogue
from contentdb.counts import Counts
from contentdb.database import Database
from contentdb.errors import RemoteError
from contentdb.gains import feed_tag
from contentdb.identity import verify_descriptor
from contentdb.knowledge import Knowledge
from contentdb.model import MIN_INTEGER, Feed, Signed
from contentdb.names import AuthorKey, FeedId, owner_of
from contentdb.rows import short_id_of, version_of
from contentdb.settings import Limits
from contentdb.stored import stored_descriptor


@dataclass(frozen=True, slots=True)
class Gate:
    """What decides quickly whether an entry may enter a feed. Its key is 0 until something is kept of it."""

    key: int
    feed: FeedId
    floor: int
    owner: AuthorKey | None
    writers: frozenset[AuthorKey]
    is_described: bool  # its descriptor is here

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
# Looking for feeds to forget reads all of them, so it waits for so many new descriptors.
PRUNE_EVERY = 64
_IDLE = (
    "own = 0 AND pinned = 0 AND id NOT IN (SELECT feed FROM parked) "
    "AND id NOT IN (SELECT feed FROM subscriptions) "
    "AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.feed = feeds.key) "
    "AND NOT EXISTS (SELECT 1 FROM known_versions k WHERE k.feed = feeds.key)"
)


class Feeds:
    def __init__(self, database: Database, catalogue: Catalogue, limits: Limits) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self._limits = limits
        self.knowledge = Knowledge(database)
        self.counts = Counts(database)
        self._gates: dict[str, Gate] = {}
        self._new_descriptors = 0
        self._blocked, self._own = self._load_people()
        database.on_rollback(self._forget)

    def _forget(self) -> None:
        self._gates.clear()
        self._blocked, self._own = self._load_people()

    def gate(self, feed: FeedId) -> Gate:
        gate = self._gates.get(feed)
        if gate is None:
            row = self._run.execute("SELECT key, floor, data FROM feeds WHERE id = ?", (feed,)).fetchone()
            if row is None:
                return Gate(0, feed, MIN_INTEGER, owner_of(feed), frozenset(), False)
            key, floor, data = row
            writers = stored_descriptor(data).writers if data is not None else ()
            gate = Gate(key, feed, floor, owner_of(feed), frozenset(writers), data is not None)
            if len(self._gates) >= MAX_GATES:
                self._gates.clear()
            self._gates[feed] = gate
        return gate

    def admit(self, feed: FeedId) -> Gate:
        """Give the feed a row if it has none: something of it is kept from now on."""
        self._catalogue.feed(feed)
        return self.gate(feed)

    def has_place(self, feed: FeedId) -> bool:
        """May a feed that has no row yet get one? What somebody here asked for always may."""
        (rows,) = self._run.execute("SELECT count(*) FROM feeds").fetchone()
        asked = "SELECT 1 FROM subscriptions WHERE feed = ?"
        return rows < self._limits.max_feeds or self._run.execute(asked, (feed,)).fetchone() is not None

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
        short_id = short_id_of(version_of(signed.data))
        self._run.execute(
            "UPDATE feeds SET signer = ?, sequence = ?, signature = ?, data = ?, listed = ?, "
            "own = max(own, ?), short_id = ? WHERE key = ?",
            (signer, feed.sequence, signed.signature, signed.data, feed.listed, own, short_id, key),
        )
        # Whoever was no writer under the old list may be one now.
        self.forget_refusals(key, "not a writer of this feed")
        self._gates.pop(feed.id, None)
        self._database.next_revision(short_id, feed_tag(feed.id))
        self._new_descriptors += 1
        if self._new_descriptors >= PRUNE_EVERY:
            self._forget_idle()
        return True

    def forget_names(self, *, has_forgotten: bool) -> None:
        """Forget feeds and names of which nothing is kept. `has_forgotten`: rows of entries were deleted."""
        if self._forget_idle() or has_forgotten:
            self._catalogue.prune_authors()
        self._catalogue.prune_attributes()

    def _forget_idle(self) -> bool:
        """Forget feeds of which nothing is kept, and the oldest of too many that were only described."""
        self._new_descriptors = 0
        nothing = f"SELECT key FROM feeds WHERE data IS NULL AND floor = {MIN_INTEGER} AND {_IDLE}"
        too_many = (
            "SELECT key FROM (SELECT key, row_number() OVER newest AS place, sum(length(data)) OVER newest "
            f"AS size FROM feeds WHERE {_IDLE} WINDOW newest AS (ORDER BY key DESC)) "
            "WHERE place > ? OR size > ?"
        )
        forgotten = self._run.execute(
            f"DELETE FROM feeds WHERE key IN ({nothing} UNION {too_many})",
            (self._limits.max_discovered, self._limits.max_discovered_bytes),
        )
        if forgotten.rowcount:
            self._catalogue.forget()
            self._gates.clear()
            self.knowledge.forget()
        return forgotten.rowcount > 0

    def forget_refusals(self, feed: int | None, reason: str) -> None:
        """What was refused for this reason may be asked for again."""
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
                self.forget_refusals(None, "blocked")
        self._blocked, self._own = self._load_people()

    def trust(self, author: AuthorKey, *, own: bool = False) -> None:
        """A trusted key is no stranger, however lately it was first seen. What an own key wrote is own."""
        with self._database.transaction(durable=True):
            key = self._catalogue.author(author)
            self._run.execute("UPDATE authors SET trusted = 1, own = max(own, ?) WHERE key = ?", (own, key))
            if own and key not in self._own:
                self._run.execute("UPDATE entries SET own = 1 WHERE author = ? AND state = 0", (key,))
        self._blocked, self._own = self._load_people()

    def is_blocked(self, author: int) -> bool:
        return author in self._blocked

    def is_own(self, author: int) -> bool:
        return author in self._own

    def blocked(self) -> list[AuthorKey]:
        return [
            row[0] for row in self._run.execute("SELECT public FROM authors WHERE blocked ORDER BY public")
        ]

    def _load_people(self) -> tuple[frozenset[int], frozenset[int]]:
        rows = self._run.execute("SELECT key, blocked, own FROM authors WHERE blocked OR own").fetchall()
        return (
            frozenset(key for key, blocked, _own in rows if blocked),
            frozenset(key for key, _blocked, own in rows if own),
        )

    # -- counts and sets, kept up to date by whoever stores or removes entries

    def usage(self) -> int:
        """All bytes that entries and their enclosures count for."""
        return self.counts.total()

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
