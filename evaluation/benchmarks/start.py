"""How soon a node with a full store answers, and short commands that ask it, as a person at a terminal waits.

    ./passerby bench start

Both go through the `./passerby` script of this checkout, which is set up, in a home on this disk with 100,000
signed entries of one's own in ten feeds; the node says hello on loopback only. *Starting*: from the start of
`./passerby up` until the node has answered `status`, asked again every 5 ms. *Commands*: from their start to
their end, one at a time, in turn, each asking the node that runs. Every round measures each three times.
"""

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from evaluation.benchmarks.harness import Row, interleaved, row
from evaluation.benchmarks.meeting.content import publish_entries
from evaluation.benchmarks.meeting.nodes import PATIENCE_S, ROOT, BenchmarkFailed, Home, Place
from middleware.client.connection import Connection
from middleware.client.errors import NodeNotRunning

FULL_LIBRARY, QUICK_LIBRARY = 100_000, 1_000
FEEDS = 10
TIMES_A_ROUND = 3  # with the default of five rounds, medians are of fifteen
ASK_AGAIN_S = 0.005
MOST_START_S, MOST_COMMAND_S = 0.6, 0.1
COMMANDS = ("status", "feeds", "entries", "neighbours", "storage")
SCRIPT = ROOT / "passerby"


def run(rounds: int, quick: bool) -> list[Row]:
    library, times = (QUICK_LIBRARY, rounds) if quick else (FULL_LIBRARY, rounds * TIMES_A_ROUND)
    if not SCRIPT.exists():
        raise BenchmarkFailed("starting is measured through ./passerby, which only a checkout has")
    with Place() as place:
        home = place.home("node")
        for number in range(FEEDS):
            feed = home.do("feed", "create", f"Feed {number}")
            publish_entries(home, feed, library // FEEDS, seed=number)
        starts = [start(home, is_last=number == times) for number in range(1, times + 1)]
        measured: dict[str, Callable[[], float]] = {name: partial(ask, home, name) for name in COMMANDS}
        answers = interleaved(measured, times)
    with_entries = f"{library:,} entries"
    return [
        _row(f"./passerby up until status answers, {with_entries}", starts, MOST_START_S),
        *(_row(f"./passerby {name}, {with_entries}", answers[name], MOST_COMMAND_S) for name in COMMANDS),
    ]


def _row(what: str, values: list[float], most: float) -> Row:
    return row(what, values, "s", promise=f"at most {most:g} s", kept=median(values) <= most)


def start(home: Home, *, is_last: bool) -> float:
    """Seconds until the node answers; only the last one is left running."""
    with open(home.path.with_suffix(".said"), "ab") as said:
        began = time.perf_counter()
        home.process = subprocess.Popen(
            _words(home, "up"), stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        home.wait(lambda: _answers(home), "the node did not answer", look_again_s=ASK_AGAIN_S)
        took = time.perf_counter() - began
    if not is_last:
        home.stop()
    return took


def _answers(home: Home) -> bool:
    try:
        with Connection(str(home.path), "bench") as node:
            return bool(node.call("status"))
    except NodeNotRunning:
        return False


def ask(home: Home, name: str) -> float:
    began = time.perf_counter()
    ran = subprocess.run(
        _words(home, name), capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S
    )
    took = time.perf_counter() - began
    if ran.returncode != 0:
        raise BenchmarkFailed(f"`./passerby {name}` failed: {os.fsdecode(ran.stderr).strip()}")
    return took


def _words(home: Home, name: str) -> list[str]:
    return [str(SCRIPT), "--home", str(home.path), name]
