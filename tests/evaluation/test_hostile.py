"""Strangers who lie, in a simulated world: they may waste some time, and nothing else."""

from collections.abc import Sequence

import pytest

from contentdb.names import FeedId
from evaluation.simulator.hostile import HABITS, Hostile
from evaluation.simulator.lies import CLIENTS, SERVERS
from evaluation.simulator.resources import excesses
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World
from middleware.config import SessionSettings, Settings


def stranger_near(node: SimNode, world: World, *, habits: Sequence[str], servers: Sequence[str]) -> Hostile:
    stranger = Hostile("stranger", world)
    stranger.habits, stranger.server_parts, stranger.is_eager = list(habits), list(servers), False
    world.connect(node, stranger)
    stranger.arrive()
    return stranger


def two_nodes(world: World, clients: int = 3) -> tuple[SimNode, SimNode, FeedId]:
    settings = Settings(sessions=SessionSettings(clients=clients))
    alice, bob = world.add_nodes("alice", "bob", settings=settings)
    feed = alice.create_feed("news").id
    bob.subscribe(feed)
    return alice, bob, feed


@pytest.mark.parametrize("lie", SERVERS)
def test_whatever_a_server_lies_about_it_is_dialled_less_and_less(lie: str) -> None:
    world = World(seed=29)
    _, bob, _ = two_nodes(world)
    stranger_near(bob, world, habits=["honest"], servers=[lie])
    world.run(60)
    at_first = bob.dialled
    world.run(240)
    assert 1 <= at_first <= 30 and bob.dialled - at_first <= 30


def test_an_answer_without_end_keeps_nobody_from_others() -> None:
    world = World(seed=3)
    alice, bob, feed = two_nodes(world, clients=1)
    stranger_near(bob, world, habits=["honest"], servers=["endless parts"])
    world.run(10)
    entry = alice.publish(feed, "news")
    world.connect(alice, bob)
    world.run(120)
    assert bob.delivered(feed) == [entry.id]


@pytest.mark.parametrize("lie", CLIENTS)
def test_whatever_a_client_does_others_are_served(lie: str) -> None:
    world = World(seed=18)
    alice, bob, feed = two_nodes(world)
    stranger = stranger_near(alice, world, habits=["honest"], servers=["mute"])
    stranger.client_parts, stranger.is_eager = [lie], True
    entry = alice.publish(feed, "news", b"with a file")
    world.connect(alice, bob)
    world.run(120)
    assert bob.delivered(feed) == [entry.id] and excesses([alice, bob], world.now) == []


@pytest.mark.parametrize("habit", HABITS)
def test_whatever_hellos_say_real_neighbours_are_found_and_resources_bounded(habit: str) -> None:
    world = World(seed=8)
    alice, bob, feed = two_nodes(world, clients=1)
    world.connect(alice, stranger_near(bob, world, habits=[habit], servers=["mute", "empty"]))
    world.run(20)
    entry = alice.publish(feed, "news")
    world.connect(alice, bob)
    world.run(180)
    assert bob.delivered(feed) == [entry.id] and excesses([alice, bob], world.now) == []
