"""Apps of one node share what a contact can carry, whoever wants most."""

from typing import Any

from evaluation.simulator.run import Run, find_scenario


def test_one_greedy_and_nine_small_subscriptions_get_nearly_the_same() -> None:
    fairness: Any = Run(find_scenario("fairness"), 1).finish()["fairness"]
    assert fairness["subscriptions"] == 10 and fairness["jain"] > 0.98
