"""Looking for somebody at an address: how often, and when to stop."""

import itertools
from dataclasses import replace
from random import Random

import pytest

from contentdb.errors import UsageError
from contentdb.names import Address, NodeId
from discovery.hello import Hello
from evaluation.simulator.world import World
from middleware.effects import SendTo
from middleware.outreach import MAX_PLACES, MAX_WAIT_S, Outreach

ANN = Address("ip:192.0.2.1:40123")
ANSWER = Hello(NodeId("a" * 40), 40123, "e" * 16, 5, 1.1, is_answer=True)
UNASKED = Hello(NodeId("a" * 40), 40123, "e" * 16, 5, 1.1)


def outreach() -> Outreach:
    return Outreach(Random(1), 4747)


def asked(core: Outreach, until: float) -> list[float]:
    """When it asked; nobody answers."""
    times = []
    while (now := core.next_timer()) < until:
        if core.asks(now):
            times.append(now)
        for address in core.dials(now, has_room=True):
            core.dial_ended(address, now)
    return times


def test_a_given_address_is_asked_at_once_at_its_port_and_at_that_of_hellos() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    assert core.asks(0.0) == [ANN, Address("ip:192.0.2.1:4747")] and core.asks(0.0) == []


def test_where_nobody_answers_it_asks_ever_less_often() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    times = asked(core, 3600.0)
    waits = [later - before for before, later in itertools.pairwise(times)]
    assert waits[0] < 2 and max(waits) <= 1.1 * MAX_WAIT_S and len(times) < 25


def test_whoever_answers_is_asked_again_in_time_and_who_speaks_unasked_is_left_alone() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    core.asks(0.0)
    core.heard(Address("ip:192.0.2.1:5555"), ANSWER, 16.0, 0.1)
    assert core.next_timer() == 0.1 + 1.1
    core.heard(Address("ip:192.0.2.1:5555"), ANSWER, 0.5, 0.2)
    assert core.next_timer() == 0.2 + 0.5
    core.heard(Address("ip:192.0.2.1:5555"), UNASKED, 16.0, 0.3)
    assert core.next_timer() > 3.0
    core.heard(Address("ip:192.0.2.9:5555"), ANSWER, 16.0, 0.4)  # somebody else
    assert core.next_timer() > 3.0


def test_a_given_address_that_does_not_answer_is_dialled_and_less_often_each_time() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    dialled = []
    while (now := core.next_timer()) < 3600.0:
        core.asks(now)
        for address in core.dials(now, has_room=True):
            dialled.append(now)
            core.dial_ended(address, now + 1.0)
    waits = [later - before for before, later in itertools.pairwise(dialled)]
    assert 0 < dialled[0] < 5 and waits[0] < 10 and len(dialled) < 25 and max(waits) <= 1.1 * MAX_WAIT_S + 1


def test_it_dials_one_at_a_time_and_only_where_there_is_room() -> None:
    core = outreach()
    for number in range(1, 4):
        core.given(Address(f"ip:192.0.2.{number}:40123"), 0.0)
    for now in (0.0, 2.0):
        core.asks(now)
    assert core.dials(3.0, has_room=False) == [] and core.next_timer() > 3.0
    assert len(core.dials(5.0, has_room=True)) == 1
    assert len(core.dials(7.0, has_room=True)) == 1


def test_where_hellos_were_heard_lately_nobody_is_dialled_blindly() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    core.asks(0.0)
    core.heard(ANN, ANSWER, 1.1, 0.1)
    for now in (2.0, 4.0, 8.0):
        core.asks(now)
    assert core.dials(9.0, has_room=True) == []


def test_remembered_addresses_are_asked_for_hellos_and_never_dialled_blindly() -> None:
    core = outreach()
    core.remembered([ANN, Address("ip:192.0.2.2:1")], 0.0)
    seen = set()
    while (now := core.next_timer()) < 600.0:
        seen |= set(core.asks(now))
        assert core.dials(now, has_room=True) == []
    assert seen == {"ip:192.0.2.1:4747", "ip:192.0.2.2:4747"}


def test_a_new_link_is_a_reason_to_look_again_soon() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    asked(core, 3600.0)
    core.links_changed(3600.0)
    assert core.next_timer() <= 3601.0


def test_there_are_only_so_many_places_and_given_ones_come_first() -> None:
    core = outreach()
    core.remembered([Address(f"ip:10.0.{n >> 8}.{n & 255}:1") for n in range(200)], 0.0)
    core.given(ANN, 10.0)
    places = {address.rpartition(":")[0] for address in core.asks(10.0)}
    assert len(places) == MAX_PLACES and "ip:192.0.2.1" in places


def test_a_node_that_is_to_meet_somebody_asks_at_once_and_remembers_it() -> None:
    world = World(seed=1)
    (alice,) = world.add_nodes("alice")
    world.run(2)
    effects = alice.core.meet("192.0.2.7:40123", world.now, world.at)
    asks = [effect for effect in effects if isinstance(effect, SendTo)]
    assert [ask.to for ask in asks] == ["ip:192.0.2.7:40123", "ip:192.0.2.7:4747"] and asks[0].hello.asks
    assert alice.store.peers.given() == ["ip:192.0.2.7:40123"]
    with pytest.raises(UsageError, match=r"192\.0\.2\.7:4747"):
        alice.core.meet("ann.example", world.now, world.at)
    assert alice.store.peers.given() == ["ip:192.0.2.7:40123"]


def test_what_others_at_the_same_host_say_does_not_keep_us_from_asking_who_answered() -> None:
    core = outreach()
    core.given(ANN, 0.0)
    core.asks(0.0)
    core.heard(ANN, ANSWER, 1.1, 0.5)
    due = core.next_timer()
    for moment in range(1, 20):
        core.heard(ANN, replace(UNASKED, node=NodeId("b" * 40)), 1.1, moment / 20)
    assert core.next_timer() == due


def test_our_own_hellos_do_not_pass_for_those_of_whom_we_meet_on_this_machine() -> None:
    world = World(seed=3)
    (ann,) = world.add_nodes("ann")
    world.run(2)
    here = Address("ip:127.0.0.1:4999")
    ann.core.meet("127.0.0.1:4999", world.now, world.at)
    before = ann.core.next_timer()
    own = replace(UNASKED, node=ann.core.id)
    ann.core.hello_received(own, here, world.now, world.at)
    assert ann.core.next_timer() == before
