"""Salted Bloom filter: sizing, membership, wire form (docs/protocol/bloom-v1.md).

pybloom-live chooses the size and holds the bits. Hash family, salt and header are ours, because its own
file format names neither a version nor a hash and allocates before it checks. A filter never forgets a
member. What it holds by chance changes with the salt, so a new salt reveals what the last one hid.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Self, TypeAlias

from bitarray import bitarray
from pybloom_live import BloomFilter

from contentdb.errors import RemoteError, UsageError

Id: TypeAlias = str | bytes  # a string stands for its UTF-8 bytes

SALT_BYTES = 8
MAX_FILTER_BYTES = 4 * 1024 * 1024  # 3.5 million ids at one per cent
MIN_ERROR_RATE, MAX_ERROR_RATE = 1e-6, 0.5
MAX_SLICES = 20  # what the smallest error rate needs
# Importing numpy costs as much as hashing this many ids without it.
VECTORISE_FROM = 50_000

MAGIC = b"PBF1"
HASH_BLAKE2B = 1
HEADER = struct.Struct(">4sBB8sII")  # magic, hash, slices, salt, bits per slice, ids
MASK = 2**64 - 1
# Without it, two ids whose walks begin and go on nearly alike share all bits, and a filter of few ids finds
# one stranger in hundreds where it promises one in a million. With it, every bit of the digest counts.
FACTOR = 0x9E3779B97F4A7C15


class Filter:
    """A set of ids that may say yes by chance and never says no to a member.

    An honest filter fills at most three quarters of a slice (see ``build``), and each id sets one bit
    per slice. So a filter that claims everything can be told from an honest one, whatever the sizes.
    """

    __slots__ = ("_bits", "_keyed", "bits_per_slice", "count", "salt", "slices")

    def __init__(self, bits: bitarray, slices: int, salt: bytes, count: int) -> None:
        self._bits = bits
        self._keyed = blake2b(digest_size=16, key=salt)
        self.slices = slices
        self.bits_per_slice = len(bits) // slices
        self.salt = salt
        self.count = count

    @classmethod
    def build(cls, ids: Iterable[Id], salt: bytes, error_rate: float = 0.01) -> Self:
        """The filter of these ids. A client takes a fresh random salt for every request."""
        members = list(ids)
        if len(salt) != SALT_BYTES:
            raise UsageError(f"a filter's salt has {SALT_BYTES} bytes; got {len(salt)}")
        sized = sized_for(len(members), error_rate)
        built = cls(sized.bitarray, sized.num_slices, salt, len(members))
        built._set(members)
        return built

    def __contains__(self, id: Id) -> bool:
        bits, width = self._bits, self.bits_per_slice
        here, step = self._walk(id)
        # A loop and no generator: a filter is asked for each entry of a feed, and this is half as fast again.
        for start in range(0, len(bits), width):
            if not bits[start + ((here >> 32) * width >> 32)]:
                return False
            here = here * FACTOR + step & MASK
        return True

    def __len__(self) -> int:
        return self.count

    def contains_many(self, ids: Sequence[Id]) -> list[bool]:
        """``[id in self for id in ids]``, faster for very many."""
        if len(ids) < VECTORISE_FROM or not self._vectorisable():
            return [id in self for id in ids]
        from contentdb.bloom_vectorised import lookup

        return lookup(self._bits.tobytes(), self._digests(ids), self.slices, self.bits_per_slice)

    @property
    def fill(self) -> float:
        """The share of bits that are set: near one half where size and number of ids agree."""
        return self._bits.count() / len(self._bits)

    @property
    def error_rate(self) -> float:
        """How probable it is that an id that was never added is found, by the bits as they are."""
        return math.prod(ones / self.bits_per_slice for ones in self._ones())

    def _set(self, members: list[Id]) -> None:
        if len(members) >= VECTORISE_FROM and self._vectorisable():
            from contentdb.bloom_vectorised import packed_bits

            packed = packed_bits(self._digests(members), self.slices, self.bits_per_slice)
            self._bits = unpacked(packed, len(self._bits))
            return
        bits, width = self._bits, self.bits_per_slice
        starts = range(0, len(bits), width)
        for id in members:
            here, step = self._walk(id)
            for start in starts:
                bits[start + ((here >> 32) * width >> 32)] = 1
                here = here * FACTOR + step & MASK

    def _walk(self, id: Id) -> tuple[int, int]:
        """Where an id's walk through the slices begins, and how it goes on."""
        digest = int.from_bytes(self._digest(id))
        return digest >> 64, digest & MASK | 1

    def _digest(self, id: Id) -> bytes:
        hashed = self._keyed.copy()
        hashed.update(id.encode() if isinstance(id, str) else id)
        return hashed.digest()

    def _digests(self, ids: Sequence[Id]) -> bytes:
        return b"".join([self._digest(id) for id in ids])

    def _ones(self) -> list[int]:
        width = self.bits_per_slice
        return [self._bits.count(1, start, start + width) for start in range(0, len(self._bits), width)]

    def _vectorisable(self) -> bool:
        try:
            import numpy  # noqa: F401
        except ImportError:
            return False
        return True


def sized_for(count: int, error_rate: float) -> BloomFilter:
    """An empty pybloom filter for so many ids, never with more than three ids to four bits of a slice."""
    if not MIN_ERROR_RATE <= error_rate <= MAX_ERROR_RATE:
        raise UsageError(f"a filter's error rate is {MIN_ERROR_RATE} to {MAX_ERROR_RATE}; got {error_rate}")
    slices = math.ceil(math.log(1.0 / error_rate, 2))
    bits_per_id = math.log(1.0 / error_rate) / (slices * math.log(2) ** 2)
    # pybloom rounds the slices up, which crowds them at rates just under a power of one half.
    capacity = max(1, count, math.ceil(count * 4 / 3 / bits_per_id))
    if capacity * bits_per_id * slices > 8 * MAX_FILTER_BYTES - 8 * slices:
        raise UsageError(
            f"a filter of {count} ids would pass {MAX_FILTER_BYTES} bytes; use a greater error rate"
        )
    return BloomFilter(capacity, error_rate)


def unpacked(packed: bytes, length: int) -> bitarray:
    bits = bitarray(endian="little")
    bits.frombytes(packed)
    del bits[length:]
    return bits


def encode_filter(filter: Filter) -> bytes:
    header = HEADER.pack(MAGIC, HASH_BLAKE2B, filter.slices, filter.salt, filter.bits_per_slice, filter.count)
    return header + filter._bits.tobytes()


def decode_filter(data: bytes) -> Filter:
    """Read a peer's filter. Raises RemoteError for what no honest peer can have built."""
    if len(data) < HEADER.size:
        raise RemoteError(f"a filter has a header of {HEADER.size} bytes; got {len(data)} bytes in all")
    magic, hash_id, slices, salt, width, count = HEADER.unpack_from(data)
    if magic != MAGIC or hash_id != HASH_BLAKE2B:
        raise RemoteError(f"a filter starts with {MAGIC!r} and hash 1; got {magic!r} and hash {hash_id}")
    if not 1 <= slices <= MAX_SLICES:
        raise RemoteError(f"a filter has 1 to {MAX_SLICES} slices; got {slices}")
    if 4 * count > 3 * width or width < 1:
        raise RemoteError(f"a slice of {width} bits is too small for {count} ids")
    body_bytes = (slices * width + 7) // 8
    if body_bytes > MAX_FILTER_BYTES or len(data) != HEADER.size + body_bytes:
        raise RemoteError(
            f"{slices} slices of {width} bits are {body_bytes} bytes, of at most {MAX_FILTER_BYTES}; "
            f"got {len(data) - HEADER.size}"
        )
    return _checked(data, slices, salt, count, slices * width)


def _checked(data: bytes, slices: int, salt: bytes, count: int, length: int) -> Filter:
    if length % 8 and data[-1] >> length % 8:
        raise RemoteError("the unused bits of a filter's last byte must be zero")
    received = Filter(unpacked(data[HEADER.size :], length), slices, salt, count)
    if max(received._ones()) > count:
        raise RemoteError(f"a slice has {max(received._ones())} bits set; {count} ids set at most as many")
    return received
