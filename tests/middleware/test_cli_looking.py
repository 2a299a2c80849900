"""Commands that look beyond the node: two real nodes on loopback, on hello ports of their own."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.middleware.command import Commands

PATIENCE_S = 60.0
FEED = "urn:example:news"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait(is_so: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


class Pair:
    """Ada, who has a feed with an entry, and Bob, who wants it; they do not hear each other's hellos."""

    def __init__(self, run: Commands, folder: Path) -> None:
        self._run, self._homes = run, {"ada": folder / "ada", "bob": folder / "bob"}
        self._ports = {"ada": free_port(), "bob": free_port()}
        self.address = f"127.0.0.1:{self._ports['ada']}"
        for home in self._homes.values():
            home.mkdir(mode=0o700)
            (home / "settings.toml").write_text("[hello]\nmdns = false\n")

    def home(self, who: str) -> Path:
        return self._homes[who]

    def up(self) -> None:
        for who, home in self._homes.items():
            words = ("--interface", "lo", "--hello-port", str(self._ports[who]))
            self._run.json("up", "--detach", *words, home=home)

    def down(self) -> None:
        for home in self._homes.values():
            self._run("down", home=home)


@pytest.fixture
def pair(run: Commands, tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(run, tmp_path)
    ada = pair.home("ada")
    run.json("feed", "create", "Street music", "--id", FEED, home=ada)
    run.json("feed", "create", "Diary", "--unlisted", home=ada)
    run.json("publish", FEED, "--title", "one", home=ada)
    pair.up()
    yield pair
    pair.down()


def test_who_is_met_at_an_address_hands_over_what_is_wanted(run: Commands, pair: Pair) -> None:
    bob = pair.home("bob")
    run.json("subscribe", FEED, home=bob)
    assert run.json("neighbours", home=bob) == []
    assert run.json("meet", pair.address, home=bob) == {"address": pair.address}
    wait(lambda: run.json("entries", home=bob))
    (ada,) = run.json("neighbours", home=bob)
    assert ada["node_id"] == run.json("status", home=pair.home("ada"))["node_id"]


def test_what_is_no_address_is_refused_in_one_sentence(run: Commands, pair: Pair) -> None:
    assert "expected a numeric address" in run.fails("meet", "the cafe", home=pair.home("bob"))


@contextmanager
def goes_on(home: Path, *words: str) -> Iterator[Iterator[str]]:
    """A command that runs until Ctrl-C, and then ends well; the lines that it prints."""
    command = [sys.executable, "-P", "-m", "passerby", "--home", str(home), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield iter(process.stdout.readline, "")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def test_feeds_at_neighbours_are_listed_when_they_are_seen(run: Commands, pair: Pair) -> None:
    """Looked for before anybody is near, so that what is seen has come meanwhile."""
    bob = pair.home("bob")
    with goes_on(bob, "discover", "title LIKE '%music%'", "--for", "600") as lines:
        run.json("meet", pair.address, home=bob)
        assert next(lines) == f"Street music  {FEED}\n"


def test_feeds_seen_already_are_one_json_document(run: Commands, pair: Pair) -> None:
    bob = pair.home("bob")
    run.json("meet", pair.address, home=bob)
    wait(lambda: run.json("discover", "--for", "0.5", home=bob))
    seen = run.json("discover", "--for", "0.5", home=bob)
    assert [feed["id"] for feed in seen] == [FEED]  # the diary is unlisted
    assert seen[0]["seen_at"] == run.json("status", home=pair.home("ada"))["node_id"]
    assert run.json("discover", "title = 'Jazz'", "--for", "0.5", home=bob) == []


def test_a_logbook_is_followed_while_the_node_writes_it(run: Commands, pair: Pair) -> None:
    bob = pair.home("bob")
    with goes_on(bob, "logbook", "--follow", "--json") as lines:
        run.json("meet", pair.address, home=bob)
        assert any(json.loads(line)["kind"] == "contact_began" for line in lines)
    assert run.json("logbook", home=bob)[0]["kind"] == "node_started"
    assert len(run.json("logbook", "--limit", "1", home=bob)) == 1
    assert "contact_began" in run("logbook", home=bob).out


def test_a_logbook_is_read_without_a_node_and_broken_lines_are_passed_over(run: Commands) -> None:
    assert "nothing is noted yet" in run("logbook").err
    (run.home / "logbook").mkdir(parents=True)
    fact = {"v": 1, "node": "3f", "seq": 7, "at": 1_790_000_000_000, "now": 1.0, "kind": "node_stopped"}
    line = json.dumps(fact)
    (run.home / "logbook" / "2026-09-21.jsonl").write_text(f"{line}\n{line[:20]}\n[]\n{{}}\n{line}")
    assert run.json("logbook") == [fact]  # the last one is not written to its end yet


def test_an_app_is_given_a_token_and_it_is_taken_back(run: Commands) -> None:
    token = run.json("token", "jukebox")
    assert token["app"] == "jukebox" and len(token["token"]) == 64
    assert run.json("token", "jukebox") == token
    assert run.json("token") == ["jukebox"]
    assert run.json("token", "jukebox", "--revoke") == {"app": "jukebox"}
    assert "no app has a token" in run("token").err
    assert "jukebox has no token" in run.fails("token", "jukebox", "--revoke")
    assert "say whose" in run.fails("token", "--revoke", status=2)
