"""Looks at a store without changing it: how much is kept, and whether all of it is sound."""

from collections.abc import Iterator
from dataclasses import dataclass

from contentdb.blobs import Blobs
from contentdb.database import Database
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.identity import verify_batch, verify_descriptor
from contentdb.model import Signed
from contentdb.names import Root
from contentdb.rows import version_of
from contentdb.settings import Limits

# Enough to see what is hit; a whole damaged library would fill screens.
MAX_NAMED = 5


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


def usage(database: Database, blobs: Blobs, limits: Limits, protected_bytes: int) -> Usage:
    run = database.connection.execute
    used, entries, feeds = run(
        "SELECT coalesce(sum(bytes), 0), coalesce(sum(entries), 0), count(*) FROM feeds"
    ).fetchone()
    (own,) = run(
        "SELECT coalesce(sum(bytes), 0) FROM entries INDEXED BY entries_protected "
        "WHERE state = 0 AND (own OR pinned) AND own"
    ).fetchone()
    (pages,) = run("PRAGMA page_count").fetchone()
    (page_bytes,) = run("PRAGMA page_size").fetchone()
    pinned, on_disk = protected_bytes - own, pages * page_bytes
    return Usage(used, limits.max_bytes, own, pinned, entries, feeds, on_disk, blobs.size_bytes())


def problems(database: Database) -> list[str]:
    """What SQLite, and our own rules over several tables, find wrong."""
    found = database.problems()
    try:
        for words, sql in _RULES:
            (count,) = database.connection.execute(sql).fetchone()
            if count:
                found.append(f"{count} {words}")
        for words, names in (
            ("entries are not what their authors signed", list(_changed_entries(database))),
            ("feed descriptors are not what was signed", list(_changed_descriptors(database))),
        ):
            if names:
                more = ", ..." if len(names) > MAX_NAMED else ""
                found.append(f"{len(names)} {words}: {', '.join(names[:MAX_NAMED])}{more}")
    except StoreError as error:
        found.append(str(error))
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


def _changed_entries(database: Database) -> Iterator[str]:
    """Verify every entry as if a stranger had brought it: a changed byte hides from SQLite's own check."""
    rows = database.connection.execute(
        "SELECT e.id, e.version, a.public, s.signature, s.data FROM entries e JOIN authors a "
        "ON a.key = e.author JOIN signed_bytes s ON s.key = e.key WHERE e.state = 0 ORDER BY e.key"
    )
    for entry_id, version, author, signature, data in rows:
        try:
            (is_signed,) = verify_batch([Signed(author, signature, data)])
        except UsageError:  # of a length that no signature or document has
            is_signed = False
        if not is_signed or version_of(data) != version:
            yield entry_id


def _changed_descriptors(database: Database) -> Iterator[str]:
    rows = database.connection.execute(
        "SELECT f.id, a.public, f.signature, f.data FROM feeds f LEFT JOIN authors a ON a.key = f.signer "
        "WHERE f.data IS NOT NULL ORDER BY f.id"
    )
    for feed_id, signer, signature, data in rows:
        try:
            verify_descriptor(Signed(signer, signature, data))
        except (RemoteError, UsageError):
            yield feed_id


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
