"""Decides what becomes of each entry that arrives, and writes those that may stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from contentdb.arrivals import Arrival
from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.feeds import Feeds, Gate
from contentdb.ledger import Event, Happening, Ledger
from contentdb.lookup import Existing, Identity, existing, parked_ids, stored_ids
from contentdb.model import Entry, Signed
from contentdb.names import NodeId, Root
from contentdb.peers import Allowance, Peers
from contentdb.rows import EntryRows, Placement, State
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


class Outcome(NamedTuple):
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


class _Candidate(NamedTuple):
    """An entry on its way in, with the keys of its feed and author."""

    entry: Entry
    signed: Signed
    version: bytes
    short_id: int
    gate: Gate
    author: int
    identity: Identity


class Intake:
    def __init__(
        self,
        database: Database,
        catalogue: Catalogue,
        *,
        feeds: Feeds,
        peers: Peers,
        ledger: Ledger,
        limits: Limits,
    ) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self._feeds, self._peers, self._ledger, self._limits = feeds, peers, ledger, limits
        self.rows = EntryRows(database, catalogue)
        self._next_key = 1 + self._highest_key()
        self._existing: dict[Identity, Existing] = {}
        self._taken: set[int] = set()
        self._parked: set[int] = set()
        self._unwritten: set[int] = set()
        self._happenings: list[Happening] = []
        self.unnamed: list[Root] = []  # enclosures that lost an entry, perhaps their last
        database.on_rollback(self._forget)

    def _highest_key(self) -> int:
        (highest,) = self._run.execute("SELECT coalesce(max(key), 0) FROM entries").fetchone()
        return max(int(highest), int(self._database.meta("highest_key") or 0))

    def _forget(self) -> None:
        self._existing.clear()
        self._taken.clear()
        self._parked.clear()
        self._unwritten.clear()
        self._happenings.clear()
        self.unnamed.clear()

    def take(self, arrivals: Sequence[Arrival], delivery: Delivery) -> list[Outcome]:
        """Store what may be stored, in one transaction."""
        with self._database.transaction(durable=delivery.own):
            source = None if delivery.source is None else self._catalogue.peer(delivery.source, delivery.at)
            allowance = None if source is None else self._peers.allowance(source, delivery.at)
            candidates = [self._candidate(arrival) for arrival in arrivals]
            present = [candidate for candidate in candidates if candidate is not None]
            self._existing = existing(self._database, {candidate.identity for candidate in present})
            short_ids = {candidate.short_id for candidate in present}
            self._taken = stored_ids(self._database, short_ids)
            self._parked = parked_ids(self._database, short_ids)
            outcomes = [
                Outcome(Fate.REFUSED, arrival.problem)
                if candidate is None
                else self._take_one(candidate, delivery, source, allowance)
                for arrival, candidate in zip(arrivals, candidates, strict=True)
            ]
            self._flush()
            if source is not None and allowance is not None:
                self._peers.spend(source, allowance)
        return outcomes

    def _candidate(self, arrival: Arrival) -> _Candidate | None:
        signed, entry, version, short_id, _ = arrival
        if entry is None or entry.feed is None:
            return None
        gate = self._feeds.gate(entry.feed)
        author = self._catalogue.author(signed.author)
        return _Candidate(entry, signed, version, short_id, gate, author, (gate.key, author, entry.id))

    def _take_one(
        self, candidate: _Candidate, delivery: Delivery, source: int | None, allowance: Allowance | None
    ) -> Outcome:
        outcome = self._judge(candidate, delivery, source, allowance)
        if outcome.reason:
            self._note(candidate.entry, outcome, delivery)
        return outcome

    def _judge(
        self, candidate: _Candidate, delivery: Delivery, source: int | None, allowance: Allowance | None
    ) -> Outcome:
        entry, signed, version, short_id, gate, author, identity = candidate
        if not gate.may_write(signed.author):
            return self._refuse_known(candidate, "not a writer of this feed")
        if self._feeds.is_blocked(author):
            return self._refuse_known(candidate, "blocked")
        if entry.updated < gate.floor and not delivery.own:
            return Outcome(Fate.REFUSED, "older than what this store still remembers of the feed", entry)
        if entry.updated > delivery.at + self._limits.max_ahead_s * 1000:
            return self._park(candidate, delivery)
        old = self._existing.get(identity)
        if old is not None:
            if old.version == version:
                return Outcome(Fate.DUPLICATE, entry=entry, key=old.key if old.state == State.HELD else 0)
            if (entry.updated, version) < (old.updated, old.version):
                self._remember(gate.key, short_id, "superseded")
                return Outcome(Fate.STALE, entry=entry)
        if short_id in self._taken:
            # Two ids that agree in 64 bits cancel in every sketch; the one that came first stays.
            return Outcome(Fate.REFUSED, "short id already taken", entry)
        counted = len(signed.data) + sum(enclosure.length for enclosure in entry.enclosures)
        if allowance is not None and not allowance.take(counted):
            return Outcome(Fate.REFUSED, "this neighbour has brought its share for today", entry)
        if counted > self._limits.max_bytes:
            return self._refuse_known(candidate, "larger than the whole store may be")
        return self._store(candidate, old, delivery, source)

    def _store(
        self, candidate: _Candidate, old: Existing | None, delivery: Delivery, source: int | None
    ) -> Outcome:
        entry, signed, version, short_id, gate, author, identity = candidate
        replaces = old is not None and old.state == State.HELD
        if old is None:
            key, pinned = self._next_key, False
            self._next_key += 1
        else:
            key, pinned = old.key, old.pinned
            self._make_way(old, gate.key, replaces=replaces)
        if short_id in self._parked:
            self._leave_car_park(short_id)
        revision = self._database.next_revision()
        place = Placement(
            key, gate.key, author, revision, short_id, version, delivery.own, pinned, delivery.at, source
        )
        counted = self.rows.add(entry, signed, place)
        self._feeds.count(gate.key, 1, counted)
        self._feeds.changed(gate.key, removed=old.short_id if replaces and old else None, added=short_id)
        self._existing[identity] = Existing(
            key, entry.updated, version, State.HELD, pinned, counted, short_id
        )
        self._taken.add(short_id)
        self._unwritten.add(key)
        event = Event.RETRACTED if entry.retracted else Event.PUBLISHED if delivery.own else Event.RECEIVED
        self._happenings.append(Happening(entry.id, delivery.at, event, delivery.source or ""))
        return Outcome(Fate.REPLACED if replaces else Fate.STORED, entry=entry, key=key)

    def _leave_car_park(self, short_id: int) -> None:
        self._parked.discard(short_id)
        self._run.execute("DELETE FROM parked WHERE short_id = ?", (short_id,))
        self._feeds.knowledge.forget()  # what was only known is held now

    def _make_way(self, old: Existing, feed: int, *, replaces: bool) -> None:
        """Take away the older version, held or remembered."""
        if old.key in self._unwritten:
            self._flush()
        self._feeds.count(feed, -1 if replaces else 0, -old.bytes)
        self.unnamed += self.rows.remove(old.key)
        self._remember(feed, old.short_id, "superseded", is_known=not replaces)

    def _flush(self) -> None:
        self.rows.flush()
        self._unwritten.clear()
        if self._happenings:
            self._ledger.write(self._happenings)
            self._happenings.clear()
        self._database.put_meta("highest_key", self._next_key - 1)

    def _refuse_known(self, candidate: _Candidate, reason: str) -> Outcome:
        self._remember(candidate.gate.key, candidate.short_id, reason)
        return Outcome(Fate.REFUSED, reason, candidate.entry)

    def _remember(self, feed: int, short_id: int, reason: str, *, is_known: bool = False) -> None:
        """A version we know and will not hold: asking neighbours for it again would be a waste for ever."""
        if not is_known:
            self._learn(feed, short_id)
        self._run.execute("INSERT OR IGNORE INTO known_versions VALUES (?,?,?)", (feed, short_id, reason))

    def _learn(self, feed: int, short_id: int) -> None:
        """Add a version to the known set unless it is in it: twice would cancel it in the sketch."""
        known = self._run.execute(
            "SELECT 1 FROM entries WHERE short_id = ?1 UNION ALL SELECT 1 FROM parked WHERE short_id = ?1 "
            "UNION ALL SELECT 1 FROM known_versions WHERE feed = ?2 AND short_id = ?1",
            (short_id, feed),
        )
        if known.fetchone() is None:
            self._feeds.learnt(feed, short_id)

    def _park(self, candidate: _Candidate, delivery: Delivery) -> Outcome:
        entry, signed, short_id = candidate.entry, candidate.signed, candidate.short_id
        (parked,) = self._run.execute("SELECT count(*) FROM parked").fetchone()
        if parked >= self._limits.max_parked:
            return Outcome(Fate.REFUSED, "clock: too far in the future, and no room left to wait", entry)
        self._learn(candidate.gate.key, short_id)
        what = (short_id, entry.feed, entry.author, entry.id, entry.updated)
        self._run.execute(
            "INSERT OR IGNORE INTO parked VALUES (?,?,?,?,?,?,?,?)",
            (*what, delivery.source, signed.signature, signed.data),
        )
        return Outcome(Fate.PARKED, "clock: more than a day ahead of ours", entry)

    def _note(self, entry: Entry, outcome: Outcome, delivery: Delivery) -> None:
        event = Event.PARKED if outcome.fate is Fate.PARKED else Event.REFUSED
        where = f" (from {delivery.source})" if delivery.source else ""
        self._ledger.note(Happening(entry.id, delivery.at, event, outcome.reason + where))
