"""A link of some rate and delay between real processes: one more, which passes bytes on as late as it would.

Not every kernel has netem, so this is done in user space. Each direction has the rate, which all streams
through the link share. Who is to dial through the link hears a hello of the node behind it with the relay's
port in place of the node's own; the two hear nothing of each other directly.

What passes is bytes of streams: no packets, so no loss, no headers of TCP/IP and no slow start.
"""

import multiprocessing
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self, TypeAlias

from contentdb.names import NodeId
from discovery.hello import Hello, encode_hello
from evaluation.benchmarks.meeting.nodes import Home

LOOPBACK = "127.0.0.1"
# Bytes are taken from a sender so long before their turn: a process that is woken late loses nothing by it.
AHEAD_S = 0.05
MOST_TAKEN = 16_384


@dataclass(frozen=True, slots=True)
class LinkModel:
    """`bits_per_second` in each direction, `delay_s` one way."""

    bits_per_second: float
    delay_s: float

    @property
    def name(self) -> str:
        return f"{self.bits_per_second / 1e6:g} Mbit/s, {self.delay_s * 1000:g} ms"


@dataclass(slots=True)
class Lane:
    """One direction of a link, shared by all streams: when it is free again."""

    bytes_per_second: float
    free: float = 0.0

    def passes(self, size: int, now: float) -> float:
        self.free = max(self.free, now) + size / self.bytes_per_second
        return self.free


@dataclass(slots=True)
class Flow:
    """One direction of one stream: what is on its way, and when it arrives."""

    source: socket.socket
    target: socket.socket
    lane: Lane
    on_way: deque[tuple[float, bytes]] = field(default_factory=deque)
    is_ended: bool = False  # the source has; the target is told when all has arrived
    is_over: bool = False


Flight: TypeAlias = tuple[bool, int]  # to the client?, bytes: a run of bytes in one direction
END = b""


class Relay:
    """Runs in a process of its own; see `EmulatedLink`."""

    def __init__(
        self, model: LinkModel, listener: socket.socket, target: int, orders: "Connection[list[Flight], None]"
    ) -> None:
        self._model, self._listener, self._target, self._orders = model, listener, target, orders
        rate = model.bits_per_second / 8
        self._up, self._down = Lane(rate), Lane(rate)
        self._flows: list[Flow] = []
        self._flights: list[Flight] = []

    def run(self) -> None:
        while True:
            self._step()
            if self._orders.poll():
                self._orders.recv()
                self._orders.send(self._flights)
                self._flights = []

    def _step(self) -> None:
        """Wait until something can be done, and do it."""
        now = time.perf_counter()
        for flow in self._flows:
            self._deliver(flow, now)
        self._flows = [flow for flow in self._flows if not flow.is_over]
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ, self._accept)
            ready.register(self._orders, selectors.EVENT_READ, lambda: None)
            wake = now + 0.5
            for flow in self._flows:
                if flow.on_way and flow.on_way[0][0] > now:
                    wake = min(wake, flow.on_way[0][0])
                elif flow.on_way:
                    wake = min(wake, now + 0.001)  # the target does not take it yet
                if flow.is_ended:
                    continue
                if flow.lane.free - now < AHEAD_S:
                    ready.register(flow.source, selectors.EVENT_READ, partial(self._take, flow))
                else:
                    wake = min(wake, flow.lane.free - AHEAD_S)
            for key, _ in ready.select(max(0.0, wake - time.perf_counter())):
                key.data()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection((LOOPBACK, self._target))
        except OSError:
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setblocking(False)
        self._flows += [Flow(client, server, self._up), Flow(server, client, self._down)]

    def _take(self, flow: Flow) -> None:
        try:
            piece = flow.source.recv(MOST_TAKEN)
        except BlockingIOError:
            return
        except OSError:
            piece = END
        flow.is_ended = not piece
        is_down = flow.lane is self._down
        if piece and self._flights and self._flights[-1][0] == is_down:
            self._flights[-1] = (is_down, self._flights[-1][1] + len(piece))
        elif piece:
            self._flights.append((is_down, len(piece)))
        arrives = flow.lane.passes(len(piece), time.perf_counter()) + self._model.delay_s
        flow.on_way.append((arrives, piece))

    def _deliver(self, flow: Flow, now: float) -> None:
        try:
            while flow.on_way and flow.on_way[0][0] <= now:
                arrives, piece = flow.on_way.popleft()
                if piece == END:
                    flow.is_over = True
                    flow.target.shutdown(socket.SHUT_WR)
                    return
                sent = flow.target.send(piece)
                if sent < len(piece):
                    flow.on_way.appendleft((arrives, piece[sent:]))
                    return
        except BlockingIOError:
            flow.on_way.appendleft((arrives, piece))
        except OSError:  # the target has gone, so the source has nobody to talk to
            flow.is_over = flow.is_ended = True
            flow.source.close()


class EmulatedLink:
    """`with EmulatedLink(model, port) as link`: who dials `link.port` reaches that port through the link."""

    def __init__(self, model: LinkModel, target: int) -> None:
        listener = socket.create_server((LOOPBACK, 0))
        self.port = int(listener.getsockname()[1])
        self._orders, theirs = multiprocessing.Pipe()
        relay = Relay(model, listener, target, theirs)
        self._process = multiprocessing.get_context("fork").Process(target=relay.run, daemon=True)
        self._process.start()
        listener.close()
        theirs.close()

    def take_flights(self) -> list[Flight]:
        """What passed since the last call: runs of bytes in one direction, in their order."""
        self._orders.send(None)
        return list(self._orders.recv())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()
        self._orders.close()


class Introduction:
    """Tells nodes of a node behind a link, once a second, as its own hellos would."""

    def __init__(self, behind: Home, port: int, to: Iterable[Home]) -> None:
        said = behind.facts("node_started")[-1]
        hello = Hello(NodeId(said["node"]), port, said["epoch"], said["revision"], 1.0)
        self._datagram = encode_hello(hello)
        self._ports = [home.hello_port for home in to]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while True:
                for port in self._ports:
                    sender.sendto(self._datagram, (LOOPBACK, port))
                if self._is_over.wait(1.0):
                    return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
