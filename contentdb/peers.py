"""Whom we have met: contact history by proved identity, and what each neighbour may bring in a day."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.names import Address, NodeId
from contentdb.settings import DAY_S, Limits

GIVEN, MAX_GIVEN = "given_addresses", 64
# As many as there may be neighbours; each is asked for several times while it is near, and after every hello.
MAX_CACHED = 1024


class Doubt(IntEnum):
    """Whether a session may have missed something that a filter hid by chance."""

    NONE = 0  # there was no filter
    SLIGHT = 1  # one that hides one entry in a million
    REAL = 2


@dataclass(frozen=True, slots=True)
class Peer:
    """What we remember of a node. (epoch, revision) is its own pair at the end of our last whole session.

    That session asked for all subscriptions up to the key `subscriptions`, as well as `doubt` says.
    """

    node: NodeId
    epoch: str | None
    revision: int | None
    subscriptions: int
    doubt: Doubt
    first_seen_at: int
    last_seen_at: int
    address: Address | None


@dataclass(slots=True)
class Allowance:
    """What a neighbour may still bring today; counts down as it delivers."""

    day: int
    entries_left: int
    bytes_left: int

    def take(self, counted: int) -> bool:
        if self.entries_left < 1 or self.bytes_left < counted:
            return False
        self.entries_left -= 1
        self.bytes_left -= counted
        return True


_COLUMNS = "node, epoch, revision, subscriptions, is_doubtful, first_seen_at, last_seen_at, address"


def _peer(row: tuple[Any, ...]) -> Peer:
    node, epoch, revision, subscriptions, doubt, first, last, address = row
    return Peer(node, epoch, revision, subscriptions, Doubt(doubt), first, last, address)


class Peers:
    def __init__(self, database: Database, catalogue: Catalogue, limits: Limits) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self._limits = limits
        self._cache: dict[NodeId, Peer] = {}  # not who is unknown: whoever brings an entry is not any more
        database.on_rollback(self._cache.clear)

    def get(self, node: NodeId) -> Peer | None:
        peer = self._cache.get(node)
        if peer is not None:
            return peer
        row = self._run.execute(f"SELECT {_COLUMNS} FROM peers WHERE node = ?", (node,)).fetchone()
        if row is None:
            return None
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        self._cache[node] = peer = _peer(row)
        return peer

    def all(self) -> list[Peer]:
        rows = self._run.execute(f"SELECT {_COLUMNS} FROM peers ORDER BY last_seen_at DESC, node")
        return [_peer(row) for row in rows]

    def met(self, node: NodeId, at: int, address: Address | None = None) -> None:
        with self._database.transaction():
            key = self._catalogue.peer(node, at)
            self._cache.pop(node, None)
            self._run.execute(
                "UPDATE peers SET last_seen_at = max(last_seen_at, ?), address = coalesce(?, address) "
                "WHERE key = ?",
                (at, address, key),
            )

    def addresses(self, most: int) -> list[Address]:
        """Where those were whom we dialled, the last ones first."""
        rows = self._run.execute(
            "SELECT address FROM peers WHERE address IS NOT NULL ORDER BY last_seen_at DESC, node LIMIT ?",
            (most,),
        )
        return [Address(address) for (address,) in rows]

    def given(self) -> list[Address]:
        """Where the owner said that somebody is, in the order in which it was said."""
        return [Address(line) for line in str(self._database.meta(GIVEN) or "").splitlines()]

    def give(self, address: Address) -> None:
        """Remember this until MAX_GIVEN others were given; it survives restarts."""
        lines = [*(each for each in self.given() if each != address), address][-MAX_GIVEN:]
        with self._database.transaction(durable=True):
            self._database.put_meta(GIVEN, "\n".join(lines))

    def synchronised(
        self,
        node: NodeId,
        *,
        epoch: str,
        revision: int,
        subscriptions: int = 0,
        doubt: Doubt = Doubt.NONE,
        at: int,
    ) -> None:
        """Remember the peer's pair of a session that ran to its end: until it changes, nothing is to ask."""
        with self._database.transaction():
            key = self._catalogue.peer(node, at)
            self._cache.pop(node, None)
            self._run.execute(
                "UPDATE peers SET epoch = ?, revision = ?, subscriptions = ?, is_doubtful = ?, "
                "last_seen_at = max(last_seen_at, ?) WHERE key = ?",
                (epoch, revision, subscriptions, doubt, at, key),
            )

    def allowance(self, key: int, at: int) -> Allowance:
        today = at // (DAY_S * 1000)
        day, entries, counted = self._run.execute(
            "SELECT day, day_entries, day_bytes FROM peers WHERE key = ?", (key,)
        ).fetchone()
        if day != today:
            entries = counted = 0
        return Allowance(
            today, self._limits.peer_day_entries - entries, self._limits.peer_day_bytes - counted
        )

    def spend(self, key: int, left: Allowance) -> None:
        self._run.execute(
            "UPDATE peers SET day = ?, day_entries = ?, day_bytes = ? WHERE key = ?",
            (
                left.day,
                self._limits.peer_day_entries - left.entries_left,
                self._limits.peer_day_bytes - left.bytes_left,
                key,
            ),
        )

    def prune(self) -> None:
        """Forget those not met for longest; the source of what they brought then reads as unknown."""
        with self._database.transaction():
            gone = self._run.execute(
                "DELETE FROM peers WHERE key IN "
                "(SELECT key FROM peers ORDER BY last_seen_at DESC, key LIMIT -1 OFFSET ?)",
                (self._limits.max_peers,),
            )
            if gone.rowcount:
                self._catalogue.forget_peers()
                self._cache.clear()
