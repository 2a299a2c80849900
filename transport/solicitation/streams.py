"""Both ends of a session as stream cores: bytes in, bytes out when there is room, and effects for the node.

Output is pulled: whoever owns the stream asks for `next_output` while it can send, so that a slow peer costs
no memory but what was already encrypted for it.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from contentdb.arrivals import Arrival
from contentdb.errors import RemoteError
from contentdb.identity import NodeSecret
from contentdb.names import NodeId
from transport.channel import Channel, Proved, SendBytes
from transport.frame import FrameReceived
from transport.messages import (
    MAX_OPEN_REQUESTS,
    Envelope,
    Message,
    Reject,
    Request,
    SessionHello,
)
from transport.solicitation.client import Client
from transport.solicitation.effects import Effect, Send, Tally
from transport.solicitation.feedtalk import Plan
from transport.solicitation.server import Server
from transport.xmlcodec import decode_message, encode_message

# Filters for `except` come as bodies of requests; so much of them may wait for an answer.
MAX_WAITING_BYTES = 8 * 1_048_576


@dataclass(frozen=True, slots=True)
class PeerProved:
    """The handshake is over. The node answers a server's by `admit` or `reject`, a client's by `begin`."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class ClientDone:
    """The client of our server session says its pair; `base` as in solicitation-v1."""

    hello: SessionHello


@dataclass(frozen=True, slots=True)
class SessionRejected:
    reason: str
    retry_s: int | None


StreamEffect: TypeAlias = Effect | PeerProved | ClientDone | SessionRejected


class _Stream(ABC):
    """What both ends share: the channel, messages in and out, and when it is over."""

    def __init__(self, channel: Channel, own: NodeId) -> None:
        self._channel, self._own = channel, own
        self._outgoing: deque[bytes] = deque()
        self.peer: NodeId | None = None
        self.wants_close = False
        self.bytes_in = self.bytes_out = 0

    @property
    def is_intact(self) -> bool:
        """Everything that came was sealed by the peer: what is wrong with it is no accident of the link."""
        return not self._channel.is_broken

    def connected(self) -> None:
        self._outgoing.append(self._channel.start())

    def bytes_received(self, data: bytes | memoryview, now: float, at: int) -> list[StreamEffect]:
        """Raises RemoteError when the peer broke the protocol: the stream must then be aborted."""
        self.bytes_in += len(data)
        effects: list[StreamEffect] = []
        for event in self._channel.bytes_received(data):
            match event:
                case SendBytes(piece):
                    self._outgoing.append(piece)
                case Proved(node):
                    self.peer = node
                    effects.append(PeerProved(node))
                case FrameReceived():
                    effects += self._frame_received(event, now, at)
        return effects

    def _frame_received(self, frame: FrameReceived, now: float, at: int) -> list[StreamEffect]:
        envelope = decode_message(bytes(frame.header))
        if envelope.node != self.peer:
            raise RemoteError(f"{self.peer} sent a message in the name of {envelope.node}")
        return self._message_received(envelope.message, frame.body, now, at)

    @abstractmethod
    def _message_received(
        self, message: Message, body: bytes | memoryview, now: float, at: int
    ) -> list[StreamEffect]:
        """What each end makes of a message is its own."""

    def _send(self, message: Message, body: Iterable[bytes] = ()) -> None:
        self._outgoing.append(self._channel.encode_frame(encode_message(Envelope(self._own, message)), *body))

    def next_output(self, at: int) -> bytes | None:
        """The next bytes to send; None if there is nothing now."""
        while self._outgoing:
            piece = self._outgoing.popleft()
            if piece:
                self.bytes_out += len(piece)
                return piece
        return None

    def is_drained(self) -> bool:
        return not self._outgoing


class ClientStream(_Stream):
    def __init__(self, secret: NodeSecret, entropy: Callable[[int], bytes]) -> None:
        super().__init__(Channel.client(secret, entropy), secret.node_id)
        self._client: Client | None = None

    def begin(self, client: Client, now: float) -> list[StreamEffect]:
        """The peer is who it is: ask it what there is to ask."""
        self._client = client
        return self._performed(client.start(now))

    def _message_received(
        self, message: Message, body: bytes | memoryview, now: float, at: int
    ) -> list[StreamEffect]:
        if self._client is None:
            raise RemoteError("a message came before anything was asked")
        if isinstance(message, Reject) and message.to is None:
            self.wants_close = True
            return [SessionRejected(message.reason, message.retry_s)]
        return self._performed(self._client.message_received(message, body, now, at))

    def verified(self, batches: Sequence[Sequence[Arrival]], at: int) -> list[StreamEffect]:
        assert self._client is not None
        return self._performed(self._client.verified(batches, at))

    def more_wanted(self, plan: Plan | None = None) -> list[StreamEffect]:
        return [] if self._client is None else self._performed(self._client.more_wanted(plan))

    def lost(self) -> None:
        if self._client is not None:
            self._client.ended()

    @property
    def tally(self) -> Tally:
        """What the session has moved so far."""
        return Tally() if self._client is None else self._client.tally

    def _performed(self, effects: list[Effect]) -> list[StreamEffect]:
        """Send what is to be sent; the rest is for the node."""
        left: list[StreamEffect] = []
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect.message, (effect.body,) if effect.body else ())
                self.wants_close = self.wants_close or isinstance(effect.message, SessionHello)
            else:
                left.append(effect)
        return left


class ServerStream(_Stream):
    def __init__(self, secret: NodeSecret, entropy: Callable[[int], bytes], server: Server) -> None:
        super().__init__(Channel.server(secret, entropy), secret.node_id)
        self._server = server
        self._requests: deque[tuple[Request, bytes]] = deque()
        self._waiting_bytes = 0
        self._answer: Iterator[tuple[Message, Iterable[bytes]]] | None = None
        self._last_id = 0
        self._is_admitted = False
        self._parting: Reject | None = None

    def admit(self, hello: SessionHello) -> None:
        self._is_admitted = True
        self._send(hello)

    def reject(self, reject: Reject) -> None:
        """Say no, or no longer: after the answer under way, and then close."""
        self._parting = reject
        self._requests.clear()

    def _message_received(
        self, message: Message, body: bytes | memoryview, now: float, at: int
    ) -> list[StreamEffect]:
        if isinstance(message, SessionHello):
            self.wants_close = True
            return [ClientDone(message)]
        if not isinstance(message, Request):
            raise RemoteError(f"a client does not send {type(message).__name__}")
        if message.id != self._last_id + 1:
            raise RemoteError(f"expected request {self._last_id + 1}; request {message.id} came")
        self._last_id = message.id
        if self._parting is None:
            self._requests.append((message, bytes(body)))
            self._waiting_bytes += len(body)
        if len(self._requests) > MAX_OPEN_REQUESTS or self._waiting_bytes > MAX_WAITING_BYTES:
            raise RemoteError("more requests wait than are allowed")
        return []

    def next_output(self, at: int) -> bytes | None:
        ready = super().next_output(at)
        while ready is None and self._prepare(at):
            ready = super().next_output(at)
        return ready

    def _prepare(self, at: int) -> bool:
        """Encrypt one more message, if there is one to send."""
        if self._answer is not None:
            part = next(self._answer, None)
            if part is not None:
                self._send(part[0], part[1])
                return True
            self._answer = None
        if self._parting is not None:
            if not self.wants_close and self.peer is not None:
                self._send(self._parting)
            self.wants_close = True
            self._parting = None
            return True
        if self._is_admitted and self._requests:
            request, body = self._requests.popleft()
            self._waiting_bytes -= len(body)
            self._answer = self._server.answer(request, body, at)
            return True
        return False

    @property
    def owes(self) -> bool:
        """Is there anything the client still waits for?"""
        return bool(self._outgoing or self._requests or self._answer)
