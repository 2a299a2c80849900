"""Homes in a folder of the benchmark's own, and the node processes that run in them, as people run them."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[3]
# Only who waits for something that never comes waits so long.
PATIENCE_S = 120.0
LOOK_AGAIN_S = 0.02

Fact = dict[str, Any]


class BenchmarkFailed(Exception):
    """One sentence for people: what did not happen, or what is missing."""


class Place:
    """A folder for homes, and a UDP port for their hellos; `with` ends all processes and removes it all."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="passerby-bench-"))
        self.hello_port = free_port(socket.SOCK_DGRAM)
        self.homes: list[Home] = []
        self._left = ExitStack()
        self._left.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def home(self, name: str, *, hello_port: int | None = None, settings: str = "mdns = false") -> "Home":
        """A home whose node says hello on loopback only; `settings` are further lines of `[hello]` and on."""
        home = Home(self.folder / name, hello_port or self.hello_port, settings)
        self.homes.append(home)
        return home

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for home in self.homes:
            self._left.callback(home.kill)
        self._left.close()


class Home:
    def __init__(self, path: Path, hello_port: int, settings: str) -> None:
        self.path, self.hello_port = path, hello_port
        self.path.mkdir(mode=0o700)
        hello = f'[hello]\ninterfaces = ["lo"]\nport = {hello_port}\ninterval_s = 1.0\n'
        (self.path / "settings.toml").write_text(hello + settings + "\n")
        self.process: subprocess.Popen[bytes] | None = None
        self.readers: list[Reader] = []

    def do(self, *words: str) -> str:
        """A command of the command line; what it prints."""
        ran = subprocess.run(
            self._command(*words), env=_environment(), capture_output=True, text=True, timeout=PATIENCE_S
        )
        if ran.returncode != 0:
            raise BenchmarkFailed(f"`passerby {' '.join(words)}` failed: {ran.stderr.strip()}")
        return ran.stdout.strip()

    def up(self) -> None:
        starts = len(self.facts("node_started"))
        with open(self.path.with_suffix(".said"), "ab") as said:
            self.process = subprocess.Popen(
                self._command("up"), env=_environment(), stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        self.wait(lambda: len(self.facts("node_started")) > starts, "the node did not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE_S)
            self.process = None

    def kill(self) -> None:
        for reader in self.readers:
            reader.kill()
        self.readers.clear()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def facts(self, kind: str) -> list[Fact]:
        """What its logbook tells of this kind; a line that is half written does not count yet."""
        mark = f'"kind":"{kind}"'
        return [
            json.loads(line)
            for path in sorted((self.path / "logbook").glob("*.jsonl"))
            for line in path.read_text().splitlines(keepends=True)
            if mark in line and line.endswith("\n")
        ]

    def wait(
        self, is_so: Callable[[], object], otherwise: str, *, look_again_s: float = LOOK_AGAIN_S
    ) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        while not is_so():
            if self.process is not None and self.process.poll() is not None:
                said = self.path.with_suffix(".said").read_text(errors="replace").strip().splitlines()
                raise BenchmarkFailed(f"{otherwise}; the node ended: {said[-1] if said else 'silently'}")
            if time.monotonic() > give_up_at:
                raise BenchmarkFailed(f"{otherwise} within {PATIENCE_S:.0f} s")
            time.sleep(look_again_s)

    def wait_for(self, kind: str, count: int = 1) -> list[Fact]:
        self.wait(lambda: len(self.facts(kind)) >= count, f"{kind} was not noted {count} times")
        return self.facts(kind)

    @property
    def node_id(self) -> str:
        return str(self.facts("node_started")[-1]["node"])

    def forget(self) -> None:
        """Remove the home, which is never used again."""
        self.kill()
        shutil.rmtree(self.path, ignore_errors=True)

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "passerby", "--home", str(self.path), *words]


# As an app's author would write it; a process of its own, so it may use the façade.
READER = """
import sys, time, passerby
home, feed, count = sys.argv[1:]
with passerby.connect(app="bench", home=home) as node:
    entries = node.subscribe(feed)
    print("ready", flush=True)
    for number, entry in enumerate(entries, start=1):
        if number == int(count):
            print(time.monotonic(), flush=True)
"""


class Reader:
    """An app that reads entries as they come, and says when it has read the last."""

    def __init__(self, home: Home, feed: str, count: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", READER, str(home.path), feed, str(count)],
            env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        home.readers.append(self)
        self._line("ready")

    def last_read(self) -> float:
        """Wait for the moment at which the last entry was read."""
        return float(self._line(""))

    def _line(self, expected: str) -> str:
        assert self._process.stdout is not None and self._process.stderr is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        line = self._process.stdout.readline().strip() if ready else ""
        if not line or (expected and line != expected):
            self.kill()
            raise BenchmarkFailed(f"the reading app did not finish: {self._process.stderr.read()[-300:]!r}")
        return line

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def client_session(home: Home) -> Fact:
    """What the first session says in which this node was the client; waits for its end."""

    def ended() -> list[Fact]:
        return [fact for fact in home.facts("session_ended") if fact["role"] == "client"]

    home.wait(ended, "no session ended")
    return ended()[0]


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
