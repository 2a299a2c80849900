"""Virtual time, many nodes, one seed: the product's own cores, with a world in place of sockets and clocks.

    world = World(seed=7)
    alice, bob = world.add_nodes("alice", "bob")
    ...
    world.meet(alice, bob, for_s=20)

Everything that happens is an event with a time and a number, so the same seed gives the same history.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from contentdb.names import Address
from evaluation.simulator.radio import Link, Pipe
from evaluation.simulator.simnode import SimNode
from middleware.config import Settings

START_AT = 1_790_000_000_000


@dataclass(order=True, slots=True)
class Event:
    time: float
    number: int
    do: Callable[[], None] = field(compare=False)


class World:
    def __init__(self, seed: int, *, rate_bytes_s: float = 2_500_000, delay_s: float = 0.005) -> None:
        self.rng = Random(seed)
        self.now = 0.0
        self.nodes: dict[str, SimNode] = {}
        self._rate_bytes_s, self._delay_s = rate_bytes_s, delay_s
        self._events: list[Event] = []
        self._number = 0
        self._links: dict[frozenset[str], Link] = {}
        self._hosts: dict[str, str] = {}
        self.streams_opened = 0

    # -- people and places

    def add_nodes(self, *names: str, settings: Settings | None = None) -> list[SimNode]:
        made = []
        for name in names:
            number = len(self.nodes) + 1
            host = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            self._hosts[host] = name
            node = SimNode(name, host, self, settings or Settings(), Random(self.rng.getrandbits(64)))
            self.nodes[name] = node
            made.append(node)
            self.after(self.rng.uniform(0, 1), node.start)
        return made

    def meet(self, one: SimNode, two: SimNode, for_s: float) -> None:
        """Bring two nodes into range for so long, and let that time pass."""
        self.connect(one, two)
        self.run(for_s)
        self.part(one, two)

    def connect(self, one: SimNode, two: SimNode, link: Link | None = None) -> None:
        """Bring them into range of each other, over a link of the world's kind or this one."""
        self.part(one, two)
        self._links[frozenset((one.name, two.name))] = link or Link(self._rate_bytes_s, self._delay_s)

    def part(self, one: SimNode, two: SimNode) -> None:
        link = self._links.pop(frozenset((one.name, two.name)), None)
        if link is not None:
            for pipe in list(link.pipes):
                pipe.cut()

    def run(self, for_s: float) -> None:
        """Let so much time pass."""
        until = self.now + for_s
        while self._events and self._events[0].time <= until:
            event = heappop(self._events)
            self.now = event.time
            event.do()
        self.now = until

    # -- for nodes

    @property
    def at(self) -> int:
        return START_AT + round(self.now * 1000)

    def after(self, delay_s: float, do: Callable[[], None]) -> None:
        self._number += 1
        heappush(self._events, Event(self.now + max(delay_s, 0.0), self._number, do))

    def broadcast(self, sender: SimNode, data: bytes) -> None:
        for pair, link in sorted(self._links.items(), key=lambda item: sorted(item[0])):
            if sender.name in pair:
                (other,) = pair - {sender.name}
                self._send(sender, self.nodes[other], link, data)

    def send_to(self, sender: SimNode, data: bytes, to: Address) -> None:
        other = self._at(to)
        link = None if other is None else self._links.get(frozenset((sender.name, other.name)))
        if other is not None and link is not None:
            self._send(sender, other, link, data)

    def _send(self, sender: SimNode, other: SimNode, link: Link, data: bytes) -> None:
        if link.loss and self.rng.random() < link.loss:
            return
        source = sender.hello_address
        self.after(link.delay_s, lambda: other.datagram_received(data, source))

    def _at(self, address: Address) -> SimNode | None:
        host = address.removeprefix("ip:").rpartition(":")[0]
        return self.nodes.get(self._hosts.get(host, ""))

    def open_stream(self, opener: SimNode, session: int, address: Address) -> None:
        other = self._at(address)
        link = None if other is None else self._links.get(frozenset((opener.name, other.name)))
        if other is None or link is None or not other.is_running:
            self.after(1.0, lambda: opener.stream_lost(session, "unreachable"))
            return
        self.streams_opened += 1
        pipe = Pipe(self, link, (opener, session), other)
        link.pipes.append(pipe)
        self.after(link.delay_s, pipe.accepted)
