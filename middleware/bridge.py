"""Puts one session of the node core on a stream of the radio."""

from collections.abc import Callable

from contentdb.names import NodeId
from middleware.effects import Effect
from middleware.node import Node

# Batches of 64 KiB on their way through the worker; more would only fill memory.
MAX_VERIFYING = 16


class Bridge:
    """A stream core (transport.radio) that asks the node for everything and decides nothing."""

    def __init__(
        self,
        node: Node,
        number: int,
        perform: Callable[[list[Effect]], None],
        now: Callable[[], float],
        at: Callable[[], int],
    ) -> None:
        self._node, self.number, self._perform = node, number, perform
        self._now, self._at = now, at

    @property
    def proved(self) -> NodeId | None:
        session = self._node.sessions.get(self.number)
        return None if session is None else session.stream.peer

    @property
    def wants_close(self) -> bool:
        return self._node.wants_close(self.number)

    @property
    def wants_pause(self) -> bool:
        """Entries wait to be verified: what comes meanwhile had better wait in the network."""
        session = self._node.sessions.get(self.number)
        return session is not None and session.verifying > MAX_VERIFYING

    def connected(self, now: float) -> None:
        session = self._node.sessions.get(self.number)
        if session is not None and session.role == "client":
            self._perform(self._node.stream_opened(self.number, now, self._at()))

    def bytes_received(self, data: memoryview, now: float) -> None:
        self._perform(self._node.bytes_received(self.number, data, now, self._at()))

    def next_output(self) -> bytes | None:
        # By the clock, not as of the last input: whoever only sends is not silent.
        return self._node.next_output(self.number, self._now(), self._at())

    def lost(self, now: float) -> None:
        self._perform(self._node.stream_lost(self.number, "", now, self._at()))
