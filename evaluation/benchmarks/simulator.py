"""How fast the simulator is: hellos, sessions with real cryptography, and two whole scenarios."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.benchmarks.harness import Row, interleaved, row
from evaluation.simulator.run import SCENARIOS, Run
from evaluation.simulator.world import World
from middleware.config import HelloSettings, Settings

LEAST_HELLOS, LEAST_SESSIONS = 150_000, 250
MOST_FESTIVAL_S, MOST_SCHOOL_S = 240, 600
ENTRIES = 10
RING = 3  # each node hears so many on either side
SCHOOL = Path(__file__).parents[3] / "shared/data/contacts-sociopatterns/primary-school-2009.contacts.csv.gz"


def run(rounds: int, quick: bool) -> list[Row]:
    nodes, sessions = (20, 5) if quick else (200, 200)
    measured: dict[str, Callable[[], float]] = {
        "hellos": lambda: hellos_per_s(nodes, 5.0 if quick else 60.0),
        "sessions": lambda: sessions_per_s(sessions),
    }
    rates = interleaved(measured, rounds)
    rows = [
        _least("hellos said and heard, six neighbours each", rates["hellos"], LEAST_HELLOS, "/s"),
        _least(f"whole sessions of {ENTRIES} entries", rates["sessions"], LEAST_SESSIONS, "/s"),
    ]
    if quick:
        return [*rows, _most("demo scenario", scenario_s("demo"), MOST_FESTIVAL_S)]
    rows.append(_most("1,000 people walk about for 1 h, hello 1 s", scenario_s("festival"), MOST_FESTIVAL_S))
    if SCHOOL.exists():
        rows.append(_most("a school of 242 for two days", scenario_s("school", SCHOOL), MOST_SCHOOL_S))
    return rows


def _least(what: str, values: list[float], least: float, unit: str) -> Row:
    median = statistics.median(values)
    return row(what, values, unit, promise=f"at least {least:,}", kept=median >= least)


def _most(what: str, took_s: float, most: float) -> Row:
    return row(what, [took_s], "s", promise=f"at most {most}", kept=took_s <= most)


def hellos_per_s(count: int, for_s: float) -> float:
    """Nodes in a ring that have nothing to give each other; finding each other at first is not counted."""
    world = World(seed=1)
    settings = Settings(hello=HelloSettings(interval_s=1.0))
    nodes = world.add_nodes(*(f"node{number}" for number in range(count)), settings=settings)
    for at, node in enumerate(nodes):
        for step in range(1, RING + 1):
            world.connect(node, nodes[(at + step) % count])
    world.run(5.0)
    before = world.hellos_sent + world.hellos_heard
    started = time.perf_counter()
    world.run(for_s)
    return (world.hellos_sent + world.hellos_heard - before) / (time.perf_counter() - started)


def sessions_per_s(count: int) -> float:
    """From ten entries published until the other has them all; publishing is not counted."""
    world = World(seed=1)
    giver, taker = world.add_nodes("giver", "taker")
    feed = giver.create_feed("news")
    taker.subscribe(feed.id)
    world.connect(giver, taker)
    world.run(5.0)
    opened, took = world.streams_opened, 0.0
    for number in range(count):
        for entry in range(ENTRIES):
            giver.publish(feed.id, f"news {number} {entry}")
        started = time.perf_counter()
        world.run(3.0)
        took += time.perf_counter() - started
    assert len(taker.deliveries) == count * ENTRIES
    return (world.streams_opened - opened) / took


def scenario_s(name: str, trace: Path | None = None) -> float:
    started = time.perf_counter()
    Run(SCENARIOS / f"{name}.toml", 1, trace=trace).finish()
    return time.perf_counter() - started
