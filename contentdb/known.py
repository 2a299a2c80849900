"""Versions that the store has come across and does not hold: superseded, refused, waiting for the clock."""

from collections.abc import Collection

from contentdb.database import Database
from contentdb.feeds import Feeds
from contentdb.lookup import Seen, seen
from contentdb.parking import CarPark
from contentdb.settings import SLACK, Limits

SUPERSEDED = "superseded"


class KnownVersions:
    """Follows one batch at a time: what of it was seen before, and what is learnt on the way."""

    def __init__(self, database: Database, feeds: Feeds, limits: Limits) -> None:
        self._database = database
        self._run = database.connection
        self._feeds, self._limits = feeds, limits
        self.car_park = CarPark(database, limits)
        self.forget()
        database.on_rollback(self.forget)

    def forget(self) -> None:
        self.seen = Seen(set(), set(), set())

    def look_up(self, short_ids: Collection[int]) -> None:
        self.seen = seen(self._database, short_ids)

    def remember(self, feed: int, short_id: int, reason: str, *, is_known: bool = False) -> None:
        """A version we know and will not hold: asking neighbours for it again would be a waste for ever.

        Of a feed without a row nothing is kept, so nothing is remembered either.
        """
        stored, parked, known = self.seen
        if not feed or short_id in known or short_id in stored:
            return
        if not is_known and short_id not in parked:
            self._feeds.learnt(feed, short_id)
        known.add(short_id)
        self._run.execute("INSERT OR IGNORE INTO known_versions VALUES (?,?,?)", (feed, short_id, reason))

    def reason(self, short_id: int) -> str:
        """Why we do not hold this version, which is known."""
        (reason,) = self._run.execute(
            "SELECT reason FROM known_versions WHERE short_id = ?", (short_id,)
        ).fetchone()
        return str(reason)

    def unlearn(self, short_id: int) -> None:
        """What was only known is held now, or known no more: twice in a sketch would cancel it."""
        self.seen.parked.discard(short_id)
        self.seen.known.discard(short_id)
        self.car_park.leave(short_id)
        self._run.execute("DELETE FROM known_versions WHERE short_id = ?", (short_id,))
        self._feeds.knowledge.forget()

    def prune(self) -> None:
        """Forget the oldest when there are too many, some at a time: the warm sketches go with them."""
        most = self._limits.max_known_versions
        lowest, highest = self._run.execute(
            "SELECT (SELECT min(rowid) FROM known_versions), (SELECT max(rowid) FROM known_versions)"
        ).fetchone()
        if lowest is not None and highest - lowest >= most + int(most * SLACK):
            self._run.execute("DELETE FROM known_versions WHERE rowid <= ?", (highest - most,))
            self._feeds.knowledge.forget()
