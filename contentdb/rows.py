"""The rows of an entry, in all tables that hold a part of it: written together, cleared together."""

import contextlib
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from contentdb.catalogue import Catalogue
from contentdb.copies import origin_of
from contentdb.database import Database
from contentdb.model import AttributeValue, Entry, Signed, Time, joined_categories
from contentdb.names import Root

# How each type of attribute stands in JSON. Names are identifiers, which need no escaping.
_IN_JSON: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: repr,
    float: repr,
    bool: {False: "false", True: "true"}.__getitem__,
    Time: repr,
}
CATEGORY_NAME = 0  # the key under which category terms stand in entry_attributes


class State(IntEnum):
    """HELD is served and delivered; every other state is the memory of something that is gone.

    TURNED_AWAY is what a stranger brought and had to go: it never raises its feed's floor.
    """

    HELD = 0
    EXPIRED = 1
    EVICTED = 2
    TURNED_AWAY = 3


INSERT_ENTRY = (
    "INSERT INTO entries (key, feed, author, id, state, revision, short_id, version, updated, published, "
    "expires, bytes, own, pinned, retracted, received_at, source, size, enclosures, title, summary, "
    "author_name, type, language, categories, attributes) "
    f"VALUES (?,?,?,?,{State.HELD.value},?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
UPDATE_ORIGIN = "UPDATE entries SET origin = ? WHERE key = ?"  # few entries have one
INSERT_SIGNED = "INSERT INTO signed_bytes (key, signature, data) VALUES (?,?,?)"
INSERT_ATTRIBUTE = "INSERT OR IGNORE INTO entry_attributes (name, value, entry) VALUES (?,?,?)"
INSERT_TEXT = "INSERT INTO entry_text (rowid, title, summary, categories) VALUES (?,?,?,?)"
INSERT_ENCLOSURE = "INSERT INTO enclosures (entry, position, root, length, name, type) VALUES (?,?,?,?,?,?)"


class Placement(NamedTuple):
    """Everything about a row that is not in the entry itself."""

    key: int
    feed: int
    author: int
    revision: int
    short_id: int
    version: bytes
    own: bool
    pinned: bool
    at: int
    source: int | None


def version_of(data: bytes) -> bytes:
    """What tells two versions of an entry apart, and breaks ties between them."""
    return hashlib.sha256(data).digest()


def short_id_of(version: bytes) -> int:
    """64 bits of the version, as SQLite's signed integer; sketches use the same bits unsigned."""
    return int.from_bytes(version[:8], "big", signed=True)


def encode_attributes(attributes: Mapping[str, AttributeValue]) -> str:
    """A JSON object. The standard encoder, which sets itself up anew for each entry, takes twice as long."""
    return "{" + ",".join([f'"{name}":{_IN_JSON[type(v)](v)}' for name, v in attributes.items()]) + "}"


class EntryRows:
    """Collects the rows of new entries and writes them table by table: many times faster than one by one."""

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database = database
        self._run = database.connection
        self._attribute_key = catalogue.attribute
        self._forget()
        database.on_rollback(self._forget)

    def _forget(self) -> None:
        self._entries: list[tuple[object, ...]] = []
        self._signed: list[tuple[object, ...]] = []
        self._texts: list[tuple[object, ...]] = []
        self._enclosures: list[tuple[object, ...]] = []
        self._origins: list[tuple[object, ...]] = []
        self._terms: list[tuple[str, int]] = []
        self._values: defaultdict[str, list[tuple[AttributeValue, int]]] = defaultdict(list)

    def add(self, entry: Entry, signed: Signed, place: Placement) -> int:
        """Queue an entry's rows; returns the bytes it counts for. `flush` writes them.

        sqlite3 binds an int and a bytearray as they are, but looks for adapters of each bool and bytes.
        """
        key, feed, author, revision, short_id, version, own, pinned, at, source = place
        data, enclosures, attributes = signed.data, entry.enclosures, entry.attributes
        size = sum([enclosure.length for enclosure in enclosures]) if enclosures else 0
        categories = joined_categories(entry.categories)
        title, summary = str(entry.title), None if entry.summary is None else str(entry.summary)
        self._entries.append(
            (
                key,
                feed,
                author,
                entry.id,
                revision,
                short_id,
                bytearray(version),
                entry.updated,
                entry.published,
                entry.expires,
                len(data) + size,
                1 if own else 0,
                1 if pinned else 0,
                1 if entry.retracted else 0,
                at,
                source,
                size,
                len(enclosures),
                title,
                summary,
                entry.authors[0].name if entry.authors else None,
                enclosures[0].type if enclosures else None,
                entry.language,
                categories,
                encode_attributes(attributes) if attributes else None,
            )
        )
        self._signed.append((key, bytearray(signed.signature), bytearray(data)))
        self._texts.append((key, title, summary, categories))
        for name, value in attributes.items():
            self._values[name].append((value, key))
        # Cut from the joined form, so that clearing finds the same terms even if one contains a bar.
        for term in categories.split("|") if categories else ():
            if term:
                self._terms.append((term, key))
        for position, enclosure in enumerate(enclosures):
            self._enclosures.append(
                (key, position, enclosure.root, enclosure.length, enclosure.name, enclosure.type)
            )
        if entry.source is not None:
            self._origins.append((origin_of(entry), key))
        return len(data) + size

    def flush(self) -> None:
        if not self._entries:
            return
        many = self._run.executemany
        many(INSERT_ENTRY, self._entries)
        many(INSERT_SIGNED, self._signed)
        many(INSERT_ATTRIBUTE, self._attribute_rows())
        if self._database.full_text:
            many(INSERT_TEXT, self._texts)
        if self._enclosures:
            many(INSERT_ENCLOSURE, self._enclosures)
        if self._origins:
            many(UPDATE_ORIGIN, self._origins)
        self._forget()

    def _attribute_rows(self) -> list[tuple[int, AttributeValue, int]]:
        """In index order, so that the pages of the attribute index are visited once instead of at random."""
        named: list[tuple[int, Any]] = [(CATEGORY_NAME, self._terms)]
        named += sorted((self._attribute_key(name), values) for name, values in self._values.items())
        for _, values in named:
            with contextlib.suppress(TypeError):  # one name with texts and numbers: then in rough order
                values.sort()
        return [(name, value, key) for name, values in named for value, key in values]

    def remove(self, key: int) -> list[Root]:
        """Remove an entry's rows from all tables; returns the roots that it named."""
        roots = self._clear(key)
        self._run.execute("DELETE FROM entries WHERE key = ?", (key,))
        return roots

    def _clear(self, key: int) -> list[Root]:
        """Remove all that hangs on the row, but not the row itself."""
        row = self._run.execute(
            "SELECT title, summary, categories, attributes FROM entries WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return []
        title, summary, categories, attributes = row
        if self._database.full_text and title is not None:
            self._run.execute(
                "INSERT INTO entry_text (entry_text, rowid, title, summary, categories) "
                "VALUES ('delete',?,?,?,?)",
                (key, title, summary, categories),
            )
        doomed = [(self._attribute_key(n), v, key) for n, v in json.loads(attributes or "{}").items()]
        doomed += [(CATEGORY_NAME, term, key) for term in (categories or "").split("|")]
        self._run.executemany(
            "DELETE FROM entry_attributes WHERE name = ? AND value = ? AND entry = ?", doomed
        )
        self._run.execute("DELETE FROM signed_bytes WHERE key = ?", (key,))
        named = self._run.execute("SELECT root FROM enclosures WHERE entry = ?", (key,))
        roots = [Root(root) for (root,) in named]
        if roots:
            self._run.execute("DELETE FROM enclosures WHERE entry = ?", (key,))
        return roots

    def bury(self, doomed: Sequence[tuple[int, State]]) -> list[Root]:
        """Keep only the memory of these entries: who, which version, and why it went."""
        roots = [root for key, _state in doomed for root in self._clear(key)]
        revision = self._database.revision  # orders the graves by age; gains nothing, so it does not grow
        self._run.executemany(
            "UPDATE entries SET state = ?, revision = ?, bytes = 0, doomed_run_s = NULL, size = NULL, "
            "enclosures = NULL, title = NULL, summary = NULL, author_name = NULL, type = NULL, "
            "language = NULL, categories = NULL, attributes = NULL WHERE key = ?",
            [(state.value, revision, key) for key, state in doomed],
        )
        return roots
