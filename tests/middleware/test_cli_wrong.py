"""Wrong input of every kind gets one clear sentence and a status, whether a node runs or not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.middleware.command import Commands, process

FEED = "urn:example:street-music"


@contextmanager
def prepared(home: Path, *, is_running: bool) -> Iterator[Path]:
    """A home with a feed and, if one is to run, its node, on loopback."""
    _done(home, "feed", "create", "Street music", "--id", FEED)
    if is_running:
        _done(home, "up", "--detach", "--interface", "lo", "--hello-port", "24747")
    try:
        yield home
    finally:
        if is_running:
            _done(home, "down")


def _done(home: Path, *words: str) -> None:
    ran = process("--home", str(home), *words)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module", params=["with a node", "without one"])
def is_running(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "with a node")


@pytest.fixture(scope="module")
def home(is_running: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all wrong input, none of which changes anything."""
    with prepared(tmp_path_factory.mktemp("wrong") / "home", is_running=is_running) as home:
        yield home


@pytest.fixture
def told(home: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(home, capsys)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("publish", "nowhere", "--title", "T"), "there is no feed 'nowhere' here"),
        (("entries", "nowhere"), "there is no feed 'nowhere' here"),
        (("feed", "export", "nowhere"), "there is no feed 'nowhere' here"),
        (("entries", "--where", "genre ="), "column"),
        (("subscribe", FEED, "--where", "(genre = 'jazz'"), "column"),
        (("feeds", "3 + 5"), "condition"),
        (("get", "urn:example:nothing"), "there is no entry 'urn:example:nothing' here"),
        (("why", "urn:example:nothing"), "nothing is known about 'urn:example:nothing'"),
        (("retract", "urn:example:nothing"), "there is no entry"),
        (("unsubscribe", "77"), "there is no such subscription"),
        (("publish", FEED, "--title", "T", "--file", "{tmp}/missing.ogg"), "missing.ogg"),
        (("publish", FEED, "--title", "T", "--file", "{tmp}"), "is a folder"),
        (("feed", "import", "{tmp}/missing.atom"), "missing.atom"),
        (("publish", FEED, "--title", "T", "--attr", "n:integer=x"), "cannot be read as integer"),
        (("publish", FEED, "--title", "T", "--attr", "n:colour=red"), "cannot be read as colour"),
        (("publish", FEED, "--title", "T", "--attr", "title=x"), "title"),
        (("publish", FEED, "--title", "T", "--expires", "yesterday"), "a time is a date"),
        (("subscribe", FEED, "--files", "some"), "files"),
        (("block", "rubbish"), "64 hexadecimal"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else "",
)
def test_it_is_one_sentence_that_names_what_is_wrong(
    told: Commands, words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    said = told.fails(*(word.replace("{tmp}", str(tmp_path)) for word in words))
    assert sentence in said, said


def test_a_file_that_changes_while_it_is_read_is_refused(told: Commands) -> None:
    # Of such a file the system says beforehand that it is empty, and then it has something to read.
    growing = Path("/proc/version")
    if not growing.is_file() or growing.stat().st_size:
        pytest.skip("needs a file of /proc, which grows whenever it is read")
    said = told.fails("publish", FEED, "--title", "T", "--file", str(growing))
    assert said.startswith("/proc/version changed while it was read"), said
    assert told.json("entries") == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("needs root to mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"cannot mount a small disk: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_and_what_is_there_stays(
    small_disk: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, is_running: bool
) -> None:
    (tmp_path / "large.ogg").write_bytes(bytes(8 << 20))
    with prepared(small_disk / "home", is_running=is_running) as home:
        run = Commands(home, capsys)
        run.json("publish", FEED, "--title", "small")
        said = run.fails("publish", FEED, "--title", "T", "--file", str(tmp_path / "large.ogg"))
        assert "No space left" in said or "full" in said, said
        assert [entry["title"] for entry in run.json("entries")] == ["small"]
        assert "free on the disk" in run("doctor", "--interface", "lo").out
