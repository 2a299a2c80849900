"""Streams that are closed, full or in another encoding, and words that are not in UTF-8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.middleware.command import ROOT, Commands, process

ASCII_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
needs_dev_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


def shell(home: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """`passerby WORDS REDIRECTION` as a shell runs it."""
    return subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -P -m passerby {command}'],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PASSERBY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_closed_stream_stops_nothing(run: Commands, feed: str, closed: str) -> None:
    done = shell(run.home, f"publish 'Street music' --title T {closed}")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert [entry["title"] for entry in run.json("entries")] == ["T"]


def test_what_is_asked_for_is_shown_where_nobody_listens_to_messages(run: Commands, feed: str) -> None:
    run("publish", feed, "--title", "T")
    done = shell(run.home, "entries --limit 1 2>&-")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2


@needs_dev_full
@pytest.mark.parametrize(
    ("command", "status"),
    [("publish Nope --title x", 1), ("nonsense", 2), ("publish 'Street music' --title T", 0)],
)
def test_a_message_that_cannot_be_written_changes_no_status(
    run: Commands, feed: str, command: str, status: int
) -> None:
    assert shell(run.home, f"{command} 2>/dev/full").returncode == status


@needs_dev_full
def test_help_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    done = shell(tmp_path, "--help >/dev/full")
    assert (done.returncode, done.stderr) == (1, "passerby: the output: No space left on device\n")


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are bytes on Linux only")
def test_words_that_are_not_utf_8_are_misuse(tmp_path: Path) -> None:
    done = process("--home", str(tmp_path), "get", os.fsdecode(b"N\xffffff"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("passerby: expected text in UTF-8; got ") and done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are bytes on Linux only")
def test_words_are_utf_8_whatever_the_locale(run: Commands) -> None:
    run("feed", "create", "Müsik")
    done = process("--home", str(run.home), "publish", "Müsik", "--title", "Gruß", environment=ASCII_LOCALE)
    assert done.returncode == 0, done.stderr
    assert [entry["title"] for entry in run.json("entries")] == ["Gruß"]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_is_valid_in_every_encoding(run: Commands, encoding: str) -> None:
    run("feed", "create", "Grüße 🎵")
    done = process("--home", str(run.home), "feeds", "--json", environment={"PYTHONIOENCODING": encoding})
    assert json.loads(done.stdout)[0]["title"] == "Grüße 🎵"


def test_what_is_very_long_is_not_echoed_in_full(run: Commands, feed: str) -> None:
    ran = run("publish", feed, "--title", "x" * 20_000)
    assert ran.status == 0 and len(ran.err) < 200
    assert len(run.fails("get", "y" * 100_000)) < 3_000
    assert len(run.fails("y" * 100_000, status=2)) < 3_000


def test_the_version_is_shown(run: Commands) -> None:
    assert run("--version").out == "passerby 0.1.0\n"


def test_home_may_stand_inside_the_words_of_a_command(run: Commands, tmp_path: Path) -> None:
    assert run("feed", "--home", str(tmp_path / "other"), "create", "Jazz").status == 0
    assert [feed["title"] for feed in run.json("feeds", home=tmp_path / "other")] == ["Jazz"]
