"""The channel of a session: a handshake, then frames in encrypted records (solicitation-v1, parts 1 and 2).

Bytes of the stream go in, events come out; whoever owns the stream sends what `start`, `SendBytes` and
`encode_frame` give, in the order in which they gave it. A channel holds at most one unfinished record and one
unfinished frame.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

from contentdb.errors import RemoteError, UsageError
from contentdb.identity import NodeSecret, node_id_of
from contentdb.names import NodeId
from transport.frame import FrameDecoder, FrameReceived, Piece, encode_frame
from transport.noise import MAX_MESSAGE_BYTES, TAG_BYTES, Cipher, Handshake

PROLOGUE = b"passerby session v1"
HEAD_BYTES = 2  # a record's length stands before it
HANDSHAKE_BYTES = (32, 96, 64)  # of the three messages; their payloads are empty
RECORD_BOUNDS = (TAG_BYTES + 1, MAX_MESSAGE_BYTES)


@dataclass(frozen=True, slots=True)
class SendBytes:
    """To be sent before anything that is encoded later."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Proved:
    """The peer has proved that it is this node; frames may be sent from now on."""

    node: NodeId


Event: TypeAlias = SendBytes | Proved | FrameReceived


class Channel:
    """One end of an encrypted and mutually authenticated stream."""

    def __init__(self, secret: NodeSecret, entropy: Callable[[int], bytes], *, is_client: bool) -> None:
        self.proved: NodeId | None = None
        self._own = secret.node_id
        self._handshake = Handshake(secret, is_initiator=is_client, prologue=PROLOGUE, entropy=entropy)
        self._outgoing: Cipher | None = None
        self._incoming: Cipher | None = None
        self._frames = FrameDecoder()
        self._partial = bytearray()  # the beginning of a record, its length included
        self._bounds = _exactly(HANDSHAKE_BYTES[0])
        self._is_broken = False

    @classmethod
    def client(cls, secret: NodeSecret, entropy: Callable[[int], bytes]) -> Self:
        """The end that opened the stream."""
        return cls(secret, entropy, is_client=True)

    @classmethod
    def server(cls, secret: NodeSecret, entropy: Callable[[int], bytes]) -> Self:
        """The end that accepted the stream."""
        return cls(secret, entropy, is_client=False)

    @property
    def is_broken(self) -> bool:
        """Did something come that the peer's key did not seal, or no record at all?"""
        return self._is_broken

    def start(self) -> bytes:
        """Return what is to be sent as soon as the stream is open: nothing if we are the server."""
        return self._write_handshake() if self._handshake.is_our_turn else b""

    def encode_frame(self, header: bytes, *body: Piece) -> bytes:
        """Return the records of one frame, which must be sent in the order of these calls."""
        if self._outgoing is None:
            raise UsageError("the peer has proved no key yet; nothing may be sent to it before Proved")
        return b"".join(_record(self._outgoing.encrypt(piece)) for piece in encode_frame(header, *body))

    def bytes_received(self, data: Piece) -> list[Event]:
        """Take bytes from the stream, cut anywhere; return what they bring. `data` may be reused afterwards.

        Raises RemoteError at the first thing that is wrong, and ever after: the stream must be aborted.
        What the same call brought before that is lost, and will have to be asked for again.
        """
        if self._is_broken:
            raise RemoteError("the channel is broken; nothing more can be read from it")
        events: list[Event] = []
        try:
            for record in self._records(memoryview(data)):
                if self._incoming is None:
                    events += self._handshake_received(bytes(record))
                elif frame := self._frames.record_received(self._incoming.decrypt(record)):
                    events.append(frame)
        except RemoteError:
            self._is_broken = True
            raise
        return events

    def _records(self, data: memoryview) -> Iterator[memoryview]:
        """Yield each record that is now whole, where it lies if it can be; keep what is left of the last one.

        The bounds depend on the record before, which the caller has read when we go on.
        """
        at = 0
        while self._partial:
            wanted = HEAD_BYTES if len(self._partial) < HEAD_BYTES else self._end_of(self._partial)
            more = data[at : at + wanted - len(self._partial)]
            if not more:
                return
            self._partial += more
            at += len(more)
            if len(self._partial) == wanted > HEAD_BYTES:
                whole, self._partial = self._partial, bytearray()
                yield memoryview(whole)[HEAD_BYTES:]
        while len(data) - at >= HEAD_BYTES:
            end = at + self._end_of(data[at : at + HEAD_BYTES])
            if end > len(data):
                break
            yield data[at + HEAD_BYTES : end]
            at = end
        self._partial += data[at:]

    def _end_of(self, head: Piece) -> int:
        """How many bytes a record takes that begins with this length; RemoteError if it may not."""
        length = head[0] << 8 | head[1]
        least, most = self._bounds
        if not least <= length <= most:
            raise RemoteError(f"a record of {length} bytes came where {least} to {most} are allowed")
        return HEAD_BYTES + length

    def _handshake_received(self, message: bytes) -> list[Event]:
        self._handshake.read(message)
        events: list[Event] = []
        if self._handshake.remote_static is None:
            events.append(SendBytes(self._write_handshake()))
        else:
            node = self._check_peer(self._handshake.remote_static)
            if self._handshake.is_our_turn:
                events.append(SendBytes(self._write_handshake()))
            self._outgoing, self._incoming = self._handshake.split()
            self._bounds = RECORD_BOUNDS
            self.proved = node
            events.append(Proved(node))
        return events

    def _write_handshake(self) -> bytes:
        message = self._handshake.write()
        if not self._handshake.is_finished:
            self._bounds = _exactly(HANDSHAKE_BYTES[self._handshake.step])
        return _record(message)

    def _check_peer(self, static: bytes) -> NodeId:
        # Before our own key goes out: what answers here is ourselves, or somebody who plays us to us.
        node = node_id_of(static)
        if node == self._own:
            raise RemoteError("the node at the other end is ourselves")
        return node


def _exactly(length: int) -> tuple[int, int]:
    return length, length


def _record(message: bytes) -> bytes:
    return len(message).to_bytes(HEAD_BYTES, "big") + message
