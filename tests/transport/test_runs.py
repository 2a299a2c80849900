"""Runs against plain sets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from transport.solicitation.runs import Runs, cut

STEPS = st.lists(st.tuples(st.booleans(), st.integers(1, 40), st.integers(0, 12)), max_size=30)


def built(steps: list[tuple[bool, int, int]]) -> tuple[Runs, set[int]]:
    runs, plain = Runs(), set[int]()
    for is_added, first, more in steps:
        (runs.add if is_added else runs.remove)(first, first + more)
        numbers = range(first, first + more + 1)
        plain = plain.union(numbers) if is_added else plain.difference(numbers)
    return runs, plain


@given(STEPS)
def test_runs_hold_what_a_set_holds(steps: list[tuple[bool, int, int]]) -> None:
    runs, plain = built(steps)
    assert {n for first, last in runs for n in range(first, last + 1)} == plain
    assert all((n in runs) == (n in plain) for n in range(60))


@given(STEPS)
def test_neighbouring_runs_are_one(steps: list[tuple[bool, int, int]]) -> None:
    ends = [end for run in built(steps)[0] for end in run]
    assert ends == sorted(ends) and all(b > a + 1 for a, b in zip(ends[1::2], ends[2::2], strict=False))


@given(STEPS, STEPS)
def test_what_two_have_in_common(
    left: list[tuple[bool, int, int]], right: list[tuple[bool, int, int]]
) -> None:
    (one, one_plain), (two, two_plain) = built(left), built(right)
    assert {n for first, last in one.common(two) for n in range(first, last + 1)} == one_plain & two_plain


@given(STEPS, STEPS, st.integers(1, 30), st.integers(0, 30))
def test_a_run_is_cut_where_others_begin_and_end(
    left: list[tuple[bool, int, int]], right: list[tuple[bool, int, int]], first: int, more: int
) -> None:
    others = [built(left), built(right)]
    pieces = list(cut((first, first + more), [runs for runs, _ in others]))
    assert [n for a, b in pieces for n in range(a, b + 1)] == list(range(first, first + more + 1))
    for a, b in pieces:
        assert all(len({n in plain for n in range(a, b + 1)}) == 1 for _, plain in others)
    seen = [tuple(a in plain for _, plain in others) for a, _ in pieces]
    assert all(one != two for one, two in pairwise(seen))


def test_an_empty_run_adds_nothing() -> None:
    runs = Runs([(5, 4)])
    assert len(runs) == 0 and runs == Runs()
