"""Mutated inputs for every decoder: ./passerby fuzz --inputs 1000000 [--seed N] [--only DECODER]

Whatever comes in, a decoder returns or refuses, in bounded time and memory; anything else ends the run with
the input and the command that repeats it.
"""

import argparse
import os
import secrets
import sys

from tests.fuzz.run import TABLE, Bounds, Failure, Inputs, Job, Report, fuzz, try_one


def main() -> int:
    arguments = argparse.ArgumentParser(prog="./passerby fuzz", description=__doc__)
    arguments.add_argument("--inputs", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, help="the same seed tries the same inputs; else a new one")
    arguments.add_argument("--only", default="", metavar="DECODER", help="as the table at the end names it")
    arguments.add_argument("--at", type=int, metavar="NUMBER", help="this input alone, and all of it shown")
    arguments.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = arguments.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    if given.at is not None:
        return repeat(Job(seed, range(given.at, given.at + 1), given.only))
    step = given.processes
    jobs = [Job(seed, range(start, given.inputs, step), given.only) for start in range(step)]
    report = fuzz(jobs)
    print(table(report))
    if report.failure is not None:
        print(told(report.failure, jobs[0]))
    return int(report.failure is not None)


def repeat(job: Job) -> int:
    number = job.numbers.start
    decoder, data = Inputs(TABLE, job.only).make(job.seed, number)
    print(f"{decoder.name}, {len(data)} bytes: {data!r}", flush=True)
    what = try_one(decoder, data, number, report := Report(), Bounds())
    print(what or ("refused" if report.refused else "taken"), f"after {report.slowest_s:.3f} s of CPU time")
    return int(bool(what))


def table(report: Report) -> str:
    rows = [f"{'decoder':<16}{'taken':>10}{'refused':>10}"]
    for name in sorted({*report.taken, *report.refused}):
        rows.append(f"{name:<16}{report.taken.get(name, 0):>10}{report.refused.get(name, 0):>10}")
    rows.append(
        f"{report.inputs} inputs; the slowest, number {report.slowest}, took {report.slowest_s:.3f} s of CPU "
        f"time; memory grew by {report.grown_bytes / 2**20:.0f} MiB"
    )
    return "\n".join(rows)


def told(failure: Failure, job: Job) -> str:
    only = f" --only {job.only}" if job.only else ""
    return (
        f"{failure.decoder} failed at input {failure.number}: {failure.what.rstrip()}\n"
        f"the input, {len(failure.data)} bytes, begins {failure.data[:400]!r}\n"
        f"repeat it: ./passerby fuzz --seed {job.seed}{only} --at {failure.number}"
    )


if __name__ == "__main__":
    sys.exit(main())
