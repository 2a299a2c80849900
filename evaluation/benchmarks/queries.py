"""What a selector costs over a million entries against SQL by hand, and what memory the store takes."""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from contentdb.database import Database
from contentdb.names import FeedId
from contentdb.query import Selection
from contentdb.rows import INSERT_ATTRIBUTE, INSERT_ENTRY, INSERT_SIGNED, INSERT_TEXT
from contentdb.selector import parse
from contentdb.store import Store
from evaluation.benchmarks.harness import Row, interleaved, row, seconds

FULL_ENTRIES, QUICK_ENTRIES = 1_000_000, 20_000
AT = 1_790_000_000_000
LIMIT = 1_000
MAX_RATIO, MAX_MEMORY_MB = 3.0, 120
GENRES, NUMBERS, FEEDS = 1_000, 100_000, 100
STEP = 20_000
_COLUMNS = "e.id, e.title, e.updated, e.published, e.summary, e.size, e.categories, e.attributes"
_BY_ATTRIBUTE = (
    f"SELECT {_COLUMNS} FROM entry_attributes t CROSS JOIN entries e ON e.key = t.entry WHERE t.name = "
    "(SELECT key FROM attribute_names WHERE name = ?) AND t.value {} AND +e.state = 0 AND e.retracted = 0 "
    f"ORDER BY e.updated DESC LIMIT {LIMIT}"
)
_BY_TEXT = (
    f"SELECT {_COLUMNS} FROM entry_text t CROSS JOIN entries e ON e.key = t.rowid WHERE t.title GLOB ? "
    "AND +e.state = 0 AND e.retracted = 0 "
    f"ORDER BY e.updated DESC LIMIT {LIMIT}"
)
# Each question twice: as people ask it, and as somebody who knows the tables would.
QUESTIONS: dict[str, tuple[str, str, tuple[object, ...]]] = {
    "equality on an attribute": ("genre = 'genre500'", _BY_ATTRIBUTE.format("= ?"), ("genre", "genre500")),
    "range on an attribute": (
        "number BETWEEN 500 AND 599", _BY_ATTRIBUTE.format("BETWEEN ? AND ?"), ("number", 500, 599)
    ),
    "LIKE by full text": ("title LIKE '%word0042%'", _BY_TEXT, ("*word0042*",)),
}  # fmt: skip


def run(rounds: int, quick: bool) -> list[Row]:
    entries = QUICK_ENTRIES if quick else FULL_ENTRIES
    folder = Path(tempfile.mkdtemp(prefix="passerby-bench-"))
    try:
        build(folder, entries)
        with Store.open(folder, entropy=os.urandom) as store:
            rows = [line for name in QUESTIONS for line in compare(store, name, rounds)]
        return [*rows, memory(folder, entries)]
    finally:
        shutil.rmtree(folder)


def compare(store: Store, name: str, rounds: int) -> list[Row]:
    text, sql, parameters = QUESTIONS[name]
    selection = Selection(AT, where=parse(text), limit=LIMIT)
    with store.transaction() as connection:

        def by_hand() -> int:
            return len(connection.execute(sql, parameters).fetchall())

        def by_selector() -> int:
            return len(store.entries.select(selection))

        found = by_hand()
        if found != by_selector() or not found:
            raise AssertionError(f"{name}: SQL finds {found}, the selector {by_selector()}")
        repeat = 20
        measured: dict[str, Callable[[], float]] = {
            "hand": lambda: seconds(lambda: [by_hand() for _ in range(repeat)]) / repeat * 1000,
            "ours": lambda: seconds(lambda: [by_selector() for _ in range(repeat)]) / repeat * 1000,
        }
        times = interleaved(measured, rounds)
    ratio = statistics.median(times["ours"]) / statistics.median(times["hand"])
    return [
        row(f"SQL by hand: {name}, {found} found", times["hand"], "ms"),
        row(
            f"selector: {name}", times["ours"], "ms",
            promise=f"at most {MAX_RATIO:g} x by hand", ratio=ratio, kept=ratio <= MAX_RATIO,
        ),
    ]  # fmt: skip


def memory(folder: Path, entries: int) -> Row:
    """In a process of its own that does nothing but open the store and ask each question."""
    command = [sys.executable, "-m", "evaluation.benchmarks.queries", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes = json.loads(done.stdout)
    return row(
        f"resident: store with {entries:,} entries, opened and queried", [megabytes], "MB",
        promise=f"at most {MAX_MEMORY_MB} MB", kept=megabytes <= MAX_MEMORY_MB,
    )  # fmt: skip


def ask_everything(folder: Path) -> float:
    with Store.open(folder, entropy=os.urandom) as store:
        for text, _, _ in QUESTIONS.values():
            for feed in (None, FeedId("urn:example:feed:7")):
                store.entries.select(Selection(AT, feed, parse(text), limit=LIMIT))
        store.entries.select(Selection(AT, limit=LIMIT))
        store.feeds.rows()
        store.held_sketch(FeedId("urn:example:feed:7"), AT)
    return peak_mb()


def peak_mb() -> float:
    """The most this process ever had resident; getrusage would count the parent it was forked from."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# -- a million entries, without the hours it would take to sign them


def build(folder: Path, entries: int) -> None:
    database = Database(folder, os.urandom)
    run_ = database.connection
    with database.transaction():
        run_.executemany(
            "INSERT INTO feeds (key, id) VALUES (?,?)",
            [(n, f"urn:example:feed:{n}") for n in range(1, FEEDS)],
        )
        run_.execute("INSERT INTO authors (key, public, first_run_s) VALUES (1, ?, 0)", ("ab" * 32,))
        run_.executemany("INSERT INTO attribute_names VALUES (?,?)", [(1, "genre"), (2, "number")])
    for first in range(1, entries + 1, STEP):
        with database.transaction():
            _insert(database, range(first, min(first + STEP, entries + 1)))
    database.close()


def _insert(database: Database, keys: range) -> None:
    made = list(_make(keys))
    many = database.connection.executemany
    many(INSERT_ENTRY, [entry for entry, _ in made])
    many(INSERT_SIGNED, [(entry[0], bytes(64), bytes(900)) for entry, _ in made])
    many(INSERT_ATTRIBUTE, sorted(pair for _, pairs in made for pair in pairs))
    if database.full_text:
        many(INSERT_TEXT, [(entry[0], entry[18], entry[19], entry[23]) for entry, _ in made])
    database.revision += len(keys)


def _make(keys: range) -> Iterator[tuple[tuple[object, ...], list[tuple[int, object, int]]]]:
    rng = random.Random(keys.start)
    for key in keys:
        genre, number = f"genre{rng.randrange(GENRES)}", rng.randrange(NUMBERS)
        title = f"word{rng.randrange(10_000):04} word{rng.randrange(10_000):04}"
        summary = " ".join(f"word{rng.randrange(10_000):04}" for _ in range(6))
        version = rng.randbytes(32)
        entry = (
            key, rng.randrange(1, FEEDS), 1, f"urn:example:{key}", key,
            int.from_bytes(version[:8], "big", signed=True), version, AT - rng.randrange(10**9),
            AT - 10**9, None, 900, False, False, False, AT, None, 0, 0, title, summary, "Ada", None, "en",
            "|music|", json.dumps({"genre": genre, "number": number}),
        )  # fmt: skip
        yield entry, [(0, "music", key), (1, genre, key), (2, number, key)]


if __name__ == "__main__":
    print(json.dumps(ask_everything(Path(sys.argv[1]))))
