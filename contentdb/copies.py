"""Several people may bring the same entry of a web feed into one feed; a reader is shown one of the copies.

An entry that was re-signed says in `atom:source` where it came from. Copies are entries of one feed with the
same source and the same id under different keys. All are stored and served, since nobody can know whom others
prefer; only the view of this store's owner is narrowed. The copy shown is chosen by who signed it: the owner,
then a key the owner trusts, then the key that described the feed to us, then the key that we have known for
longest. Its date has no say, or a stranger would only have to claim a later one.
"""

import hashlib

from contentdb.database import Database
from contentdb.model import Entry

# Anybody can claim to have a copy. So many of the keys known for longest are looked at for each row listed;
# if all of their copies are blocked or expired, what is left is shown twice rather than not at all.
MAX_COMPARED = 32
_VALID = (
    "o.feed = e.feed AND o.origin = e.origin AND +o.state = 0 AND o.retracted = 0 "
    "AND (o.expires IS NULL OR o.expires > ?)"
)
# Of the entry `e`: is it the copy to show? The time is asked for three times.
SHOWN = f"""(e.origin IS NULL OR e.key = coalesce(
    (SELECT o.key FROM authors w CROSS JOIN entries o ON o.feed = e.feed AND o.author = w.key AND o.id = e.id
     WHERE w.trusted AND {_VALID} ORDER BY w.own DESC, w.key LIMIT 1),
    (SELECT o.key FROM feeds d CROSS JOIN authors w ON w.key = d.signer
     CROSS JOIN entries o ON o.feed = d.key AND o.author = d.signer AND o.id = e.id
     WHERE d.key = e.feed AND NOT w.blocked AND {_VALID}),
    (SELECT o.key FROM (SELECT * FROM entries c WHERE c.feed = e.feed AND c.origin = e.origin
                        ORDER BY c.author LIMIT {MAX_COMPARED}) o CROSS JOIN authors w ON w.key = o.author
     WHERE NOT w.blocked AND {_VALID} ORDER BY o.author LIMIT 1),
    e.key))"""
SHOWN_TIMES = SHOWN.count("?")
# Each counts by an index of its own, and none counts what another one does. Two are named: SQLite does not
# know that few entries are retracted or copies, and would walk all that are held instead.
HIDDEN = tuple(
    f"SELECT f.id, count(*) FROM {joined} WHERE e.state = 0 AND {condition} GROUP BY f.id"
    for joined, condition in (
        ("entries e INDEXED BY entries_by_retraction JOIN feeds f ON f.key = e.feed", "e.retracted = 1"),
        ("entries e JOIN feeds f ON f.key = e.feed", "e.retracted = 0 AND e.expires <= :at"),
        (
            "feeds f CROSS JOIN authors a ON a.blocked CROSS JOIN entries e "
            "ON e.feed = f.key AND e.author = a.key",
            "e.retracted = 0 AND (e.expires IS NULL OR e.expires > :at)",
        ),
        (
            "entries e INDEXED BY entries_by_origin JOIN feeds f ON f.key = e.feed "
            "JOIN authors a ON a.key = e.author",
            "e.origin IS NOT NULL AND e.retracted = 0 AND (e.expires IS NULL OR e.expires > :at) "
            f"AND NOT a.blocked AND NOT {SHOWN.replace('?', ':at')}",
        ),
    )
)
_DELIVERED = (
    "SELECT 1 FROM entries e CROSS JOIN entries o ON o.feed = e.feed AND o.origin = e.origin "
    "CROSS JOIN deliveries g ON g.subscription = ? AND g.entry = o.key AND g.version = o.version "
    "WHERE e.key = ? AND e.origin IS NOT NULL AND o.key <> e.key AND +o.updated >= e.updated LIMIT 1"
)


def origin_of(entry: Entry) -> int | None:
    """A number that copies have in common, as SQLite keeps integers; None if the entry is no copy."""
    if entry.source is None or not entry.source.id:
        return None
    digest = hashlib.sha256(f"{entry.source.id}\n{entry.id}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class Copies:
    def __init__(self, database: Database) -> None:
        self._database = database

    def is_shown(self, key: int, at: int) -> bool:
        """Is the entry of this row no copy, or that one of the copies which the owner is shown?"""
        sql = f"SELECT 1 FROM entries e WHERE e.key = ? AND {SHOWN}"
        return self._database.connection.execute(sql, (key, *[at] * SHOWN_TIMES)).fetchone() is not None

    def was_delivered(self, subscription: int, key: int) -> bool:
        """Did this subscription get another copy that is as new, perhaps before a better known key's came?"""
        run = self._database.connection.execute
        return run(_DELIVERED, (subscription, key)).fetchone() is not None
