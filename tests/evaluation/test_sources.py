"""Where a file comes from: several at once, whoever is left after a cut, and never from one who lies."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.model import CHUNK_BYTES
from contentdb.names import FeedId, Root
from evaluation.simulator.hostile import Hostile
from evaluation.simulator.radio import Link
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World
from middleware.logbook import SessionEnded

MB = 1_000_000


def ended(node: SimNode) -> list[tuple[float, SessionEnded]]:
    """Its sessions with the moment of their end, since this was asked last."""
    return [(line.now, line.fact) for line in node.core.logbook.take() if isinstance(line.fact, SessionEnded)]


def readers_of(world: World, *names: str, length: int = MB) -> tuple[list[SimNode], FeedId, Root]:
    """Somebody who publishes a song, and those who want it."""
    author, *readers = world.add_nodes(*names)
    feed = author.create_feed("songs").id
    for reader in readers:
        reader.subscribe(feed)
    entry = author.publish(feed, "song", world.rng.randbytes(length))
    return [author, *readers], feed, entry.enclosures[0].root


def test_chunks_of_one_file_come_from_two_servers_at_once() -> None:
    world = World(seed=31, rate_bytes_s=100_000)
    (alice, bob, carol), feed, root = readers_of(world, "alice", "bob", "carol")
    world.meet(alice, carol, for_s=30)
    assert carol.has_file(root)
    world.connect(alice, bob)
    world.connect(carol, bob)
    world.run(40)
    sessions = ended(bob)
    brought = {fact.peer: (now - fact.seconds, now) for now, fact in sessions if fact.chunks >= 10}
    assert brought.keys() == {alice.core.id, carol.core.id} and len(bob.delivered(feed)) == 1
    assert sum(fact.chunks for _, fact in sessions) == -(-MB // CHUNK_BYTES)  # none came twice
    (one_began, one_ended), (two_began, two_ended) = brought.values()
    assert max(one_began, two_began) < min(one_ended, two_ended)


def test_a_server_of_wrong_chunks_is_left_alone_and_the_file_comes_from_another() -> None:
    world = World(seed=32, rate_bytes_s=100_000)
    (alice, bob), feed, root = readers_of(world, "alice", "bob")
    liar = Hostile("liar", world)
    liar.habits, liar.server_parts, liar.is_eager = ["honest"], ["wrong chunks"], False
    world.connect(bob, liar)
    liar.arrive()
    world.run(60)
    alone = [fact for _, fact in ended(bob)]
    assert {fact.peer for fact in alone} == {liar.secret.node_id}
    # Everything but the chunks was true, so the entry is here. Each attempt doubled the wait for the next.
    assert len(bob.store.entries.keys(feed, world.at)) == 1 and 2 <= len(alone) <= 8
    assert {fact.chunks for fact in alone} == {0} and any("broken: " in fact.reason for fact in alone)
    assert bob.store.blobs.received(root) == 0 and bob.delivered(feed) == []
    world.connect(alice, bob)
    world.run(60)
    assert len(bob.delivered(feed)) == 1 and bob.has_file(root)
    world.run(240)
    assert not any("broken: " in fact.reason for _, fact in ended(bob)[1:])


def test_who_mixes_wrong_chunks_with_right_ones_is_left_alone_as_well() -> None:
    world = World(seed=33, rate_bytes_s=100_000)
    (_, bob), _, root = readers_of(world, "alice", "bob", length=20 * MB)
    liar = Hostile("liar", world)
    liar.habits, liar.server_parts, liar.is_eager = ["honest"], ["bad apple"], False
    world.connect(bob, liar)
    liar.arrive()
    world.run(300)
    alone = [fact for _, fact in ended(bob)]
    assert (
        sum("broken: " in fact.reason for fact in alone) <= 9 and 0 < bob.store.blobs.received(root) < 20 * MB
    )


# -- a cut at any byte of a session

LENGTH = 5 * CHUNK_BYTES + 77


@cache
def bytes_of_a_whole_session() -> int:
    """In both directions, from the first byte of the handshake to the last goodbye."""
    world = World(seed=34)
    (alice, bob), feed, _ = readers_of(world, "alice", "bob", length=LENGTH)
    world.meet(alice, bob, for_s=20)
    ((_, fact),) = ended(bob)
    assert len(bob.delivered(feed)) == 1 and fact.chunks == 6
    return fact.bytes_in + fact.bytes_out


def cut_off(at_byte: int) -> tuple[World, list[SimNode], FeedId, Root]:
    """A session that ended after so many bytes, and what is left of it: whole chunks that verify, or none."""
    world = World(seed=34)
    (alice, bob, carol), feed, root = readers_of(world, "alice", "bob", "carol", length=LENGTH)
    world.meet(alice, carol, for_s=4)
    assert carol.has_file(root)
    link = Link(2_500_000, 0.005, cut_after=at_byte)
    world.connect(alice, bob, link)
    while link.cut_after is not None and world.now < 60:
        world.run(0.01)
    assert link.cut_after is None
    world.part(alice, bob)
    if root in bob.store.blobs.roots():  # parts of chunks were discarded, and each that is here verifies
        missing = [number for run in bob.store.blobs.missing(root) for number in run]
        here = [len(bob.store.blobs.read_chunk(root, n)) for n in range(1, 7) if n not in missing]
        assert sum(here) == received(bob, root)
    return world, [alice, bob, carol], feed, root


def received(node: SimNode, root: Root) -> int:
    return node.store.blobs.received(root) if root in node.store.blobs.roots() else 0


@pytest.mark.parametrize("after", ["the same", "another", "a restart", "a kill"])
@settings(max_examples=30, deadline=None)
@given(
    # Chunks are most of the bytes; so cuts in what is said before and after them are tried as often.
    at_byte=st.one_of(
        st.integers(0, 2_000),
        st.integers(0, LENGTH),
        st.integers(1, 1_000).map(lambda before_end: bytes_of_a_whole_session() - before_end),
    )
)
def test_a_session_that_is_cut_at_any_byte_is_resumed(after: str, at_byte: int) -> None:
    world, (alice, bob, carol), feed, root = cut_off(at_byte)
    had = received(bob, root)
    entries = list(bob.store.entries.keys(feed, world.at))
    if after in ("a restart", "a kill"):
        bob.stop() if after == "a restart" else bob.killed()
        bob = world.start_again("bob")
    ended(bob)
    world.meet(carol if after == "another" else alice, bob, for_s=8)
    brought = [fact for _, fact in ended(bob) if fact.role == "client"]
    assert bob.has_file(root) and len(bob.delivered(feed)) == 1
    # Nothing of what was here came again, and everything else came once.
    assert sum(fact.useful_bytes for fact in brought if fact.chunks) >= LENGTH - had
    assert sum(fact.chunks for fact in brought) == -(-(LENGTH - had) // CHUNK_BYTES)
    assert sum(fact.entries for fact in brought) == 1 - len(entries)
