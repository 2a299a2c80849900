"""What a client of a session asks the store: which versions it knows, and which files entries name."""

from collections.abc import Iterator
from typing import NamedTuple

from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.knowledge import Knowledge
from contentdb.names import FeedId, Root


class Lacking(NamedTuple):
    """An enclosure that some entry we hold names. Whether its bytes are here, the blobs know."""

    key: int  # of the entry's row
    feed: FeedId
    root: Root
    length: int
    updated: int


class Wanting:
    def __init__(self, database: Database, catalogue: Catalogue, knowledge: Knowledge) -> None:
        self._database, self._catalogue, self._knowledge = database, catalogue, knowledge

    def known_count(self, feed: FeedId) -> int:
        return len(self.known_ids(feed))

    def known_ids(self, feed: FeedId) -> list[int]:
        """The short ids of all versions we hold, held or refused, sorted."""
        key = self._catalogue.find_feed(feed)
        if key is None:
            return []
        return sorted({*self._knowledge.held_ids(key), *self._knowledge.gone_ids(key)})

    def latest_ids(self, feed: FeedId, most: int) -> list[int]:
        """The short ids of the versions we hold that we gained last, the newest first."""
        rows = self._database.connection.execute(
            "SELECT short_id FROM entries WHERE feed = ? AND state = 0 ORDER BY revision DESC LIMIT ?",
            (self._catalogue.find_feed(feed), most),
        )
        return [short_id & 0xFFFF_FFFF_FFFF_FFFF for (short_id,) in rows]

    def sequence(self, feed: FeedId) -> int | None:
        """Of the feed's descriptor, if we have one."""
        row = self._database.connection.execute(
            "SELECT sequence FROM feeds WHERE id = ? AND data IS NOT NULL", (feed,)
        ).fetchone()
        return None if row is None else int(row[0])

    def name_of(self, root: Root) -> str | None:
        """What an entry here calls this file; None if none names it."""
        row = self._database.connection.execute(
            "SELECT name FROM enclosures WHERE root = ? LIMIT 1", (root,)
        ).fetchone()
        return None if row is None else str(row[0])

    def enclosures(self, feed: FeedId, at: int) -> Iterator[Lacking]:
        """Every enclosure that a visible entry of this feed names, the newest entries first."""
        key = self._catalogue.find_feed(feed)
        rows = self._database.connection.execute(
            "SELECT e.key, c.root, c.length, e.updated FROM enclosures c "
            "JOIN entries e ON e.key = c.entry WHERE e.feed = ? AND e.state = 0 AND e.retracted = 0 "
            "AND (e.expires IS NULL OR e.expires > ?) "
            "ORDER BY e.updated DESC, e.key DESC, c.position",
            (key, at),
        ).fetchall()
        for row, root, length, updated in rows:
            yield Lacking(row, feed, root, length, updated)
