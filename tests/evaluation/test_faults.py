"""Nodes whose machines, clocks and links fail, in a simulated world."""

from random import Random

from evaluation.simulator.interference import Disturbance
from evaluation.simulator.opportunity import Contact, Trouble, earliest_arrivals, good_contacts
from evaluation.simulator.radio import Link
from evaluation.simulator.world import World
from middleware.effects import Deliver

DAY_MS = 86_400_000


def test_a_download_goes_on_after_the_reader_was_killed() -> None:
    world = World(seed=1, rate_bytes_s=100_000)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    entry = alice.publish(feed.id, "song", world.rng.randbytes(1_000_000))
    world.connect(alice, bob)
    world.run(5)
    bob.killed()
    had = bob.machine.blobs.received(entry.enclosures[0].root)
    world.run(5)
    bob = world.start_again("bob")
    world.run(2)
    assert 0 < had <= bob.store.blobs.received(entry.enclosures[0].root) < 1_000_000
    world.run(30)
    assert bob.delivered(feed.id) == [entry.id]


def test_a_node_whose_disk_is_full_stops_and_goes_on_when_there_is_room() -> None:
    world = World(seed=2)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    entry = alice.publish(feed.id, "song", world.rng.randbytes(100_000))
    bob.machine.fill()
    world.meet(alice, bob, for_s=20)
    assert not bob.is_running and "full" in bob.failed
    bob.machine.make_room()
    bob = world.start_again("bob")
    world.meet(alice, bob, for_s=20)
    assert bob.delivered(feed.id) == [entry.id]


def test_what_came_before_its_day_gets_its_files_when_the_clock_is_right() -> None:
    world = World(seed=19)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    bob.machine.clock_ms = -2 * DAY_MS
    entry = alice.publish(feed.id, "song", b"la la la")
    world.connect(alice, bob)
    world.run(20)
    assert bob.delivered(feed.id) == [] and len(bob.store.parked()) == 1
    bob.machine.clock_ms = 0
    world.run(120)
    assert bob.delivered(feed.id) == [entry.id]


def test_of_two_versions_that_came_before_their_day_the_last_is_delivered_once() -> None:
    world = World(seed=12)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("news")
    bob.subscribe(feed.id)
    bob.machine.clock_ms = -2 * DAY_MS
    world.connect(alice, bob)
    entry = alice.publish(feed.id, "first")
    world.run(20)
    alice.publish(feed.id, "second", replaces=entry.id)
    world.run(20)
    assert len(bob.store.parked()) == 2
    bob.machine.clock_ms = 0
    world.run(120)
    assert bob.delivered(feed.id) == [entry.id]


def test_what_a_wrong_clock_hid_is_shown_and_offered_when_it_is_right() -> None:
    world = World(seed=49)
    alice, bob, carol = world.add_nodes("alice", "bob", "carol")
    feed = alice.create_feed("news")
    for node in (bob, carol):
        node.subscribe(feed.id)
    entry = alice.publish(feed.id, "sale", expires=world.at + 30 * DAY_MS)
    bob.machine.clock_ms = 3_650 * DAY_MS
    world.meet(alice, bob, for_s=20)
    world.connect(bob, carol)
    world.run(20)
    assert bob.delivered(feed.id) == carol.delivered(feed.id) == []
    bob.machine.clock_ms = 0
    world.run(20)
    assert bob.delivered(feed.id) == carol.delivered(feed.id) == [entry.id]


def test_a_clock_that_is_set_back_delivers_nothing_that_is_being_delivered() -> None:
    # Seed 5190: an entry that left the car park in the very moment when the clock was set back.
    world = World(seed=5190)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("news")
    bob.subscribe(feed.id)
    alice.machine.clock_ms = 3 * DAY_MS
    hidden = alice.publish(feed.id, "sale", expires=world.at + 4 * DAY_MS)
    world.connect(alice, bob)
    world.run(30)
    assert len(bob.store.parked()) == 1
    bob.core.timer_fired(world.now, world.at + 3_650 * DAY_MS)
    effects = bob.core.timer_fired(world.now + 90, world.at + round(2.5 * DAY_MS))
    given = [effect.due.entry.id for effect in effects if isinstance(effect, Deliver)]
    assert given == [hidden.id]


def test_a_link_that_spoils_what_it_carries_delays_and_does_no_other_harm() -> None:
    world = World(seed=3)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    entry = alice.publish(feed.id, "song", world.rng.randbytes(1_000_000))
    link = Link(1_000_000, 0.005, interference=Disturbance(Random(3), hellos=0.3, streams=0.1))
    world.connect(alice, bob, link)
    world.run(300)
    assert bob.delivered(feed.id) == [entry.id]
    ends = [line for line in bob.take_lines() if '"session_ended"' in line]
    assert any("broken" in line for line in ends) and len(ends) > 1


def test_a_power_cut_is_noticed_by_nobody_at_once_and_survived_by_both() -> None:
    world = World(seed=4, rate_bytes_s=100_000)
    alice, bob = world.add_nodes("alice", "bob")
    for node in (alice, bob):
        node.machine.dread_power_cuts()
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    entry = alice.publish(feed.id, "song", world.rng.randbytes(500_000))
    world.connect(alice, bob)
    world.run(3)
    alice.power_failed(Random(1))
    world.run(2)
    assert [session.role for session in bob.core.sessions] == ["client"]
    world.start_again("alice")
    world.run(60)
    assert bob.delivered(feed.id) == [entry.id]


def test_opportunities_are_paths_in_time_over_good_contacts() -> None:
    contacts = [
        Contact("b", "c", 0.0, 1e6, end=400.0),
        Contact("a", "b", 300.0, 1e6, end=600.0),
        Contact("b", "d", 500.0, 1e6, end=900.0),
        Contact("a", "e", 0.0, 1e6, end=900.0),
    ]
    good = good_contacts(contacts, [Trouble("e", 880.0, 890.0)])
    found = earliest_arrivals("a", 10.0, good, size=0, wants_from=lambda name: 0.0)
    assert sorted(found) == ["a", "b", "d"] and found["d"] > found["b"] > 300.0
    assert "b" not in earliest_arrivals("a", 10.0, good, size=10**9, wants_from=lambda name: 0.0)
