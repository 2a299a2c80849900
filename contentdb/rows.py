"""The rows of an entry, in all tables that hold a part of it: written together, cleared together."""

import hashlib
import json
from collections.abc import Sequence
from enum import IntEnum
from operator import itemgetter
from typing import NamedTuple

from contentdb.catalogue import Catalogue
from contentdb.copies import origin_of
from contentdb.database import Database
from contentdb.model import Entry, Signed, joined_categories
from contentdb.names import Root

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
CATEGORY_NAME = 0  # the key under which category terms stand in entry_attributes

INSERT_ENTRY = (
    "INSERT INTO entries (key, feed, author, id, state, revision, short_id, version, updated, published, "
    "expires, bytes, own, pinned, retracted, received_at, source, size, enclosures, title, summary, "
    "author_name, type, language, categories, attributes) "
    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
UPDATE_ORIGIN = "UPDATE entries SET origin = ? WHERE key = ?"  # few entries have one
INSERT_SIGNED = "INSERT INTO signed_bytes (key, signature, data) VALUES (?,?,?)"
INSERT_ATTRIBUTE = "INSERT OR IGNORE INTO entry_attributes (name, value, entry) VALUES (?,?,?)"
INSERT_TEXT = "INSERT INTO entry_text (rowid, title, summary, categories) VALUES (?,?,?,?)"
INSERT_ENCLOSURE = "INSERT INTO enclosures (entry, position, root, length, name, type) VALUES (?,?,?,?,?,?)"


class State(IntEnum):
    """HELD is served and delivered; every other state is the memory of something that is gone.

    TURNED_AWAY is what a stranger brought and had to go: it never raises its feed's floor.
    """

    HELD = 0
    EXPIRED = 1
    EVICTED = 2
    TURNED_AWAY = 3


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


class EntryRows:
    """Collects the rows of new entries and writes them table by table: many times faster than one by one."""

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database = database
        self._run = database.connection
        self._catalogue = catalogue
        self._attribute_key = catalogue.attribute
        self._entries: list[tuple[object, ...]] = []
        self._signed: list[tuple[object, ...]] = []
        self._attributes: list[tuple[object, ...]] = []
        self._texts: list[tuple[object, ...]] = []
        self._enclosures: list[tuple[object, ...]] = []
        self._origins: list[tuple[object, ...]] = []
        database.on_rollback(self._forget)

    def add(self, entry: Entry, signed: Signed, place: Placement) -> int:
        """Queue an entry's rows; returns the bytes it counts for. `flush` writes them."""
        key = place.key
        size = sum([enclosure.length for enclosure in entry.enclosures])
        counted = len(signed.data) + size
        categories = joined_categories(entry.categories)
        title, summary = str(entry.title), None if entry.summary is None else str(entry.summary)
        attributes = dict(entry.attributes)
        self._entries.append(
            (
                key,
                place.feed,
                place.author,
                entry.id,
                State.HELD.value,
                place.revision,
                place.short_id,
                place.version,
                entry.updated,
                entry.published,
                entry.expires,
                counted,
                place.own,
                place.pinned,
                entry.retracted,
                place.at,
                place.source,
                size,
                len(entry.enclosures),
                title,
                summary,
                entry.authors[0].name if entry.authors else None,
                entry.enclosures[0].type if entry.enclosures else None,
                entry.language,
                categories,
                _ENCODE(attributes) if attributes else None,
            )
        )
        self._signed.append((key, signed.signature, signed.data))
        for name, value in attributes.items():
            self._attributes.append((self._attribute_key(name), value, key))
        # Cut from the joined form, so that clearing finds the same terms even if one contains a bar.
        for term in (categories or "").split("|"):
            if term:
                self._attributes.append((CATEGORY_NAME, term, key))
        self._texts.append((key, title, summary, categories))
        for position, enclosure in enumerate(entry.enclosures):
            self._enclosures.append(
                (key, position, enclosure.root, enclosure.length, enclosure.name, enclosure.type)
            )
        if entry.source is not None:
            self._origins.append((origin_of(entry), key))
        return counted

    def flush(self) -> None:
        if not self._entries:
            return
        many = self._run.executemany
        many(INSERT_ENTRY, self._entries)
        many(INSERT_SIGNED, self._signed)
        # In index order, the pages of the attribute index are visited once instead of at random.
        try:
            self._attributes.sort()
        except TypeError:  # one name with texts and numbers; a rough order helps nearly as much
            self._attributes.sort(key=itemgetter(0))
        many(INSERT_ATTRIBUTE, self._attributes)
        if self._database.full_text:
            many(INSERT_TEXT, self._texts)
        if self._enclosures:
            many(INSERT_ENCLOSURE, self._enclosures)
        if self._origins:
            many(UPDATE_ORIGIN, self._origins)
        self._forget()

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

    def _forget(self) -> None:
        self._entries, self._signed, self._attributes = [], [], []
        self._texts, self._enclosures, self._origins = [], [], []
