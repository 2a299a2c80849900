"""Hellos go out at intervals, early when there is news, and less often while nothing happens."""

import itertools
from random import Random

import pytest

from contentdb.errors import UsageError
from discovery.effects import AnswerHello, SendHello
from discovery.neighbourhood import Neighbourhood
from discovery.schedule import HelloSettings
from tests.discovery.scenes import EPOCH, OWN, at, hello, node, only, quiet, run, started

FIXED = HelloSettings(interval_s=2.0, backs_off=False)


def hello_times(hood: Neighbourhood, until: float) -> list[float]:
    return [now for now, effect in run(hood, until) if isinstance(effect, SendHello)]


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def test_nothing_is_said_before_there_is_a_pair() -> None:
    hood = quiet()
    assert hood.next_timer() == float("inf")
    assert hood.timer_fired(1e9) == []
    assert only(hood.hello_received(hello(), at("a"), 1.0), AnswerHello) == []


def test_the_first_pair_is_said_at_once() -> None:
    (effect,) = quiet().pair_changed(EPOCH, 7, 4000, 5.0)
    assert isinstance(effect, SendHello)
    assert (effect.hello.node, effect.hello.revision, effect.hello.port) == (OWN, 7, 4000)


def test_the_next_hello_comes_within_what_was_promised_and_is_jittered() -> None:
    hood = started(settings=FIXED)
    waits = gaps(hello_times(hood, 500.0))
    assert all(1.8 <= wait <= 2.2 for wait in waits)
    assert len(set(waits)) > len(waits) / 2
    (said,) = only(hood.timer_fired(hood.next_timer()), SendHello)
    assert said.hello.next_s == 2.2


def test_an_interval_that_was_set_does_not_back_off() -> None:
    assert max(gaps(hello_times(started(settings=FIXED), 5000.0))) <= 2.2


def test_the_shortest_interval_keeps_the_least_gap() -> None:
    hood = started(settings=HelloSettings(interval_s=0.1, backs_off=False))
    assert min(gaps(hello_times(hood, 20.0))) >= 0.1 - 1e-9


def test_a_quiet_node_backs_off_to_sixteen_seconds_and_promises_it() -> None:
    hood = started()
    said = [(now, effect.hello) for now, effect in run(hood, 300.0) if isinstance(effect, SendHello)]
    assert max(gaps([now for now, _ in said if now < 60])) <= 1.1
    assert said[-1][1].next_s == 17.6
    for (now, sent), (after, _next) in itertools.pairwise(said):
        assert after - now <= sent.next_s


def test_somebody_new_ends_the_back_off() -> None:
    hood = started()
    run(hood, 300.0)
    effects = hood.hello_received(hello(), at("a"), 300.0)
    (answered,) = only(effects, AnswerHello)
    assert answered.hello.next_s == 1.1
    assert hood.next_timer() <= 301.1


def test_a_gain_ends_the_back_off_and_is_told_at_once() -> None:
    hood = started()
    run(hood, 300.0)
    (said,) = hood.pair_changed(EPOCH, 2, 4000, 300.0)
    assert isinstance(said, SendHello)
    assert (said.hello.revision, said.hello.next_s) == (2, 1.1)


def test_a_link_that_comes_up_is_greeted_at_once() -> None:
    assert quiet().link_came_up(1.0) == []
    hood = started()
    run(hood, 300.0)
    (said,) = hood.link_came_up(300.5)
    assert isinstance(said, SendHello) and said.hello.next_s == 1.1


def test_an_unchanged_pair_says_nothing() -> None:
    assert started().pair_changed(EPOCH, 1, 4000, 3.0) == []


def test_two_hellos_are_never_less_than_a_tenth_of_a_second_apart() -> None:
    hood = started()
    assert hood.pair_changed(EPOCH, 2, 4000, 0.05) == []
    (said,) = only([effect for _, effect in run(hood, 0.1)], SendHello)
    assert said.hello.revision == 2


def test_a_long_download_is_told_about_once_a_second() -> None:
    hood, said = started(), 0
    for step in range(1, 6000):
        now = step / 100
        said += len(hood.pair_changed(EPOCH, step + 1, 4000, now))
        said += len([effect for _, effect in run(hood, now) if isinstance(effect, SendHello)])
    assert 55 <= said <= 135


def test_each_new_neighbour_is_answered_once_and_answers_are_not() -> None:
    hood = started()
    (answered,) = only(hood.hello_received(hello(), at("a", 5123), 1.0), AnswerHello)
    assert answered.to == at("a", 5123) and answered.hello.is_answer
    assert only(hood.hello_received(hello(revision=2), at("a", 5123), 2.0), AnswerHello) == []
    said = hello(node(77))
    from_answer = type(said)(said.node, said.port, said.epoch, said.revision, said.next_s, is_answer=True)
    assert only(hood.hello_received(from_answer, at("b"), 3.0), AnswerHello) == []


def test_answers_are_bounded() -> None:
    hood, answered = started(), 0
    for number in range(1, 5001):
        effects = hood.hello_received(hello(node(number)), at(f"10.{number % 250}.0.1"), 1 + number / 1000)
        answered += len(only(effects, AnswerHello))
    assert 32 <= answered <= 32 * 6


def test_a_node_lost_and_found_within_a_second_is_answered_once() -> None:
    hood = started()
    assert only(hood.hello_received(hello(), at("a"), 1.0), AnswerHello)
    hood.disproved(hello().node, at("a", 4000), 1.1)
    assert only(hood.hello_received(hello(), at("b"), 1.5), AnswerHello) == []
    hood.disproved(hello().node, at("b", 4000), 1.6)
    assert only(hood.hello_received(hello(), at("c"), 2.5), AnswerHello)


def test_the_same_seed_gives_the_same_times() -> None:
    def history(seed: int) -> list[float]:
        hood = Neighbourhood(OWN, HelloSettings(), Random(seed))
        hood.pair_changed(EPOCH, 1, 4000, 0.0)
        return hello_times(hood, 100.0)

    assert history(3) == history(3) != history(4)


@pytest.mark.parametrize("wrong", [{"interval_s": 0.09}, {"interval_s": 3601.0}, {"quiet_s": -1.0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        HelloSettings(**wrong)  # type: ignore[arg-type]
