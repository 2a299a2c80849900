"""The demo, as people run it: three real nodes; nothing of it stays, however it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.middleware.command import ROOT, process

PATIENCE_S = 120


def run_in(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return process("demo", *words, environment={"TMPDIR": str(folder), "PASSERBY_HOME": str(folder / "home")})


def test_one_carries_for_two_who_never_meet(tmp_path: Path) -> None:
    ran = run_in(tmp_path, "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["met"] == {"Ada": ["Bob"], "Bob": ["Ada", "Carol"], "Carol": ["Bob"]}
    has = ["".join(name[0] for name, has in step["has"].items() if has) for step in told["steps"]]
    assert has == ["", "A", "A", "AB", "AB", "ABC", "ABC"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("encoding", "sign"), [("utf-8", "Ada ♪ ◄────► Bob ♪"), ("ascii", "Ada * <----> Bob *")]
)
def test_it_is_narrated_with_a_picture_of_who_has_what(tmp_path: Path, encoding: str, sign: str) -> None:
    environment = {
        "TMPDIR": str(tmp_path),
        "PYTHONIOENCODING": encoding,
        "PASSERBY_HOME": str(tmp_path / "home"),
    }
    ran = process("demo", environment=environment, encoding=encoding)
    assert ran.returncode == 0, ran.stderr
    assert sign in ran.stdout
    assert "Ada and Carol have never met" in ran.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_it_half_way_leaves_no_process_and_no_file(tmp_path: Path, number: int) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-P", "-m", "passerby", "demo", "--slow"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout is not None
    assert any(line.startswith("1. Ada") for line in iter(demo.stdout.readline, ""))
    assert b"passerby-demo" in _running(tmp_path)
    demo.send_signal(number)
    _, err = demo.communicate(timeout=PATIENCE_S)
    assert (demo.returncode, err) == (1, "passerby: stopped\n")
    assert _running(tmp_path) == b""
    assert list(tmp_path.iterdir()) == []


def _running(folder: Path) -> bytes:
    """The command lines of processes that name this folder."""
    found = b""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes()
        except OSError:
            continue  # ended meanwhile
        if os.fsencode(str(folder)) in words:
            found += words
    return found
