"""Neighbours are found, change and are lost; several places and sources make one neighbour."""

from dataclasses import replace

from discovery.effects import AnswerHello, NeighbourChanged, NeighbourFound, NeighbourLost
from tests.discovery.scenes import ANN, BEN, EPOCH, OWN, at, hello, node, only, quiet, run, started

OTHER_EPOCH = "f" * 16


def test_the_first_hello_finds_a_neighbour_where_it_says_it_listens() -> None:
    hood = quiet()
    (found,) = hood.hello_received(hello(revision=7), at("192.0.2.7", 51234), 10.0)
    assert isinstance(found, NeighbourFound)
    ann = found.neighbour
    assert ann.addresses == (at("192.0.2.7", 4000),)
    assert (ann.node, ann.epoch, ann.revision, ann.since) == (ANN, EPOCH, 7, 10.0)
    assert (ann.is_proved, ann.sources) == (False, ("hello",))


def test_the_same_hello_again_tells_nothing_but_keeps_the_neighbour() -> None:
    hood = quiet()
    for now in range(100):
        run(hood, now)
        effects = hood.hello_received(hello(), at("a"), float(now))
        assert len(effects) == (1 if now == 0 else 0)
    (ann,) = hood.neighbours()
    assert (ann.since, ann.last_heard) == (0.0, 99.0)


def test_what_is_only_repeated_is_told_apart_from_what_has_consequences() -> None:
    hood, said = started(), hello()
    assert not hood.heard_again(said, at("a"), 0.0)
    hood.hello_received(said, at("a"), 0.0)
    hood.hello_received(said, at("a"), 0.1)
    timer = hood.next_timer()
    assert hood.heard_again(said, at("a"), 0.2)
    assert (hood.neighbours()[0].last_heard, hood.next_timer()) == (0.2, timer)
    for other, source in ((said, at("b")), (hello(revision=2), at("a")), (hello(BEN), at("a"))):
        assert not hood.heard_again(other, source, 0.3)
    asking = replace(said, asks=True)
    hood.hello_received(asking, at("a"), 1.3)
    hood.hello_received(asking, at("a"), 1.4)
    assert not hood.heard_again(asking, at("a"), 2.5)
    assert only(hood.hello_received(asking, at("a"), 2.5), AnswerHello)


def test_a_neighbour_is_lost_after_three_times_its_interval() -> None:
    hood = quiet()
    hood.hello_received(hello(next_s=2.0), at("a"), 0.0)
    hood.hello_received(hello(next_s=2.0), at("a"), 5.0)
    ((now, lost),) = run(hood, 1000.0)
    assert isinstance(lost, NeighbourLost)
    assert (now, lost.seconds, lost.neighbour.addresses) == (11.0, 5.0, (at("a", 4000),))
    assert hood.neighbours() == [] and hood.next_timer() == float("inf")


def test_a_fast_neighbour_is_not_lost_within_a_second() -> None:
    hood = quiet()
    hood.hello_received(hello(next_s=0.1), at("a"), 0.0)
    ((now, _lost),) = run(hood, 10.0)
    assert now == 1.0


def test_a_neighbour_that_speeds_up_is_lost_sooner() -> None:
    hood = quiet()
    hood.hello_received(hello(next_s=100.0), at("a"), 0.0)
    hood.hello_received(hello(next_s=1.0), at("a"), 1.0)
    ((now, _lost),) = run(hood, 1000.0)
    assert now == 4.0


def test_a_new_pair_is_a_change_in_revision_and_in_epoch() -> None:
    hood = quiet()
    hood.hello_received(hello(revision=1), at("a"), 0.0)
    (changed,) = only(hood.hello_received(hello(revision=2), at("a"), 1.0), NeighbourChanged)
    assert changed.neighbour.revision == 2
    rolled_back = type(hello())(ANN, 4000, OTHER_EPOCH, 1, 1.0)
    (changed,) = only(hood.hello_received(rolled_back, at("a"), 2.0), NeighbourChanged)
    assert (changed.neighbour.epoch, changed.neighbour.revision) == (OTHER_EPOCH, 1)


def test_our_own_hello_is_passed_over_wherever_it_comes_from() -> None:
    hood = quiet()
    assert hood.hello_received(hello(OWN), at("a"), 0.0) == []
    assert hood.sighted(OWN, at("a"), source_name="mdns", lasts_s=10, now=0.0) == []
    assert hood.neighbours() == []


def test_several_interfaces_make_one_neighbour_with_the_newest_address_first() -> None:
    hood = quiet()
    hood.hello_received(hello(), at("192.0.2.7"), 0.0)
    (changed,) = only(hood.hello_received(hello(), at("[fe80::1%eth0]"), 0.5), NeighbourChanged)
    assert set(changed.neighbour.addresses) == {at("192.0.2.7", 4000), at("[fe80::1%eth0]", 4000)}
    hood.hello_received(hello(revision=2), at("[fe80::1%eth0]"), 1.0)
    (ann,) = hood.neighbours()
    assert ann.addresses[0] == at("[fe80::1%eth0]", 4000)


def test_an_address_that_fell_silent_is_dropped_while_the_neighbour_stays() -> None:
    hood = quiet()
    hood.hello_received(hello(), at("a"), 0.0)
    for now in range(1, 8):
        run(hood, now)
        hood.hello_received(hello(), at("b"), float(now))
    (ann,) = hood.neighbours()
    assert ann.addresses == (at("b", 4000),)


def test_a_node_that_cannot_be_dialled_is_a_neighbour_without_address() -> None:
    (found,) = only(quiet().hello_received(hello(port=0), at("a"), 0.0), NeighbourFound)
    assert found.neighbour.addresses == ()


def test_mdns_and_hello_make_one_contact() -> None:
    hood = quiet()
    common = {"epoch": EPOCH, "revision": 1, "source_name": "mdns", "lasts_s": 4500.0}
    (found,) = hood.sighted(ANN, at("a", 4000), now=0.0, **common)  # type: ignore[arg-type]
    assert isinstance(found, NeighbourFound)
    assert hood.hello_received(hello(), at("a"), 1.0) == []
    (ann,) = hood.neighbours()
    assert ann.sources == ("hello", "mdns") and ann.addresses == (at("a", 4000),)


def test_a_slow_source_does_not_overrule_hellos() -> None:
    hood = quiet()
    hood.hello_received(hello(revision=50), at("a"), 0.0)
    hood.sighted(ANN, at("a", 4000), epoch=EPOCH, revision=42, source_name="mdns", lasts_s=99, now=0.1)
    hood.sighted(ANN, at("a", 4000), epoch=EPOCH, revision=47, source_name="mdns", lasts_s=99, now=0.2)
    (ann,) = hood.neighbours()
    assert ann.revision == 50


def test_when_hellos_stop_the_contact_is_over_though_mdns_remembers() -> None:
    hood = quiet()
    hood.sighted(ANN, at("a", 4000), epoch=EPOCH, revision=1, source_name="mdns", lasts_s=4500, now=0.0)
    hood.hello_received(hello(), at("a"), 1.0)
    ((now, lost),) = run(hood, 10_000.0)
    assert isinstance(lost, NeighbourLost) and now == 4.0


def test_mdns_alone_keeps_a_neighbour_until_it_says_goodbye() -> None:
    hood = quiet()
    hood.sighted(ANN, at("a", 4000), epoch=EPOCH, revision=1, source_name="mdns", lasts_s=4500, now=0.0)
    assert run(hood, 600.0) == []
    (lost,) = hood.gone(ANN, "mdns", 600.0)
    assert isinstance(lost, NeighbourLost) and lost.seconds == 600.0
    assert hood.gone(ANN, "mdns", 601.0) == []


def test_a_goodbye_of_one_source_leaves_the_others() -> None:
    hood = quiet()
    hood.sighted(ANN, at("b", 4000), epoch=EPOCH, revision=1, source_name="mdns", lasts_s=4500, now=0.0)
    hood.hello_received(hello(), at("a"), 0.5)
    assert only(hood.gone(ANN, "mdns", 1.0), NeighbourLost) == []
    (ann,) = hood.neighbours()
    assert ann.addresses == (at("a", 4000),)


def test_a_given_address_has_no_pair_until_somebody_says_it() -> None:
    hood = quiet()
    (found,) = only(
        hood.sighted(ANN, at("a", 4000), source_name="given", lasts_s=60, now=0.0), NeighbourFound
    )
    assert found.neighbour.epoch == ""
    (changed,) = only(hood.hello_received(hello(revision=9), at("a"), 1.0), NeighbourChanged)
    assert changed.neighbour.revision == 9
    hood.sighted(ANN, at("c", 4000), source_name="given", lasts_s=60, now=2.0)
    (ann,) = hood.neighbours()
    assert ann.revision == 9


def test_neighbours_are_told_in_the_order_of_their_ids() -> None:
    hood = quiet()
    for number in (3, 1, 2):
        hood.hello_received(hello(node(number)), at(f"10.0.0.{number}"), 0.0)
    assert [neighbour.node for neighbour in hood.neighbours()] == [node(1), node(2), node(3)]
    assert hood.neighbour(BEN) is None


def test_a_neighbour_that_asks_is_answered_though_it_is_known_but_not_more_than_once_a_second() -> None:
    core = started()
    core.hello_received(hello(), at("192.0.2.1"), 0.0)
    asking = replace(hello(), asks=True)
    answers = [
        effect
        for number in range(30)
        for effect in core.hello_received(asking, at("192.0.2.1"), 1.0 + number / 10)
        if isinstance(effect, AnswerHello)
    ]
    assert len(answers) == 3 and all(answer.hello.is_answer and not answer.hello.asks for answer in answers)
    assert core.hello_received(replace(asking, is_answer=True), at("192.0.2.1"), 9.0) == []
