"""A database with the real schema, filled with attributes as the store would write them."""

import json
import random
from collections.abc import Mapping, Sequence

from contentdb.catalogue import Catalogue
from contentdb.database import Database
from contentdb.model import BUILT_IN_IDENTIFIERS
from contentdb.names import AuthorKey, FeedId
from contentdb.rows import CATEGORY_NAME, INSERT_ATTRIBUTE, INSERT_ENTRY, INSERT_TEXT
from contentdb.selector.compile import condition
from contentdb.selector.nodes import Condition, Scalar

FEED, AUTHOR = "urn:feed:1", "author-1"
TABLES = "entries e JOIN feeds f ON f.key = e.feed JOIN authors a ON a.key = e.author"


class StoredEntries:
    """Entries by number, and what a selector sees of them."""

    def __init__(self) -> None:
        self.database = Database(None, random.Random(1).randbytes)
        self.catalogue = Catalogue(self.database, lambda: 0)
        self.run = self.database.connection.execute
        self.count = 0

    def __enter__(self) -> "StoredEntries":
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def add(self, seen: Mapping[str, Scalar]) -> int:
        self.count += 1
        key = self.count
        custom = {name: value for name, value in seen.items() if name not in BUILT_IN_IDENTIFIERS}
        written = json.dumps(custom, ensure_ascii=False, separators=(",", ":")) if custom else None
        feed = self.catalogue.feed(FeedId(str(seen.get("feed", FEED))))
        author = self.catalogue.author(AuthorKey(str(seen.get("author", AUTHOR))))
        identity = (key, feed, author, f"{seen.get('id', 'urn:x')}", key, key, b"")
        # The unique index is on (feed, author, id), which tests like to share.
        self.run("DROP INDEX IF EXISTS entries_by_identity")
        times = [seen.get(name) for name in ("updated", "published", "expires")]
        rest = [
            seen.get(name)
            for name in ("size", "enclosures", "title", "summary", "author_name", "type", "language")
        ]
        categories = seen.get("categories")
        self.run(INSERT_ENTRY, (*identity, *times, 0, 0, 0, 0, 0, None, *rest, categories, written))
        rows = [(self.catalogue.attribute(name), value, key) for name, value in custom.items()]
        rows += [(CATEGORY_NAME, term, key) for term in str(categories or "").split("|") if term]
        self.database.connection.executemany(INSERT_ATTRIBUTE, rows)
        self.run(INSERT_TEXT, (key, seen.get("title"), seen.get("summary"), categories))
        return key

    def candidates(self, tree: Condition | None, *, full_text: bool, counted: bool = False) -> set[int]:
        compiled = condition(
            tree,
            attribute_key=self.catalogue.find_attribute,
            full_text=full_text,
            count=self.rows_of if counted else None,
        )
        sql = f"SELECT e.key FROM {TABLES} WHERE e.state = 0 AND ({compiled.sql})"
        return {key for (key,) in self.run(sql, compiled.parameters)}

    def rows_of(self, select: str, parameters: Sequence[object], limit: int) -> int:
        (rows,) = self.run(f"SELECT count(*) FROM ({select} LIMIT {limit})", parameters).fetchone()
        return int(rows)
