"""People who walk: the random-waypoint model, and who of them is in range of whom.

Everybody walks in a straight line to a random place at a random speed, rests a while, and goes on. Positions
are looked at in fixed steps, through a grid whose cells are as wide as the range, so that each is compared
with those in its own cell and the cells around it. A meeting shorter than a step may be missed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from contentdb.errors import UsageError
from evaluation.simulator.contacts import Change

Place = tuple[float, float]
# The half of the cells around one that is looked at from it; the other half looks at it.
AROUND = ((1, -1), (1, 0), (1, 1), (0, 1))
# Speeds and places settle to what they are in the long run only after many walks; nobody wants to see that.
WARM_UP_LEGS = 20


@dataclass(frozen=True, slots=True)
class RandomWaypoint:
    width_m: float = 1000.0
    height_m: float = 1000.0
    least_speed_m_s: float = 0.5  # never 0: a walk that takes for ever would slow down everybody in the end
    most_speed_m_s: float = 1.5
    most_pause_s: float = 60.0
    range_m: float = 50.0
    step_s: float = 1.0

    def __post_init__(self) -> None:
        for name in ("width_m", "height_m", "range_m"):
            _within(name, getattr(self, name), 0.1, 1_000_000)
        _within("least_speed_m_s", self.least_speed_m_s, 0.01, 1000)
        _within("most_speed_m_s", self.most_speed_m_s, self.least_speed_m_s, 1000)
        _within("most_pause_s", self.most_pause_s, 0, 86_400)
        _within("step_s", self.step_s, 0.01, 60)


class Walker:
    """One person: from here to there, then a rest, and so on."""

    __slots__ = ("_from", "_from_s", "_model", "_rng", "_stays_until", "_there_s", "_to", "_velocity")

    def __init__(self, model: RandomWaypoint, rng: Random) -> None:
        self._model, self._rng = model, rng
        self._stays_until, self._to = 0.0, self._somewhere()
        self._next_leg()
        for _ in range(WARM_UP_LEGS):
            self._next_leg()
        # Somewhere in the middle of this leg, resting included.
        began, ended = self._from_s, self._stays_until
        self._shift(-rng.uniform(began, ended))

    def place(self, time: float) -> Place:
        """Where it is; `time` never goes back."""
        while time >= self._stays_until:
            self._next_leg()
        if time >= self._there_s:
            return self._to
        past_s = time - self._from_s
        return self._from[0] + self._velocity[0] * past_s, self._from[1] + self._velocity[1] * past_s

    def _somewhere(self) -> Place:
        return self._rng.uniform(0, self._model.width_m), self._rng.uniform(0, self._model.height_m)

    def _next_leg(self) -> None:
        self._from, self._from_s = self._to, self._stays_until
        self._to = self._somewhere()
        speed = self._rng.uniform(self._model.least_speed_m_s, self._model.most_speed_m_s)
        takes_s = max(math.dist(self._from, self._to) / speed, 1e-6)
        self._velocity = (self._to[0] - self._from[0]) / takes_s, (self._to[1] - self._from[1]) / takes_s
        self._there_s = self._from_s + takes_s
        self._stays_until = self._there_s + self._rng.uniform(0, self._model.most_pause_s)

    def _shift(self, by_s: float) -> None:
        self._from_s += by_s
        self._there_s += by_s
        self._stays_until += by_s


def in_range(places: Sequence[Place], range_m: float) -> set[tuple[int, int]]:
    """The pairs that are at most so far apart, as positions in the list, the lower first."""
    cells: dict[tuple[int, int], list[int]] = {}
    for at, (x, y) in enumerate(places):
        cells.setdefault((int(x // range_m), int(y // range_m)), []).append(at)
    square, pairs = range_m * range_m, set()
    for (column, row), here in cells.items():
        near = [other for right, up in AROUND for other in cells.get((column + right, row + up), ())]
        for at, one in enumerate(here):
            x, y = places[one]
            for two in (*here[at + 1 :], *near):
                other_x, other_y = places[two]
                if (x - other_x) * (x - other_x) + (y - other_y) * (y - other_y) <= square:
                    pairs.add((one, two) if one < two else (two, one))
    return pairs


def walks(model: RandomWaypoint, names: Sequence[str], rng: Random, until_s: float) -> Iterator[Change]:
    """Who comes into range and goes out of it up to that time, in order."""
    walkers = [Walker(model, Random(rng.getrandbits(64))) for _ in names]
    before: set[tuple[int, int]] = set()
    for step in range(int(until_s / model.step_s) + 1):
        time = step * model.step_s
        now = in_range([walker.place(time) for walker in walkers], model.range_m)
        for is_up, pairs in ((False, before - now), (True, now - before)):
            for one, two in sorted(pairs):
                yield Change(time, is_up, names[one], names[two])
        before = now


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise UsageError(f"{name} is {least:g} to {most:g}; got {value:g}")
