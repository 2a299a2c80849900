"""How fast received entries enter the store, against SQLite and Ed25519 doing their part of it alone."""

import os
import random
import shutil
import sqlite3
import statistics
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from contentdb.arrivals import Arrival, read_verified, verify_and_read
from contentdb.atom import write_entry
from contentdb.database import Database
from contentdb.identity import AuthorSecret, verify_batch
from contentdb.intake import Delivery
from contentdb.model import Category, Content, Entry, Person, Signed, Text
from contentdb.names import EntryId, FeedId, NodeId
from contentdb.store import Store
from evaluation.benchmarks.harness import Row, interleaved, row, seconds

FULL_ENTRIES, QUICK_ENTRIES = 20_000, 1_000
BATCH = 100
AHEAD = 4  # batches that workers may be ahead of the store
AT = 1_790_000_000_000
RAW_SHARE, VERIFY_SHARE = 0.6, 0.5
WORDS = (
    "corner",
    "street",
    "music",
    "tonight",
    "harbour",
    "bridge",
    "rain",
    "brass",
    "drum",
    "voice",
    "river",
)
# The tables of an entry, with everything that hangs on them: indexes and FTS follow by themselves.
TABLES = ("entries", "signed_bytes", "entry_attributes", "enclosures", "ledger")


def run(rounds: int, quick: bool) -> list[Row]:
    received = make_entries(QUICK_ENTRIES if quick else FULL_ENTRIES)
    folder = Path(tempfile.mkdtemp(prefix="passerby-bench-"))
    try:
        recorded = record_rows(folder / "recorded", received)
        measured: dict[str, Callable[[], float]] = {
            "raw": lambda: len(received) / in_new_folder(folder, lambda place: replay(place, recorded)),
            "ours": lambda: len(received) / in_new_folder(folder, lambda place: ingest(place, received)),
            "verify": lambda: len(received) / seconds(lambda: verify_batch(received)),
            "both": lambda: (
                len(received) / in_new_folder(folder, lambda place: verify_and_ingest(place, received))
            ),
        }
        return rows_from(interleaved(measured, rounds))
    finally:
        shutil.rmtree(folder)


def rows_from(rates: dict[str, list[float]]) -> list[Row]:
    of_raw = statistics.median(rates["ours"]) / statistics.median(rates["raw"])
    of_verify = statistics.median(rates["both"]) / statistics.median(rates["verify"])
    return [
        row("executemany of the same rows", rates["raw"], "entries/s"),
        row(
            "ingest of received bytes, verified elsewhere", rates["ours"], "entries/s",
            promise=f"at least {RAW_SHARE} x executemany", ratio=of_raw, kept=of_raw >= RAW_SHARE,
        ),
        row("Ed25519 verification on one core", rates["verify"], "entries/s"),
        row(
            "ingest with verification on worker threads", rates["both"], "entries/s",
            promise=f"at least {VERIFY_SHARE} x Ed25519", ratio=of_verify, kept=of_verify >= VERIFY_SHARE,
        ),
    ]  # fmt: skip


def make_entries(count: int) -> list[Signed]:
    """Entries of about 1 kB: twenty authors, ten feeds, four attributes, two categories, some text."""
    rng = random.Random(1)
    authors = [AuthorSecret.from_bytes(rng.randbytes(32)) for _ in range(20)]
    return [_make_entry(rng, authors[number % 20], number) for number in range(count)]


def _make_entry(rng: random.Random, author: AuthorSecret, number: int) -> Signed:
    entry = Entry(
        id=EntryId(f"urn:uuid:{rng.getrandbits(128):032x}"),
        title=Text(" ".join(rng.choices(WORDS, k=4))),
        updated=AT - rng.randrange(10**9),
        published=AT - 10**9,
        authors=(Person("Ada"),),
        categories=(Category(rng.choice(WORDS)), Category("music")),
        summary=Text(" ".join(rng.choices(WORDS, k=12))),
        content=Content("text", " ".join(rng.choices(WORDS, k=60))),
        language="en",
        feed=FeedId(f"urn:example:feed:{number % 10}"),
        author=author.key,
        attributes={
            "genre": rng.choice(("jazz", "folk", "brass")),
            "number": number,
            "loudness": rng.random(),
            "live": True,
        },
    )
    return author.sign_entry(write_entry(entry))


def in_new_folder(parent: Path, work: Callable[[Path], float]) -> float:
    place = Path(tempfile.mkdtemp(dir=parent))
    try:
        return work(place)
    finally:
        shutil.rmtree(place)


def ingest(place: Path, received: Sequence[Signed]) -> float:
    with Store.open(place, entropy=os.urandom) as store:
        delivery = Delivery(AT, source=NodeId("ab" * 20))

        def work() -> None:
            for start in range(0, len(received), BATCH):
                store.take_in(read_verified(received[start : start + BATCH]), delivery)

        return seconds(work)


def verify_and_ingest(place: Path, received: Sequence[Signed]) -> float:
    """As a node does it: two workers verify a few batches ahead of the thread that stores."""
    with Store.open(place, entropy=os.urandom) as store, ThreadPoolExecutor(2) as workers:
        delivery = Delivery(AT, source=NodeId("ab" * 20))

        ahead: deque[Future[list[Arrival]]] = deque()

        def work() -> None:
            for start in range(0, len(received), BATCH):
                ahead.append(workers.submit(verify_and_read, received[start : start + BATCH]))
                if len(ahead) > AHEAD:
                    store.take_in(ahead.popleft().result(), delivery)
            for arrivals in ahead:
                store.take_in(arrivals.result(), delivery)

        return seconds(work)


# -- what SQLite alone does with the same rows


Recorded = list[list[tuple[str, list[tuple[object, ...]]]]]


def record_rows(place: Path, received: Sequence[Signed]) -> Recorded:
    """The rows our store wrote, in batches of 100 entries as it wrote them."""
    ingest(place, received)
    connection = sqlite3.connect(place / "passerby.sqlite")
    batches: Recorded = []
    for start in range(0, len(received), BATCH):
        keys = (start + 1, start + BATCH)
        batches.append([_recorded(connection, table, keys) for table in (*TABLES, "entry_text")])
    connection.close()
    return batches


def _recorded(
    connection: sqlite3.Connection, table: str, keys: tuple[int, int]
) -> tuple[str, list[tuple[object, ...]]]:
    if table == "entry_text":
        rows = connection.execute(
            "SELECT key, title, summary, categories FROM entries WHERE key BETWEEN ? AND ?", keys
        )
        insert = "INSERT INTO entry_text (rowid, title, summary, categories) VALUES (?,?,?,?)"
        return insert, rows.fetchall()
    key = "entry" if table in ("entry_attributes", "enclosures") else "key"
    found = connection.execute(f"SELECT * FROM {table} WHERE {key} BETWEEN ? AND ?", keys).fetchall()
    marks = ",".join("?" * len(found[0])) if found else "?"
    return f"INSERT INTO {table} VALUES ({marks})", found


def replay(place: Path, recorded: Recorded) -> float:
    database = Database(place, os.urandom)

    def work() -> None:
        connection = database.connection
        for batch in recorded:
            connection.execute("BEGIN IMMEDIATE")
            for sql, rows in batch:
                if rows:
                    connection.executemany(sql, rows)
            connection.execute("COMMIT")

    try:
        return seconds(work)
    finally:
        database.close()
