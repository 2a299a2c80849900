"""What a store does now and then: count its running time, expire, age, forget, empty the car park.

Housekeeping that changed nothing would change nothing the next time either, until a row is written or one of
some moments comes that are known beforehand. Until then a store rests, and costs a phone one statement.
"""

from collections.abc import Callable, Sequence

from contentdb.arrivals import Arrival, verify_and_read
from contentdb.database import Database
from contentdb.intake import Delivery, Fate, Outcome
from contentdb.knowledge import Knowledge
from contentdb.model import Signed
from contentdb.names import NodeId
from contentdb.peers import Peers
from contentdb.retention import Retention
from contentdb.settings import Limits

# Of running time. Whatever else may depend on a clock one day is late by no more than this.
LONGEST_S = 3600
_NEVER = 2**63

# An entry expires, one leaves the car park, one that has expired or aged may be deleted. With entries ahead
# of our clock, what is too old for a feed moves with the clock.
_NEXT = """
SELECT (SELECT min(expires) FROM entries WHERE state = 0 AND expires IS NOT NULL AND expires > :at),
       (SELECT min(updated) FROM parked),
       (SELECT min(doomed_run_s) FROM entries WHERE doomed_run_s IS NOT NULL),
       EXISTS (SELECT 1 FROM feeds JOIN entries ON feed = feeds.key AND updated > :at AND state = 0)
"""

# Most stores of a simulation, and that of a new user.
_IS_EMPTY = """
SELECT NOT EXISTS (SELECT 1 FROM entries) AND NOT EXISTS (SELECT 1 FROM feeds)
   AND NOT EXISTS (SELECT 1 FROM parked) AND NOT EXISTS (SELECT 1 FROM peers)
   AND NOT EXISTS (SELECT 1 FROM ledger)
"""


class Rest:
    """From a housekeeping that found nothing to do until there may be something."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._run, self._limits = database.connection, limits
        self._changes = -1  # SQLite's count of the rows written when the rest began; -1: there is none
        self._since = self._until = 0  # by the wall clock: one that was set back may bring things back
        self._until_run_s = 0
        database.on_rollback(self._ends)

    def _ends(self) -> None:
        self._changes = -1

    def lasts(self, at: int, running_s: int) -> bool:
        return (
            self._changes == self._run.total_changes
            and self._since <= at < self._until
            and running_s < self._until_run_s
        )

    def goes_on(self) -> None:
        """What was written just now was our own note of the time."""
        self._changes = self._run.total_changes

    def begins(self, at: int, running_s: int) -> None:
        expires, parked, doomed, is_ahead = self._run.execute(_NEXT, {"at": at}).fetchone()
        leaves = _NEVER if parked is None else parked - self._limits.max_ahead_s * 1000
        until = at if is_ahead else min(_NEVER if expires is None else expires, leaves)
        deleted = _NEVER if doomed is None else doomed + self._limits.expired_s
        self._since, self._until = at, until
        self._until_run_s = min(deleted, running_s + LONGEST_S)
        self.goes_on()


class Housekeeping:
    def __init__(
        self,
        database: Database,
        retention: Retention,
        peers: Peers,
        knowledge: Knowledge,
        limits: Limits,
        *,
        take_in: Callable[[Sequence[Arrival], Delivery], list[Outcome]],
    ) -> None:
        self._database, self._run = database, database.connection
        self._retention, self._peers, self._knowledge, self._limits = retention, peers, knowledge, limits
        self._take_in = take_in
        self._rest = Rest(database, limits)

    def done(self, at: int, ran_s: int) -> list[Outcome]:
        """As `Store.maintain` says."""
        is_resting = self._rest.lasts(at, self._retention.running_s + ran_s)
        self._retention.ran(ran_s)
        if is_resting:
            self._rest.goes_on()
            return []
        if self._run.execute(_IS_EMPTY).fetchone() == (1,):
            return []
        changes = self._run.total_changes
        with self._database.transaction():
            self._retention.maintain(at)
            outcomes = self._unpark(at)
            self._peers.prune()
        if self._run.total_changes == changes:
            self._rest.begins(at, self._retention.running_s)
        return outcomes

    def _unpark(self, at: int) -> list[Outcome]:
        due = at + self._limits.max_ahead_s * 1000
        rows = self._run.execute(
            "SELECT author, signature, data, source FROM parked WHERE updated <= ? "
            "ORDER BY updated, short_id",
            (due,),
        ).fetchall()
        outcomes = []
        for author, signature, data, source in rows:
            delivery = Delivery(at, source=None if source is None else NodeId(source))
            # Verified once more: what changed on the disk meanwhile must not become content.
            outcomes += self._take_in(verify_and_read([Signed(author, signature, data)]), delivery)
        # What was refused meanwhile.
        if self._run.execute("DELETE FROM parked WHERE updated <= ?", (due,)).rowcount:
            self._knowledge.forget()
        return [outcome for outcome in outcomes if outcome.fate in (Fate.STORED, Fate.REPLACED)]
