"""The script in docs/recovery.md, run as it stands there on homes that were damaged as disks damage them."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from contentdb.keystore import Keystore
from contentdb.library import Draft, FeedDraft, Library
from contentdb.names import FeedId
from contentdb.query import Selection
from contentdb.store import Store
from contentdb.subscriptions import Subscription

ROOT = Path(__file__).parent.parent
AT = 1_700_000_000_000
ENTRIES = 300
PAGE_BYTES = 4096


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    enclosed = tmp_path / "take.ogg"
    enclosed.write_bytes(random.Random(1).randbytes(50_000))
    with Store.open(folder, entropy=os.urandom) as store:
        library = Library(store, Keystore(folder, os.urandom).author(), entropy=os.urandom)
        feed = library.create_feed(FeedDraft("Street music"), AT)
        library.publish(feed.id, Draft("with a file", files=(enclosed,)), AT)
        with store.transaction():
            for number in range(1, ENTRIES):
                library.publish(feed.id, Draft(f"take {number}", attributes={"number": number}), AT + number)
        store.subscriptions.add(Subscription(0, "cli", FeedId(feed.id), "number > 3"))
    return folder


def salvage(tmp_path: Path, home: Path) -> tuple[str, Path]:
    done = run_script(tmp_path, home)
    assert done.returncode == 0, done.stderr
    return done.stdout, tmp_path / "saved"


def run_script(tmp_path: Path, home: Path) -> "subprocess.CompletedProcess[str]":
    text = (ROOT / "docs" / "recovery.md").read_text(encoding="utf-8")
    script = tmp_path / "salvage.py"
    script.write_text(text.split("```python\n")[1].split("```")[0], encoding="utf-8")
    return subprocess.run(
        [sys.executable, script, home, tmp_path / "saved"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("rubbish", [b"rubbish" * 1000, None])
def test_a_hopeless_database_is_a_failure_and_makes_nothing(
    tmp_path: Path, home: Path, rubbish: bytes | None
) -> None:
    (home / "passerby.sqlite").unlink()
    if rubbish is not None:
        (home / "passerby.sqlite").write_bytes(rubbish)
    done = run_script(tmp_path, home)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1
    assert not (tmp_path / "saved").exists() and (home / "passerby.sqlite").exists() == (rubbish is not None)


def test_a_healthy_home_is_carried_over_whole(tmp_path: Path, home: Path) -> None:
    said, saved = salvage(tmp_path, home)
    assert said == f"{ENTRIES} entries saved; problems: none\n"
    assert (saved / "keys" / "author.key").read_bytes() == (home / "keys" / "author.key").read_bytes()
    with Store.open(home, entropy=os.urandom) as before, Store.open(saved, entropy=os.urandom) as after:
        assert after.blobs.roots() == before.blobs.roots() != []
        assert [row.feed for row in after.feeds.rows()] == [row.feed for row in before.feeds.rows()]
        assert [s.selector for s in after.subscriptions.all()] == ["number > 3"]


def test_of_a_damaged_database_all_but_the_damaged_rows_are_saved(tmp_path: Path, home: Path) -> None:
    damaged_pages = damage(home / "passerby.sqlite", seed=7)
    said, saved = salvage(tmp_path, home)
    count = int(said.split()[0])
    # A page holds at most a few short entries; what is lost is in proportion to what was damaged.
    assert ENTRIES - damaged_pages * 8 <= count < ENTRIES
    assert said.endswith("problems: none\n")
    with Store.open(saved, entropy=os.urandom) as store:
        assert len(list(store.entries.select(Selection(at=AT + ENTRIES)))) == count


def damage(database: Path, seed: int) -> int:
    """Overwrite leaves of the table of signed bytes with rubbish; returns how many."""
    rng, pages = random.Random(seed), []
    content = bytearray(database.read_bytes())
    for page in range(1, len(content) // PAGE_BYTES):
        start = page * PAGE_BYTES
        is_table_leaf = content[start] == 0x0D
        if is_table_leaf and b"</entry>" in content[start : start + PAGE_BYTES]:
            pages.append(page)
    chosen = rng.sample(pages, 4)
    for page in chosen:
        content[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = rng.randbytes(PAGE_BYTES)
    database.write_bytes(content)
    return len(chosen)
