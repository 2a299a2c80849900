"""The content store: one folder with database and enclosures, one owner, nothing lost when it is killed.

    with Store.open(home, entropy=os.urandom) as store:
        outcomes = store.take_in(verify_and_read([signed]), Delivery(at=now_ms, source=node_id))
        rows = store.entries.select(Selection(at=now_ms, feed=feed_id, where=parse("genre = 'jazz'")))

It is grouped by what it is about: `feeds`, `entries`, `subscriptions`, `peers`, `ledger`, `blobs`.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from contentdb.arrivals import Arrival, read_verified
from contentdb.blobs import Blobs, DiskBlobs, MemoryBlobs
from contentdb.catalogue import Catalogue
from contentdb.connection import Connection
from contentdb.database import Database
from contentdb.errors import StoreError, UsageError
from contentdb.feeds import Feeds
from contentdb.gains import FILE_TAG, Gains, file_gain
from contentdb.housekeeping import Housekeeping
from contentdb.inspection import Usage, missing_files, problems, unnamed_files, usage
from contentdb.intake import Delivery, Intake, Outcome
from contentdb.ledger import Ledger
from contentdb.model import Enclosure, Entry, Signed
from contentdb.names import EntryKey, FeedId, Root
from contentdb.peers import Peers
from contentdb.query import Queries
from contentdb.retention import Retention
from contentdb.serving import Serving
from contentdb.settings import Limits
from contentdb.sketch import Sketch
from contentdb.stored import stored_entry
from contentdb.subscriptions import Subscriptions
from contentdb.sweeping import drop_unnamed, sweep
from contentdb.wanting import Wanting


class Store:
    def __init__(self, database: Database, blobs: Blobs, limits: Limits) -> None:
        self._database = database
        self.limits = limits
        self._catalogue = Catalogue(database, lambda: int(database.meta("running_s") or 0))
        self._on_dropped: Callable[[Root], None] = lambda root: None
        self.blobs = blobs
        self.feeds = Feeds(database, self._catalogue, limits)
        self.peers = Peers(database, self._catalogue, limits)
        self.ledger = Ledger(database, limits.max_ledger_rows)
        self.subscriptions = Subscriptions(database)
        self.entries = Queries(database, self._catalogue)
        self.serving = Serving(database)
        self.gains = Gains(database)
        self.wanting = Wanting(database, self._catalogue, self.feeds.knowledge)
        self._intake = Intake(
            database, self._catalogue, feeds=self.feeds, peers=self.peers, ledger=self.ledger, limits=limits
        )
        self.retention = Retention(
            database, feeds=self.feeds, intake=self._intake, ledger=self.ledger, limits=limits
        )
        self._housekeeping = Housekeeping(
            database, self.retention, self.peers, self.feeds.knowledge, limits, take_in=self.take_in
        )

    @classmethod
    def open(
        cls, folder: Path | None, *, entropy: Callable[[int], bytes], limits: Limits | None = None
    ) -> Self:
        """Open the store in a folder, or in memory for None. A StoreError has changed nothing."""
        database = Database(folder, entropy)
        try:
            blobs: Blobs = MemoryBlobs() if folder is None else DiskBlobs(folder / "enclosures")
            blobs.recover()
            store = cls(database, blobs, limits or Limits())
            sweep(database, blobs)
        except BaseException:
            database.close()
            raise
        return store

    def close(self) -> None:
        try:
            self.blobs.close()
        finally:
            self._database.close()  # or nobody else could open it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def epoch(self) -> str:
        return self._database.epoch

    @property
    def revision(self) -> int:
        return self._database.revision

    @property
    def pair(self) -> tuple[str, int]:
        """Both: another pair tells neighbours that there is something new here."""
        return self._database.epoch, self._database.revision

    def gained(self, root: Root) -> None:
        """Say that there is more to be had here than entries tell: the last chunk of this file came."""
        with self._database.transaction():
            self._database.next_revision(file_gain(root), FILE_TAG)

    @property
    def has_full_text(self) -> bool:
        return self._database.full_text

    def transaction(self, *, durable: bool = False) -> AbstractContextManager[Connection]:
        """Group several calls into one commit."""
        return self._database.transaction(durable=durable)

    @property
    def owner_name(self) -> str | None:
        """The name that stands beside the owner's fingerprint in what is published."""
        name = self._database.meta("owner_name")
        return None if name is None else str(name)

    @owner_name.setter
    def owner_name(self, name: str) -> None:
        with self._database.transaction(durable=True):
            self._database.put_meta("owner_name", name)

    def restored(self) -> None:
        """Say that this is a restored copy: peers must not take its revision for one they have seen."""
        self._database.renew_epoch()

    # -- entries in

    def take_in(self, arrivals: Sequence[Arrival], delivery: Delivery) -> list[Outcome]:
        """Take in what a neighbour delivered; one commit for the batch, and space is made as needed.

        Arrivals come from `arrivals.verify_and_read`, which a node runs on its worker threads. What is stored
        when this returns survives the end of the process at any moment.
        """
        with self._database.transaction(durable=delivery.own):
            outcomes = self._intake.take(arrivals, delivery)
            if any(outcome.fate.is_gain for outcome in outcomes):
                evicted = self.retention.enforce(delivery.at)
                outcomes = [outcome.unless(evicted) for outcome in outcomes] if evicted else outcomes
        self._drop_orphans()
        return outcomes

    def publish(self, signed: Signed, at: int) -> Outcome:
        """Store an own entry, durably. Raises UsageError if the store will not have it."""
        (outcome,) = self.publish_many(read_verified([signed]), at)
        return outcome

    def publish_many(self, batch: Sequence[Arrival], at: int) -> list[Outcome]:
        """Several own entries under one fdatasync; all are stored or none is."""
        with self._database.transaction(durable=True):
            outcomes = self.take_in(batch, Delivery(at, own=True))
            for outcome in outcomes:
                if not outcome.fate.is_gain:
                    raise UsageError(
                        f"the entry cannot be published: {outcome.fate.value} {outcome.reason}".strip()
                    )
            # A tombstone is always welcome: it is how room is made.
            if not all(outcome.entry is not None and outcome.entry.retracted for outcome in outcomes):
                self.ensure_room(0)
        self._drop_orphans()
        return outcomes

    def ensure_room(self, size: int) -> None:
        """Raise UsageError if so many more own bytes fit in only by dropping own or pinned content."""
        over = self.feeds.usage() + size - self.limits.max_bytes
        if over > 0:  # only now: this reads every entry
            over -= self.retention.evictable_bytes()
        if over > 0:
            raise UsageError(
                f"this does not fit, by {over} bytes: the store may use {self.limits.max_bytes}, and what "
                "is there is your own or pinned; raise the limit, unpin something or retract something"
            )

    def entry(self, key: EntryKey) -> Entry | None:
        row = self.entries.by_key(key)
        return None if row is None else self.entry_of_row(row.key)

    def entry_of_row(self, key: int) -> Entry:
        for _key, signed in self.entries.signed([key]):
            return stored_entry(signed.data)
        raise StoreError(f"entry row {key} has lost its signed bytes; run `passerby doctor`")

    def pin(self, key: EntryKey, *, pinned: bool = True) -> None:
        """A pinned entry is never evicted and never deleted when it expires."""
        row = self.entries.by_key(key)
        if row is None:
            raise UsageError(f"there is no entry {key.id} in feed {key.feed}")
        with self._database.transaction(durable=True) as connection:
            connection.execute("UPDATE entries SET pinned = ? WHERE key = ?", (pinned, row.key))

    def pin_feed(self, feed: FeedId, *, pinned: bool = True) -> None:
        key = self._catalogue.find_feed(feed)
        if key is None:
            raise UsageError(f"there is no feed {feed}; `passerby feeds` lists them")
        with self._database.transaction(durable=True) as connection:
            connection.execute("UPDATE feeds SET pinned = ? WHERE key = ?", (pinned, key))

    # -- enclosures

    def enclosures(self, key: int) -> list[Enclosure]:
        """The enclosures of an entry's row, in their order."""
        rows = self._database.connection.execute(
            "SELECT name, type, length, root FROM enclosures WHERE entry = ? ORDER BY position", (key,)
        )
        return [Enclosure(*row) for row in rows]

    def begin_enclosure(self, root: Root, length: int) -> bool:
        """Make ready to receive an enclosure some held entry names; True if it is complete already.

        Anybody can sign an entry with somebody else's root and a wrong length, so both are asked for.
        """
        named = self._database.connection.execute(
            "SELECT 1 FROM enclosures WHERE root = ? AND length = ? LIMIT 1", (root, length)
        )
        if named.fetchone() is None:
            raise UsageError(f"no entry here has an enclosure {root} of {length} bytes")
        return self.blobs.begin(root, length)

    def _drop_orphans(self) -> None:
        """Remove the bytes of enclosures whose last entry went; after the commit, or a crash loses them."""
        if self._intake.unnamed and not self._database.connection.in_transaction:
            roots, self._intake.unnamed = self._intake.unnamed, []
            self.drop_unnamed(roots)

    def drop_unnamed(self, roots: Iterable[Root]) -> None:
        """Remove those of these enclosures that no entry names."""
        for root in drop_unnamed(self._database, self.blobs, roots):
            self._on_dropped(root)

    def when_dropped(self, tell: Callable[[Root], None]) -> None:
        """Call this from now on for each enclosure that goes, complete or not, with its last entry."""
        self._on_dropped = tell

    # -- sets

    def held_sketch(self, feed: FeedId, at: int) -> Sketch:
        return self.feeds.knowledge.held(self._catalogue.find_feed(feed) or -1, at)

    def known_sketch(self, feed: FeedId) -> Sketch:
        return self.feeds.knowledge.known(self._catalogue.find_feed(feed) or -1)

    # -- housekeeping

    def maintain(self, at: int, ran_s: int) -> list[Outcome]:
        """Expire, age, forget; returns what left the car park and is now stored.

        `ran_s` is how long the node has run since the last call: deletion counts running time, so that a
        clock that jumps destroys nothing.
        """
        outcomes = self._housekeeping.done(at, ran_s)
        self._drop_orphans()
        return outcomes

    def parked(self) -> list[EntryKey]:
        rows = self._database.connection.execute(
            "SELECT feed, author, id FROM parked ORDER BY updated, short_id"
        )
        return [EntryKey(*row) for row in rows]

    def usage(self) -> Usage:
        return usage(self._database, self.blobs, self.limits, self.feeds.counts.protected_bytes())

    def problems(self) -> list[str]:
        """What an integrity check finds wrong, in words; empty when all is well."""
        return problems(self._database)

    def missing_files(self) -> list[str]:
        """Own enclosures whose bytes are not all here: nobody else may have them."""
        return missing_files(self._database, self.blobs)

    def unnamed_files(self) -> list[str]:
        """Enclosures that no entry names: most likely what is left of a lost database."""
        return unnamed_files(self._database, self.blobs)
