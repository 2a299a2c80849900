"""`why` tells in plain words what happened to an entry, and what keeps it away."""

from pathlib import Path

import pytest

from contentdb.arrivals import verify_and_read
from contentdb.errors import UsageError
from contentdb.intake import Delivery
from contentdb.keystore import Keystore
from contentdb.model import Signed
from contentdb.names import fingerprint
from contentdb.settings import Limits
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World
from middleware.api.calls import run
from middleware.api.home import Home
from tests.contentdb.makers import DAY, NOW, OPEN_FEED, author, entropy, make_signed, memory_store, node

BOB = author(2)
PAUL = fingerprint(node(1))[:9]


def why(store: Store, entry: str = "urn:example:entry:1", *, at: int = NOW) -> list[str]:
    path = Path("/nonexistent")
    home = Home(
        path, store, Keystore(path, entropy(1)), at=lambda: at, monotonic=lambda: 0.0, entropy=entropy(1)
    )
    told = run(home, "cli", "why", {"entry": entry})
    assert set(told) == {"id", "lines", "events"} and told["events"]
    lines: list[str] = told["lines"]
    return lines


def unknown(store: Store) -> str:
    with pytest.raises(UsageError) as raised:
        why(store, "urn:example:never")
    return str(raised.value)


def take(store: Store, *batch: Signed, at: int = NOW) -> None:
    store.take_in(verify_and_read(batch), Delivery(at, source=node(1)))


def subscribe(store: Store, where: str = "", max_age_s: int | None = None) -> None:
    store.subscriptions.add(Subscription(0, "cli", OPEN_FEED, where, max_age_s))


# -- what is here


def test_from_whom_it_came_and_which_subscription_took_it() -> None:
    with memory_store() as store:
        subscribe(store)
        take(store, make_signed(BOB, 1))
        received, wanted = why(store)
    assert received.startswith(f"received from {PAUL} on 2026-09-2")
    assert wanted == "your subscription 1 (app cli) wants it"


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("genre = 'jazz' AND n > 1", "genre is 'rock', and it asks for genre = 'jazz'"),
        ("mood = 'calm'", "it has no mood, and it asks for mood = 'calm'"),
        ("n > 5 OR live", "n is 4, and it asks for n > 5; it has no live, and it asks for live"),
    ],
)
def test_the_attribute_that_decided_is_named(where: str, reason: str) -> None:
    with memory_store() as store:
        subscribe(store, where)
        take(store, make_signed(BOB, 1, attributes={"genre": "rock", "n": 4}))
        assert why(store)[-1] == f"your subscription 1 (app cli) does not want it: {reason}"


def test_without_a_subscription_that_is_what_is_said() -> None:
    with memory_store() as store:
        take(store, make_signed(BOB, 1))
        assert why(store)[-1].startswith("no subscription of yours wants it: nobody here subscribes to")


def test_too_old_for_the_subscription() -> None:
    with memory_store() as store:
        subscribe(store, max_age_s=60)
        take(store, make_signed(BOB, 1))
        assert why(store, at=NOW + DAY)[-1].endswith("it is older than 60 s")


def test_expired_and_blocked_are_told() -> None:
    with memory_store() as store:
        take(store, make_signed(BOB, 1, expires=NOW + 5))
        assert any(line.startswith("expired on ") for line in why(store, at=NOW + 10))
        store.feeds.block(BOB.key)
        assert "it is not shown: you block its author's key" in " ".join(why(store))


# -- what was not taken


def test_refusals_say_what_to_do() -> None:
    with memory_store(Limits(max_bytes=2_000)) as store:
        take(store, make_signed(BOB, 1, attributes={"filler": "x" * 3_000}))
        (line,) = why(store)
    assert line.startswith("refused on ") and f"(from {PAUL})" in line
    assert "larger than the whole store may be" in line and "max_bytes in the settings" in line


def test_a_blocked_author_and_a_wrong_clock() -> None:
    with memory_store() as store:
        take(store, make_signed(BOB, 1, updated=NOW + 3 * DAY))
        assert "it waits since" in why(store)[0] and "clock" in why(store)[0]
        store.feeds.block(BOB.key)
        take(store, make_signed(BOB, 2))
        assert "you block its author's key" in why(store, "urn:example:entry:2")[0]


def test_of_an_unknown_entry_it_is_told_whether_anything_is_asked_for() -> None:
    with memory_store() as store:
        assert "you subscribe to no feed" in unknown(store)
        subscribe(store)
        assert "you subscribe to 1 feed, and no entry of this id was offered there" in unknown(store)


# -- what meetings leave behind


def meeting(where: str, *, rate: int | None = None) -> tuple[World, SimNode, SimNode]:
    world = World(seed=5) if rate is None else World(seed=5, rate_bytes_s=rate)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id, where)
    return world, alice, bob


def test_what_a_neighbour_kept_back_is_told_of_what_never_came() -> None:
    world, alice, bob = meeting("title = 'jazz'")
    feed = alice.store.feeds.rows()[0].id
    for title in ("rock", "pop", "jazz"):
        alice.publish(feed, title)
    world.meet(alice, bob, for_s=20)
    told = unknown(bob.store)
    assert f"{fingerprint(alice.core.id)[:9]} kept back 2 entries of {feed} on " in told
    assert "which your selector title = 'jazz' does not want: it may be among them" in told


def test_of_a_file_that_is_cut_the_missing_chunks_are_told_and_who_had_it() -> None:
    world, alice, bob = meeting("", rate=100_000)
    feed = alice.store.feeds.rows()[0].id
    entry = alice.publish(feed, "song", world.rng.randbytes(400_000))
    world.meet(alice, bob, for_s=3)
    world.run(30)
    lines = why(bob.store, entry.id, at=world.at)
    name = fingerprint(alice.core.id)[:9]
    assert lines[0].startswith(f"received from {name} on ")
    assert any(line.startswith(f"{name} had its files, or parts of them, on ") for line in lines), lines
    assert "your subscription 1 (app test) wants it, and waits for its files" in lines
    assert " of 25 are missing" in lines[-1] and "is not complete: chunks " in lines[-1]


def test_a_delivery_is_told() -> None:
    world, alice, bob = meeting("")
    feed = alice.store.feeds.rows()[0].id
    entry = alice.publish(feed, "song")
    world.meet(alice, bob, for_s=20)
    assert why(bob.store, entry.id, at=world.at)[-1].endswith("wants it, and its app has had it")


def test_a_meeting_that_broke_on_a_wrong_signature_is_told_until_one_goes_well() -> None:
    world, alice, bob = meeting("")
    feed = alice.store.feeds.rows()[0].id
    entry = alice.publish(feed, "song")
    with alice.store.transaction() as connection:
        (signature,) = connection.execute("SELECT signature FROM signed_bytes").fetchone()
        connection.execute("UPDATE signed_bytes SET signature = zeroblob(64)")
    world.meet(alice, bob, for_s=20)
    assert f"the last meeting with {fingerprint(alice.core.id)[:9]}, on " in unknown(bob.store)
    assert "an entry came whose signature or form is wrong" in unknown(bob.store)
    with alice.store.transaction() as connection:
        connection.execute("UPDATE signed_bytes SET signature = ?", (signature,))
    world.run(600)
    world.meet(alice, bob, for_s=20)
    assert why(bob.store, entry.id, at=world.at)[0].startswith("received from ")
    assert "the last meeting" not in unknown(bob.store)
