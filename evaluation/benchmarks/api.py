"""The local API of a node as people run it: how fast apps publish, and how soon others have read it.

    ./passerby bench api

A node runs in a process of its own, in a new home on this disk, and meets nobody. *Publishing*: one
connection sends on with a window of 512 unanswered publications, three attributes each, with full-text search
on; each is acknowledged when it is on the disk. *Reading*: 50 connected apps subscribe to a feed; from the
moment another app sends a publication until the last of the 50 has read the entry from its socket. The flush
of this disk alone is measured beside it: nothing that is acknowledged when durable is faster.
"""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from evaluation.benchmarks.harness import Row, row
from middleware.api.address import read_pointer
from middleware.api.messages import encode_request
from middleware.client.connection import Connection

APPS = 50
WINDOW = 512
ATTRIBUTES = {"genre": "jazz", "length_s": 337, "rating": 4.5}
START_TIMEOUT_S = 60.0


def run(rounds: int, quick: bool) -> list[Row]:
    publications, readings = (512, 20) if quick else (20_000, 400)
    rates, cpus, soon, late, flushes = [], [], [], [], []
    for _ in range(rounds):
        with node() as (home, process):
            rate, cpu = publishing(home, process, publications)
            waits = sorted(reading(home, readings))
            flushes.append(median(flush_times(home, 50)) * 1000)
        rates.append(rate)
        cpus.append(cpu)
        soon.append(median(waits) * 1000)
        late.append(waits[int(len(waits) * 0.99)] * 1000)
    return [
        row(
            "publications, pipelined, durable",
            rates,
            "1/s",
            promise="at least 10,000",
            kept=median(rates) >= 10_000,
        ),
        row("  processor time of the node for each", cpus, "µs"),
        row(
            f"published until {APPS} apps have read it",
            soon,
            "ms",
            promise="at most 2",
            kept=median(soon) <= 2,
        ),
        row("  the slowest of a hundred", late, "ms", promise="at most 10", kept=median(late) <= 10),
        row("  one flush of this disk", flushes, "ms"),
    ]


@contextmanager
def node() -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    """A node in a new home; no interface has the name it is told, so it says hello to nobody."""
    home = Path(tempfile.mkdtemp(prefix="passerby-bench-"))
    command = [sys.executable, "-P", "-m", "passerby", "--home", str(home), "up", "--interface", "nowhere"]
    here = Path(__file__).parent.parent.parent
    process = subprocess.Popen(
        command, cwd=here, env={**os.environ, "PYTHONPATH": str(here)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while read_pointer(str(home)) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the node did not start")
            time.sleep(0.01)
        yield home, process
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(home)


def publishing(home: Path, process: "subprocess.Popen[bytes]", count: int) -> tuple[float, float]:
    """Publications a second, and microseconds of the node's processor for each."""
    with Connection(str(home), "bench") as app:
        feed = app.call("create_feed", {"title": "Street music"})["id"]
        spent, began = processor_s(process.pid), time.perf_counter()
        waiting: deque[int] = deque()
        for number in range(count):
            params = {"feed": feed, "title": f"Corner of {number}th", "attributes": ATTRIBUTES}
            waiting.append(app.send("publish", params))
            if len(waiting) >= WINDOW:
                app.answer(waiting.popleft())
        while waiting:
            app.answer(waiting.popleft())
        took = time.perf_counter() - began
        return count / took, (processor_s(process.pid) - spent) / count * 1e6


def reading(home: Path, count: int) -> Iterator[float]:
    """Seconds from sending a publication until the last of the apps has read it."""
    with ExitStack() as stack, Connection(str(home), "writer") as writer:
        feed = writer.call("create_feed", {"title": "News"})["id"]
        apps = [stack.enter_context(_app(home, f"reader-{n}")) for n in range(APPS)]
        poll = select.epoll()
        stack.callback(poll.close)
        for app in apps:
            _ask(app, "subscribe", {"feed": feed})
            poll.register(app, select.EPOLLIN)
        by_number = {app.fileno(): app for app in apps}
        for number in range(count):
            began = time.perf_counter()
            request = writer.send(
                "publish", {"feed": feed, "title": f"News {number}", "attributes": ATTRIBUTES}
            )
            marks = _read_all(poll, by_number)
            yield time.perf_counter() - began
            writer.answer(request)
            for app, mark in marks.items():
                _ask(app, "done", {"marks": [mark]})


def _read_all(poll: "select.epoll", apps: dict[int, socket.socket]) -> dict[socket.socket, str]:
    marks: dict[socket.socket, str] = {}
    while len(marks) < len(apps):
        for number, _ in poll.poll():
            message = json.loads(apps[number].recv(1 << 16))
            marks[apps[number]] = message["params"]["mark"]
    return marks


def _app(home: Path, name: str) -> socket.socket:
    app = socket.socket(socket.AF_UNIX)
    app.connect(str((read_pointer(str(home)) or {})["socket"]))
    _ask(app, "hello", {"app": name})
    return app


def _ask(app: socket.socket, method: str, params: dict[str, Any]) -> None:
    app.sendall(encode_request(1, method, params))
    assert b'"result"' in app.recv(1 << 16)


def processor_s(process: int) -> float:
    """What a process has used so far, in its own code and the system's, all threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def flush_times(folder: Path, count: int) -> Iterator[float]:
    """What a flush of a few hundred bytes takes on this disk."""
    path = folder / "flushed"
    with path.open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(bytes(500))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            yield time.perf_counter() - began
    path.unlink()
