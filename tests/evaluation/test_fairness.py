"""Apps of one node share what a contact can carry, whoever wants most."""

from typing import Any

from evaluation.simulator.radio import Link
from evaluation.simulator.run import Run, find_scenario
from evaluation.simulator.world import World
from middleware.fairness import jain_index


def test_one_greedy_and_nine_small_subscriptions_get_nearly_the_same() -> None:
    fairness: Any = Run(find_scenario("fairness"), 1).finish()["fairness"]
    assert fairness["subscriptions"] == 10 and fairness["jain"] > 0.98


def test_who_wanted_nothing_for_long_gets_no_more_than_who_did() -> None:
    world = World(seed=21)
    library, reader = world.add_nodes("library", "reader")
    busy, idle = library.create_feed("busy").id, library.create_feed("idle").id
    reader.subscribe(busy, app="busy")
    world.connect(library, reader, Link(100_000, 0.01))
    for number in range(250):
        library.publish(busy, f"film {number}", world.rng.randbytes(20_000))
        library.publish(idle, f"note {number}", world.rng.randbytes(20_000))
    world.run(20)
    before = len(reader.delivered(busy))
    assert before > 50
    reader.subscribe(idle, app="idle")
    world.run(25)
    got = [float(len(reader.delivered(busy)) - before), float(len(reader.delivered(idle)))]
    # All that was asked for from then on went to the late one when it began at nothing.
    assert sum(got) > 50 and jain_index(got) > 0.97
