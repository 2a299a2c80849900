"""Frames: a header and a body behind their lengths, cut to fit into records and put together again.

    length (4) | header length (2) | header | body          length = 2 + header + body

A frame is spread over records that are all full but the last, and shares none of them. So its first record
says all there is to know: how long every record of it must be, and where the header ends.
"""

from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

from contentdb.errors import RemoteError, UsageError

MAX_LENGTH = 1_048_576  # what follows the first four bytes; one frame of this is what a decoder may hold
MAX_HEADER_BYTES = 8_192
RECORD_BYTES = 65_519  # plaintext of a full record: Noise allows 65,535 with the tag

Piece: TypeAlias = bytes | bytearray | memoryview

_LENGTHS = Struct(">IH")
_PREFIX_BYTES = 4


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """A whole frame. The body is a view of memory that nobody else writes to; it may be kept."""

    header: bytes
    body: memoryview


def encode_frame(header: bytes, *body: Piece) -> list[Piece]:
    """The plaintexts of the records that make one frame; the body may come in parts."""
    length = 2 + len(header) + sum(map(len, body))
    if not 1 <= len(header) <= MAX_HEADER_BYTES or length > MAX_LENGTH:
        raise UsageError(
            f"a frame has a header of 1 to {MAX_HEADER_BYTES} bytes and at most {MAX_LENGTH} in all; "
            f"got a header of {len(header)} and {length}"
        )
    whole = b"".join((_LENGTHS.pack(length, len(header)), header, *body))
    if len(whole) <= RECORD_BYTES:
        return [whole]
    view = memoryview(whole)
    return [view[start : start + RECORD_BYTES] for start in range(0, len(whole), RECORD_BYTES)]


class FrameDecoder:
    """Puts the plaintexts of records together to frames; holds one unfinished frame and nothing else."""

    __slots__ = ("_held", "_missing")

    def __init__(self) -> None:
        self._held = bytearray()
        self._missing = 0

    def record_received(self, plaintext: bytes) -> FrameReceived | None:
        """Take the next record; return a frame if it is now whole. One of a single record is not copied."""
        if self._missing:
            return self._continued(plaintext)
        total = _check_first(plaintext)
        if len(plaintext) == total:
            return _open(plaintext)
        self._held += plaintext
        self._missing = total - len(plaintext)
        return None

    def _continued(self, plaintext: bytes) -> FrameReceived | None:
        _check_fill(len(plaintext), self._missing)
        self._held += plaintext
        self._missing -= len(plaintext)
        if self._missing:
            return None
        whole, self._held = self._held, bytearray()
        return _open(whole)


def _check_first(plaintext: bytes) -> int:
    """Return the bytes of the frame that begins here, lengths included."""
    if len(plaintext) < _LENGTHS.size:
        raise RemoteError(
            f"a frame's first record has {len(plaintext)} bytes, which is less than its lengths"
        )
    length, header_bytes = _LENGTHS.unpack_from(plaintext)
    if length > MAX_LENGTH or not 1 <= header_bytes <= min(MAX_HEADER_BYTES, length - 2):
        raise RemoteError(
            f"a frame of {length} bytes with a header of {header_bytes}; "
            f"at most {MAX_LENGTH} with 1 to {MAX_HEADER_BYTES} are allowed"
        )
    total = _PREFIX_BYTES + int(length)
    _check_fill(len(plaintext), total)
    return total


def _check_fill(record_bytes: int, missing: int) -> None:
    expected = min(missing, RECORD_BYTES)
    if record_bytes != expected:
        raise RemoteError(f"a record has {record_bytes} bytes of a frame where {expected} must be")


def _open(whole: bytes | bytearray) -> FrameReceived:
    _length, header_bytes = _LENGTHS.unpack_from(whole)
    view = memoryview(whole)
    body_at = _LENGTHS.size + header_bytes
    return FrameReceived(bytes(view[_LENGTHS.size : body_at]), view[body_at:])
