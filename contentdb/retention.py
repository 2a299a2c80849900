"""Which content goes first when space or time runs out, and what is remembered of it.

The order: what has expired, then what strangers brought beyond their share, then the oldest of the feed that
uses the most. Own and pinned content never goes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contentdb.database import Database
from contentdb.feeds import Feeds
from contentdb.intake import Intake
from contentdb.ledger import Event, Happening, Ledger
from contentdb.names import owner_of
from contentdb.rows import State
from contentdb.settings import Limits

# Free this much more than needed, so that a full store does not evict once per arrival.
SLACK = 0.02
BATCH = 500


class Candidate(NamedTuple):
    key: int
    feed: int
    short_id: int
    bytes: int
    id: str


def enough(candidates: Iterable[Candidate], entries: int, size: int) -> Iterator[Candidate]:
    """The first candidates that together free so many entries and so many bytes."""
    for candidate in candidates:
        if entries <= 0 and size <= 0:
            return
        entries -= 1
        size -= candidate.bytes
        yield candidate


_COLUMNS = "SELECT key, feed, short_id, bytes, id FROM entries"
_EVICTABLE = "state = 0 AND own = 0 AND pinned = 0"


class Retention:
    def __init__(
        self, database: Database, *, feeds: Feeds, intake: Intake, ledger: Ledger, limits: Limits
    ) -> None:
        self._database = database
        self._run = database.connection
        self._feeds, self._intake, self._ledger, self._limits = feeds, intake, ledger, limits

    @property
    def running_s(self) -> int:
        return int(self._database.meta("running_s") or 0)

    # -- space

    def enforce(self, at: int) -> None:
        """Bring every feed and the whole store below its limits; called with each batch that is taken in."""
        with self._database.transaction():
            total = self._feeds.usage()
            limits = self._limits
            over = self._run.execute(
                "SELECT key, id, entries, bytes FROM feeds WHERE pinned = 0 AND "
                "(entries > ?1 * ?3 OR bytes > ?2 * ?3) ORDER BY key",
                (limits.max_feed_entries, limits.max_feed_bytes, limits.stranger_share),
            ).fetchall()
            for key, feed_id, entries, size in over:
                total -= self._enforce_feed(key, owner_of(feed_id) is None, entries, size, at)
            if total > limits.max_bytes:
                self._free(total - limits.max_bytes + int(limits.max_bytes * SLACK), at)

    def _enforce_feed(self, feed: int, is_open: bool, entries: int, size: int, at: int) -> int:
        fewer, freed = self._limit_strangers(feed, at) if is_open else (0, 0)
        too_many = entries - fewer - self._limits.max_feed_entries
        too_large = size - freed - self._limits.max_feed_bytes
        if too_many > 0 or too_large > 0:
            slack_entries = int(self._limits.max_feed_entries * SLACK) if too_many > 0 else 0
            slack_bytes = int(self._limits.max_feed_bytes * SLACK) if too_large > 0 else 0
            rows = self._candidates(f"{_EVICTABLE} AND feed = ? ORDER BY updated, key", feed)
            freed += self._evict(
                enough(rows, too_many + slack_entries, too_large + slack_bytes), "feed quota", at
            )
        return freed

    def _limit_strangers(self, feed: int, at: int) -> tuple[int, int]:
        """Never-seen keys share a part of the quota; beyond it they push out one another and nobody else."""
        strangers = (
            "author IN (SELECT key FROM authors WHERE own = 0 AND trusted = 0 AND first_run_s > ?) "
            f"AND {_EVICTABLE} AND feed = ?"
        )
        since = self.running_s - self._limits.stranger_s
        count, size = self._run.execute(
            f"SELECT count(*), coalesce(sum(bytes), 0) FROM entries WHERE {strangers}", (since, feed)
        ).fetchone()
        share = self._limits.stranger_share
        too_many = count - int(self._limits.max_feed_entries * share)
        too_large = size - int(self._limits.max_feed_bytes * share)
        rows = self._candidates(f"{strangers} ORDER BY updated, key", since, feed)
        doomed = list(enough(rows, too_many, too_large))
        return len(doomed), self._evict(doomed, "strangers' share of the feed", at)

    def _free(self, size: int, at: int) -> None:
        """Make room in the whole store: expired entries first, then the oldest of the largest feed."""
        expired = self._candidates(f"{_EVICTABLE} AND expires <= ? ORDER BY expires, key", at)
        size -= self._evict(enough(expired, 0, size), "storage full", at)
        feeds = self._run.execute(
            "SELECT key FROM feeds WHERE pinned = 0 ORDER BY bytes DESC, key"
        ).fetchall()
        for (feed,) in feeds:
            if size <= 0:
                return
            rows = self._candidates(f"{_EVICTABLE} AND feed = ? ORDER BY updated, key", feed)
            size -= self._evict(enough(rows, 0, size), "storage full", at)

    def evictable_bytes(self) -> int:
        (total,) = self._run.execute(
            f"SELECT coalesce(sum(bytes), 0) FROM entries WHERE {_EVICTABLE} "
            "AND feed NOT IN (SELECT key FROM feeds WHERE pinned)"
        ).fetchone()
        return int(total)

    def _candidates(self, condition: str, *parameters: int) -> Iterator[Candidate]:
        for row in self._run.execute(f"{_COLUMNS} WHERE {condition}", parameters):
            yield Candidate(*row)

    def _evict(self, doomed: Iterable[Candidate], reason: str, at: int) -> int:
        return self._remove(list(doomed), State.EVICTED, Event.EVICTED, reason, at)

    def _remove(self, doomed: list[Candidate], state: State, event: Event, reason: str, at: int) -> int:
        if not doomed:
            return 0
        self._intake.unnamed += self._intake.rows.bury([c.key for c in doomed], state)
        for c in doomed:
            self._feeds.count(c.feed, -1, -c.bytes)
            self._feeds.changed(c.feed, removed=c.short_id, added=None)
            self._feeds.learnt(c.feed, c.short_id)
        self._ledger.write([Happening(c.id, at, event, reason) for c in doomed])
        return sum(c.bytes for c in doomed)

    # -- time

    def maintain(self, at: int, ran_s: int) -> None:
        """Housekeeping, to be called now and then with the seconds spent running since the last call."""
        with self._database.transaction():
            running_s = self.running_s + max(0, ran_s)
            self._database.put_meta("running_s", running_s)
            self._expire(at, running_s)
            self._age(at)
            self._remember_less()
            self._ledger.prune()

    def _expire(self, at: int, running_s: int) -> None:
        """Expired entries are hidden by every query; they are deleted only after a day of running time."""
        mark = "UPDATE entries SET expired_run_s = ? WHERE state = 0 AND expires IS NOT NULL AND "
        self._run.execute(mark + "expires <= ? AND expired_run_s IS NULL", (running_s, at))
        # The clock went back: not expired after all.
        self._run.execute(mark + "expires > ? AND expired_run_s IS NOT NULL", (None, at))
        rows = self._candidates(
            f"{_EVICTABLE} AND expires IS NOT NULL AND expired_run_s <= ? "
            "AND feed NOT IN (SELECT key FROM feeds WHERE pinned) ORDER BY key",
            running_s - self._limits.expired_s,
        )
        self._remove(list(rows), State.EXPIRED, Event.EXPIRED, "", at)

    def _age(self, at: int) -> None:
        """Drop what is far older than its feed's newest entry; measured so, a jumping clock ages nothing."""
        feeds = self._run.execute(
            "SELECT f.key, max(e.updated) FROM feeds f JOIN entries e ON e.feed = f.key "
            "WHERE f.pinned = 0 AND e.state = 0 GROUP BY f.key ORDER BY f.key"
        ).fetchall()
        for feed, newest in feeds:
            oldest = min(newest, at) - self._limits.max_feed_age_s * 1000
            rows = self._candidates(
                f"{_EVICTABLE} AND feed = ? AND updated < ? ORDER BY updated", feed, oldest
            )
            self._evict(list(rows), "too old for its feed", at)

    def _remember_less(self) -> None:
        """When the memory of removed entries is full, its oldest rows become their feed's floor."""
        (graves,) = self._run.execute("SELECT count(*) FROM entries WHERE state > 0").fetchone()
        surplus = graves - self._limits.max_removed
        if surplus > 0:
            rows = self._run.execute(
                "SELECT key, feed, updated FROM entries WHERE state > 0 "
                "ORDER BY revision, updated, key LIMIT ?",
                (surplus,),
            ).fetchall()
            for _key, feed, updated in rows:
                self._feeds.raise_floor(feed, updated + 1)
            self._run.executemany("DELETE FROM deliveries WHERE entry = ?", [(row[0],) for row in rows])
            self._run.executemany("DELETE FROM entries WHERE key = ?", [(row[0],) for row in rows])
            self._feeds.knowledge.forget()
        known = self._run.execute(
            "DELETE FROM known_versions WHERE rowid <= (SELECT max(rowid) FROM known_versions) - ?",
            (self._limits.max_known_versions,),
        )
        if known.rowcount:
            self._feeds.knowledge.forget()
