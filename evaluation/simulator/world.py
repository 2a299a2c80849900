"""Virtual time, many nodes, one seed: the product's own cores, with a world in place of sockets and clocks.

    world = World(seed=7)
    alice, bob = world.add_nodes("alice", "bob")
    ...
    world.meet(alice, bob, for_s=20)

Everything that happens is an event with a time and a number, so the same seed gives the same history.
"""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from contentdb.names import Address
from evaluation.simulator.contacts import Change
from evaluation.simulator.history import History
from evaluation.simulator.radio import Air, Interference, Link, Pipe, Station
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.timeline import Timeline
from middleware.config import Settings

START_AT = 1_790_000_000_000


class World(Timeline):
    def __init__(
        self,
        seed: int,
        *,
        rate_bytes_s: float = 2_500_000,
        delay_s: float = 0.005,
        new_link: Callable[[], Link] | None = None,
        air: Air | None = None,
    ) -> None:
        super().__init__()
        self.rng = Random(seed)
        self.nodes: dict[str, SimNode] = {}
        self._stations: dict[str, Station] = {}  # the nodes, and whoever else is here
        self._new_link = new_link or (lambda: Link(rate_bytes_s, delay_s))
        self._air = air
        # Who is in range of whom, from both sides; in the order in which they came, which the seed decides.
        self._near: dict[str, dict[str, Link]] = {}
        self._places: dict[Address, str] = {}
        self.streams_opened = 0
        self.contacts = self.hellos_sent = self.hellos_heard = 0
        self.history: History | None = None
        # Whoever is here to start it again is told when the process of a node ends.
        self.node_ended: Callable[[SimNode], None] = lambda node: None

    # -- people and places

    def add_nodes(self, *names: str, settings: Settings | None = None) -> list[SimNode]:
        made = []
        for name in names:
            rng = Random(self.rng.getrandbits(64))
            node = SimNode(name, self.next_host(), self, settings or Settings(), rng)
            self.nodes[name] = node
            self.place(node)
            made.append(node)
            self.after(self.rng.uniform(0, 1), node.start)
        return made

    def start_again(self, name: str) -> SimNode:
        """Another process for a node whose last one has ended, on the same machine."""
        old = self.nodes[name]
        rng = Random(self.rng.getrandbits(64))
        node = SimNode(name, old.host, self, old.settings, rng, old.machine)
        self.nodes[name] = node
        self.place(node)
        node.start()
        return node

    def next_host(self) -> str:
        number = len(self._stations) + 1
        return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def place(self, station: Station) -> None:
        """Put somebody into the world, or in the place of the one who had that name."""
        self._stations[station.name] = station
        self._places[station.hello_address] = station.name
        self._near.setdefault(station.name, {})

    def meet(self, one: Station, two: Station, for_s: float) -> None:
        """Bring two nodes into range for so long, and let that time pass."""
        self.connect(one, two)
        self.run(for_s)
        self.part(one, two)

    def connect(self, one: Station, two: Station, link: Link | None = None) -> None:
        """Bring them into range of each other, over a link of the world's kind or this one."""
        self.part(one, two)
        link = link or self._new_link()
        self._near[one.name][two.name] = self._near[two.name][one.name] = link

    def part(self, one: Station, two: Station) -> None:
        link = self._near[one.name].pop(two.name, None)
        if link is not None:
            del self._near[two.name][one.name]
            for pipe in list(link.pipes):
                pipe.vanish() if link.is_silent else pipe.cut()

    def follow(self, changes: Iterator[Change]) -> None:
        """Bring nodes together and apart as these say, in order; one is taken when the one before is done."""
        change = next(changes, None)
        if change is not None:
            self.when(change.time, partial(self._change, change, changes))

    def _change(self, change: Change, changes: Iterator[Change]) -> None:
        one, two = self._stations[change.one], self._stations[change.two]
        if change.is_up:
            self.connect(one, two)
            self.contacts += 1
        else:
            self.part(one, two)
        self.follow(changes)

    # -- for nodes

    @property
    def at(self) -> int:
        return START_AT + round(self.now * 1000)

    def broadcast(self, sender: Station, data: bytes) -> None:
        """Everybody in range hears it; those as far away as each other at the same moment."""
        self.hellos_sent += 1
        heard: dict[float, list[Station]] = {}
        stations, chance = self._stations, self.rng.random
        for name, link in self._near[sender.name].items():
            if link.interference is not None:
                self._spoil(link, link.interference, stations[name], data, sender.hello_address)
            elif not link.loss or chance() >= link.loss:
                heard.setdefault(link.delay_s, []).append(stations[name])
        for delay_s, others in heard.items():
            self.after(delay_s, partial(self._hear, others, data, sender.hello_address))

    def send_to(self, sender: Station, data: bytes, to: Address) -> None:
        other = self._at(to)
        link = None if other is None else self._near[sender.name].get(other.name)
        if other is None or link is None:
            return
        if link.interference is not None:
            self._spoil(link, link.interference, other, data, sender.hello_address)
        elif not self._is_lost(link):
            self.after(link.delay_s, partial(self._hear, [other], data, sender.hello_address))

    def _spoil(
        self, link: Link, interference: Interference, other: Station, data: bytes, source: Address
    ) -> None:
        for later_s, heard in interference.datagram(data):
            self.after(link.delay_s + later_s, partial(self._hear, [other], heard, source))

    def sent_at(self, link: Link, one: Station, two: Station, size: int) -> float:
        """When so many bytes between these two will have been sent, if they begin as soon as they can."""
        if self._air is None:
            return link.take(size, self.now)
        around = (*self._near[one.name], *self._near[two.name])
        return self._air.take(one.name, two.name, around, size / link.rate_bytes_s, self.now)

    def _is_lost(self, link: Link) -> bool:
        return link.loss > 0.0 and self.rng.random() < link.loss

    def _hear(self, others: list[Station], data: bytes, source: Address) -> None:
        self.hellos_heard += len(others)
        for other in others:
            other.datagram_received(data, source)

    def _at(self, address: Address) -> Station | None:
        return self._stations.get(self._places.get(address, ""))

    def open_stream(self, opener: Station, session: int, address: Address) -> None:
        other = self._at(address)
        link = None if other is None else self._near[opener.name].get(other.name)
        if other is None or link is None or not other.is_running:
            self.after(1.0, lambda: opener.stream_lost(session, "unreachable"))
            return
        self.streams_opened += 1
        pipe = Pipe(self, link, (opener, session), other)
        link.pipes.append(pipe)
        self.after(link.delay_s, pipe.accepted)
