"""Each entry once for each subscription: with an app that takes its time, on a node that is killed meanwhile.

The app stands behind the product's own `Deliveries`, as one does that came through the local socket.
"""

import pytest

from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World
from middleware.api.deliveries import Deliveries
from middleware.delivery import Due


class LateApp:
    """One connection of an app: it takes what comes, and says that it is done when it is told to."""

    def __init__(self, node: SimNode, world: World) -> None:
        self._node, self._world = node, world
        self._deliveries = Deliveries(node.core.delivery)
        self.taken: list[str] = []
        for subscription in node.store.subscriptions.all():
            self._deliveries.attach(subscription)

    def came(self, dues: list[Due]) -> None:
        for due in dues:
            if self._deliveries.came(due):
                self._take(due)
        self._pull()

    def _pull(self) -> None:
        for due in self._deliveries.pull(self._node.at):
            self._take(due)

    def _take(self, due: Due) -> None:
        self._deliveries.sent(due)
        self.taken.append(str(self._node.store.entry_of_row(due.entry.key).title))

    def done(self) -> None:
        dues = [self._deliveries.done(mark) for mark in list(self._deliveries.in_flight)]
        self._node.core.delivered([due for due in dues if due], self._world.now, self._node.at)
        self._pull()

    def news(self) -> list[str]:
        taken, self.taken = self.taken, []
        return taken


class Apps:
    """The app of a node is a new one whenever its process is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._apps: dict[int, LateApp] = {}

    def of(self, node: SimNode) -> LateApp:
        if id(node) not in self._apps:
            self._apps[id(node)] = LateApp(node, self._world)
        return self._apps[id(node)]


@pytest.mark.parametrize("way", ["killed", "stop"])
def test_an_entry_comes_once_whoever_brings_it_and_however_late_it_is_acknowledged(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(seed=51)
    apps, give = Apps(world), SimNode._give

    def given(node: SimNode, dues: list[Due]) -> None:
        apps.of(node).came(dues) if node.name == "bob" else give(node, dues)

    monkeypatch.setattr(SimNode, "_give", given)

    def again(bob: SimNode) -> SimNode:
        getattr(bob, way)()
        bob = world.start_again("bob")
        apps.of(bob).came([])
        return bob

    alice, bob, carol = world.add_nodes("alice", "bob", "carol")
    feed = alice.create_feed("news").id
    for node in (bob, carol):
        node.subscribe(feed)
    entry = alice.publish(feed, "first", b"with a file")
    world.meet(alice, carol, for_s=10)
    # Two sources, and nothing acknowledged: it comes once, and a new version waits for the old one's end.
    for node in (alice, carol):
        world.connect(node, bob)
    world.run(10)
    assert apps.of(bob).news() == ["first"]
    alice.publish(feed, "second", replaces=entry.id)
    world.run(10)
    assert apps.of(bob).news() == []
    # What was not acknowledged comes again after a restart, as it is now, and once.
    bob = again(bob)
    world.run(10)
    assert apps.of(bob).news() == ["second"]
    apps.of(bob).done()
    # What was acknowledged does not, whoever still has it, and whoever has only the old version.
    bob = again(bob)
    world.run(10)
    world.part(alice, bob)
    world.part(carol, bob)
    for node in (carol, alice):
        world.meet(node, bob, for_s=10)
    assert apps.of(bob).news() == []
    # A version that comes while the one before is not acknowledged comes when that is.
    alice.publish(feed, "third", replaces=entry.id)
    world.meet(alice, bob, for_s=10)
    assert apps.of(bob).news() == ["third"]
    alice.publish(feed, "fourth", replaces=entry.id)
    world.meet(alice, bob, for_s=10)
    assert apps.of(bob).news() == []
    apps.of(bob).done()
    assert apps.of(bob).news() == ["fourth"]
    apps.of(bob).done()
    assert apps.of(again(bob)).news() == []
