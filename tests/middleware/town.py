"""People with machines on one network, and the nodes that run on them, as processes of ``passerby up``.

A test module gets the fixture by ``from tests.middleware.town import lan as lan, town as town``.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.middleware.command import ROOT, process
from tests.netns import Lan, Machine
from tests.netns import lan as lan

# Only who waits for something that never comes waits so long.
PATIENCE_S = 90.0
FEED = "urn:example:street-music"
MB = 1_000_000
RATE = "60mbit"
SMALL, LARGE = 2 * MB, 30 * MB

Fact = dict[str, Any]


class Person:
    """A home, and the node that runs in it on a machine now and then."""

    def __init__(self, home: Path, machine: Machine) -> None:
        self.home, self.machine = home, machine
        self.environment = {"PYTHONPATH": str(ROOT)}
        self._process: subprocess.Popen[bytes] | None = None
        self._said = home.with_suffix(".said")

    def do(self, *words: str) -> Any:
        """A command while the node is not up; what it answers."""
        ran = process("--home", str(self.home), *words, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def set(self, text: str) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "settings.toml").write_text(text)

    def up(self, *options: str) -> None:
        starts = len(self.facts("node_started"))
        command = ["ip", "netns", "exec", self.machine.name, sys.executable, "-P", "-m", "passerby"]
        with open(self._said, "ab") as said:
            self._process = subprocess.Popen(
                [*command, "--home", str(self.home), "up", "--hello-interval", "0.5", *options],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        self.wait(lambda: len(self.facts("node_started")) > starts)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Ask it to end, as Ctrl-C does; it ends well and has complained of nothing."""
        assert self._process is not None
        self._process.send_signal(number)
        assert self._process.wait(PATIENCE_S) == 0, self.said()
        assert "Traceback" not in self.said(), self.said()
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def facts(self, kind: str) -> list[Fact]:
        """What its logbook tells of this kind; a line that is half written does not count yet."""
        lines = [
            line
            for path in sorted((self.home / "logbook").glob("*.jsonl"))
            for line in path.read_text().splitlines(keepends=True)
        ]
        facts = [json.loads(line) for line in lines if line.endswith("\n")]
        return [fact for fact in facts if fact["kind"] == kind]

    def wait(self, is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            ended = self._process is not None and self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                kinds = ("contact_began", "contact_ended", "session_ended", "session_refused")
                told = "\n".join(str(fact) for kind in kinds for fact in self.facts(kind))
                raise AssertionError(f"waited in vain; it said:\n{self.said()}\nlogbook:\n{told}")
            time.sleep(0.05)

    def wait_for(self, kind: str, count: int = 1) -> None:
        self.wait(lambda: len(self.facts(kind)) >= count)

    def bytes_received(self) -> int:
        shown = subprocess.run(
            ["ip", "-n", self.machine.name, "-s", "-j", "link", "show", "eth0"],
            capture_output=True,
            check=True,
        )
        return int(json.loads(shown.stdout)[0]["stats64"]["rx"]["bytes"])

    def wait_until_midway(self, length: int) -> None:
        """Until about a third of a file of this length has come; its transfer is under way."""
        before = self.bytes_received()
        self.wait(lambda: self.bytes_received() - before > length // 3)
        assert not self.facts("enclosure_received")

    def slow(self, rate: str = RATE) -> None:
        """What it sends takes its time from now on."""
        shape = ["root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms"]
        command = ["tc", "-n", self.machine.name, "qdisc", "add", "dev", "eth0", *shape]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"cannot limit the rate of an interface: {done.stderr.strip()}")

    def quick(self) -> None:
        """What it sends takes no time any more."""
        command = ["tc", "-n", self.machine.name, "qdisc", "delete", "dev", "eth0", "root"]
        subprocess.run(command, check=True)

    def publish(self, path: Path, title: str = "Accordion") -> str:
        """An entry with this file; its id."""
        if not self.do("feeds"):
            self.do("feed", "create", "Street music", "--id", FEED)
        return str(self.do("publish", FEED, "--title", title, "--file", str(path))["id"])

    def check(self, entry: str, path: Path) -> None:
        """It has the entry, its file byte for byte, and everything it keeps is in order."""
        into = self.home.with_suffix(".files")
        self.do("get", entry, "--into", str(into))
        assert _hash(into / path.name) == _hash(path)
        ran = process("--home", str(self.home), "doctor", "--interface", "lo")
        assert ran.returncode == 0, ran.stdout + ran.stderr


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def file_of(length: int, path: Path) -> Path:
    path.write_bytes(random.Random(length).randbytes(length))
    return path


class Town:
    """Makes people, each with a machine on the network."""

    def __init__(self, lan: Lan, folder: Path) -> None:
        self.lan, self._folder = lan, folder
        self.people: list[Person] = []

    def person(self, *, has_ipv4: bool = True, ipv4: str = "") -> Person:
        number = len(self.people) + 1
        ipv4 = ipv4 or (f"10.78.0.{number}/24" if has_ipv4 else "")
        machine = self.lan.machine(ipv4=ipv4, has_ipv6=not has_ipv4)
        person = Person(self._folder / f"home{number}", machine)
        self.people.append(person)
        return person

    def reader(self) -> Person:
        reader = self.person()
        reader.do("subscribe", FEED)
        return reader

    def author_and_reader(self, file: Path) -> tuple[Person, Person, str]:
        author = self.person()
        return author, self.reader(), author.publish(file)


@pytest.fixture
def town(lan: Lan, tmp_path: Path) -> Iterator[Town]:
    town = Town(lan, tmp_path)
    try:
        yield town
    finally:
        for person in town.people:
            person.kill()


def settle(*people: Person) -> None:
    """Until nobody's logbook has had a new session for three seconds."""
    began = since = time.monotonic()
    seen = -1
    while time.monotonic() < since + 3.0:
        now = sum(len(person.facts("session_ended")) for person in people)
        assert time.monotonic() < began + PATIENCE_S, f"they cannot stop: {now} sessions"
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.1)


def stays_so(seconds: float, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert is_so()
        time.sleep(0.2)
