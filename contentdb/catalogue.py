"""Small integers for the long names that rows would otherwise repeat: feeds, authors, attributes, peers."""

from collections.abc import Callable

from contentdb.database import Database
from contentdb.names import AuthorKey, FeedId, NodeId

# Names cached per kind; a flood of invented ones costs look-ups, never memory.
MAX_CACHED = 20_000


class Names:
    """One table of names: `key_of` finds or creates, `find` only finds."""

    def __init__(self, database: Database, select: str, insert: str) -> None:
        self._connection = database.connection
        self._select, self._insert = select, insert
        self._cache: dict[str, int] = {}
        database.on_rollback(self._cache.clear)

    def find(self, name: str) -> int | None:
        key = self._cache.get(name)
        if key is None:
            row = self._connection.execute(self._select, (name,)).fetchone()
            if row is None:
                return None
            key = self._remember(name, row[0])
        return key

    def key_of(self, name: str, *values: object) -> int:
        key = self._cache.get(name) or self.find(name)
        if key is None:
            cursor = self._connection.execute(self._insert, (name, *values))
            key = self._remember(name, int(cursor.lastrowid or 0))
        return key

    def forget(self) -> None:
        """Rows were removed: their names must not be found any more."""
        self._cache.clear()

    def _remember(self, name: str, key: int) -> int:
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        self._cache[name] = key
        return key


class Catalogue:
    """All tables of names of one store. `running_s` is how long the store has been in use, in seconds."""

    def __init__(self, database: Database, running_s: Callable[[], int]) -> None:
        self._run = database.connection
        self._running_s = running_s
        self._feeds = Names(
            database, "SELECT key FROM feeds WHERE id = ?", "INSERT INTO feeds (id) VALUES (?)"
        )
        self._authors = Names(
            database,
            "SELECT key FROM authors WHERE public = ?",
            "INSERT INTO authors (public, first_run_s) VALUES (?, ?)",
        )
        self._attributes = Names(
            database,
            "SELECT key FROM attribute_names WHERE name = ?",
            "INSERT INTO attribute_names (name) VALUES (?)",
        )
        self.attribute = self._attributes.key_of  # asked for several times for each entry
        self._peers = Names(
            database,
            "SELECT key FROM peers WHERE node = ?",
            "INSERT INTO peers (node, first_seen_at, last_seen_at) VALUES (?, ?, ?)",
        )

    def forget(self) -> None:
        """Rows were deleted: a number in the cache may soon mean another name."""
        for names in (self._feeds, self._authors, self._attributes, self._peers):
            names.forget()

    def prune_authors(self) -> None:
        """Forget keys that signed nothing we hold or remember, and that nobody has an opinion of."""
        self._prune(
            "DELETE FROM authors WHERE own = 0 AND trusted = 0 AND blocked = 0 "
            "AND key NOT IN (SELECT author FROM entries) "
            "AND key NOT IN (SELECT signer FROM feeds WHERE signer IS NOT NULL)"
        )

    def prune_attributes(self) -> None:
        """Forget names of attributes that no entry has; the first name stands for categories."""
        self._prune(
            "DELETE FROM attribute_names WHERE key > 0 "
            "AND NOT EXISTS (SELECT 1 FROM entry_attributes a WHERE a.name = attribute_names.key)"
        )

    def _prune(self, delete: str) -> None:
        if self._run.execute(delete).rowcount:
            self.forget()

    def find_feed(self, feed: FeedId) -> int | None:
        return self._feeds.find(feed)

    def feed(self, feed: FeedId) -> int:
        return self._feeds.key_of(feed)

    def find_author(self, author: AuthorKey) -> int | None:
        return self._authors.find(author)

    def author(self, author: AuthorKey) -> int:
        key = self._authors.find(author)
        return self._authors.key_of(author, self._running_s()) if key is None else key

    def find_attribute(self, name: str) -> int | None:
        return self._attributes.find(name)

    def find_peer(self, node: NodeId) -> int | None:
        return self._peers.find(node)

    def forget_peers(self) -> None:
        self._peers.forget()

    def peer(self, node: NodeId, at: int) -> int:
        return self._peers.key_of(node, at, at)
