"""Looks at a store without changing it: how much is kept, and whether all of it is sound."""

import sqlite3
from dataclasses import dataclass

from contentdb.blobs import Blobs
from contentdb.database import Database
from contentdb.names import Root
from contentdb.settings import Limits


@dataclass(frozen=True, slots=True)
class Usage:
    """What the limits count (`used`: entries with their files in full length), and what the disk holds."""

    used: int
    limit: int
    own: int
    pinned: int  # pinned and not own
    entries: int
    feeds: int
    database: int
    enclosures: int


def usage(database: Database, blobs: Blobs, limits: Limits) -> Usage:
    run = database.connection.execute
    used, entries, feeds = run(
        "SELECT coalesce(sum(bytes), 0), coalesce(sum(entries), 0), count(*) FROM feeds"
    ).fetchone()
    own, pinned = run(
        "SELECT coalesce(sum(CASE WHEN own THEN bytes END), 0), coalesce(sum(CASE WHEN NOT own AND "
        "(pinned OR feed IN (SELECT key FROM feeds WHERE pinned)) THEN bytes END), 0) "
        "FROM entries WHERE state = 0"
    ).fetchone()
    (pages,) = run("PRAGMA page_count").fetchone()
    (page_bytes,) = run("PRAGMA page_size").fetchone()
    return Usage(used, limits.max_bytes, own, pinned, entries, feeds, pages * page_bytes, blobs.size_bytes())


def problems(database: Database) -> list[str]:
    """What SQLite, and our own rules over several tables, find wrong."""
    found = database.problems()
    try:
        for words, sql in _RULES:
            (count,) = database.connection.execute(sql).fetchone()
            if count:
                found.append(f"{count} {words}")
    except sqlite3.Error as error:
        found.append(f"the database cannot be read: {error}")
    return found


# Each holds at every commit: a count above zero means that something else wrote to the file or the disk lied.
_RULES = (
    (
        "entries have lost their signed bytes",
        "SELECT count(*) FROM entries e WHERE e.state = 0 AND NOT EXISTS "
        "(SELECT 1 FROM signed_bytes s WHERE s.key = e.key)",
    ),
    (
        "signed documents belong to no entry",
        "SELECT count(*) FROM signed_bytes s WHERE NOT EXISTS "
        "(SELECT 1 FROM entries e WHERE e.key = s.key AND e.state = 0)",
    ),
    (
        "feeds have miscounted their entries",
        "SELECT count(*) FROM feeds f LEFT JOIN (SELECT feed, count(*) AS entries, sum(bytes) AS bytes "
        "FROM entries WHERE state = 0 GROUP BY feed) e "
        "ON e.feed = f.key "
        "WHERE f.entries != coalesce(e.entries, 0) OR f.bytes != coalesce(e.bytes, 0)",
    ),
    (
        "enclosures belong to no entry",
        "SELECT count(*) FROM enclosures c WHERE NOT EXISTS "
        "(SELECT 1 FROM entries e WHERE e.key = c.entry AND e.state = 0)",
    ),
)


def missing_files(database: Database, blobs: Blobs) -> list[str]:
    rows = database.connection.execute(
        "SELECT c.root, c.length, c.name, e.id FROM enclosures c JOIN entries e ON e.key = c.entry "
        "WHERE e.state = 0 AND e.own ORDER BY c.entry, c.position"
    )
    here = set(blobs.roots())
    return [
        f"file {name!r} of your entry {entry} is not here any more; publish the entry again with it"
        for root, length, name, entry in rows
        if root not in here or blobs.received(Root(root)) < length
    ]


def unnamed_files(database: Database, blobs: Blobs) -> list[str]:
    """Files that no entry names stay when the database was lost; somebody should know of them."""
    run = database.connection.execute
    named = {root for (root,) in run("SELECT DISTINCT root FROM enclosures")}
    count = sum(root not in named for root in blobs.roots())
    words = "1 file in enclosures/ belongs" if count == 1 else f"{count} files in enclosures/ belong"
    return [f"{words} to no entry here; docs/recovery.md tells how that comes about"] if count else []
