"""What the store shows to neighbours: nothing that has expired, waits for the clock, or was only heard of.

An entry is found first as an *offer*, a short row with the length of its signed bytes, so that a server can
decide what fits and what a selector withholds before it reads the bytes themselves, many in one query.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from contentdb.database import Database
from contentdb.model import BUILT_IN_IDENTIFIERS, Signed
from contentdb.names import AuthorKey, EntryId, FeedId, Root

# Feeds that have neither an entry nor an owner here were discovered at some neighbour; those who have them
# tell of them. That a subscription waits for its first entry is nobody's business either.
_SERVED = "(f.own OR f.entries > 0)"
_UNEXPIRED = "(e.expires IS NULL OR e.expires > ?)"
_WINDOW = f"e.state = 0 AND e.feed = ? AND e.revision > ? AND e.revision <= ? AND {_UNEXPIRED}"
# SQLite would rather walk the feed by its gains than look up the few ids that are asked for.
_WINDOW_TESTED = _WINDOW.replace("e.feed = ?", "+e.feed = ?").replace("e.revision >", "+e.revision >")
_OFFER = "e.key, e.revision, substr(e.version, 1, 8), e.bytes - e.size, e.retracted"
_UNSEEN: Mapping[str, object] = MappingProxyType({})
_COLUMNS = {name: f"e.{name}" for name in BUILT_IN_IDENTIFIERS} | {"author": "a.public", "feed": "f.id"}
_NAMES = "CROSS JOIN feeds f ON f.key = e.feed CROSS JOIN authors a ON a.key = e.author"
IDS_PER_QUERY = 500
# Open feeds let everybody write under any id; so many of them are looked at for one.
MAX_WRITERS_SEEN = 20_000
_WRITERS = """
WITH RECURSIVE writers (author) AS (
    SELECT min(author) FROM entries WHERE feed = ?1
    UNION ALL
    SELECT (SELECT min(author) FROM entries WHERE feed = ?1 AND author > writers.author)
    FROM writers WHERE author IS NOT NULL LIMIT ?2
)"""


class ServedFeed(NamedTuple):
    key: int
    sequence: int  # of its descriptor; -1 if there is none


class ListedFeed(NamedTuple):
    id: FeedId
    descriptor: Signed
    updated: int | None  # of its newest entry: what the descriptor claims is not trusted


class Window(NamedTuple):
    """Entries of one feed gained after a revision, up to another, that have not expired."""

    feed: int
    after: int
    upto: int
    at: int


class Offer(NamedTuple):
    """An entry that may be sent. `seen` is what a selector asks about it."""

    key: int
    revision: int
    short_id: bytes
    size: int
    retracted: int
    seen: Mapping[str, object]


class Serving:
    def __init__(self, database: Database) -> None:
        self._database = database

    # -- feeds

    def feed(self, feed: FeedId) -> ServedFeed | None:
        """A feed that may be served to who names it, listed or not."""
        rows = self._rows(f"SELECT key, sequence FROM feeds f WHERE id = ? AND {_SERVED}", (feed,))
        return ServedFeed(*rows[0]) if rows else None

    def listed(self, after: str, limit: int, max_id_bytes: int) -> list[ListedFeed]:
        """Descriptors of listed feeds in the order of their ids; not of those with ids longer than that."""
        # An & takes four bytes more in XML, where ids travel.
        sql = (
            "SELECT f.id, a.public, f.signature, f.data, (SELECT max(updated) FROM entries e "
            "WHERE e.feed = f.key AND e.state = 0 AND e.retracted = 0) "
            "FROM feeds f CROSS JOIN authors a ON a.key = f.signer "
            f"WHERE f.id > ? AND f.listed AND f.data IS NOT NULL AND {_SERVED} "
            "AND length(CAST(f.id AS BLOB)) + 4 * (length(f.id) - length(replace(f.id, '&', ''))) <= ? "
            "ORDER BY f.id LIMIT ?"
        )
        rows = self._rows(sql, (after, max_id_bytes, limit))
        return [ListedFeed(FeedId(id), Signed(*signed), updated) for id, *signed, updated in rows]

    def listed_ids(self, at: int) -> list[str]:
        """The ids of all listed feeds and of their entries, for a filter."""
        feeds = f"FROM feeds f WHERE f.listed AND {_SERVED}"
        entries = f"SELECT e.id FROM entries e WHERE e.state = 0 AND {_UNEXPIRED} AND e.feed IN "
        ids = self._rows(f"SELECT f.id {feeds}", ()) + self._rows(f"{entries} (SELECT f.key {feeds})", (at,))
        return [id for (id,) in ids]

    def held_ids(self, feed: int, at: int) -> list[int]:
        """The short ids of a feed's entries, as sketches take them."""
        sql = f"SELECT short_id FROM entries e WHERE feed = ? AND state = 0 AND {_UNEXPIRED}"
        rows = self._rows(sql, (feed, at))
        return [short_id & 0xFFFF_FFFF_FFFF_FFFF for (short_id,) in rows]

    # -- entries

    def gained(self, window: Window, limit: int, names: Collection[str] = ()) -> list[Offer]:
        """The first entries of a window, in the order they were gained; tombstones travel as well."""
        sql = f"{_WINDOW} ORDER BY e.revision LIMIT ?"
        return self._offers(sql, (*window, limit), sorted(names))

    def by_short_ids(self, window: Window, short_ids: Sequence[bytes]) -> list[Offer]:
        """Those of a window that a decoded sketch names, in the order they were gained."""
        found: dict[int, Offer] = {}
        for start in range(0, len(short_ids), IDS_PER_QUERY):
            ids = [int.from_bytes(id, "big", signed=True) for id in short_ids[start : start + IDS_PER_QUERY]]
            sql = f"e.short_id IN ({','.join('?' * len(ids))}) AND {_WINDOW_TESTED}"
            found.update((offer.revision, offer) for offer in self._offers(sql, (*ids, *window)))
        return [found[revision] for revision in sorted(found)]

    def versions(self, window: Window, id: EntryId) -> list[Offer]:
        """Every author's version of one entry id in a window, in the order they were gained."""
        sql = (
            f"{_WRITERS} SELECT {_OFFER} FROM writers CROSS JOIN entries e "
            "ON e.author = writers.author AND e.feed = ?1 AND e.id = ?3 WHERE "
            "e.state = 0 AND e.revision > ?4 AND e.revision <= ?5 AND (e.expires IS NULL OR e.expires > ?6)"
        )
        feed, *rest = window
        rows = self._rows(sql, (feed, MAX_WRITERS_SEEN, id, *rest))
        return sorted((Offer._make((*row, _UNSEEN)) for row in rows), key=lambda offer: offer.revision)

    def signed(self, offers: Sequence[Offer]) -> list[tuple[AuthorKey, bytes, bytes]]:
        """Author, signature and bytes of what was offered, without what went or changed meanwhile.

        Plain tuples in one query: thousands of `Signed` would take as long as reading them all.
        """
        sql = (
            "SELECT e.revision, a.public, s.signature, s.data FROM entries e "
            "CROSS JOIN signed_bytes s ON s.key = e.key CROSS JOIN authors a ON a.key = e.author "
            f"WHERE e.state = 0 AND e.key IN ({','.join('?' * len(offers))})"
        )
        rows = self._rows(sql, tuple(offer.key for offer in offers))
        found = {row[0]: row for row in rows}
        return [found[offer.revision][1:] for offer in offers if offer.revision in found]

    def _offers(self, where: str, parameters: Sequence[object], names: Sequence[str] = ()) -> list[Offer]:
        columns = [name for name in names if name in _COLUMNS]
        asked = "".join(f", {_COLUMNS[name]}" for name in columns)
        if len(columns) < len(names):
            asked += ", e.attributes"
        joined = _NAMES if names else ""
        rows = self._rows(f"SELECT {_OFFER}{asked} FROM entries e {joined} WHERE {where}", parameters)
        return [Offer._make((*row[:5], _seen(columns, row[5:]))) for row in rows]

    # -- enclosures

    def is_named(self, root: Root, at: int) -> bool:
        """Whether some entry that may be served names this enclosure."""
        sql = (
            "SELECT 1 FROM enclosures n CROSS JOIN entries e ON e.key = n.entry WHERE n.root = ? "
            f"AND e.state = 0 AND e.retracted = 0 AND {_UNEXPIRED} LIMIT 1"
        )
        return bool(self._rows(sql, (root, at)))

    def _rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._database.connection.execute(sql, parameters).fetchall()


def _seen(columns: Sequence[str], values: Sequence[Any]) -> Mapping[str, object]:
    """What a selector sees: the columns asked for, and the attributes if they stand behind them."""
    if not values:
        return _UNSEEN
    seen = dict[str, object]()
    if len(values) > len(columns) and values[-1]:
        seen = json.loads(values[-1])
    for name, value in zip(columns, values, strict=False):
        if value is not None:
            seen[name] = value
    return seen
