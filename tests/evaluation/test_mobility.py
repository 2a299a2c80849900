"""The random-waypoint model: people stay inside, meet whom they are near, and one seed is one history."""

import math
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import UsageError
from evaluation.simulator.mobility import RandomWaypoint, Walker, in_range, walks

SMALL = RandomWaypoint(width_m=200, height_m=100, range_m=30, most_pause_s=10)
NAMES = [f"n{number}" for number in range(12)]
COORDINATES = st.floats(-300, 300, width=32)


@given(st.lists(st.tuples(COORDINATES, COORDINATES), max_size=25), st.floats(0.5, 200))
def test_the_grid_finds_exactly_those_in_range(places: list[tuple[float, float]], range_m: float) -> None:
    def is_near(one: tuple[float, float], two: tuple[float, float]) -> bool:
        return (one[0] - two[0]) ** 2 + (one[1] - two[1]) ** 2 <= range_m * range_m

    every = combinations(range(len(places)), 2)
    assert in_range(places, range_m) == {(a, b) for a, b in every if is_near(places[a], places[b])}


def test_a_walker_stays_inside_and_is_never_too_fast() -> None:
    walker = Walker(SMALL, Random(3))
    places = [walker.place(second / 2) for second in range(4000)]
    assert all(0 <= x <= 200 and 0 <= y <= 100 for x, y in places)
    steps = [math.dist(one, two) for one, two in pairwise(places)]
    assert max(steps) <= 1.5 / 2 + 1e-9 and 0.0 in steps and sum(steps) > 100


def test_changes_alternate_and_come_in_order() -> None:
    near: set[tuple[str, str]] = set()
    last = 0.0
    for change in walks(SMALL, NAMES, Random(1), 600):
        pair = (change.one, change.two)
        assert change.time >= last and change.is_up is not (pair in near)
        last = change.time
        near ^= {pair}
    assert last > 500


def test_one_seed_gives_one_history() -> None:
    def history(seed: int) -> list[object]:
        return list(walks(SMALL, NAMES, Random(seed), 200))

    assert history(1) == history(1) != history(2)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("least_speed_m_s", 0.0),
        ("most_speed_m_s", 0.1),
        ("range_m", 0.0),
        ("step_s", 0.0),
        ("width_m", math.nan),
    ],
)
def test_a_model_that_cannot_be_is_refused_by_name(setting: str, value: float) -> None:
    with pytest.raises(UsageError, match=setting):
        RandomWaypoint(**{setting: value})
