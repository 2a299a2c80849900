"""Removes enclosures that no entry names, and none that might be somebody's last copy."""

from collections.abc import Iterable

from contentdb.blobs import Blobs
from contentdb.database import Database
from contentdb.names import Root


def sweep(database: Database, blobs: Blobs) -> None:
    """On opening: a kill between two steps leaves enclosures that no entry names.

    Files that are older than the database are somebody's content whose database was lost: those stay
    until an own entry names them. Before they are noted, nothing is ever removed.
    """
    roots = blobs.roots()
    with database.transaction(durable=not database.meta("older_files_noted")) as connection:
        if not database.meta("older_files_noted"):
            connection.executemany("INSERT INTO older_files VALUES (?)", [(root,) for root in roots])
            database.put_meta("older_files_noted", 1)
        connection.execute(
            "DELETE FROM older_files WHERE root IN "
            "(SELECT c.root FROM enclosures c JOIN entries e ON e.key = c.entry WHERE e.own)"
        )
    drop_unnamed(database, blobs, roots)


def drop_unnamed(database: Database, blobs: Blobs, roots: Iterable[Root]) -> list[Root]:
    """Remove those of these enclosures that no entry names, and that are not older than the database."""
    dropped = []
    for root in roots:
        kept = database.connection.execute(
            "SELECT 1 FROM enclosures WHERE root = ?1 UNION ALL "
            "SELECT 1 FROM older_files WHERE root = ?1 LIMIT 1",
            (root,),
        )
        if kept.fetchone() is None:
            blobs.remove(root)
            dropped.append(root)
    return dropped
