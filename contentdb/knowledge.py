"""Two sets per feed, ready to be compared with a neighbour's: what we hold, and what we know.

*Held* is what we serve. *Known* is held and all that we had or refused, and is what we ask with; otherwise
every evicted entry would be a difference at every meeting, for ever. Sketches are linear, so both are kept as
sketches that follow each insertion and removal, and known is simply the sum of held and gone.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from contentdb.database import Database
from contentdb.sketch import Sketch, warm_cells

# Feeds whose sketches stay warm. The rest are built again from the ids when a neighbour asks.
MAX_WARM = 256


@dataclass(slots=True)
class _Warm:
    held: Sketch
    gone: Sketch


class Knowledge:
    def __init__(self, database: Database) -> None:
        self._run = database.connection
        self._warm: OrderedDict[int, _Warm] = OrderedDict()
        database.on_rollback(self._warm.clear)

    def forget(self, feed: int | None = None) -> None:
        """Build the sets of a feed, or of all of them, anew when they are next asked for."""
        if feed is None:
            self._warm.clear()
        else:
            self._warm.pop(feed, None)

    def changed(self, feed: int, *, removed: int | None, added: int | None) -> None:
        """A version left or entered what we hold. A removed one is not known by that alone: see `learnt`."""
        warm = self._warm.get(feed)
        if warm is None:
            return
        if removed is not None:
            warm.held.remove(_unsigned(removed))
        if added is not None:
            warm.held.insert(_unsigned(added))

    def learnt(self, feed: int, short_id: int) -> None:
        """We know of this version and will not hold it."""
        warm = self._warm.get(feed)
        if warm is not None:
            warm.gone.insert(_unsigned(short_id))

    def held(self, feed: int, at: int) -> Sketch:
        """What we serve: of what is stored, all that has not expired."""
        held = self._sketches(feed).held
        # Few have expired and are still here, in all feeds together; without the hint SQLite reads all.
        expired = self._run.execute(
            "SELECT short_id FROM entries INDEXED BY entries_by_expiry "
            "WHERE feed = ? AND state = 0 AND expires <= ?",
            (feed, at),
        ).fetchall()
        if expired:
            # They stay in the warm sketch until they are deleted: the clock may still go back.
            held = held.copy()
            for (short_id,) in expired:
                held.remove(_unsigned(short_id))
        return held

    def known(self, feed: int) -> Sketch:
        warm = self._sketches(feed)
        return warm.held.merged([warm.gone])

    def held_ids(self, feed: int) -> Iterator[int]:
        for (short_id,) in self._run.execute(
            "SELECT short_id FROM entries WHERE feed = ? AND state = 0", (feed,)
        ):
            yield _unsigned(short_id)

    def gone_ids(self, feed: int) -> Iterator[int]:
        """Removed entries, versions we know but do not hold, and what waits for the clock."""
        rows = self._run.execute(
            "SELECT short_id FROM entries WHERE feed = ?1 AND state > 0 "
            "UNION SELECT short_id FROM known_versions WHERE feed = ?1 "
            "UNION SELECT p.short_id FROM parked p JOIN feeds f ON f.id = p.feed WHERE f.key = ?1 "
            "EXCEPT SELECT short_id FROM entries WHERE feed = ?1 AND state = 0",
            (feed,),
        )
        for (short_id,) in rows:
            yield _unsigned(short_id)

    def _sketches(self, feed: int) -> _Warm:
        warm = self._warm.get(feed)
        if warm is None:
            held, gone = list(self.held_ids(feed)), list(self.gone_ids(feed))
            cells = warm_cells(len(held) + len(gone))
            warm = self._warm[feed] = _Warm(Sketch.of(held, cells), Sketch.of(gone, cells))
            if len(self._warm) > MAX_WARM:
                self._warm.popitem(last=False)
        self._warm.move_to_end(feed)
        return warm


def _unsigned(short_id: int) -> int:
    return short_id & 0xFFFF_FFFF_FFFF_FFFF
