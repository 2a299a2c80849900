"""Which content goes first when space or time runs out, and what is remembered of it.

The order: what has expired, then what strangers brought, then the oldest of the feed that uses the most. Own
and pinned content never goes. Strangers are keys first seen less than a day of running time ago. They may
fill what nobody else needs, but in an open feed no more than a share of its quota, pinned or not; and what
they brought and had to go hinders nobody: it never raises a feed's floor.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from contentdb.counts import FeedUse
from contentdb.database import Database
from contentdb.feeds import Feeds
from contentdb.intake import NO_ROOM, Intake
from contentdb.ledger import Event, Happening, Ledger
from contentdb.names import owner_of
from contentdb.rows import State
from contentdb.settings import SLACK, Limits


class Candidate(NamedTuple):
    key: int
    feed: int
    short_id: int
    bytes: int
    id: str
    is_strange: bool


def enough(candidates: Iterable[Candidate], entries: int, size: int) -> Iterator[Candidate]:
    """The first candidates that together free so many entries and so many bytes."""
    for candidate in candidates:
        if entries <= 0 and size <= 0:
            return
        entries -= 1
        size -= candidate.bytes
        yield candidate


_STRANGE = (
    "author IN (SELECT key FROM authors WHERE own = 0 AND trusted = 0 AND first_run_s > :stranger_since)"
)
_COLUMNS = f"SELECT key, feed, short_id, bytes, id, {_STRANGE} FROM entries"
_EVICTABLE = "state = 0 AND own = 0 AND pinned = 0"
_UNPINNED = f"{_EVICTABLE} AND feed NOT IN (SELECT key FROM feeds WHERE pinned)"
_OLDEST = "ORDER BY updated, key"


class Retention:
    def __init__(
        self, database: Database, *, feeds: Feeds, intake: Intake, ledger: Ledger, limits: Limits
    ) -> None:
        self._database = database
        self._run = database.connection
        self._feeds, self._intake, self._ledger, self._limits = feeds, intake, ledger, limits
        self._running_s: int | None = None  # None: it must be looked up
        database.on_rollback(self._forget)

    def _forget(self) -> None:
        self._running_s = None

    @property
    def running_s(self) -> int:
        """How long the store has been in use, over all its runs."""
        if self._running_s is None:
            self._running_s = int(self._database.meta("running_s") or 0)
        return self._running_s

    def ran(self, ran_s: int) -> None:
        """It was in use for so much longer; one statement, since a node at rest says it every minute."""
        running_s = self.running_s + max(0, ran_s)
        self._database.put_meta("running_s", running_s)
        self._running_s = running_s

    # -- space

    def enforce(self, at: int) -> set[int]:
        """Bring the feeds that grew and the whole store below their limits; returns the rows that went."""
        with self._database.transaction():
            return self._enforce(self._feeds.counts.changed(), at)

    def _enforce(self, feeds: Iterable[FeedUse], at: int) -> set[int]:
        limits = self._limits
        gone = [c for feed in feeds for c in self._enforce_feed(feed, at)]
        over = self._feeds.usage() - limits.max_bytes
        if over > 0:
            gone += self._free(over + int(limits.max_bytes * SLACK), at)
        return {c.key for c in gone}

    def _enforce_feed(self, feed: FeedUse, at: int) -> list[Candidate]:
        limits, gone = self._limits, list[Candidate]()
        entries, size = limits.max_feed_entries, limits.max_feed_bytes
        is_open = owner_of(feed.id) is None  # an owner vouches for the writers of its feed
        if is_open and (
            feed.entries > entries * limits.stranger_share or feed.bytes > size * limits.stranger_share
        ):
            gone += self._limit_strangers(feed, at)
        too_many = feed.entries - len(gone) - entries
        too_large = feed.bytes - sum(c.bytes for c in gone) - size
        # A pinned feed that is full takes nothing more in, so it is not brought down either.
        if not feed.pinned and (too_many > 0 or too_large > 0):
            too_many += int(entries * SLACK) if too_many > 0 else 0
            too_large += int(size * SLACK) if too_large > 0 else 0
            rows = self._strangers_first(f"{_EVICTABLE} AND feed = :feed", is_open=is_open, feed=feed.key)
            gone += self._evict(enough(rows, too_many, too_large), "feed quota", at)
        return gone

    def _limit_strangers(self, feed: FeedUse, at: int) -> list[Candidate]:
        """Never-seen keys share a part of the quota; beyond it they push out one another and nobody else.

        In a pinned feed what was there first stays, and it is the last to come that goes.
        """
        strange = f"{_STRANGE} AND {_EVICTABLE} AND feed = :feed"
        count, size = self._run.execute(
            f"SELECT count(*), coalesce(sum(bytes), 0) FROM entries WHERE {strange}",
            self._named(feed=feed.key),
        ).fetchone()
        share = self._limits.stranger_share
        too_many = count - int(self._limits.max_feed_entries * share)
        too_large = size - int(self._limits.max_feed_bytes * share)
        order = "ORDER BY key DESC" if feed.pinned else _OLDEST
        rows = self._candidates(f"{strange} {order}", feed=feed.key)
        return self._evict(enough(rows, too_many, too_large), "strangers' share of the feed", at)

    def _free(self, size: int, at: int) -> list[Candidate]:
        """Make room in the whole store: what has expired, then strangers, then the oldest of the largest."""
        gone = list[Candidate]()
        for rows in self._by_worth(at):
            left = size - sum(c.bytes for c in gone)
            if left <= 0:
                break
            gone += self._evict(enough(rows, 0, left), "storage full", at)
        return gone

    def _by_worth(self, at: int) -> Iterator[Iterator[Candidate]]:
        yield self._candidates(f"{_UNPINNED} AND expires <= :at ORDER BY expires, key", at=at)
        yield self._candidates(f"{_UNPINNED} AND {_STRANGE} {_OLDEST}")
        feeds = "SELECT key FROM feeds WHERE pinned = 0 ORDER BY bytes DESC, key"
        for (feed,) in self._run.execute(feeds).fetchall():
            yield self._candidates(f"{_EVICTABLE} AND feed = :feed {_OLDEST}", feed=feed)

    def _strangers_first(self, condition: str, *, is_open: bool, feed: int) -> Iterator[Candidate]:
        if not is_open:
            return self._candidates(f"{condition} {_OLDEST}", feed=feed)
        return chain(
            self._candidates(f"{condition} AND {_STRANGE} {_OLDEST}", feed=feed),
            self._candidates(f"{condition} AND NOT {_STRANGE} {_OLDEST}", feed=feed),
        )

    def evictable_bytes(self) -> int:
        return self._feeds.usage() - self._feeds.counts.protected_bytes()

    def _named(self, **values: int) -> dict[str, int]:
        return {"stranger_since": self.running_s - self._limits.stranger_s, **values}

    def _candidates(self, condition: str, **values: int) -> Iterator[Candidate]:
        for row in self._run.execute(f"{_COLUMNS} WHERE {condition}", self._named(**values)):
            yield Candidate(*row)

    def _evict(self, doomed: Iterable[Candidate], reason: str, at: int) -> list[Candidate]:
        return self._remove(list(doomed), State.EVICTED, Event.EVICTED, reason, at)

    def _remove(
        self, doomed: list[Candidate], state: State, event: Event, reason: str, at: int
    ) -> list[Candidate]:
        if not doomed:
            return doomed
        graves = [(c.key, State.TURNED_AWAY if c.is_strange else state) for c in doomed]
        self._intake.unnamed += self._intake.rows.bury(graves)
        for c in doomed:
            self._feeds.counts.add(c.feed, -1, -c.bytes)
            self._feeds.changed(c.feed, removed=c.short_id, added=None)
            self._feeds.learnt(c.feed, c.short_id)
        self._ledger.write([Happening(c.id, at, event, reason) for c in doomed])
        return doomed

    # -- time

    def maintain(self, at: int) -> None:
        """Housekeeping, to be done now and then after `ran`."""
        with self._database.transaction():
            running_s = self.running_s
            self._doom(at, running_s)
            self._remove_doomed(at, running_s)
            self._enforce(self._feeds.counts.all(), at)
            self._welcome_again()
            has_forgotten = self._remember_less(at)
            self._feeds.forget_names(has_forgotten=has_forgotten)
            self._ledger.prune()

    def shows_again(self, before: int, at: int) -> bool:
        """The wall clock showed `before` and shows less now: are there entries that only this had hidden?"""
        found = self._run.execute(
            "SELECT 1 FROM entries WHERE state = 0 AND expires > ? AND expires <= ? LIMIT 1", (at, before)
        )
        return found.fetchone() is not None

    def _doom(self, at: int, running_s: int) -> None:
        """Mark what has expired or is far older than its feed's newest entry; unmark what is not so any more.

        Marks count running time, so that a clock that jumps, and what is dated by it, destroys nothing.
        """
        mark = f"UPDATE entries SET doomed_run_s = ? WHERE {_UNPINNED} AND doomed_run_s IS NULL AND "
        self._run.execute(mark + "expires <= ?", (running_s, at))
        oldest = self._oldest_kept(at)
        aged = [(running_s, feed, updated) for feed, updated in oldest.items()]
        self._run.executemany(mark + "feed = ? AND updated < ?", aged)
        marked = self._run.execute(
            "SELECT key, feed, updated, expires FROM entries WHERE doomed_run_s IS NOT NULL"
        )
        saved = [
            (key,)
            for key, feed, updated, expires in marked
            if (expires is None or expires > at) and updated >= oldest.get(feed, updated)
        ]
        self._run.executemany("UPDATE entries SET doomed_run_s = NULL WHERE key = ?", saved)

    def _oldest_kept(self, at: int) -> dict[int, int]:
        """For each feed that ages, the time before which its entries are too old."""
        newest = self._run.execute(
            "SELECT key, (SELECT updated FROM entries WHERE feed = feeds.key AND state = 0 "
            "ORDER BY updated DESC LIMIT 1) FROM feeds WHERE pinned = 0 AND entries > 0 ORDER BY key"
        )
        age = self._limits.max_feed_age_s * 1000
        return {feed: min(updated, at) - age for feed, updated in newest}

    def _remove_doomed(self, at: int, running_s: int) -> None:
        doomed = f"{_UNPINNED} AND doomed_run_s <= :before"
        before = running_s - self._limits.expired_s
        expired = list(self._candidates(f"{doomed} AND expires <= :at ORDER BY key", before=before, at=at))
        self._remove(expired, State.EXPIRED, Event.EXPIRED, "", at)
        aged = self._candidates(f"{doomed} {_OLDEST}", before=before)
        self._evict(aged, "too old for its feed", at)

    def _welcome_again(self) -> None:
        """What was refused for lack of room may be asked for again where there is room now."""
        limits = self._limits
        if self._feeds.counts.protected_bytes() <= limits.max_bytes * (1 - SLACK):
            forgotten = self._run.execute(
                "DELETE FROM known_versions WHERE reason = ? AND feed IN "
                "(SELECT key FROM feeds WHERE pinned = 0 OR (entries <= ? AND bytes <= ?))",
                (NO_ROOM, limits.max_feed_entries * (1 - SLACK), limits.max_feed_bytes * (1 - SLACK)),
            )
            if forgotten.rowcount:
                self._feeds.knowledge.forget()

    def _remember_less(self, at: int) -> bool:
        """When the memory of removed entries is full, its oldest rows become their feed's floor.

        What strangers brought is forgotten first, without a floor. No floor reaches into the last day: as
        far as clocks may differ, what is new must not be refused for being old.
        """
        most = self._limits.max_removed
        (graves,) = self._run.execute("SELECT count(*) FROM entries WHERE state > 0").fetchone()
        if graves <= most:
            return False
        rows = self._run.execute(
            "SELECT key, feed, updated, state FROM entries WHERE state > 0 "
            "ORDER BY state = ? DESC, updated, key LIMIT ?",
            (State.TURNED_AWAY.value, graves - most + int(most * SLACK)),
        ).fetchall()
        newest = at - self._limits.max_ahead_s * 1000
        # The rows come by time, so that the last of a feed is the one that counts.
        floors = {feed: updated + 1 for _, feed, updated, state in rows if state != State.TURNED_AWAY}
        for feed, floor in floors.items():
            self._feeds.raise_floor(feed, min(floor, newest))
        self._run.executemany("DELETE FROM entries WHERE key = ?", [(row[0],) for row in rows])
        self._run.execute("DELETE FROM deliveries WHERE entry NOT IN (SELECT key FROM entries)")
        self._feeds.knowledge.forget()
        return True
