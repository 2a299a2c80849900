"""What two nodes do when they meet, as real processes: every promise of a session in one run."""

import sys
from collections.abc import Callable

from evaluation.benchmarks.harness import Row
from evaluation.benchmarks.meeting import contacts, enclosure, entries, idle, links, serving

PARTS: dict[str, Callable[[int, bool], list[Row]]] = {
    "a large file": enclosure.run,
    "many small entries": entries.run,
    "slow links": links.run,
    "contacts": contacts.run,
    "one after the other": serving.run,
    "an idle node": idle.run,
}


def run(rounds: int, quick: bool) -> list[Row]:
    rows: list[Row] = []
    for number, (what, part) in enumerate(PARTS.items(), start=1):
        sys.stderr.write(f"passerby: session, part {number} of {len(PARTS)}: {what} ...\n")
        rows += part(rounds, quick)
    return rows
