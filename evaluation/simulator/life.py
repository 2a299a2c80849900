"""A world that people, chance and faults act upon, and what must be true of it in the end.

People meet and part, publish, replace, retract and subscribe. Meanwhile processes are killed in the middle of
a statement, power fails, disks fill up, clocks jump, links spoil what they carry, and strangers lie. Then
faults end, everybody is in range for long, and nothing may be missing, wrong, given twice or still going on.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import combinations
from math import inf

from contentdb.errors import StoreError
from contentdb.model import Entry
from contentdb.names import FeedId
from contentdb.selector import parse
from contentdb.subscriptions import Subscription
from evaluation.simulator.faults import Faults
from evaluation.simulator.history import History
from evaluation.simulator.hostile import Hostile
from evaluation.simulator.interference import Disturbance
from evaluation.simulator.invariants import Claim, lacking, violations
from evaluation.simulator.machine import Crash
from evaluation.simulator.opportunity import Contact, earliest_arrivals, good_contacts
from evaluation.simulator.radio import Link, Station
from evaluation.simulator.resources import excesses
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World
from middleware.config import SessionSettings, Settings

GENRES = ("jazz", "folk", "rock")
SELECTORS = ("", "", "genre = 'jazz'", "genre <> 'folk'", "stars > 2", "genre = 'rock' AND stars < 4")
FILES = ("all", "all", "none", "max=50000", "max=0")
MAX_FILE_BYTES = 200_000
# Long enough for the longest wait after failures and for the slowest of the links.
QUIET_S = 900.0
SILENCE_S = 60.0
# So long strangers go on when everybody is in range. They may hold up others for some time, and not for ever.
STRANGERS_S = 180.0
STRANGERS = (0, 0, 0, 0, 1, 2)
# In most lives contacts are short and many; in the others, long enough to owe everybody everything.
PACES_S = (2.0, 2.0, 2.0, 60.0)


class Life:
    def __init__(self, seed: int, history: History | None = None) -> None:
        self.world = World(seed)
        self.world.history = history
        self.rng = self.world.rng
        self.pace_s = self.rng.choice(PACES_S)
        self.names: list[str] = []
        for number in range(self.rng.randint(3, 6)):
            (node,) = self.world.add_nodes(f"node{number}", settings=self._settings())
            self.names.append(node.name)
        self.faults = Faults(self.world, self.names)
        self.strangers = [Hostile(f"stranger{number}", self.world) for number in range(self._strangers())]
        self.feeds = [self._anybody().create_feed(f"feed {n}").id for n in range(self.rng.randint(1, 3))]
        self.contacts: list[Contact] = []
        self.claims: dict[tuple[FeedId, str], Claim] = {}
        self.subscriptions: list[tuple[str, float, Subscription]] = []
        self._subscribed = 0
        self._excesses: list[str] = []

    # -- what happens

    def happen(self) -> None:
        """Live: one thing after another, and time between them."""
        deeds: list[tuple[Callable[[], None], float]] = [
            (self._connect, 10), (self._part, 6), (self._publish, 6),
            (self._replace, 2), (self._retract, 1), (self._subscribe, 3), *self.faults.deeds(),
        ]  # fmt: skip
        for _ in self.names:
            self._try(self._subscribe)
        for stranger in self.strangers:
            stranger.arrive()
        for _ in range(self.rng.randint(10, 40)):
            (deed,) = self.rng.choices([deed for deed, _ in deeds], [weight for _, weight in deeds])
            self._try(deed)
            self.world.run(self.rng.expovariate(1 / self.pace_s))
            self._look()

    def _look(self) -> None:
        """Read all logbooks, and see whether anybody uses more than it may."""
        for node in self.nodes:
            lines = node.take_lines()
            if self.world.history is not None:
                self.world.history.note(self.world.now, node.name, lines)
        self._excesses += excesses(self.nodes, self.world.now)

    def come_to_rest(self) -> list[str]:
        """Everybody is in range of everybody, until nothing happens any more; returns what is wrong."""
        self.faults.end()
        owed = list(self._owed())
        everybody: list[Station] = [*self.nodes, *self.strangers]
        for one, two in combinations(everybody, 2):
            self._join(one, two, Link(2_500_000, 0.005))
        self._pass(STRANGERS_S)
        held_up = list(self._held_up())
        for stranger in self.strangers:
            stranger.leave()
        self._pass(QUIET_S - STRANGERS_S - SILENCE_S)
        opened = self.world.streams_opened
        self._pass(SILENCE_S)
        restless = self.world.streams_opened - opened
        noise = [f"{restless} connections in the last {SILENCE_S:g} s of quiet"] if restless else []
        wrong = violations(self.nodes, self.feeds, list(self.claims.values()))
        return [*self._excesses, *owed, *held_up, *noise, *wrong]

    def _pass(self, seconds: float) -> None:
        self.world.run(seconds)
        self._look()

    @property
    def nodes(self) -> list[SimNode]:
        return [self.world.nodes[name] for name in self.names]

    def _owed(self) -> Iterator[str]:
        """What somebody lacks although it, or a chain of others, met whoever had it for long enough."""
        contacts = good_contacts(self.contacts, self.faults.troubles)
        size = sum(2_000 + sum(e.length for e in claim.entry.enclosures) for claim in self.claims.values())
        for claim in self.claims.values():
            reached = earliest_arrivals(
                claim.author,
                claim.now,
                contacts,
                size=size,
                wants_from=partial(self._wants_from, claim.entry),
            )
            for name, since in reached.items():
                if since <= self.world.now:
                    for wrong in lacking(self.world.nodes[name], [claim.entry]):
                        yield f"{name}: {wrong}, due since {since:.0f} s of {self.world.now:.0f}"

    def _held_up(self) -> Iterator[str]:
        """What somebody lacks although its author has been in range for long, and only strangers lied."""
        for node in self.nodes:
            for wrong in lacking(node, [claim.entry for claim in self.claims.values()]):
                yield f"{node.name}: strangers keep it from having what it wants: {wrong}"

    def _wants_from(self, entry: Entry, name: str) -> float:
        """From when on a node wants an entry, with all its files; infinity if it does not."""
        return min(
            (
                since
                for who, since, subscription in self.subscriptions
                if (who, subscription.feed) == (name, entry.feed)
                and parse(subscription.selector).evaluate(entry.selectable()) is True
                and all(subscription.wants_file(enclosure.length) for enclosure in entry.enclosures)
            ),
            default=inf,
        )

    def _try(self, deed: Callable[[], None]) -> None:
        """Whoever asks something of a node that ends meanwhile, or whose disk is full, gets no answer."""
        with suppress(Crash, StoreError):
            deed()

    # -- people

    def _settings(self) -> Settings:
        return Settings(
            sessions=SessionSettings(
                serving=self.rng.choice(("concurrent", "sequential")),
                servers=self.rng.randint(1, 4),
                clients=self.rng.randint(1, 3),
                service_s=self.rng.choice((2, 30)),
            )
        )

    def _strangers(self) -> int:
        """None in long lives: they never rest, and a session with one costs what any other does."""
        return self.rng.choice(STRANGERS) if self.pace_s == min(PACES_S) else 0

    def _anybody(self) -> SimNode:
        there = [node for node in self.nodes if not node.is_over]
        if not there:
            raise Crash  # all are down just now: whoever wants something of one gets no answer
        return self.rng.choice(there)

    def _connect(self) -> None:
        everybody: list[Station] = [*self.nodes, *self.strangers]
        one, two = self.rng.sample(everybody, 2)
        link = Link(10 ** self.rng.uniform(4, 6.5), self.rng.uniform(0, 0.2))
        link.is_silent = self.rng.random() < 0.3
        if self.rng.random() < 0.5:
            link.cut_after = int(10 ** self.rng.uniform(0, 6))
        if self.rng.random() < 0.3:
            link.loss = self.rng.choice((0.2, 0.6))
        if self.rng.random() < self.faults.interference:
            hellos, streams = self.rng.choice((0.1, 0.5)), self.rng.choice((0.003, 0.05))
            link.interference = Disturbance(self.rng, hellos=hellos, streams=streams)
        self._join(one, two, link)

    def _join(self, one: Station, two: Station, link: Link) -> None:
        self._end_contact(one, two)
        self.world.connect(one, two, link)
        is_good = link.cut_after is None and not link.loss and link.interference is None
        self.contacts.append(Contact(one.name, two.name, self.world.now, link.rate_bytes_s, is_good=is_good))

    def _part(self) -> None:
        one, two = self.rng.sample(self.names, 2)
        self._end_contact(self.world.nodes[one], self.world.nodes[two])
        self.world.part(self.world.nodes[one], self.world.nodes[two])

    def _end_contact(self, one: Station, two: Station) -> None:
        for contact in self.contacts:
            if {contact.one, contact.two} == {one.name, two.name}:
                contact.end = min(contact.end, self.world.now)

    def _subscribe(self) -> None:
        self._subscribed += 1
        node = self._anybody()
        feed, where = self.rng.choice(self.feeds), self.rng.choice(SELECTORS)
        files = self.rng.choice(FILES)
        made = node.subscribe(feed, where, app=f"app{self._subscribed}", files=files)
        self.subscriptions.append((node.name, self.world.now, made))

    # -- what they say

    def _publish(self) -> None:
        feed = self.rng.choice(self.feeds)
        writers = [
            node for node in self.nodes if not node.is_over and node.store.feeds.descriptor(feed) is not None
        ]
        if writers:
            node = self.rng.choice(writers)
            for _ in range(self.rng.choice((1, 1, 1, 2, 10))):
                self._claim(node, self._say(node, feed, None))

    def _say(self, node: SimNode, feed: FeedId, old: Entry | None) -> Entry:
        expires = self.world.at + 30 * 86_400_000 if self.rng.random() < 0.1 else None
        return node.publish(
            feed,
            "something",
            self._file(),
            replaces=None if old is None else old.id,
            expires=expires,
            genre=self.rng.choice(GENRES),
            stars=self.rng.randint(1, 5),
        )

    def _file(self) -> bytes | None:
        if self.rng.random() < 0.6:
            return None
        return self.rng.randbytes(self.rng.choice((0, 1, self.rng.randint(0, MAX_FILE_BYTES))))

    def _claim(self, node: SimNode, entry: Entry) -> None:
        """It was acknowledged: from now on it may not be lost."""
        self.claims[entry.key.feed, entry.id] = Claim(node.name, entry, self.world.now)

    def _replace(self) -> None:
        node, old = self._something_said()
        if node is not None and old is not None:
            self._claim(node, self._say(node, old.key.feed, old))

    def _retract(self) -> None:
        node, old = self._something_said()
        if node is not None and old is not None:
            self._claim(node, node.retract(old))

    def _something_said(self) -> tuple[SimNode | None, Entry | None]:
        claims = [claim for claim in self.claims.values() if not claim.entry.retracted]
        if not claims:
            return None, None
        claim = self.rng.choice(claims)
        node = self.world.nodes[claim.author]
        return (None, None) if node.is_over else (node, claim.entry)
