"""Finds out what the store has of a whole batch at once: a query per fifty entries, not two per entry."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from contentdb.database import Database

Identity: TypeAlias = tuple[int, int, str]  # keys of feed and author, id of the entry
# Rows per query: few different numbers, so that SQLite prepares each statement once, and one for single rows,
# which would pay for all the empty places.
SIZES = (1, 8, 50)


class Existing(NamedTuple):
    """The row of an entry, held or only remembered."""

    key: int
    updated: int
    version: bytes
    state: int
    own: bool
    pinned: bool
    bytes: int
    short_id: int


_BY_IDENTITY = {
    size: "SELECT e.feed, e.author, e.id, e.key, e.updated, e.version, e.state, e.own, e.pinned, e.bytes, "
    "e.short_id "
    f"FROM (VALUES {','.join(['(?,?,?)'] * size)}) v "
    "CROSS JOIN entries e ON e.feed = v.column1 AND e.author = v.column2 AND e.id = v.column3"
    for size in SIZES
}


def _seen(size: int) -> str:
    ids = ",".join(f"?{number}" for number in range(1, size + 1))
    return " UNION ALL ".join(
        f"SELECT {number}, short_id FROM {table} WHERE short_id IN ({ids})"
        for number, table in enumerate(("entries", "parked", "known_versions"))
    )


_SEEN = {size: _seen(size) for size in SIZES}


class Seen(NamedTuple):
    """Which short ids of a batch the store has come across, and where they stand now."""

    stored: set[int]
    parked: set[int]
    known: set[int]


def existing(database: Database, identities: Collection[Identity]) -> dict[Identity, Existing]:
    found = {}
    for part in parts(list(identities), (None, None, None)):
        parameters = [value for identity in part for value in identity]
        for feed, author, entry_id, *rest in database.connection.execute(_BY_IDENTITY[len(part)], parameters):
            found[feed, author, entry_id] = Existing(*rest)
    return found


def seen(database: Database, short_ids: Collection[int]) -> Seen:
    found = Seen(set(), set(), set())
    for part in parts(list(short_ids), None):
        for table, short_id in database.connection.execute(_SEEN[len(part)], part):
            found[table].add(short_id)
    return found


def parts(values: Sequence[Any], filler: object) -> Iterator[list[Any]]:
    """Lists of as many values as one of SIZES says; the last one is filled up."""
    for start in range(0, len(values), SIZES[-1]):
        part = list(values[start : start + SIZES[-1]])
        size = next(size for size in SIZES if size >= len(part))
        yield part + [filler] * (size - len(part))
