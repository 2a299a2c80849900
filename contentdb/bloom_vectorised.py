"""The bits of a Bloom filter by numpy: the same positions as contentdb.bloom, for very many ids at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from contentdb.bloom import FACTOR

HALF = np.uint64(32)


def positions(digests: bytes, slices: int, width: int) -> Iterator[NDArray[np.int64]]:
    """For each slice, where each id's bit stands in the whole filter."""
    words = np.frombuffer(digests, ">u8").reshape(-1, 2)
    here = words[:, 0].astype(np.uint64)
    step = words[:, 1].astype(np.uint64) | np.uint64(1)
    for slice_number in range(slices):
        inside = ((here >> HALF) * np.uint64(width)) >> HALF
        yield inside.astype(np.int64) + slice_number * width
        here = here * np.uint64(FACTOR) + step


def packed_bits(digests: bytes, slices: int, width: int) -> bytes:
    bits = np.zeros(slices * width, dtype=np.bool_)
    for at in positions(digests, slices, width):
        bits[at] = True
    return np.packbits(bits, bitorder="little").tobytes()


def lookup(packed: bytes, digests: bytes, slices: int, width: int) -> list[bool]:
    octets = np.frombuffer(packed, np.uint8)
    found = np.ones(len(digests) // 16, dtype=np.bool_)
    for at in positions(digests, slices, width):
        found &= (octets[at >> 3] >> (at & 7).astype(np.uint8)) & 1 != 0
    answer: list[bool] = found.tolist()
    return answer
