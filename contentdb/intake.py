"""Decides what becomes of each entry that arrives, and writes those that may stay."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from contentdb.arrivals import Arrival
from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.feeds import Feeds, Gate
from contentdb.gains import feed_tag
from contentdb.known import SUPERSEDED, KnownVersions
from contentdb.ledger import Event, Happening, Ledger
from contentdb.lookup import Existing, Identity, existing
from contentdb.model import Entry
from contentdb.names import NodeId, Root
from contentdb.peers import Allowance, Peers
from contentdb.room import Room
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

    def unless(self, evicted: Container[int]) -> "Outcome":
        """The same, or a refusal if what was stored had to go at once to keep a limit."""
        if self.fate.is_gain and self.key in evicted:
            return Outcome(Fate.REFUSED, "no room: it had to go before others", self.entry)
        return self


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a batch reached us: from whom (None: made here), and when by the wall clock."""

    at: int
    source: NodeId | None = None
    own: bool = False


class _Candidate(NamedTuple):
    """An entry on its way in. Its feed and author are 0 as long as nothing is kept of them."""

    arrival: Arrival
    entry: Entry
    gate: Gate
    author: int
    identity: Identity


class _Batch(NamedTuple):
    """What the entries of one delivery have in common, and what they may still use up."""

    delivery: Delivery
    source: int | None
    allowance: Allowance | None
    room: Room


NO_ROOM = "no room: what is here is own or pinned"
TOO_FAR = "clock: too far in the future, and no room left to wait"


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
        self._known = KnownVersions(database, feeds, limits)
        self._next_key = 1 + self._highest_key()
        self._existing: dict[Identity, Existing] = {}
        self._unwritten: set[int] = set()
        self._happenings: list[Happening] = []
        self.unnamed: list[Root] = []  # enclosures that lost an entry, perhaps their last
        database.on_rollback(self._forget)

    def _highest_key(self) -> int:
        (highest,) = self._run.execute("SELECT coalesce(max(key), 0) FROM entries").fetchone()
        return max(int(highest), int(self._database.meta("highest_key") or 0))

    def _forget(self) -> None:
        self._existing.clear()
        self._unwritten.clear()
        self._happenings.clear()
        self.unnamed.clear()

    def take(self, arrivals: Sequence[Arrival], delivery: Delivery) -> list[Outcome]:
        """Store what may be stored, in one transaction."""
        with self._database.transaction(durable=delivery.own):
            source = None if delivery.source is None else self._catalogue.peer(delivery.source, delivery.at)
            allowance = None if source is None else self._peers.allowance(source, delivery.at)
            room = Room(self._feeds.counts, self._limits, self._flush)
            batch = _Batch(delivery, source, allowance, room)
            candidates = [self._candidate(arrival) for arrival in arrivals]
            self._existing = existing(self._database, {c.identity for c in candidates if c is not None})
            self._known.look_up({arrival.short_id for arrival in arrivals})
            outcomes = [
                Outcome(Fate.REFUSED, arrival.problem)
                if candidate is None
                else self._take_one(candidate, batch)
                for arrival, candidate in zip(arrivals, candidates, strict=True)
            ]
            self._flush()
            self._ledger.prune()
            self._known.prune()
            if source is not None and allowance is not None:
                self._peers.spend(source, allowance)
        return outcomes

    def _candidate(self, arrival: Arrival) -> _Candidate | None:
        entry = arrival.entry
        if entry is None or entry.feed is None:
            return None
        gate = self._feeds.gate(entry.feed)
        author = self._catalogue.find_author(arrival.signed.author) or 0
        return _Candidate(arrival, entry, gate, author, (gate.key, author, entry.id))

    def _take_one(self, candidate: _Candidate, batch: _Batch) -> Outcome:
        if not (candidate.author and candidate.gate.key):
            # What stood before it in the batch may have given its feed and author a row.
            candidate = self._candidate(candidate.arrival) or candidate
        outcome = self._judge(candidate, batch)
        if outcome.reason:
            self._note(candidate.entry, outcome, batch.delivery)
        return outcome

    def _judge(self, candidate: _Candidate, batch: _Batch) -> Outcome:
        (signed, _, version, short_id, _), entry, gate, author, identity = candidate
        seen = self._known.seen
        if not gate.may_write(signed.author):
            return self._refuse(candidate, "not a writer of this feed")
        if self._feeds.is_blocked(author):
            return self._refuse(candidate, "blocked")
        own = batch.delivery.own or self._feeds.is_own(author)
        old = self._existing.get(identity)
        if old is not None:
            if old.version == version and (old.state == State.HELD or not own):
                return self._duplicate(candidate, old, own=own)
            if (entry.updated, version) < (old.updated, old.version):
                self._known.remember(gate.key, short_id, SUPERSEDED)
                return Outcome(Fate.STALE, entry=entry)
        elif not own:
            if short_id in seen.known:
                return self._refuse_again(candidate)
            if entry.updated < gate.floor:
                return self._refuse(candidate, "older than what this store still remembers of the feed")
        if short_id in seen.stored and (old is None or old.version != version):
            # Two ids that agree in 64 bits cancel in every sketch; the one that came first stays.
            return Outcome(Fate.REFUSED, "short id already taken", entry)
        return self._weigh(candidate, old, own=own, batch=batch)

    def _weigh(self, candidate: _Candidate, old: Existing | None, *, own: bool, batch: _Batch) -> Outcome:
        """Its name and version are welcome: is there room for it, and is it time?"""
        (signed, _, _, short_id, _), entry, gate, _, _ = candidate
        delivery, allowance, limits = batch.delivery, batch.allowance, self._limits
        size = sum([enclosure.length for enclosure in entry.enclosures]) if entry.enclosures else 0
        counted = len(signed.data) + size
        if counted > limits.max_bytes:
            return self._refuse(candidate, "larger than the whole store may be")
        # What waited in the car park was counted when it came.
        if allowance is not None and short_id not in self._known.seen.parked and not allowance.take(counted):
            return Outcome(Fate.REFUSED, "this neighbour has brought its share for today", entry)
        if not delivery.own:
            if not gate.key and not self._feeds.has_place(gate.feed):
                return Outcome(Fate.REFUSED, "too many feeds, and nobody here subscribes to this one", entry)
            if entry.updated > delivery.at + limits.max_ahead_s * 1000:
                return self._park(candidate, delivery)
            growth = counted - (0 if old is None else old.bytes)
            is_kept = own or (old is not None and old.pinned)
            # A tombstone of what we hold is always welcome: it is how things go.
            ends = old is not None and entry.retracted and not size
            if not ends and not batch.room.take(gate.key, old is None, growth, is_kept=is_kept):
                return self._refuse(candidate, NO_ROOM)
        return self._store(candidate, old, own=own, batch=batch)

    def _store(self, candidate: _Candidate, old: Existing | None, *, own: bool, batch: _Batch) -> Outcome:
        (signed, _, version, short_id, _), entry, gate, author, identity = candidate
        delivery, seen = batch.delivery, self._known.seen
        if not (gate.key and author):
            gate, author = self._feeds.admit(gate.feed), self._catalogue.author(signed.author)
            identity = (gate.key, author, entry.id)
        replaces = old is not None and old.state == State.HELD
        key, pinned = self._next_key, False
        if old is None:
            self._next_key += 1
        else:
            key, pinned, own = old.key, old.pinned, own or old.own
            self._make_way(old, gate.key, by=version)
        if short_id in seen.parked or short_id in seen.known:
            self._known.unlearn(short_id)
        revision = self._database.next_revision(short_id, feed_tag(gate.feed))
        place = Placement(
            key, gate.key, author, revision, short_id, version, own, pinned, delivery.at, batch.source
        )
        counted = self.rows.add(entry, signed, place)
        self._feeds.counts.add(gate.key, 1, counted)
        self._feeds.changed(gate.key, removed=old.short_id if replaces and old else None, added=short_id)
        self._existing[identity] = Existing(
            key, entry.updated, version, State.HELD, own, pinned, counted, short_id
        )
        seen.stored.add(short_id)
        self._unwritten.add(key)
        event = Event.RETRACTED if entry.retracted else Event.PUBLISHED if delivery.own else Event.RECEIVED
        self._happenings.append(Happening(entry.id, delivery.at, event, delivery.source or ""))
        return Outcome(Fate.REPLACED if replaces else Fate.STORED, entry=entry, key=key)

    def _duplicate(self, candidate: _Candidate, old: Existing, *, own: bool) -> Outcome:
        if own and not old.own:
            self._flush()
            self._run.execute("UPDATE entries SET own = 1 WHERE key = ?", (old.key,))
            self._existing[candidate.identity] = old._replace(own=True)
        return Outcome(Fate.DUPLICATE, entry=candidate.entry, key=old.key if old.state == State.HELD else 0)

    def _make_way(self, old: Existing, feed: int, *, by: bytes) -> None:
        """Take away the older version, held or remembered."""
        if old.key in self._unwritten:
            self._flush()
        is_held = old.state == State.HELD
        self._feeds.counts.add(feed, -1 if is_held else 0, -old.bytes)
        self.unnamed += self.rows.remove(old.key)
        self._known.seen.stored.discard(old.short_id)
        if old.version == by:
            self._feeds.knowledge.forget()  # what was gone is held again
        else:
            self._known.remember(feed, old.short_id, SUPERSEDED, is_known=not is_held)

    def _flush(self) -> None:
        self.rows.flush()
        self._unwritten.clear()
        if self._happenings:
            self._ledger.write(self._happenings)
            self._happenings.clear()
        self._database.put_meta("highest_key", self._next_key - 1)

    def _refuse(self, candidate: _Candidate, reason: str) -> Outcome:
        self._known.remember(candidate.gate.key, candidate.arrival.short_id, reason)
        return Outcome(Fate.REFUSED, reason, candidate.entry)

    def _refuse_again(self, candidate: _Candidate) -> Outcome:
        reason = self._known.reason(candidate.arrival.short_id)
        if reason == SUPERSEDED:
            return Outcome(Fate.STALE, entry=candidate.entry)
        return Outcome(Fate.REFUSED, reason, candidate.entry)

    def _park(self, candidate: _Candidate, delivery: Delivery) -> Outcome:
        entry, short_id, known = candidate.entry, candidate.arrival.short_id, self._known
        if short_id not in known.seen.parked:
            loser = known.car_park.crowded_out(entry.updated, delivery.source)
            if loser is not None and not loser.id:
                return Outcome(Fate.REFUSED, TOO_FAR, entry)
            if loser is not None:
                known.unlearn(loser.short_id)
                self._ledger.note(Happening(loser.id, delivery.at, Event.REFUSED, TOO_FAR))
            if short_id not in known.seen.known:
                self._feeds.learnt(self._feeds.admit(candidate.gate.feed).key, short_id)
            known.car_park.enter(candidate.arrival, entry, delivery.source)
            known.seen.parked.add(short_id)
        return Outcome(Fate.PARKED, "clock: more than a day ahead of ours", entry)

    def _note(self, entry: Entry, outcome: Outcome, delivery: Delivery) -> None:
        event = Event.PARKED if outcome.fate is Fate.PARKED else Event.REFUSED
        where = f" (from {delivery.source})" if delivery.source else ""
        self._ledger.note(Happening(entry.id, delivery.at, event, outcome.reason + where))
