"""Decides what becomes of each entry that arrives, and writes those that may stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from contentdb.atom import read_signed_entry
from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.errors import RemoteError
from contentdb.feeds import Feeds
from contentdb.identity import verify_batch
from contentdb.ledger import Event, Happening, Ledger
from contentdb.model import Entry, Signed
from contentdb.names import NodeId, Root
from contentdb.peers import Allowance, Peers
from contentdb.rows import EntryRows, Placement, State, short_id_of, version_of
from contentdb.settings import Limits


class Fate(StrEnum):
    STORED = "stored"
    REPLACED = "replaced"  # stored, in place of an older version
    PARKED = "parked"  # too far ahead of our clock
    DUPLICATE = "duplicate"
    STALE = "stale"  # we have, or had, a newer version
    REFUSED = "refused"

    @property
    def is_gain(self) -> bool:
        return self in (Fate.STORED, Fate.REPLACED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one signed entry. `key` is its row when it was stored."""

    fate: Fate
    reason: str = ""
    entry: Entry | None = None
    key: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a batch reached us: from whom (None: made here), and when by the wall clock."""

    at: int
    source: NodeId | None = None
    own: bool = False


@dataclass(slots=True)
class _Existing:
    key: int
    updated: int
    version: bytes
    state: int
    pinned: bool
    bytes: int
    short_id: int


class Intake:
    def __init__(
        self, database: Database, catalogue: Catalogue, *, feeds: Feeds, peers: Peers, ledger: Ledger, limits: Limits
    ) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self._feeds, self._peers, self._ledger, self._limits = feeds, peers, ledger, limits
        self.rows = EntryRows(database, catalogue)
        self._next_key = 1 + self._highest_key()
        self._pending: set[tuple[int, int, str]] = set()
        self._pending_ids: set[int] = set()
        self._happenings: list[Happening] = []
        self.orphans: list[Root] = []  # enclosures that lost their last entry; the store's owner removes them
        database.on_rollback(self._forget)

    def _highest_key(self) -> int:
        (highest,) = self._run.execute("SELECT coalesce(max(key), 0) FROM entries").fetchone()
        return max(int(highest), int(self._database.meta("highest_key") or 0))

    def _forget(self) -> None:
        self._pending.clear()
        self._pending_ids.clear()
        self._happenings.clear()
        self.orphans.clear()

    def take(self, batch: Sequence[Signed], delivery: Delivery, verdicts: Sequence[bool] | None = None) -> list[Outcome]:
        """Store what may be stored, in one transaction. Without verdicts the signatures are verified here."""
        if verdicts is None:
            verdicts = verify_batch(batch)
        with self._database.transaction(durable=delivery.own):
            source = None if delivery.source is None else self._catalogue.peer(delivery.source, delivery.at)
            allowance = None if source is None else self._peers.allowance(source, delivery.at)
            outcomes = [
                self._take_one(signed, valid, delivery, source, allowance)
                for signed, valid in zip(batch, verdicts, strict=True)
            ]
            self._flush()
            if source is not None and allowance is not None:
                self._peers.spend(source, allowance)
        return outcomes

    def _take_one(
        self, signed: Signed, valid: bool, delivery: Delivery, source: int | None, allowance: Allowance | None
    ) -> Outcome:
        if not valid:
            return Outcome(Fate.REFUSED, "signature")
        try:
            entry = read_signed_entry(signed.data)
        except RemoteError as error:
            return Outcome(Fate.REFUSED, f"malformed: {error}")
        if entry.author != signed.author or entry.feed is None:
            return Outcome(Fate.REFUSED, "malformed: the key inside is not the key that signed")
        version = version_of(signed.data)
        outcome = self._judge(entry, version, signed, delivery, source, allowance)
        if outcome.reason or outcome.fate is Fate.PARKED:
            self._note(entry, outcome, delivery)
        return outcome

    def _judge(
        self,
        entry: Entry,
        version: bytes,
        signed: Signed,
        delivery: Delivery,
        source: int | None,
        allowance: Allowance | None,
    ) -> Outcome:
        assert entry.feed is not None and entry.author is not None
        feed = self._feeds.gate(entry.feed)
        author = self._catalogue.author(entry.author)
        short_id = short_id_of(version)
        if not feed.may_write(entry.author):
            return self._refuse_known(entry, feed.key, short_id, "not a writer of this feed")
        if self._feeds.is_blocked(author):
            return self._refuse_known(entry, feed.key, short_id, "blocked")
        if entry.updated < feed.floor and not delivery.own:
            return Outcome(Fate.REFUSED, "older than what this store still remembers of the feed", entry)
        if entry.updated > delivery.at + self._limits.max_ahead_s * 1000:
            return self._park(entry, short_id, signed, delivery)
        old = self._existing(feed.key, author, entry.id)
        if old is not None:
            if old.version == version:
                return Outcome(Fate.DUPLICATE, entry=entry, key=old.key if old.state == State.HELD else 0)
            if (entry.updated, version) < (old.updated, old.version):
                self._remember(feed.key, short_id, "superseded")
                return Outcome(Fate.STALE, entry=entry)
        elif self._is_short_id_taken(short_id):
            # Two ids that agree in 64 bits cancel in every sketch; the one that came first stays.
            return Outcome(Fate.REFUSED, "short id already taken", entry)
        counted = len(signed.data) + sum(enclosure.length for enclosure in entry.enclosures)
        if allowance is not None and not allowance.take(counted):
            return Outcome(Fate.REFUSED, "this neighbour has brought its share for today", entry)
        if counted > self._limits.max_bytes:
            return self._refuse_known(entry, feed.key, short_id, "larger than the whole store may be")
        return self._store(entry, signed, old, feed.key, author, version, delivery, source)

    def _store(
        self,
        entry: Entry,
        signed: Signed,
        old: _Existing | None,
        feed: int,
        author: int,
        version: bytes,
        delivery: Delivery,
        source: int | None,
    ) -> Outcome:
        short_id = short_id_of(version)
        replaces = old is not None and old.state == State.HELD
        if old is not None:
            self._feeds.count(feed, -1 if replaces else 0, -old.bytes)
            if replaces:
                self._remember(feed, old.short_id, "superseded")
                self.orphans += self.rows.clear([old.key])
            key, pinned = old.key, old.pinned
        else:
            key, pinned = self._next_key, False
            self._next_key += 1
        place = Placement(
            key, feed, author, self._database.next_revision(), short_id, version, delivery.own, pinned,
            delivery.at, source,
        )  # fmt: skip
        counted = self.rows.add(entry, signed, place)
        self._feeds.count(feed, 1, counted)
        self._feeds.changed(feed, removed=old.short_id if replaces and old else None, added=short_id)
        self._pending.add((feed, author, entry.id))
        self._pending_ids.add(short_id)
        event = Event.RETRACTED if entry.retracted else Event.PUBLISHED if delivery.own else Event.RECEIVED
        self._happenings.append(Happening(entry.id, delivery.at, event, delivery.source or ""))
        return Outcome(Fate.REPLACED if replaces else Fate.STORED, entry=entry, key=key)

    def _existing(self, feed: int, author: int, entry_id: str) -> _Existing | None:
        if (feed, author, entry_id) in self._pending:
            self._flush()
        row = self._run.execute(
            "SELECT key, updated, version, state, pinned, bytes, short_id FROM entries "
            "WHERE feed = ? AND author = ? AND id = ?",
            (feed, author, entry_id),
        ).fetchone()
        return None if row is None else _Existing(*row)

    def _is_short_id_taken(self, short_id: int) -> bool:
        if short_id in self._pending_ids:
            return True
        return self._run.execute("SELECT 1 FROM entries WHERE short_id = ?", (short_id,)).fetchone() is not None

    def _flush(self) -> None:
        self.rows.flush()
        self._pending.clear()
        self._pending_ids.clear()
        if self._happenings:
            self._ledger.write(self._happenings)
            self._happenings.clear()
        self._database.put_meta("highest_key", self._next_key - 1)

    def _refuse_known(self, entry: Entry, feed: int, short_id: int, reason: str) -> Outcome:
        self._remember(feed, short_id, reason)
        return Outcome(Fate.REFUSED, reason, entry)

    def _remember(self, feed: int, short_id: int, reason: str) -> None:
        """A version we know and will not hold: asking neighbours for it again would be a waste for ever."""
        cursor = self._run.execute("INSERT OR IGNORE INTO known_versions VALUES (?,?,?)", (feed, short_id, reason))
        if cursor.rowcount:
            self._feeds.learnt(feed, short_id)

    def _park(self, entry: Entry, short_id: int, signed: Signed, delivery: Delivery) -> Outcome:
        (parked,) = self._run.execute("SELECT count(*) FROM parked").fetchone()
        if parked >= self._limits.max_parked:
            return Outcome(Fate.REFUSED, "clock: too far in the future, and no room left to wait", entry)
        self._run.execute(
            "INSERT OR IGNORE INTO parked VALUES (?,?,?,?,?,?,?,?)",
            (short_id, entry.feed, entry.author, entry.id, entry.updated, delivery.source, signed.signature, signed.data),
        )  # fmt: skip
        return Outcome(Fate.PARKED, "clock: more than a day ahead of ours", entry)

    def _note(self, entry: Entry, outcome: Outcome, delivery: Delivery) -> None:
        event = Event.PARKED if outcome.fate is Fate.PARKED else Event.REFUSED
        where = f" (from {delivery.source})" if delivery.source else ""
        self._ledger.note(Happening(entry.id, delivery.at, event, outcome.reason + where))
