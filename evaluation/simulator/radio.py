"""Links with a rate and a delay, and the streams over them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from contentdb.names import Address

if TYPE_CHECKING:
    from evaluation.simulator.world import World


class Station(Protocol):
    """Whoever is at the end of a link: a node of the product, or somebody who only pretends to be one."""

    name: str
    hello_address: Address
    is_running: bool

    def datagram_received(self, data: bytes, source: Address) -> None: ...

    def stream_accepted(self, pipe: "Pipe", address: Address) -> int | None:
        """Somebody opened a stream to it; returns the number it has for it from now on, or None to refuse."""

    def stream_opened(self, pipe: "Pipe", number: int) -> None: ...

    def stream_lost(self, number: int, why: str) -> None: ...

    def bytes_received(self, number: int, data: bytes) -> None: ...

    def next_output(self, number: int) -> bytes | None: ...

    def wants_close(self, number: int) -> bool: ...


class Interference(Protocol):
    """What spoils a link: it sees everything that passes, and decides what arrives."""

    def datagram(self, data: bytes) -> list[tuple[float, bytes]]:
        """What is heard instead, and how much later than it would have been."""

    def piece(self, data: bytes) -> bytes: ...


@dataclass(slots=True)
class Link:
    """Two nodes in range. What they send shares the rate; with `Air`, all who are near share it."""

    rate_bytes_s: float
    delay_s: float
    loss: float = 0.0  # how many of the datagrams are lost
    cut_after: int | None = None  # so many bytes of streams pass, then the stream that sends is cut
    interference: Interference | None = None
    is_silent: bool = False  # who parts is not told: what was sent is never answered
    free_at: float = 0.0
    pipes: "list[Pipe]" = field(default_factory=list)

    def passes(self, size: int) -> int:
        """How many of so many bytes arrive before a cut; all of them if none is due."""
        if self.cut_after is None:
            return size
        passed = min(size, self.cut_after)
        self.cut_after = None if passed < size else self.cut_after - size
        return passed

    def take(self, size: int, now: float) -> float:
        """When so many bytes will have been sent."""
        self.free_at = max(self.free_at, now) + size / self.rate_bytes_s
        return self.free_at


class Air:
    """One channel for everybody: while two exchange something, all who hear either of them keep silent.

    That is what a radio does that listens before it sends. There are no collisions and nobody is hidden;
    hellos take no time. What is sent is sent in turn, piece by piece, first come, first served.
    """

    def __init__(self) -> None:
        self._busy_until: dict[str, float] = {}

    def take(self, one: str, two: str, around: Iterable[str], takes_s: float, now: float) -> float:
        busy = self._busy_until
        ends = max(now, busy.get(one, 0.0), busy.get(two, 0.0)) + takes_s
        for name in (one, two, *around):
            busy[name] = max(ends, busy.get(name, 0.0))
        return ends


class Pipe:
    """One stream: bytes go both ways, one piece at a time, and it ends for both or is cut."""

    def __init__(self, world: "World", link: Link, opener: tuple[Station, int], other: Station) -> None:
        self._world, self._link = world, link
        self._opener, self._other = opener, other
        self._ends: list[tuple[Station, int]] = [opener]
        self._sending: set[int] = set()
        self._is_over = False

    def accepted(self) -> None:
        node, _ = self._opener
        number = None if self._is_over else self._other.stream_accepted(self, node.hello_address)
        if number is None:
            self._over()
            return
        self._ends.append((self._other, number))
        self._world.after(self._link.delay_s, self._opened)

    def _opened(self) -> None:
        if not self._is_over:
            node, number = self._opener
            node.stream_opened(self, number)

    def wake(self, node: Station) -> None:
        """Send what this end has to say, if it is not sending already."""
        end = next((at for at, (each, _) in enumerate(self._ends) if each is node), None)
        if end is None or len(self._ends) < 2 or end in self._sending or self._is_over:
            return
        _, number = self._ends[end]
        piece = node.next_output(number)
        if piece is None:
            if node.wants_close(number):
                self._world.after(self._link.delay_s, self._over)
            return
        self._sending.add(end)
        sent = self._world.sent_at(self._link, node, self._ends[1 - end][0], len(piece))
        self._world.when(sent, lambda: self._sent(end))
        self._world.when(sent + self._link.delay_s, lambda: self._arrived(1 - end, piece))

    def _sent(self, end: int) -> None:
        self._sending.discard(end)
        self.wake(self._ends[end][0])

    def _arrived(self, end: int, piece: bytes) -> None:
        if not self._is_over:
            node, number = self._ends[end]
            if self._link.interference is not None:
                piece = self._link.interference.piece(piece)
            passed = self._link.passes(len(piece))
            if passed:
                node.bytes_received(number, piece[:passed])
            if passed < len(piece):
                self.cut()

    def cut(self) -> None:
        """Out of range, or broken off by one of them."""
        self._over()

    def vanish(self) -> None:
        """As if it had never been, and neither of them is told."""
        self._is_over = True
        if self in self._link.pipes:
            self._link.pipes.remove(self)

    def _over(self) -> None:
        if self._is_over:
            return
        self.vanish()
        for node, number in self._ends:
            node.stream_lost(number, "")
