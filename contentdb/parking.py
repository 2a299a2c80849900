"""The car park: entries too far ahead of our clock wait here until their time has come."""

from typing import NamedTuple

from contentdb.arrivals import Arrival
from contentdb.database import Database
from contentdb.model import Entry
from contentdb.names import NodeId
from contentdb.settings import Limits


class Waiting(NamedTuple):
    short_id: int
    id: str
    updated: int


class CarPark:
    """Bounded, and bounded for each neighbour. When it is full, what has longest to wait goes."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._run = database.connection
        self._limits = limits

    def crowded_out(self, updated: int, source: NodeId | None) -> Waiting | None:
        """Whose place an entry of this time needs; None if there is a free one. It may be its own."""
        parked, of_source = self._run.execute(
            "SELECT count(*), count(CASE WHEN source IS ? THEN 1 END) FROM parked", (source,)
        ).fetchone()
        is_greedy = of_source >= self._limits.max_parked_per_source
        if not is_greedy and parked < self._limits.max_parked:
            return None
        farthest = self._run.execute(
            "SELECT short_id, id, updated FROM parked WHERE NOT ? OR source IS ? "
            "ORDER BY updated DESC, short_id DESC LIMIT 1",
            (is_greedy, source),
        ).fetchone()
        newcomer = Waiting(0, "", updated)
        return Waiting(*farthest) if farthest is not None and farthest[2] > updated else newcomer

    def enter(self, arrival: Arrival, entry: Entry, source: NodeId | None) -> None:
        signed = arrival.signed
        what = (arrival.short_id, entry.feed, entry.author, entry.id, entry.updated)
        self._run.execute(
            "INSERT INTO parked VALUES (?,?,?,?,?,?,?,?)", (*what, source, signed.signature, signed.data)
        )

    def leave(self, short_id: int) -> None:
        self._run.execute("DELETE FROM parked WHERE short_id = ?", (short_id,))
