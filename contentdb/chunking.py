"""Cuts enclosures into 16 KiB chunks under a Merkle root, and verifies any chunk or range of hashes alone.

The tree is RFC 6962's: a leaf is SHA-256(0x00, chunk), a node SHA-256(0x01, left, right), and a tree of n
leaves splits at the largest power of two below n. Leaf hashes and proofs are byte strings of 32-byte
hashes, one behind the other, as they travel and as they are kept: a gigabyte has 65,536 leaves, which are
2 MiB packed and much more as objects. docs/protocol/chunks-v1.md is the specification.

What a caller gets wrong is a UsageError; what a peer gets wrong is a RemoteError. Every size is checked
against the signed length before anything is hashed.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TypeAlias

from contentdb.errors import RemoteError, UsageError
from contentdb.model import CHUNK_BYTES, MAX_ENCLOSURE_BYTES
from contentdb.names import Root

HASH_BYTES = 32
# 64 KiB of hashes vouch for 32 MiB of content. A power of two, so that aligned ranges are whole subtrees.
MAX_RANGE_HASHES = 2_048
EMPTY_ROOT = Root(sha256(b"").hexdigest())

Data: TypeAlias = bytes | bytearray | memoryview
Span: TypeAlias = tuple[int, int]  # leaves from and up to, counted from 0, the end not included


def chunk_count(length: int) -> int:
    return -(-length // CHUNK_BYTES)


def chunk_length(length: int, index: int) -> int:
    """How many bytes chunk ``index`` has in an enclosure of ``length`` bytes."""
    return min(CHUNK_BYTES, length - (index - 1) * CHUNK_BYTES)


def hash_chunk(data: Data) -> bytes:
    return sha256(b"\x00" + data).digest()


def root_of(leaves: Data) -> Root:
    """The root over packed leaf hashes; no leaves at all are the empty file."""
    if len(leaves) % HASH_BYTES:
        raise UsageError(f"leaf hashes have {HASH_BYTES} bytes each; got {len(leaves)} bytes in all")
    return Root(subtree_hash(leaves).hex()) if leaves else EMPTY_ROOT


def subtree_hash(nodes: Data) -> bytes:
    """The hash over packed nodes of one level (at least one), which need not be leaves.

    An odd node rises unchanged. That gives RFC 6962's shape, because every subtree left of the last one
    then has a power of two of leaves.
    """
    level = bytes(nodes)
    while len(level) > HASH_BYTES:
        whole = len(level) - len(level) % (2 * HASH_BYTES)
        pairs = [sha256(b"\x01" + level[at : at + 64]).digest() for at in range(0, whole, 64)]
        level = b"".join(pairs) + level[whole:]
    return level


class TreeHasher:
    """Hashes an enclosure that comes in pieces of any size; keeps its leaf hashes and under one chunk."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._leaves = bytearray()
        self._length = 0

    def update(self, data: Data) -> None:
        view = memoryview(data)
        self._length += len(view)
        if self._rest:
            missing = CHUNK_BYTES - len(self._rest)
            self._rest += view[:missing]
            view = view[missing:]
            if len(self._rest) < CHUNK_BYTES:
                return
            self._leaves += hash_chunk(self._rest)
            self._rest.clear()
        whole = len(view) - len(view) % CHUNK_BYTES
        for at in range(0, whole, CHUNK_BYTES):
            self._leaves += hash_chunk(view[at : at + CHUNK_BYTES])
        self._rest += view[whole:]

    @property
    def length(self) -> int:
        return self._length

    def leaves(self) -> bytes:
        """The packed leaf hashes of what came so far, the last chunk perhaps short."""
        return bytes(self._leaves) + (hash_chunk(self._rest) if self._rest else b"")

    def root(self) -> Root:
        return root_of(self.leaves())


def leaves_of(data: Data) -> bytes:
    hasher = TreeHasher()
    hasher.update(data)
    return hasher.leaves()


def is_range(count: int, first: int, last: int) -> bool:
    """Whether chunks ``first`` to ``last`` exist among ``count`` and fit into one request."""
    return 1 <= first <= last <= count and last - first < MAX_RANGE_HASHES


def chunk_proof(leaves: Data, index: int) -> bytes:
    return range_proof(leaves, index, index)


def range_proof(leaves: Data, first: int, last: int) -> bytes:
    """What somebody who has only the root needs besides leaf hashes ``first`` to ``last``."""
    packed = bytes(leaves)
    return prove(
        len(packed) // HASH_BYTES,
        first,
        last,
        lambda span: subtree_hash(packed[span[0] * HASH_BYTES : span[1] * HASH_BYTES]),
    )


def prove(count: int, first: int, last: int, hash_of: Callable[[Span], bytes]) -> bytes:
    """A range proof for who does not have all leaves in memory: ``hash_of`` hashes one subtree."""
    if not is_range(count, first, last):
        raise UsageError(
            f"a range lies in 1 to {count} and has at most {MAX_RANGE_HASHES} chunks; got {first} to {last}"
        )
    return b"".join(map(hash_of, proof_spans(count, first, last)))


def proof_spans(count: int, first: int, last: int) -> list[Span]:
    """The largest subtrees without a leaf of the range, from left to right: a proof has their hashes."""
    return list(_outside((0, count), first - 1, last))


def _outside(span: Span, start: int, stop: int) -> Iterator[Span]:
    if span[1] <= start or stop <= span[0]:
        yield span
    elif span[0] < start or stop < span[1]:
        for half in _halves(span):
            yield from _outside(half, start, stop)


def _halves(span: Span) -> tuple[Span, Span]:
    middle = span[0] + (1 << (span[1] - span[0] - 1).bit_length() - 1)
    return (span[0], middle), (middle, span[1])


def check_chunk(length: int, index: int, data: Data) -> None:
    """Refuse a chunk that cannot belong to an enclosure of this length, before anything is hashed."""
    count = chunk_count(length)
    if not 1 <= index <= count:
        raise RemoteError(f"expected a chunk from 1 to {count}; chunk {index} came")
    if len(data) != chunk_length(length, index):
        raise RemoteError(f"chunk {index} must have {chunk_length(length, index)} bytes; {len(data)} came")


def verify_chunk(root: Root, length: int, index: int, data: Data, proof: Data) -> None:
    """Raise RemoteError unless this is chunk ``index`` of the enclosure with this root and length."""
    check_chunk(length, index, data)
    verify_range(root, length, index, hash_chunk(data), proof)


def verify_range(root: Root, length: int, first: int, hashes: Data, proof: Data) -> bytes:
    """Return the leaf hashes from ``first`` on if they and the proof lead to the root, else RemoteError."""
    amount = _range_checked(length, first, hashes)
    count = chunk_count(length)
    expected = len(proof_spans(count, first, first + amount - 1))
    if len(proof) != expected * HASH_BYTES:
        raise RemoteError(
            f"the proof of hashes {first} to {first + amount - 1} of {count} has {expected} nodes, which are "
            f"{expected * HASH_BYTES} bytes; {len(proof)} bytes came"
        )
    verified = bytes(hashes)
    found = _climb((0, count), first - 1, verified, _nodes(bytes(proof))).hex()
    if found != root:
        raise RemoteError(f"expected hashes {first} to {first + amount - 1} under root {root}; {found} came")
    return verified


def _range_checked(length: int, first: int, hashes: Data) -> int:
    count = chunk_count(length)
    if not 0 <= length <= MAX_ENCLOSURE_BYTES:
        raise RemoteError(f"an enclosure has 0 to {MAX_ENCLOSURE_BYTES} bytes; {length} are claimed")
    amount, surplus = divmod(len(hashes), HASH_BYTES)
    if surplus or not 1 <= amount <= MAX_RANGE_HASHES:
        raise RemoteError(
            f"expected 1 to {MAX_RANGE_HASHES} hashes of {HASH_BYTES} bytes; {len(hashes)} bytes came"
        )
    if not 1 <= first <= count - amount + 1:
        raise RemoteError(f"expected hashes within 1 to {count}; {first} to {first + amount - 1} came")
    return amount


def _nodes(packed: bytes) -> Iterator[bytes]:
    return (packed[at : at + HASH_BYTES] for at in range(0, len(packed), HASH_BYTES))


def _climb(span: Span, start: int, hashes: bytes, proof: Iterator[bytes]) -> bytes:
    """The hash of a subtree, from the range's own hashes and, outside of it, from the proof."""
    stop = start + len(hashes) // HASH_BYTES
    if span[1] <= start or stop <= span[0]:
        return next(proof)
    if start <= span[0] and span[1] <= stop:
        return subtree_hash(hashes[(span[0] - start) * HASH_BYTES : (span[1] - start) * HASH_BYTES])
    left, right = _halves(span)
    return sha256(b"\x01" + _climb(left, start, hashes, proof) + _climb(right, start, hashes, proof)).digest()
