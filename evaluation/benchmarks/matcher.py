"""How long one entry takes to find the selectors it matches, among a hundred thousand and a million.

The selectors are made up from a seed and built as the parser would build them, because parsing a million
texts would take longer than everything that is measured here. Shares are chosen so that an entry matches
about 7 of 100,000 mixed and 80 of 100,000 hard selectors. A million are measured in a process of their own,
so that its memory is that of the index.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from string import ascii_lowercase

from contentdb.selector import Selector, parse
from contentdb.selector.index import SelectorIndex
from contentdb.selector.nodes import And, Between, Comparison, Condition, Identifier, Like, Literal, Scalar
from evaluation.benchmarks.harness import Row, as_json, as_table, interleaved, row, seconds
from middleware.collector import relax_collector

Entry = dict[str, Scalar]
FEEDS, AUTHORS, CATEGORIES, LANGUAGES = 10_000, 5_000, 50, 20
WORDS = ["".join(random.Random(seed).choices(ascii_lowercase, k=5)) for seed in range(1_500)]
RANGES = {"length": 1e6, "heat": 1e6, "lat": 180.0, "lon": 360.0}
FULL_MANY, QUICK_MANY = 1_000_000, 50_000
FULL_SOME, QUICK_SOME = 100_000, 10_000
# Before these, the index knows nothing about entries; they are not timed.
LEARNING_ENTRIES, TIMED_ENTRIES, NAIVE_ENTRIES = 200, 1_000, 4
PROMISED_SOME_MS, PROMISED_FEED_MS, PROMISED_HARD_MS = 0.1, 0.4, 6.0
PROMISED_SPEEDUP, PROMISED_ADDS, PROMISED_MEGABYTES = 100, 100_000, 1_000


def some_entry(rng: random.Random) -> Entry:
    return {
        "feed": f"urn:feed:{rng.randrange(FEEDS)}",
        "author_name": f"author {rng.randrange(AUTHORS)}",
        "category": f"c{skewed(rng, CATEGORIES)}",
        "language": f"l{skewed(rng, LANGUAGES)}",
        "title": " ".join(rng.choice(WORDS) for _ in range(6)),
        "rating": rng.randrange(1, 6),
        **{name: rng.uniform(0, span) for name, span in RANGES.items()},
    }


def feed_scoped(rng: random.Random) -> Condition:
    terms = [equal("feed", f"urn:feed:{rng.randrange(FEEDS)}"), interval(rng, rng.choice(list(RANGES)), 0.5)]
    if rng.random() < 0.5:
        terms.append(equal("language", f"l{skewed(rng, LANGUAGES)}"))
    return And(tuple(terms))


def mixed(rng: random.Random) -> Condition:
    """60 % of one feed, 20 % of an author in a category, 15 % of a place, 5 % by a word in the title."""
    kind = rng.random()
    if kind < 0.6:
        return feed_scoped(rng)
    category = equal("category", f"c{skewed(rng, CATEGORIES)}")
    if kind < 0.8:
        author = equal("author_name", f"author {rng.randrange(AUTHORS)}")
        return And((category, author, interval(rng, "length", 0.5)))
    if kind < 0.95:
        return And((interval(rng, "lat", 0.05), interval(rng, "lon", 0.05), category))
    return And((contains(rng), interval(rng, "heat", 0.5)))


def hard(rng: random.Random) -> Condition:
    """Without a feed or an author: categories, ranges and words in the title only."""
    kind = rng.random()
    category = equal("category", f"c{skewed(rng, CATEGORIES)}")
    if kind < 0.5:
        return And((category, interval(rng, "length", 0.1), interval(rng, "heat", 0.5)))
    if kind < 0.8:
        return And((interval(rng, "lat", 0.1), interval(rng, "lon", 0.1), category))
    return And((contains(rng), interval(rng, "heat", 0.5)))


WORKLOADS = {"feed": feed_scoped, "hard": hard, "mixed": mixed}


def equal(name: str, value: str) -> Condition:
    return Comparison("=", Identifier(name), Literal(value))


def interval(rng: random.Random, name: str, share: float) -> Condition:
    """Up to this share of the values, at any place."""
    width = rng.uniform(share / 10, share) * RANGES[name]
    low = rng.uniform(0, RANGES[name] - width)
    return Between(Identifier(name), Literal(low), Literal(low + width), False)


def contains(rng: random.Random) -> Condition:
    return Like(Identifier("title"), f"%{rng.choice(WORDS)}%", None, False)


def skewed(rng: random.Random, count: int) -> int:
    """A few are common and most are rare."""
    return min(count, int(count ** rng.random())) - 1


def selectors(workload: str, count: int) -> Iterator[Selector]:
    rng = random.Random(1)
    for _ in range(count):
        yield Selector("", WORKLOADS[workload](rng))


def entries(count: int) -> list[Entry]:
    rng = random.Random(2)
    return [some_entry(rng) for _ in range(count)]


def built(index: SelectorIndex, workload: str, count: int) -> list[float]:
    """Fill the index; how many selectors a second it took in, for each tenth, pauses included."""
    coming, rates, key = selectors(workload, count), [], 0
    for _ in range(10):
        took_s = 0.0
        for _ in range(10):  # few at a time, so that they are not counted as memory of the index
            some = [next(coming) for _ in range(count // 100)]
            started = time.perf_counter()
            for selector in some:
                index.add(key, selector)
                key += 1
            took_s += time.perf_counter() - started
        rates.append(count / 10 / took_s)
    return rates


def milliseconds_each(match: Callable[[Entry], object], some: list[Entry]) -> list[float]:
    took = []
    for entry in some:
        started = time.perf_counter()
        match(entry)
        took.append((time.perf_counter() - started) * 1e3)
    return took


def run(rounds: int, quick: bool) -> list[Row]:
    """With ``quick``, sizes are smaller than those the promises are about, so none is judged."""
    some, many = (QUICK_SOME, QUICK_MANY) if quick else (FULL_SOME, FULL_MANY)
    rows = [*run_some(rounds, some), *run_many(rounds, many)]
    if not quick:
        return rows
    return [
        replace(each, kept=None, promise=each.promise and f"quick: not judged ({each.promise} in full)")
        for each in rows
    ]


def run_some(rounds: int, count: int) -> list[Row]:
    """The index against evaluating every selector, which also checks that they agree."""
    index, every = SelectorIndex(), list(selectors("mixed", count))
    built(index, "mixed", count)
    asked = entries(LEARNING_ENTRIES + TIMED_ENTRIES)
    milliseconds_each(index.match, asked[:LEARNING_ENTRIES])

    def naive(entry: Entry) -> set[int]:
        return {key for key, selector in enumerate(every) if selector.evaluate(entry) is True}

    for entry in asked[-NAIVE_ENTRIES:]:
        if naive(entry) != index.match(entry):
            raise AssertionError(f"index and evaluation disagree about {entry}")
    timed = asked[LEARNING_ENTRIES:]
    took = interleaved(
        {
            "index": lambda: statistics.mean(milliseconds_each(index.match, timed)),
            "naive": lambda: statistics.mean(milliseconds_each(naive, timed[:NAIVE_ENTRIES])),
        },
        rounds,
    )
    speedup = statistics.median(took["naive"]) / statistics.median(took["index"])
    faster = {"promise": f"at least {PROMISED_SPEEDUP} x faster", "kept": speedup >= PROMISED_SPEEDUP}
    return [
        at_most(f"one entry, {count:,} mixed selectors", took["index"], "ms", PROMISED_SOME_MS),
        row("each evaluated instead", took["naive"], "ms", ratio=speedup, **faster),
        row("parsing, before they are added", [parse_rate() for _ in range(rounds)], "1/s"),
    ]


def parse_rate() -> float:
    texts = [f"feed = 'urn:feed:{at}' AND length BETWEEN {at} AND 9 AND lang = 'en'" for at in range(2_000)]
    return len(texts) / seconds(lambda: [parse(text) for text in texts])


def run_many(rounds: int, count: int) -> list[Row]:
    rows = []
    for workload, promised in (("feed", PROMISED_FEED_MS), ("hard", PROMISED_HARD_MS)):
        measured = in_own_process(workload, count, rounds)
        which = f"{count:,} {workload} selectors"
        mean, slowest = f"one entry, {which}, mean", f"one entry, {which}, 99 %"
        if workload == "feed":
            rows.append(row(mean, measured["mean_ms"], "ms"))
            rows.append(at_most(slowest, measured["p99_ms"], "ms", promised))
        else:
            rows.append(at_most(mean, measured["mean_ms"], "ms", promised))
            rows.append(row(slowest, measured["p99_ms"], "ms"))
        rows.append(row(f"the first {LEARNING_ENTRIES} entries, {which}, mean", measured["first_ms"], "ms"))
        enough = {
            "promise": f"at least {PROMISED_ADDS:,}/s",
            "kept": statistics.median(measured["adds"]) >= PROMISED_ADDS,
        }
        rows.append(row(f"adding {which}, parsed before", measured["adds"], "1/s", **enough))
        rows.append(at_most(f"resident with {which}", measured["megabytes"], "MB", PROMISED_MEGABYTES))
    return rows


def at_most(what: str, values: list[float], unit: str, limit: float) -> Row:
    return row(
        what, values, unit, promise=f"at most {limit:,} {unit}", kept=statistics.median(values) <= limit
    )


def in_own_process(workload: str, count: int, rounds: int) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "evaluation.benchmarks.matcher", "--alone", workload]
    asked = [*command, "--count", str(count), "--rounds", str(rounds)]
    finished = subprocess.run(asked, capture_output=True, text=True, check=True)
    measured: dict[str, list[float]] = json.loads(finished.stdout)
    return measured


def alone(workload: str, count: int, rounds: int) -> dict[str, list[float]]:
    relax_collector()  # as in every process of ours
    index = SelectorIndex()
    adds = built(index, workload, count)
    asked = entries(LEARNING_ENTRIES + TIMED_ENTRIES)
    first = milliseconds_each(index.match, asked[:LEARNING_ENTRIES])
    took = [milliseconds_each(index.match, asked[LEARNING_ENTRIES:]) for _ in range(rounds)]
    return {
        "adds": adds,
        "first_ms": [statistics.mean(first)],
        "mean_ms": [statistics.mean(each) for each in took],
        "p99_ms": [statistics.quantiles(each, n=100)[98] for each in took],
        "megabytes": [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--alone", choices=sorted(WORKLOADS), help="measure one workload in this process")
    parser.add_argument("--count", type=int, default=FULL_MANY)
    asked = parser.parse_args()
    if asked.alone:
        print(json.dumps(alone(asked.alone, asked.count, asked.rounds)))
        return
    rows = run(asked.rounds, asked.quick)
    print(as_json(rows) if asked.json else as_table(rows))


if __name__ == "__main__":
    main()
