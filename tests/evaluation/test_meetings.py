"""How two meet in a simulated world: at the same moment from both sides, and not again for nothing."""

import pytest

from evaluation.simulator.world import World
from middleware.logbook import SessionEnded, SessionRefused


@pytest.mark.parametrize("delay_s", [0.001, 0.4])
def test_two_who_dial_each_other_at_the_same_moment_have_two_sessions(delay_s: float) -> None:
    world = World(seed=41, delay_s=delay_s)
    alice, bob = world.add_nodes("alice", "bob")
    songs, tales = alice.create_feed("songs").id, bob.create_feed("tales").id
    song, tale = alice.publish(songs, "song", b"la la la"), bob.publish(tales, "tale", b"once upon a time")
    world.connect(alice, bob)
    world.run(30)
    assert world.streams_opened == 0  # nobody wants anything
    alice.subscribe(tales)
    bob.subscribe(songs)
    assert world.streams_opened == 2  # each dials before it can know that the other does
    world.run(30)
    assert alice.delivered(tales) == [tale.id] and bob.delivered(songs) == [song.id]
    for node in (alice, bob):
        facts = [line.fact for line in node.core.logbook.take()]
        sessions = [fact for fact in facts if isinstance(fact, SessionEnded)]
        assert {(fact.role, fact.reason) for fact in sessions} == {("client", "done"), ("server", "done")}
        assert not any(isinstance(fact, SessionRefused) for fact in facts)
    assert world.streams_opened == 2


def test_who_gave_something_away_does_not_dial_back_for_it() -> None:
    """More entries than a hello names: only the goodbye says that nothing of them is news."""
    world = World(seed=42)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("news").id
    for node in (alice, bob):
        node.subscribe(feed)
    for number in range(60):
        alice.publish(feed, f"news {number}")
    world.connect(alice, bob)
    world.run(300)
    assert len(bob.delivered(feed)) == 60
    assert (alice.dialled, bob.dialled) == (0, 1)
