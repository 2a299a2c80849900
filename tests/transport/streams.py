"""Stream cores for tests of what runs them, and the little that such tests need around a loop."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from contentdb.names import Address, NodeId, ip_address
from tests.transport.makers import ALICE, BOB
from transport.channel import Channel, Proved, SendBytes
from transport.radio import Stream, StreamCore
from transport.tcp import Tcp

LIMIT_S = 60  # a test that waits for what never comes fails after this; none asserts how long something took


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, LIMIT_S))


class Base:
    """Remembers what it was told; sends what is put into `output`."""

    proved: NodeId | None = None

    def __init__(self) -> None:
        self.wants_close = False
        self.wants_pause = False
        self.calls: list[str] = []
        self.output: deque[bytes] = deque()
        self.is_lost = asyncio.Event()

    def connected(self, now: float) -> None:
        self.calls.append("connected")

    def bytes_received(self, data: memoryview, now: float) -> None: ...

    def next_output(self) -> bytes | None:
        return self.output.popleft() if self.output else None

    def lost(self, now: float) -> None:
        self.calls.append("lost")
        self.is_lost.set()


class Talker(Base):
    """Speaks frames through a channel; `heard` may answer with frames."""

    def __init__(self, channel: Channel, heard: Callable[[bytes, bytes], list[tuple[bytes, bytes]]]) -> None:
        super().__init__()
        self.channel = channel
        self.frames: list[tuple[bytes, bytes]] = []
        self._heard = heard
        self._to_say: list[tuple[bytes, bytes]] = []

    @property
    def proved(self) -> NodeId | None:  # type: ignore[override]
        return self.channel.proved

    def say(self, header: bytes, body: bytes) -> None:
        if self.proved is None:
            self._to_say.append((header, body))
        else:
            self.output.append(self.channel.encode_frame(header, body))

    def connected(self, now: float) -> None:
        super().connected(now)
        self.output.append(self.channel.start())

    def bytes_received(self, data: memoryview, now: float) -> None:
        for event in self.channel.bytes_received(data):
            if isinstance(event, SendBytes):
                self.output.append(event.data)
            elif isinstance(event, Proved):
                for header, body in self._to_say:
                    self.say(header, body)
            else:
                self.frames.append((event.header, bytes(event.body)))
                for header, body in self._heard(*self.frames[-1]):
                    self.say(header, body)


class Source(Base):
    """Gives pieces one by one, only when it is asked."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self.given_bytes = 0
        self._pieces = pieces

    def next_output(self) -> bytes | None:
        piece = next(self._pieces, None)
        self.given_bytes += len(piece or b"")
        self.wants_close = piece is None
        return piece


class Sink(Base):
    """Keeps what comes in."""

    def __init__(self) -> None:
        super().__init__()
        self.received = bytearray()

    def bytes_received(self, data: memoryview, now: float) -> None:
        self.received += data


async def until(is_so: Callable[[], object]) -> None:
    """Let the loop run until something is so."""
    while not is_so():
        await asyncio.sleep(0)


async def until_still(value: Callable[[], int]) -> int:
    """Let the loop run until a number has not changed for a long row of turns."""
    last, turns = value(), 0
    while turns < 500:
        await asyncio.sleep(0)
        turns = turns + 1 if value() == last else 0
        last = value()
    return last


class Listening:
    """A radio that listens on loopback and remembers what it accepted."""

    def __init__(self, *cores: StreamCore) -> None:
        self.streams: list[Stream] = []
        self._cores = list(cores)
        self.radio = Tcp(self._accept)
        self.port = 0

    def _accept(self, stream: Stream) -> StreamCore:
        self.streams.append(stream)
        return self._cores.pop(0)

    async def at(self, host: str = "127.0.0.1") -> "Listening":
        self.port = await self.radio.listen(0, host)
        return self

    @property
    def address(self) -> Address:
        return ip_address("127.0.0.1", self.port)

    async def plug(self) -> socket.socket:
        """A bare socket of somebody who may do as he likes."""
        plug = socket.create_connection(("127.0.0.1", self.port))
        plug.setblocking(False)
        return plug


def nobody(_stream: Stream) -> StreamCore:
    raise AssertionError("nobody dials here")


def talkers() -> tuple[Talker, Talker]:
    """A client that tells, and a server that says everything back in capitals."""
    client = Talker(Channel.client(ALICE, b"\3".__mul__), lambda header, body: [])
    server = Talker(Channel.server(BOB, b"\4".__mul__), lambda header, body: [(header.upper(), body.upper())])
    return client, server
