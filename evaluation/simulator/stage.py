"""Puts a scenario on stage: a world whose nodes meet, publish and subscribe as it says, from one seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from contentdb.errors import StoreError
from contentdb.model import Entry
from contentdb.names import EntryId, FeedId
from contentdb.selector import Selector, parse
from evaluation.simulator.contacts import Change, changes
from evaluation.simulator.mobility import RandomWaypoint, walks
from evaluation.simulator.parts import ALL, Feeds, Wants
from evaluation.simulator.radio import Air, Link
from evaluation.simulator.scenario import Scenario
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World

# Whoever wants something of a node that is down tries again after so long.
AGAIN_S = 1.0
Goal = tuple[EntryId, str, str]  # an entry that a node is to give to an app


@dataclass(frozen=True, slots=True)
class Publication:
    entry: Entry
    by: str
    at_s: float
    size: int  # of the entry with its files


class Stage:
    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        air = Air() if scenario.radio.air == "shared" else None
        self.world = World(seed, new_link=self._new_link, air=air)
        self._rng = self.world.rng
        self.world.add_nodes(*scenario.nodes, settings=scenario.settings)
        self.published: dict[EntryId, Publication] = {}
        self.goals: dict[Goal, float] = {}  # since when each could have been reached
        self._of_feed: dict[FeedId, list[Publication]] = {}
        self._wanted: dict[FeedId, list[tuple[str, str, Selector]]] = {}  # node, app and what it selects
        self._ids: dict[str, FeedId] = {}
        for feeds in scenario.feeds:
            self._prepare(feeds)
        for wants in scenario.wants:
            self._prepare_wants(wants)
        self.world.follow(self._changes())
        if scenario.faults.kill_every_s:
            self.world.node_ended = self._ended
            for name in scenario.nodes:
                self._doom(name)

    # -- meeting

    def _new_link(self) -> Link:
        radio = self.scenario.radio
        link = Link(radio.rate_bytes_s, radio.delay_s, radio.loss, is_silent=radio.parting == "silent")
        if radio.cut_share and self._rng.random() < radio.cut_share:
            link.cut_after = self._rng.randrange(radio.cut_within_bytes)
        return link

    def _changes(self) -> Iterator[Change]:
        scenario, until_s = self.scenario, self.scenario.duration_s
        if isinstance(scenario.meetings, RandomWaypoint):
            return walks(scenario.meetings, scenario.nodes, self._rng, until_s)
        if scenario.meetings is not None:
            return changes(scenario.meetings, until_s)
        return iter([Change(0.0, True, one, two) for one, two in combinations(scenario.nodes, 2)])

    # -- publishing

    def _prepare(self, feeds: Feeds) -> None:
        authors = self.scenario.members(feeds.by)
        for name in feeds.names():
            author = self._rng.choice(authors)
            self._ids[name] = self.world.nodes[author].create_feed(name).id
            for number in range(feeds.entries):
                at_s = feeds.first_s + number * feeds.every_s
                if at_s < self.scenario.duration_s:
                    self.world.when(at_s, partial(self._publish, author, name, feeds, number + 1))

    def _publish(self, author: str, name: str, feeds: Feeds, number: int) -> None:
        node = self.world.nodes[author]
        if not node.is_running:
            self.world.after(AGAIN_S, partial(self._publish, author, name, feeds, number))
            return
        size = self._rng.randint(*feeds.file_bytes)
        file = self._rng.randbytes(size) if size else None
        values: dict[str, Any] = {name: self._rng.choice(some) for name, some in feeds.attributes.items()}
        entry = node.publish(self._ids[name], f"{name} {number}", file, **values)
        row = node.store.entries.by_key(entry.key)
        assert row is not None
        said = Publication(entry, author, self.world.now, row.size + size)
        self.published[entry.id] = said
        self._of_feed.setdefault(entry.key.feed, []).append(said)
        for where, app, selector in self._wanted.get(entry.key.feed, []):
            self._aim(said, where, app, selector)

    # -- wanting

    def _prepare_wants(self, wants: Wants) -> None:
        feeds = list(self._ids) if ALL in wants.feeds else list(wants.feeds)
        for node in self.scenario.members(wants.nodes):
            for feed in feeds:
                if wants.share >= 1.0 or self._rng.random() < wants.share:
                    self.world.when(wants.at_s, partial(self._subscribe, node, self._ids[feed], wants))

    def _subscribe(self, name: str, feed: FeedId, wants: Wants) -> None:
        node = self.world.nodes[name]
        if not node.is_running:
            self.world.after(AGAIN_S, partial(self._subscribe, name, feed, wants))
            return
        node.subscribe(feed, wants.where, app=wants.app, files=wants.files)
        selector = parse(wants.where)
        self._wanted.setdefault(feed, []).append((name, wants.app, selector))
        for said in self._of_feed.get(feed, []):
            self._aim(said, name, wants.app, selector)

    def _aim(self, said: Publication, node: str, app: str, selector: Selector) -> None:
        """An entry is to come to an app; to that of its own author it does not have to come."""
        if node != said.by and selector.evaluate(said.entry.selectable()) is True:
            self.goals.setdefault((said.entry.id, node, app), self.world.now)

    # -- failing

    def _doom(self, name: str) -> None:
        self.world.after(
            self._rng.expovariate(1 / self.scenario.faults.kill_every_s), partial(self._kill, name)
        )

    def _kill(self, name: str) -> None:
        node = self.world.nodes[name]
        if node.is_running:
            node.killed()
        self._doom(name)

    def _ended(self, node: SimNode) -> None:
        self.world.after(self.scenario.faults.restart_after_s, partial(self._start_again, node.name))

    def _start_again(self, name: str) -> None:
        try:
            self.world.start_again(name)
        except StoreError:
            self.world.after(AGAIN_S, partial(self._start_again, name))
