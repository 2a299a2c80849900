"""How fast filters are built, asked and read, against pybloom-live alone, and how often they err.

The ratio is ours to pybloom-live's own hashing in the same run, which has no salt.
"""

import statistics
from collections.abc import Callable, Container
from functools import partial
from random import Random

from contentdb.bloom import SALT_BYTES, Filter, decode_filter, encode_filter, sized_for
from evaluation.benchmarks.harness import Row, interleaved, row, seconds

FULL_SIZES, QUICK_SIZES = (1_000, 100_000), (1_000,)
ERROR_RATE = 0.01


def run(rounds: int, quick: bool) -> list[Row]:
    rows = []
    for size in QUICK_SIZES if quick else FULL_SIZES:
        rows += rows_for(size, rounds)
    return rows


def rows_for(size: int, rounds: int) -> list[Row]:
    members, strangers = ids(0, size), ids(size, 2 * size)
    salt = Random(size).randbytes(SALT_BYTES)
    ours, peer = Filter.build(members, salt, ERROR_RATE), peer_of(members)
    encoded = encode_filter(ours)
    runs: dict[str, Callable[[], object]] = {
        "build": partial(Filter.build, members, salt, ERROR_RATE),
        "build, pybloom-live": partial(peer_of, members),
        "ask for strangers": partial(ours.contains_many, strangers),
        "ask for strangers, pybloom-live": partial(peer_contains, peer, strangers),
        "read from the wire": partial(decode_filter, encoded),
    }
    rates = interleaved({what: partial(ids_per_s, size, run) for what, run in runs.items()}, rounds)
    rows = []
    for what, values in rates.items():
        against = rates.get(f"{what}, pybloom-live")
        ratio = statistics.median(values) / statistics.median(against) if against else None
        rows.append(row(f"filter of {size:,} ids: {what}", values, "ids/s", ratio=ratio))
    rows.append(row(f"filter of {size:,} ids: on the wire", [8 * len(encoded) / size], "bits each"))
    return [*rows, *errors(members, strangers, rounds)]


def errors(members: list[str], strangers: list[str], rounds: int) -> list[Row]:
    """What a filter hides by chance, and what two filters with different salts both hide."""
    dice, hidden, twice = Random(1), [], []
    for _ in range(rounds):
        one, two = (Filter.build(members, dice.randbytes(SALT_BYTES), ERROR_RATE) for _ in range(2))
        left = [id for id, found in zip(strangers, one.contains_many(strangers), strict=True) if found]
        hidden.append(100 * len(left) / len(strangers))
        twice.append(100 * sum(two.contains_many(left)) / len(strangers))
    what = f"filter of {len(members):,} ids:"
    return [row(f"{what} hidden by chance", hidden, "%"), row(f"{what} also under a new salt", twice, "%")]


def ids(start: int, stop: int) -> list[str]:
    return [f"urn:uuid:1225c695-cfb8-4ebb-aaaa-{number:012x}" for number in range(start, stop)]


def peer_of(members: list[str]) -> Container[str]:
    """pybloom-live's filter as it is, of the size that ours has too."""
    built = sized_for(len(members), ERROR_RATE)
    for id in members:
        built.add(id, skip_check=True)
    filled: Container[str] = built
    return filled


def peer_contains(peer: Container[str], wanted: list[str]) -> list[bool]:
    return [id in peer for id in wanted]


def ids_per_s(size: int, run: Callable[[], object]) -> float:
    return size / seconds(run)
