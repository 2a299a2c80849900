"""Reads entries from the store: by selector, by key, by revision, by short id, and for a subscription."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from contentdb.catalogue import Catalogue
from contentdb.copies import HIDDEN, SHOWN, SHOWN_TIMES, Copies
from contentdb.database import Database
from contentdb.lookup import SIZES, parts
from contentdb.model import BUILT_IN_IDENTIFIERS, Signed
from contentdb.names import AuthorKey, EntryId, EntryKey, FeedId
from contentdb.selector import Selector
from contentdb.selector.compile import condition, identifiers
from contentdb.subscriptions import Subscription


class EntryRow(NamedTuple):
    """An entry as it is listed: the columns people and selectors ask for, without its signed bytes."""

    key: int
    id: EntryId
    feed: FeedId
    author: AuthorKey
    title: str
    updated: int
    published: int | None
    expires: int | None
    summary: str | None
    author_name: str | None
    size: int
    enclosures: int
    type: str | None
    language: str | None
    categories: str | None
    attributes: str | None  # JSON
    version: bytes
    revision: int
    own: int
    pinned: int

    @property
    def entry_key(self) -> EntryKey:
        return EntryKey(self.feed, self.author, self.id)


@dataclass(frozen=True, slots=True)
class Selection:
    """What to read: of which feed, matching what, how much of it, and what counts as expired."""

    at: int
    feed: FeedId | None = None
    where: Selector | None = None
    limit: int = 1_000
    newest_first: bool = True


# So few characters of a random id are still unlikely to mean two entries of one person.
MIN_ABBREVIATION = 4

_COLUMNS = (
    "e.key, e.id, f.id, a.public, e.title, e.updated, e.published, e.expires, e.summary, e.author_name, "
    "e.size, e.enclosures, e.type, e.language, e.categories, e.attributes, e.version, e.revision, "
    "e.own, e.pinned"
)
# CROSS JOIN keeps SQLite from driving the query by feeds or authors: the entries are what is selective.
_NAMES = "CROSS JOIN feeds f ON f.key = e.feed CROSS JOIN authors a ON a.key = e.author"
_FROM = f"FROM entries e {_NAMES}"
# The plus keeps SQLite from walking all entries that are held, which it takes for few.
_UNEXPIRED = "(e.expires IS NULL OR e.expires > ?)"
_TRAVELLING = f"+e.state = 0 AND {_UNEXPIRED}"
_VISIBLE = f"{_TRAVELLING} AND e.retracted = 0"
_TIMES = "FROM entries INDEXED BY entries_by_time ORDER BY updated"
# In one feed, entries are walked by time until there are enough; another index must be this much shorter.
WALKED_ROWS = 10_000
# Candidates in memory besides those that match. As many as a list on a screen has are read in one go.
READ_AHEAD = 1_000
_READ = json.JSONDecoder().raw_decode  # what we wrote has no space around it, which `decode` looks for
_AS_ROW = partial(tuple.__new__, EntryRow)  # `_make` counts the columns each time
# Where each built-in identifier stands in an EntryRow; other columns are no identifiers of the language.
_POSITION = {name: EntryRow._fields.index(name) for name in BUILT_IN_IDENTIFIERS}
_BY_KEYS = {
    size: f"SELECT {_COLUMNS} {_FROM} WHERE e.state = 0 AND e.key IN ({','.join('?' * size)})"
    for size in SIZES
}


class Queries:
    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self.copies = Copies(database)

    def select(self, wanted: Selection) -> list[EntryRow]:
        """The entries that match, by time. SQL finds candidates; the selector itself has the last word."""
        keys, parameters = self._candidates(wanted)
        matches = _recheck(wanted.where)
        if wanted.feed is None and matches is None and wanted.newest_first:
            newest = self._newest(keys, parameters, int(wanted.limit))
            if len(newest) == wanted.limit:
                return newest
        found: list[EntryRow] = []
        # With a limit, SQLite sorts only so many rows. Few candidates fail, so the rest is rarely asked for.
        for page in (f"LIMIT {int(wanted.limit)}", f"LIMIT -1 OFFSET {int(wanted.limit)}"):
            # Keys are sorted and then looked up: sorting whole rows takes longer. SQLite keeps the order of
            # a subquery that has a limit, and CROSS JOIN makes it the outermost loop.
            sql = f"SELECT {_COLUMNS} FROM ({keys} {page}) CROSS JOIN entries e ON e.key = found {_NAMES}"
            candidates, seen = self._run.execute(sql, parameters), 0
            while rows := candidates.fetchmany(READ_AHEAD):
                seen += len(rows)
                found += filter(matches, map(_AS_ROW, rows))
                if len(found) >= wanted.limit:
                    return found[: wanted.limit]
            if seen < max(wanted.limit, 1):
                break
        return found

    def _newest(self, keys: str, parameters: Sequence[object], limit: int) -> list[EntryRow]:
        """Those of the newest few that are shown; an index of times is read sooner than all entries."""
        few = f"SELECT key AS near {_TIMES} DESC, key DESC LIMIT {4 * limit}"
        keys = keys.replace("FROM entries e", f"FROM ({few}) CROSS JOIN entries e ON e.key = near", 1)
        sql = f"SELECT {_COLUMNS} FROM ({keys} LIMIT {limit}) CROSS JOIN entries e ON e.key = found {_NAMES}"
        return self._rows(sql, parameters)

    def _candidates(self, wanted: Selection) -> tuple[str, list[object]]:
        compiled = condition(
            wanted.where.tree if wanted.where is not None else None,
            attribute_key=self._catalogue.find_attribute,
            full_text=self._database.full_text,
            count=self._count,
            walk_below=None if wanted.feed is None else WALKED_ROWS,
        )
        terms, values = [_VISIBLE, f"({compiled.sql})"], [wanted.at, *compiled.parameters]
        if wanted.feed is not None:
            # Where the selector names its entries by an index of its own, the feed is only tested.
            terms.append("+e.feed = ?" if compiled.driven else "e.feed = ?")
            values.append(self._catalogue.find_feed(wanted.feed) or -1)
        terms.append(SHOWN)
        values += [wanted.at] * SHOWN_TIMES
        order = "DESC" if wanted.newest_first else "ASC"
        where = " AND ".join(terms)
        keys = f"SELECT e.key AS found FROM entries e WHERE {where} ORDER BY e.updated {order}, e.key {order}"
        return keys, values

    def _count(self, select: str, parameters: Sequence[object], limit: int) -> int:
        sql = f"SELECT count(*) FROM ({select} LIMIT {int(limit)})"
        return int(self._run.execute(sql, parameters).fetchone()[0])

    def find(self, entry_id: str) -> list[EntryRow]:
        """The entries held under this id; if there are none, those whose id, or the UUID in it, begins so.

        Expired ones as well: who asks by id is told that it has expired.
        """
        sql = f"SELECT {_COLUMNS} {_FROM} WHERE e.state = 0 AND e.retracted = 0 AND "
        found = self._rows(sql + "e.id = ? ORDER BY e.key", (entry_id,))
        if found or len(entry_id) < MIN_ABBREVIATION:
            return found
        begins = "(substr(e.id, 1, ?1) = ?2 OR substr(e.id, 10, ?1) = ?2 AND e.id LIKE 'urn:uuid:%')"
        return self._rows(sql + begins + " ORDER BY e.key LIMIT 10", (len(entry_id), entry_id))

    def keys(self, feed: FeedId, at: int, *, tombstones: bool = False) -> list[int]:
        """The rows of all visible entries of a feed, newest first; with its tombstones if asked for."""
        visible = _TRAVELLING if tombstones else _VISIBLE
        sql = (
            f"SELECT e.key FROM entries e WHERE {visible} AND e.feed = ? ORDER BY e.updated DESC, e.key DESC"
        )
        return [key for (key,) in self._run.execute(sql, (at, self._catalogue.find_feed(feed) or -1))]

    def hidden(self, at: int) -> dict[FeedId, int]:
        """How many entries of each feed are kept and not shown: retracted, expired, blocked, or copies."""
        found: Counter[FeedId] = Counter()
        for sql in HIDDEN:
            found.update(dict(self._run.execute(sql, {"at": at}).fetchall()))
        return dict(found)

    def row(self, key: int) -> EntryRow | None:
        rows = self._rows(f"SELECT {_COLUMNS} {_FROM} WHERE e.state = 0 AND e.key = ?", (key,))
        return rows[0] if rows else None

    def rows(self, keys: Sequence[int]) -> list[EntryRow]:
        """Those of these rows that are held, in the order in which they are asked for."""
        found: dict[int, EntryRow] = {}
        for part in parts(keys, None):
            found.update((row.key, row) for row in self._rows(_BY_KEYS[len(part)], part))
        return [found[key] for key in keys if key in found]

    def by_key(self, key: EntryKey) -> EntryRow | None:
        feed, author = self._catalogue.find_feed(key.feed), self._catalogue.find_author(key.author)
        sql = f"SELECT {_COLUMNS} {_FROM} WHERE e.state = 0 AND e.feed = ? AND e.author = ? AND e.id = ?"
        rows = self._rows(sql, (feed, author, key.id))
        return rows[0] if rows else None

    def since(self, feed: FeedId, revision: int, limit: int, at: int) -> list[EntryRow]:
        """What a feed has gained after a revision, in the order it was gained; tombstones travel as well."""
        sql = (
            f"SELECT {_COLUMNS} {_FROM} WHERE e.state = 0 AND e.revision > ? AND e.feed = ? "
            f"AND {_UNEXPIRED} ORDER BY e.revision LIMIT ?"
        )
        return self._rows(sql, (revision, self._catalogue.find_feed(feed) or -1, at, limit))

    def by_short_ids(self, feed: FeedId, short_ids: Iterable[int], at: int) -> list[EntryRow]:
        """The entries that a decoded sketch names, as far as we serve them; tombstones travel as well."""
        sql = (
            f"SELECT {_COLUMNS} {_FROM} WHERE e.state = 0 AND e.short_id = ? AND +e.feed = ? AND {_UNEXPIRED}"
        )
        key = self._catalogue.find_feed(feed) or -1
        found = []
        for short_id in short_ids:
            signed = short_id - 2**64 if short_id >= 2**63 else short_id
            found += self._rows(sql, (signed, key, at))
        return found

    def signed(self, keys: Sequence[int]) -> Iterator[tuple[int, Signed]]:
        """The exact bytes, for forwarding and export."""
        sql = (
            "SELECT a.public, s.signature, s.data FROM signed_bytes s JOIN entries e ON e.key = s.key "
            "JOIN authors a ON a.key = e.author WHERE s.key = ?"
        )
        for key in keys:
            row = self._run.execute(sql, (key,)).fetchone()
            if row is not None:
                yield key, Signed(*row)

    def undelivered(self, subscription: Subscription, at: int, selector: Selector) -> Iterator[EntryRow]:
        """What the subscription matches and its app has not finished with, oldest first."""
        horizon = None if subscription.max_age_s is None else at - subscription.max_age_s * 1000
        wanted = Selection(at, subscription.feed, selector, limit=2**62, newest_first=False)
        rows = self.select(wanted)
        if subscription.max_count is not None:
            rows = rows[-subscription.max_count :]
        delivered = dict(
            self._run.execute(
                "SELECT entry, version FROM deliveries WHERE subscription = ?", (subscription.key,)
            )
        )
        for row in rows:
            is_due = delivered.get(row.key) != row.version and (horizon is None or row.updated >= horizon)
            if is_due and not self.copies.was_delivered(subscription.key, row.key):
                yield row

    def undelivered_keys(
        self, subscription: Subscription, at: int, selector: Selector, *, after: tuple[int, int], limit: int
    ) -> list[tuple[int, int]]:
        """(updated, row) of candidates that its app has not finished with, oldest first, after such a pair.

        The selector has not had its last word on them, and their files may not be here.
        """
        keys, parameters = self._candidates(Selection(at, subscription.feed, selector, newest_first=False))
        horizon = after[0] if subscription.max_age_s is None else at - subscription.max_age_s * 1000
        sql = (
            f"SELECT e.updated, e.key FROM ({keys} LIMIT -1) CROSS JOIN entries e ON e.key = found "
            "WHERE e.updated >= ? AND (e.updated, e.key) > (?, ?) AND NOT EXISTS (SELECT 1 FROM deliveries d "
            "WHERE d.subscription = ? AND d.entry = e.key AND d.version = e.version) LIMIT ?"
        )
        given = (*parameters, horizon, *after, subscription.key, limit)
        return [(updated, key) for updated, key in self._run.execute(sql, given)]

    def _rows(self, sql: str, parameters: Sequence[object]) -> list[EntryRow]:
        return [EntryRow._make(row) for row in self._run.execute(sql, parameters)]


def _recheck(selector: Selector | None) -> Callable[[EntryRow], bool] | None:
    """Does a row match, by the selector's own evaluation? It sees what Entry.selectable would show it."""
    if selector is None or selector.tree is None:
        return None
    names = sorted(identifiers(selector.tree))
    columns = [(name, _POSITION[name]) for name in names if name in _POSITION]
    has_attributes = len(columns) < len(names)
    check = selector.prepared()

    def attributes_match(row: EntryRow) -> bool:
        return check(_READ(row.attributes)[0] if row.attributes else {}) is True

    def matches(row: EntryRow) -> bool:
        seen = _READ(row.attributes)[0] if has_attributes and row.attributes else {}
        for name, position in columns:
            if row[position] is not None:
                seen[name] = row[position]
        return check(seen) is True

    return matches if columns else attributes_match
