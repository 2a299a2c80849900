"""Random lives of random nodes, seed by seed, on all cores: whatever happens, the same few things must hold.

    ./passerby simulate chaos --seeds 2000

A seed that fails is printed with what was wrong and the command that repeats it.
"""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence

from evaluation.simulator.history import History
from evaluation.simulator.life import Life
from evaluation.simulator.machine import Crash

COMMAND = "./passerby simulate chaos --seeds 1 --seed"
# Seeds that a worker takes at once: enough to keep it busy, few enough for all to end together.
PORTION = 4


def run_seed(seed: int, history: History | None = None) -> list[str]:
    """Live one life; returns what was wrong at its end, in words."""
    life = Life(seed, history)
    life.happen()
    return life.come_to_rest()


def outcome(seed: int) -> tuple[int, list[str]]:
    """The same. What surfaces as an exception is a bug, and carries the seed with it."""
    try:
        return seed, run_seed(seed)
    except Crash as crash:  # it passes everything by, also the pool, which would wait for ever
        raise RuntimeError(f"a process ended that nobody watched; seed {seed}: {COMMAND} {seed}") from crash
    except Exception as error:
        error.add_note(f"seed {seed}: {COMMAND} {seed}")
        raise


def outcomes(seeds: Sequence[int], jobs: int) -> Iterator[tuple[int, list[str]]]:
    if jobs == 1:
        yield from map(outcome, seeds)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(outcome, seeds, PORTION)


def run_seeds(first: int, count: int, jobs: int = 1) -> int:
    """Live many; returns how many went wrong, and prints for each how to repeat it."""
    failed = 0
    seeds = range(first, first + count)
    for done, (seed, wrong) in enumerate(outcomes(seeds, jobs), start=1):
        if wrong:
            failed += 1
            print(f"seed {seed}: {COMMAND} {seed}")
            print("".join(f"  {line}\n" for line in wrong), end="", flush=True)
        if sys.stderr.isatty() or done == count:
            sys.stderr.write(f"\r{done} of {count} seeds, {failed} failed")
    sys.stderr.write("\n")
    return failed


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.simulator.chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--digest", action="store_true", help="print a digest of each seed's whole history")
    options = parser.parse_args(argv)
    if options.digest:
        for seed in range(options.first, options.first + options.seeds):
            history = History()
            run_seed(seed, history)
            print(seed, history.events, history.hexdigest(), flush=True)
        return 0
    jobs = max(1, min(options.jobs, options.seeds))
    return 1 if run_seeds(options.first, options.seeds, jobs) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
