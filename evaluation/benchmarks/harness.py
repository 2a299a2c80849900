"""Runs rounds of competing measurements in turn and prints medians, spreads and ratios.

This kind of machine is noisy, so a figure is never taken alone: the thing and its limit are measured
alternately in one process, and what counts is the ratio of their medians.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, against what, and whether the promise holds."""

    what: str
    value: float | None  # median; None: it could not be measured here, and `promise` says why
    unit: str
    low: float | None  # smallest and largest of the rounds
    high: float | None
    rounds: int = 1
    promise: str = ""  # in words, e.g. "at least 0.6 x raw executemany"
    ratio: float | None = None  # against the limit or the peer, if there is one
    kept: bool | None = None  # None: reported only


def seconds(run: Callable[[], object]) -> float:
    """How long one run takes; garbage of earlier runs is collected first."""
    gc.collect()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def interleaved(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Call each measurement once a round, in turn, so that a slow minute hits all of them."""
    results: dict[str, list[float]] = {name: [] for name in runs}
    # What the benchmark itself made and holds, often a hundred thousand objects, is no load of what it
    # measures: frozen, the collector does not walk it again and again while ours runs.
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            for name, run in runs.items():
                results[name].append(run())
    finally:
        gc.unfreeze()
    return results


def row(what: str, values: list[float], unit: str, **promised: object) -> Row:
    middle = statistics.median(values)
    return Row(what, middle, unit, min(values), max(values), len(values), **promised)  # type: ignore[arg-type]


def lacking(what: str, why: str) -> Row:
    """A row for what cannot be measured here."""
    return Row(what, None, "", None, None, 0, promise=why)


def as_table(rows: list[Row]) -> str:
    cells = [("what", "median", "spread", "rounds", "ratio", "promise", "kept")]
    for r in rows:
        ratio = f"{r.ratio:.2f}" if r.ratio is not None else ""
        kept = {True: "yes", False: "NO", None: ""}[r.kept]
        median = spread = ""
        if r.value is not None and r.low is not None and r.high is not None:
            median, spread = f"{_short(r.value)} {r.unit}", f"{_short(r.low)} to {_short(r.high)}"
        cells.append((r.what, median, spread, str(r.rounds), ratio, r.promise, kept))
    widths = [max(len(line[column]) for line in cells) for column in range(7)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def as_json(rows: list[Row]) -> str:
    return json.dumps([asdict(r) for r in rows], indent=2)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
