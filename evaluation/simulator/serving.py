"""Serving several clients at once against one after the other: the table of docs/evaluation.md.

    .venv/bin/python -m evaluation.simulator.serving

Runs the scenario `serving` with 1, 2, 3 and 6 clients, both ways, from three seeds each.
"""

import tomllib
from statistics import fmean, median
from typing import Any, NamedTuple

from evaluation.simulator.outcome import Tallies
from evaluation.simulator.run import find_scenario
from evaluation.simulator.scenario import read_scenario
from evaluation.simulator.stage import Stage

CLIENTS, SEEDS = (1, 2, 3, 6), (1, 2, 3)
WAYS = ("concurrent", "sequential")


class Served(NamedTuple):
    """Seconds from the beginning of the contact until a client had the file."""

    mean: float
    last: float
    refused: float


def serve(clients: int, way: str, seed: int) -> Served:
    path = find_scenario("serving")
    document = _with(tomllib.loads(path.read_text("utf-8")), clients, way)
    stage, tallies = Stage(read_scenario(document, path.parent), seed), Tallies()
    stage.world.run(stage.scenario.duration_s)
    for name, node in stage.world.nodes.items():
        tallies.take(name, node.machine.logbook.take())
    began_s = document["contacts"]["list"][0][0]
    waited = [at - began_s for goal, at in tallies.reached.items() if goal in stage.goals]
    if len(waited) < clients:
        raise RuntimeError(
            f"{clients - len(waited)} of {clients} clients got nothing in time, from seed {seed}"
        )
    return Served(fmean(waited), max(waited), tallies.refused)


def _with(document: dict[str, Any], clients: int, way: str) -> dict[str, Any]:
    """The scenario with fewer clients; one alone is called `client`, as groups of one are."""
    contacts = document["contacts"]["list"][:clients]
    if clients == 1:
        contacts = [[*contacts[0][:3], "client"]]
    document["nodes"]["client"], document["contacts"]["list"] = clients, contacts
    document["settings"]["sessions"]["serving"] = way
    return document


def row(clients: int) -> str:
    cells = [str(clients)]
    for way in WAYS:
        runs = [serve(clients, way, seed) for seed in SEEDS]
        mean, last, refused = (median(values) for values in zip(*runs, strict=True))
        cells += [f"{mean:.1f}", f"{last:.1f}", f"{refused:.0f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("| clients | concurrent: mean | last | refused | sequential: mean | last | refused |")
    print("|---|---|---|---|---|---|---|")
    for clients in CLIENTS:
        print(row(clients), flush=True)
