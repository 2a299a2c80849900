"""Commands and a node that runs: they ask it, and see what it sees."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.middleware.command import ROOT, Commands


@pytest.fixture
def node(run: Commands) -> Iterator[str]:
    """A node in the background, in the home of `run`, on loopback, on a hello port that nobody else uses."""
    started = run.json("up", "--detach", "--interface", "lo", "--hello-port", "24747")
    yield started["node_id"]
    if run("status").status == 0:
        assert run("down").status == 0


def test_a_node_in_the_background_answers_until_it_is_stopped(run: Commands, node: str) -> None:
    status = run.json("status")
    assert status["node_id"] == node
    assert status.keys() >= {"epoch", "revision", "feeds", "entries", "neighbours", "sessions", "storage"}
    assert "stopped; nothing is lost" in run("down").err
    assert "start one with `passerby up`" in run.fails("status")


def test_when_a_node_is_down_its_home_can_be_removed(run: Commands, node: str) -> None:
    run("feed", "create", "Street music")
    run("down")
    assert not list(run.home.glob("*-wal"))
    shutil.rmtree(run.home)


def test_a_second_node_is_refused(run: Commands, node: str) -> None:
    assert "runs in" in run.fails("up", "--interface", "lo")
    assert "runs in" in run.fails("up", "--detach", "--interface", "lo")
    assert run.json("status")["node_id"] == node


def test_what_is_published_through_a_node_is_there_when_it_has_stopped(
    run: Commands, node: str, tmp_path: Path
) -> None:
    (tmp_path / "song").write_bytes(b"la la")
    run("feed", "create", "Street music")
    words = ("--title", "Corner", "--attr", "n=3", "--file", str(tmp_path / "song"))
    entry = run.json("publish", "Street music", *words)
    assert run.json("entries") == [entry]
    run("down")
    assert run.json("entries", "--where", "n = 3") == [entry]


@pytest.mark.parametrize(
    "words", [("status",), ("down",), ("neighbours",), ("meet", "192.0.2.7"), ("discover",)]
)
def test_without_a_node_the_way_to_start_one_is_told_and_no_home_is_made(
    run: Commands, tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = tmp_path / "nothing"
    answer = run(*words, home=home)
    assert answer.status == 1 and "start one with `passerby up`" in answer.err
    assert not home.exists()


def test_a_node_that_cannot_start_says_why(run: Commands) -> None:
    assert "hello.interval_s is 0.1 to 3600" in run.fails(
        "up", "--detach", "--interface", "lo", "--hello-interval", "0"
    )


def test_the_log_is_private(run: Commands, node: str) -> None:
    home = Path(run.json("me")["home"])
    assert (home / "node.log").stat().st_mode & 0o077 == 0


def test_the_doctor_asks_the_running_node(run: Commands, node: str, tmp_path: Path) -> None:
    (tmp_path / "song").write_bytes(bytes(50_000))
    run("feed", "create", "Street music")
    published = run.json("publish", "Street music", "--title", "T", "--file", str(tmp_path / "song"))
    well = run.json("doctor", "--interface", "lo")
    assert well["problems"] == [] and any("nobody is near" in note for note in well["notes"])
    with Path(published["enclosures"][0]["path"]).open("r+b") as file:
        file.write(b"rot")
    ran = run("doctor", "--interface", "lo")
    assert ran.status == 1 and "1 chunk damaged" in ran.out
    assert run.json("status")["node_id"] == node


# What would make `status` slow to start; other commands need most of these.
HEAVY = {
    *(
        "asyncio",
        "cryptography",
        "lxml",
        "sqlite3",
        "numpy",
        "zeroconf",
        "h11",
        "xml",
        "logging",
        "subprocess",
    ),
    *("dataclasses", "inspect", "hashlib", "ssl", "email", "importlib.metadata"),
}
OURS = {"passerby", "contentdb", "middleware", "discovery", "transport", "evaluation", "apps"}
LOADED_BY_STATUS = {
    *("passerby", "contentdb", "contentdb.attributes", "contentdb.errors", "contentdb.names", "middleware"),
    *("middleware.collector", "middleware.api", "middleware.api.address", "middleware.api.messages"),
    *(
        f"middleware.client{name}"
        for name in ("", ".connection", ".conversation", ".errors", ".homes", ".wire")
    ),
    *(f"middleware.cli{name}" for name in ("", ".arguments", ".desk", ".looking_arguments", ".main")),
    *(f"middleware.cli.{name}" for name in ("parsing", "running", "streams", "words")),
}


def test_status_loads_only_what_it_needs(run: Commands, node: str) -> None:
    program = "import sys, passerby; passerby.main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-P", "-c", program, "--home", str(run.home), "status"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert node in done.stdout
    loaded = set(done.stderr.split())
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name.partition(".")[0] in OURS} == LOADED_BY_STATUS
