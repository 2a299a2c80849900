"""A stranger who speaks the protocol with a key of its own, and lies.

It forges hellos, baits others into dialling it, dials them all the time, and in every session it plays one of
the parts in `lies.py`. What it knows of content it has from a node of its choice, so its lies come close.
"""

from collections import deque
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from contentdb.errors import RemoteError
from contentdb.identity import NodeSecret
from contentdb.names import Address, NodeId
from discovery.hello import Hello, decode_hello, encode_hello
from evaluation.simulator.lies import CLIENTS, SERVERS, Part
from evaluation.simulator.radio import Pipe
from evaluation.simulator.simnode import PORT

if TYPE_CHECKING:
    from evaluation.simulator.world import World

MAX_HEARD, MAX_RECORDED = 32, 64
INVENTED_AT_ONCE = 10
EVERY_S = (2.0, 8.0)
HABITS = ("bait", "forge", "invent", "replay", "rubbish", "honest")


class Hostile:
    def __init__(self, name: str, world: "World") -> None:
        self.name, self.world, self.rng = name, world, Random(world.rng.getrandbits(64))
        self.hello_address = Address(f"ip:{world.next_host()}:{PORT}")
        self.secret = NodeSecret.generate(self.rng.randbytes)
        self.is_running = False
        self.habits = self.rng.sample(HABITS, self.rng.randint(1, 3))
        self.server_parts = self.rng.sample(SERVERS, self.rng.randint(1, 3))
        self.client_parts = self.rng.sample(CLIENTS, self.rng.randint(1, 3))
        self.is_eager = self.rng.random() < 0.7
        self.recorded: deque[bytes] = deque(maxlen=MAX_RECORDED)  # what honest nodes said to it
        self._heard: deque[tuple[bytes, Hello]] = deque(maxlen=MAX_HEARD)
        self._parts: dict[int, tuple[Pipe | None, Part]] = {}
        self._next = 1
        self._revision = 1
        self._epoch = self.rng.randbytes(8).hex()
        world.place(self)

    def arrive(self) -> None:
        self.is_running = True
        self._live()

    def leave(self) -> None:
        self.is_running = False
        for pipe, _part in list(self._parts.values()):
            if pipe is not None:
                pipe.cut()

    def _live(self) -> None:
        if self.is_running:
            for datagram in self._hellos(self.rng.choice(self.habits)):
                self.world.broadcast(self, datagram)
            if self.is_eager and self._heard:
                self._dial(self.rng.choice(self._heard)[1])
            self.world.after(self.rng.uniform(*EVERY_S), self._live)

    # -- hellos

    def _hellos(self, habit: str) -> list[bytes]:
        own = Hello(self.secret.node_id, PORT, self._epoch, self._revision, EVERY_S[1])
        match habit:
            case "bait":
                self._revision += 1
                return [encode_hello(replace(own, revision=self._revision))]
            case "forge" if self._heard:
                _, real = self.rng.choice(self._heard)
                revision = real.revision + self.rng.randint(-1, 5)
                next_s = self.rng.choice((0.1, 1.0, 3600.0))
                port = self.rng.choice((PORT, PORT, 0, 80))
                forged = replace(real, revision=max(0, revision), next_s=next_s, port=port, gained=(), of=())
                return [encode_hello(forged)]
            case "invent":
                return [
                    encode_hello(replace(own, node=NodeId(self.rng.randbytes(20).hex())))
                    for _ in range(INVENTED_AT_ONCE)
                ]
            case "replay" if self._heard:
                return [self.rng.choice(self._heard)[0]]
            case "rubbish":
                return [self.rng.randbytes(self.rng.randint(0, 600)), encode_hello(own)[:-3]]
        return [encode_hello(own)]

    def datagram_received(self, data: bytes, source: Address) -> None:
        try:
            self._heard.append((data, decode_hello(data)))
        except RemoteError:
            return

    # -- streams

    def _dial(self, hello: Hello) -> None:
        node = next((n for n in self.world.nodes.values() if n.core.id == hello.node), None)
        if node is not None:
            part = Part(self, self.rng.choice(self.client_parts), is_client=True)
            self._parts[self._next] = (None, part)
            self.world.open_stream(self, self._next, node.hello_address)
            self._next += 1

    def stream_accepted(self, pipe: Pipe, address: Address) -> int | None:
        if not self.is_running:
            return None
        number, self._next = self._next, self._next + 1
        self._parts[number] = (pipe, Part(self, self.rng.choice(self.server_parts), is_client=False))
        return number

    def stream_opened(self, pipe: Pipe, number: int) -> None:
        _, part = self._parts[number]
        self._parts[number] = (pipe, part)
        part.opened()
        self.wake(part)

    def stream_lost(self, number: int, why: str) -> None:
        _, part = self._parts.pop(number, (None, None))
        if part is not None:
            part.is_done = True

    def bytes_received(self, number: int, data: bytes) -> None:
        self.recorded.append(data)
        _, part = self._parts.get(number, (None, None))
        if part is not None:
            part.bytes_received(data)
            self.wake(part)

    def wake(self, part: Part) -> None:
        for pipe, each in self._parts.values():
            if each is part and pipe is not None:
                self.world.after(0, lambda pipe=pipe: pipe.wake(self))  # type: ignore[misc]

    def next_output(self, number: int) -> bytes | None:
        _, part = self._parts.get(number, (None, None))
        return part.outgoing.popleft() if part is not None and part.outgoing else None

    def wants_close(self, number: int) -> bool:
        _, part = self._parts.get(number, (None, None))
        return part is not None and part.is_done
