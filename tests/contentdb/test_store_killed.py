"""Kill -9 at random moments of a writing process loses nothing that was acknowledged."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contentdb.names import Root
from contentdb.query import EntryRow, Selection
from contentdb.store import Store
from tests.contentdb.makers import NOW, entropy

RUNS = 200
# Several homes, each killed many times over, so that runs also start from what earlier kills left behind.
HOMES = 8


class Promises:
    """What the writer of one home was told, over all its lives."""

    def __init__(self) -> None:
        self.versions: dict[str, set[str]] = {}
        self.retracted: set[str] = set()
        self.files: dict[str, str] = {}
        self.lives = self.acknowledged = 0

    def heard(self, line: str) -> None:
        kind, *words = line.split()
        self.acknowledged += kind != "S"
        if kind in ("P", "T"):
            self.versions.setdefault(words[0], set()).add(words[1])
            self.files = {root: entry for root, entry in self.files.items() if entry != words[0]}
        elif kind == "G":
            self.retracted.add(words[0])
        elif kind == "F":
            self.files[words[0]] = words[1]


def test_after_two_hundred_kills_every_acknowledged_entry_is_there(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        kept = list(pool.map(lambda number: _live_and_die(tmp_path, number), range(HOMES)))
    assert sum(promises.lives for promises in kept) == RUNS
    assert sum(promises.acknowledged for promises in kept) > RUNS


def _live_and_die(tmp_path: Path, number: int) -> Promises:
    promises = Promises()
    rng = random.Random(number)
    folder = tmp_path / f"home-{number}"
    for life in range(RUNS // HOMES):
        _one_life(folder, number * 1_000 + life, rng.uniform(0, 0.35), promises)
        _check(folder, promises)
    return promises


def _one_life(folder: Path, seed: int, seconds: float, promises: Promises) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.contentdb.crash_writer", str(folder), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"CRASH_FILE": str(folder) + ".file"},
        cwd=Path(__file__).parents[2],
    )
    assert writer.stdout is not None and writer.stderr is not None
    lines = []
    if seed % 10:  # one in ten is killed while it starts
        lines = [writer.stdout.readline()]
        assert lines == ["S\n"], writer.stderr.read()
    time.sleep(seconds)
    writer.send_signal(signal.SIGKILL)
    out, err = writer.communicate()
    assert writer.returncode == -signal.SIGKILL, err
    for line in lines + out.splitlines(keepends=True):
        promises.heard(line)
    promises.lives += 1


def _check(folder: Path, promises: Promises) -> None:
    with Store.open(folder, entropy=entropy(1)) as store:
        assert store.problems() == []
        assert store.missing_files() == []
        held: dict[str, EntryRow] = {row.id: row for row in store.entries.select(Selection(NOW, limit=10**9))}
        for entry_id, versions in promises.versions.items():
            if entry_id in promises.retracted:
                assert entry_id not in held
                continue
            # The kill may have come after a newer version was stored and before it was acknowledged; then an
            # own entry has a version nobody was told of, or is gone by an unacknowledged retraction.
            row = held.get(entry_id)
            if entry_id.startswith("urn:example:own:"):
                assert row is not None or _is_retracted(store, entry_id)
            else:
                assert row is not None and row.version.hex() in versions
        for root, entry_id in promises.files.items():
            if entry_id in held and held[entry_id].enclosures:
                assert store.blobs.is_complete(Root(root))
                assert store.blobs.verify(Root(root)) == []


def _is_retracted(store: Store, entry_id: str) -> bool:
    return store.ledger.of(entry_id)[-1].event.value == "retracted"
