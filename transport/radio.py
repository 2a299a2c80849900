"""What a radio offers, after KTH's convergence layer: a beacon for hellos and a dialler for byte streams.

Addresses are tagged by radio (`ip:192.0.2.7:4747`, later `ble:...`). Whoever is above knows addresses,
streams and stream cores; only `transport.tcp` and `discovery.udp` know sockets. The simulator is another
radio.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from contentdb.names import Address, NodeId


class StreamCore(Protocol):
    """What runs on a stream: takes bytes when they come, and gives bytes when they can be sent.

    A RemoteError out of `bytes_received` or `next_output` aborts the stream. `lost` is the last call and
    comes once: also after that error, and without `connected` if a dial failed.
    """

    @property
    def proved(self) -> NodeId | None:
        """Who the peer has proved to be; None before that."""

    @property
    def wants_close(self) -> bool:
        """No input is wanted any more, and the stream is to be closed once `next_output` has no more."""

    @property
    def wants_pause(self) -> bool:
        """Nothing is to be read for now, since earlier input has not been worked off."""

    def connected(self, now: float) -> None: ...

    def bytes_received(self, data: memoryview, now: float) -> None:
        """`data` is overwritten afterwards."""

    def next_output(self) -> bytes | None:
        """What to send next, or None for now. Asked only when it can be sent, so make it no earlier."""

    def lost(self, now: float) -> None: ...


class Stream(Protocol):
    """The handle of a stream, for whoever owns its core."""

    @property
    def core(self) -> StreamCore: ...

    @property
    def remote(self) -> Address: ...

    @property
    def unsent(self) -> int:
        """Bytes given to it that have not reached the peer's machine yet, as far as is known here."""

    def wake(self) -> None:
        """Look at the core again: something else than this stream changed what it wants or has to send."""

    def abort(self) -> None:
        """Cut the stream at once, sent or not; its core hears `lost` afterwards."""


# Asked for each stream that comes in; says what is to run on it.
Accept: TypeAlias = Callable[[Stream], StreamCore]


class Dialler(Protocol):
    """Opens streams, and accepts those that others open."""

    def dial(self, address: Address, core: StreamCore) -> Stream:
        """Return at once. The core hears `connected`, or only `lost` if nobody answers."""

    @property
    def unproved(self) -> list[Stream]:
        """Accepted streams whose peer has proved nothing yet, oldest first; whoever listens bounds them."""

    def close(self) -> None:
        """Accept no more, and abort what is open."""


class Beacon(Protocol):
    """Says hello to whoever is near; it is made with a callable that takes what others say."""

    def send(self, hello: bytes) -> None:
        """To everybody in range."""

    def send_to(self, hello: bytes, address: Address) -> None:
        """To one that was heard."""

    def close(self) -> None: ...
