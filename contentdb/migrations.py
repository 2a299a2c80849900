"""Numbered schema steps, applied on opening; a released step is never edited, only followed by another."""

import sqlite3
from collections.abc import Sequence

# Each step leaves the database complete for the next; `PRAGMA user_version` counts the steps applied.
#
# `entries` keeps what selectors and retention ask about in short rows; the signed bytes live beside it in
# `signed_bytes`, so that a scan does not drag every document through memory. A removed entry keeps its row
# (state > 0) without its bytes: that row is the memory that stops old versions from coming back.
FIRST = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE authors (
    key INTEGER PRIMARY KEY,
    public TEXT NOT NULL UNIQUE,
    first_run_s INTEGER NOT NULL,
    own INTEGER NOT NULL DEFAULT 0,
    trusted INTEGER NOT NULL DEFAULT 0,
    blocked INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE feeds (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    signer INTEGER,
    sequence INTEGER NOT NULL DEFAULT -1,
    signature BLOB,
    data BLOB,
    listed INTEGER NOT NULL DEFAULT 0,
    own INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT 0,
    entries INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT -9223372036854775808
);
CREATE INDEX feeds_pinned ON feeds (key, entries, bytes) WHERE pinned;

CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    feed INTEGER NOT NULL,
    author INTEGER NOT NULL,
    id TEXT NOT NULL,
    state INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    short_id INTEGER NOT NULL,
    version BLOB NOT NULL,
    updated INTEGER NOT NULL,
    published INTEGER,
    expires INTEGER,
    bytes INTEGER NOT NULL,
    own INTEGER NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    retracted INTEGER NOT NULL,
    doomed_run_s INTEGER,
    received_at INTEGER NOT NULL,
    source INTEGER,
    size INTEGER,
    enclosures INTEGER,
    title TEXT,
    summary TEXT,
    author_name TEXT,
    type TEXT,
    language TEXT,
    categories TEXT,
    attributes TEXT
);
CREATE UNIQUE INDEX entries_by_identity ON entries (feed, author, id);
CREATE INDEX entries_by_time ON entries (feed, updated);
CREATE INDEX entries_by_revision ON entries (state, revision);
CREATE INDEX entries_by_publication ON entries (published);
CREATE INDEX entries_by_short_id ON entries (short_id);
CREATE INDEX entries_by_expiry ON entries (expires) WHERE expires IS NOT NULL AND state = 0;
CREATE INDEX entries_by_retraction ON entries (feed) WHERE retracted = 1 AND state = 0;
CREATE INDEX entries_doomed ON entries (doomed_run_s) WHERE doomed_run_s IS NOT NULL;
CREATE INDEX entries_protected ON entries (feed, bytes) WHERE state = 0 AND (own OR pinned);

CREATE TABLE signed_bytes (key INTEGER PRIMARY KEY, signature BLOB NOT NULL, data BLOB NOT NULL);

CREATE TABLE attribute_names (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO attribute_names VALUES (0, '|category');
CREATE TABLE entry_attributes (
    name INTEGER, value, entry INTEGER, PRIMARY KEY (name, value, entry)
) WITHOUT ROWID;

CREATE TABLE enclosures (
    entry INTEGER NOT NULL,
    position INTEGER NOT NULL,
    root TEXT NOT NULL,
    length INTEGER NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    PRIMARY KEY (entry, position)
) WITHOUT ROWID;
CREATE INDEX enclosures_by_root ON enclosures (root);
-- Roots that lay in the folder when this database was made, and that no own entry has named since.
CREATE TABLE older_files (root TEXT PRIMARY KEY) WITHOUT ROWID;

-- Versions we know and do not hold: superseded or refused before they had a row.
CREATE TABLE known_versions (
    feed INTEGER NOT NULL, short_id INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (feed, short_id)
);
CREATE INDEX known_versions_by_short_id ON known_versions (short_id, reason);

CREATE TABLE parked (
    short_id INTEGER PRIMARY KEY,
    feed TEXT NOT NULL,
    author TEXT NOT NULL,
    id TEXT NOT NULL,
    updated INTEGER NOT NULL,
    source TEXT,
    signature BLOB NOT NULL,
    data BLOB NOT NULL
);

-- A key that comes back would bring the delivery marks of whoever had it before.
CREATE TABLE subscriptions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    app TEXT NOT NULL,
    feed TEXT NOT NULL,
    selector TEXT NOT NULL,
    max_age_s INTEGER,
    max_count INTEGER,
    files TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (app, feed, selector)
);
CREATE INDEX subscriptions_by_feed ON subscriptions (feed);
CREATE TABLE deliveries (
    subscription INTEGER NOT NULL, entry INTEGER NOT NULL, version BLOB NOT NULL,
    PRIMARY KEY (subscription, entry)
) WITHOUT ROWID;

-- A key that comes back would make another node the source of what entries say of this one.
CREATE TABLE peers (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    node TEXT NOT NULL UNIQUE,
    epoch TEXT,
    revision INTEGER,
    subscriptions INTEGER NOT NULL DEFAULT 0,
    is_doubtful INTEGER NOT NULL DEFAULT 0,
    first_seen_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    address TEXT,
    day INTEGER NOT NULL DEFAULT 0,
    day_entries INTEGER NOT NULL DEFAULT 0,
    day_bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX peers_by_last_seen ON peers (last_seen_at);

CREATE TABLE ledger (
    key INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX ledger_by_entry ON ledger (entry);
"""

# A neighbour asks what one feed gained after a revision. The index over all feeds walked everybody else's
# entries for that; two partial ones, of which each entry is in one, cost an insertion no more than it did.
SECOND = """
DROP INDEX entries_by_revision;
CREATE INDEX entries_by_gain ON entries (feed, revision) WHERE state = 0;
CREATE INDEX entries_by_burial ON entries (state, revision) WHERE state > 0;
"""

# Entries that several people took over from the same web feed have the same origin. What was stored before
# has none, and is shown as it always was.
THIRD = """
ALTER TABLE entries ADD COLUMN origin INTEGER;
CREATE INDEX entries_by_origin ON entries (feed, origin, author) WHERE origin IS NOT NULL;
CREATE INDEX authors_trusted ON authors (key, own) WHERE trusted;
"""

# A neighbour's hello names descriptors by their short ids. Those that were stored before have none, which
# costs a session in which nothing comes.
FOURTH = """
ALTER TABLE feeds ADD COLUMN short_id INTEGER;
CREATE INDEX feeds_by_short_id ON feeds (short_id) WHERE short_id IS NOT NULL;
"""

# How much is own or pinned is asked by people, and whenever room is made. With all that is asked in the
# index, no entry has to be read for it.
FIFTH = """
DROP INDEX entries_protected;
CREATE INDEX entries_protected ON entries (feed, bytes, own, pinned, state)
    WHERE state = 0 AND (own OR pinned);
"""

STEPS = (FIRST, SECOND, THIRD, FOURTH, FIFTH)

# Text for LIKE: trigrams of the columns people search. It is a copy that can be rebuilt, so it is no numbered
# step: a database moved to an SQLite without FTS5 still opens, and gets its index back where FTS5 is there.
# `detail=column` keeps no positions: candidates only, rechecked anyway, at half the size.
FULL_TEXT = """
CREATE VIRTUAL TABLE IF NOT EXISTS entry_text USING fts5 (
    title, summary, categories, content='entries', content_rowid='key', detail=column,
    tokenize="trigram case_sensitive 1"
)
"""


def migrate(connection: sqlite3.Connection, version: int, steps: Sequence[str] = STEPS) -> None:
    """Apply the steps from `version` on, each in a transaction of its own."""
    for number, step in enumerate(steps[version:], start=version + 1):
        connection.executescript(f"BEGIN IMMEDIATE;\n{step}\nPRAGMA user_version = {number};\nCOMMIT;")
