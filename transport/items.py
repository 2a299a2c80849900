"""Signed entries and descriptors in a body, one behind the other: docs/protocol/solicitation-v1.md."""

import struct
from collections.abc import Iterable

from contentdb.errors import RemoteError
from contentdb.model import MAX_SIGNED_BYTES, SIGNATURE_BYTES, Signed
from contentdb.names import AuthorKey

HEADER = struct.Struct(f">32s{SIGNATURE_BYTES}sI")  # author's key, signature, number of bytes


def encode_items(items: Iterable[Signed]) -> bytes:
    return encode_parts((signed.author, signed.signature, signed.data) for signed in items)


def encode_parts(items: Iterable[tuple[AuthorKey, bytes, bytes]]) -> bytes:
    """The same for authors, signatures and bytes that no `Signed` was made of."""
    parts = []
    for author, signature, data in items:
        parts.append(HEADER.pack(bytes.fromhex(author), signature, len(data)))
        parts.append(data)
    return b"".join(parts)


def decode_items(body: bytes, count: int) -> list[Signed]:
    """Read exactly so many items. Raises RemoteError for more, fewer, or a cut one; verifies nothing."""
    items: list[Signed] = []
    at, end = 0, len(body)
    while at < end and len(items) < count:
        begin = at + HEADER.size
        if begin > end:
            raise RemoteError(f"item {len(items) + 1} is cut in its header")
        key, signature, size = HEADER.unpack_from(body, at)
        at = begin + size
        if not 1 <= size <= MAX_SIGNED_BYTES or at > end:
            raise RemoteError(
                f"item {len(items) + 1} has 1 to {MAX_SIGNED_BYTES} bytes, and all of them; it claims {size}"
            )
        items.append(Signed(AuthorKey(key.hex()), signature, body[begin:at]))
    if at != end or len(items) != count:
        raise RemoteError(
            f"expected {count} items and nothing behind them; got {len(items)}, {end - at} over"
        )
    return items
