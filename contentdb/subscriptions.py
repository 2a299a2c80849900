"""Who wants what, and what each subscription has been given already."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from contentdb.database import Database
from contentdb.errors import UsageError
from contentdb.lookup import SIZES, parts
from contentdb.names import FeedId, parse_feed_id
from contentdb.selector import parse

_APP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILES = re.compile(r"all|none|max=\d{1,15}")
# A runaway app must not make every arrival expensive for the others.
MAX_PER_APP = 10_000
_DELIVERED = {
    size: "SELECT d.subscription, d.entry, d.version "
    f"FROM (VALUES {','.join(['(?,?)'] * size)}) v "
    "CROSS JOIN deliveries d ON d.subscription = v.column1 AND d.entry = v.column2"
    for size in SIZES
}


@dataclass(frozen=True, slots=True)
class Subscription:
    """(app, feed, selector) with its options; `files` is all, none or max=BYTES."""

    key: int
    app: str
    feed: FeedId
    selector: str = ""
    max_age_s: int | None = None
    max_count: int | None = None
    files: str = "all"
    created_at: int = 0

    def wants_file(self, length: int) -> bool:
        return self.files == "all" or (
            self.files != "none" and length <= int(self.files.removeprefix("max="))
        )


class Subscriptions:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._run = database.connection

    def add(self, wanted: Subscription) -> Subscription:
        """Subscribe, durably. The same app, feed and selector again only renews its options."""
        _check(wanted)
        with self._database.transaction(durable=True):
            (count,) = self._run.execute(
                "SELECT count(*) FROM subscriptions WHERE app = ? AND NOT (feed = ? AND selector = ?)",
                (wanted.app, wanted.feed, wanted.selector),
            ).fetchone()
            if count >= MAX_PER_APP:
                raise UsageError(
                    f"app {wanted.app} has {MAX_PER_APP} subscriptions, which is the most allowed"
                )
            self._run.execute(
                "INSERT INTO subscriptions (app, feed, selector, max_age_s, max_count, files, created_at) "
                "VALUES (?,?,?,?,?,?,?) ON CONFLICT (app, feed, selector) DO UPDATE SET "
                "max_age_s = excluded.max_age_s, max_count = excluded.max_count, files = excluded.files",
                (
                    wanted.app, wanted.feed, wanted.selector, wanted.max_age_s, wanted.max_count,
                    wanted.files, wanted.created_at,
                ),
            )  # fmt: skip
        return self._one("app = ? AND feed = ? AND selector = ?", wanted.app, wanted.feed, wanted.selector)

    def remove(self, key: int) -> None:
        """Unsubscribe. What was delivered is forgotten with the subscription."""
        with self._database.transaction(durable=True):
            if self._run.execute("DELETE FROM subscriptions WHERE key = ?", (key,)).rowcount == 0:
                raise UsageError(f"there is no subscription {key}; `passerby subscriptions` lists them")
            self._run.execute("DELETE FROM deliveries WHERE subscription = ?", (key,))

    def get(self, key: int) -> Subscription:
        return self._one("key = ?", key)

    def all(self) -> list[Subscription]:
        return self._some("1 = 1")

    def of_feed(self, feed: FeedId) -> list[Subscription]:
        return self._some("feed = ?", feed)

    def _some(self, condition: str, *parameters: object) -> list[Subscription]:
        rows = self._run.execute(
            "SELECT key, app, feed, selector, max_age_s, max_count, files, created_at FROM subscriptions "
            f"WHERE {condition} ORDER BY key",
            parameters,
        )
        return [Subscription(*row) for row in rows]

    def _one(self, condition: str, *parameters: object) -> Subscription:
        found = self._some(condition, *parameters)
        if not found:
            raise UsageError("there is no such subscription; `passerby subscriptions` lists them")
        return found[0]

    # -- what was delivered

    def delivered(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """Which version of the entry each of these (subscription, entry row) was given and is done with."""
        return {
            (subscription, entry): version
            for part in parts(pairs, (None, None))
            for subscription, entry, version in self._run.execute(
                _DELIVERED[len(part)], [key for pair in part for key in pair]
            )
        }

    def mark_delivered(self, subscription: int, marks: list[tuple[int, bytes]]) -> None:
        """The app has finished with these (entry row, version) pairs and must not get them again.

        A mark that comes after the subscription was removed is ignored: nobody would ever clear it.
        """
        with self._database.transaction():
            if not self._some("key = ?", subscription):
                return
            self._run.executemany(
                "INSERT OR REPLACE INTO deliveries VALUES (?,?,?)", [(subscription, *mark) for mark in marks]
            )


def check_app(name: str) -> None:
    if _APP.fullmatch(name) is None:
        raise UsageError(f"an app's name is 1 to 64 letters, digits, '.', '_' or '-'; got {name[:80]!r}")


def _check(wanted: Subscription) -> None:
    parse_feed_id(wanted.feed)
    parse(wanted.selector)
    check_app(wanted.app)
    if _FILES.fullmatch(wanted.files) is None:
        raise UsageError(f"files is all, none or max=BYTES; got {wanted.files[:80]!r}")
    for name, value in (("max_age", wanted.max_age_s), ("max_count", wanted.max_count)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1; got {value}")
