"""Events happen in the order of their times, those of one moment in that in which they were asked for."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from evaluation.simulator.timeline import Timeline

TIMES = st.lists(st.floats(0, 0.02) | st.sampled_from([0.0, 0.001, 0.0015, 0.002, 5.0]), max_size=30)


@given(TIMES, st.lists(st.floats(0, 0.01), max_size=5))
def test_events_happen_in_the_order_of_a_stable_sort(times: list[float], steps: list[float]) -> None:
    line = Timeline()
    happened: list[tuple[float, int]] = []
    for number, time in enumerate(times):
        line.when(time, lambda n=number: happened.append((line.now, n)))  # type: ignore[misc]
    for step in [*steps, 10.0]:
        line.run(step)
    assert happened == sorted((time, number) for number, time in enumerate(times))


@given(st.lists(st.floats(0, 0.004), min_size=1, max_size=20))
def test_what_an_event_brings_about_finds_its_place(delays: list[float]) -> None:
    line = Timeline()
    happened: list[float] = []

    def happen(rest: list[float]) -> None:
        happened.append(line.now)
        for at, delay in enumerate(rest[:2]):
            line.after(delay, partial(happen, rest[at + 2 :]))

    line.after(delays[0], partial(happen, delays[1:]))
    line.run(1.0)
    assert happened == sorted(happened) and line.now == 1.0


def test_time_that_passes_in_pieces_brings_the_same() -> None:
    def history(steps: list[float]) -> list[float]:
        line = Timeline()
        happened: list[float] = []

        def tick() -> None:
            happened.append(line.now)
            line.after(0.0004, tick)

        line.after(0.0, tick)
        for step in steps:
            line.run(step)
        return happened

    assert history([0.015625]) == history([0.0078125, 0.0, 0.00390625, 0.00390625])


def test_what_is_due_in_the_past_happens_now() -> None:
    line = Timeline()
    line.run(2.0)
    happened: list[float] = []
    line.when(1.0, lambda: happened.append(line.now))
    line.run(0.0)
    assert happened == [2.0]
