"""Rateless IBLT: cells of a set of 64-bit short ids, kept up to date id by id (docs/protocol/sketch-v1.md).

Each id is XORed into cell 0 and into ever sparser cells after it: cell i holds it with probability
1/(1 + i/2). Two sets that differ in d ids can be told apart from about 1.4 d of their cells, however
large they are, and a prefix of the cells is a smaller sketch of the same set. Cells are linear: the XOR
of the cells of disjoint sets is the sketch of their union.

    index    0   1   2   3   4   5   6  ...
    id a     x       x           x
    id b     x   x           x              cell = (XOR of ids, XOR of their checks, number of ids)

Numbers of ids are kept modulo 256. They only say which cells may hold a single id; the check decides.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Self

from contentdb.errors import UsageError

MAX_CELLS = 65_536
MAX_IDS = 2**32 - 1
MIN_WARM_CELLS, MAX_WARM_CELLS = 128, 16_384  # the least: what a request's tallies are taken from
# One step of numpy costs as much as so many ids one by one, and importing it as much as so many.
VECTORISE_FROM, IMPORT_FROM = 32, 8_192

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
FACTOR = 0xDA942042E4DD58B5
WHOLE = 18446744073709551616.0  # 2**64


def mixed(z: int) -> int:
    """The finaliser of SplitMix64: each bit of the result depends on each bit of z."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def lanes(id: int) -> tuple[int, int]:
    """Two independent 64-bit hashes of an id; mapping, check and fingerprint are all made of them."""
    return mixed(id + GOLDEN & MASK), mixed(id + 2 * GOLDEN & MASK)


def warm_cells(size: int) -> int:
    """How many cells to keep up to date for a feed with so many ids; 13 bytes of memory each.

    Up to 1,024 entries as many cells as ids, so that most differences decode without a rebuild; from
    65,536 on one for every 64 ids. Always a power of two, so that a growing feed rebuilds rarely.
    """
    wanted = max(min(size, 1_024), size // 64, MIN_WARM_CELLS)
    return min(1 << (wanted - 1).bit_length(), MAX_WARM_CELLS)


class Cells:
    """Rows of (XOR of ids, XOR of checks, count modulo 256), by columns: numpy works on the same memory."""

    __slots__ = ("checks", "counts", "ids")

    def __init__(self, ids: "array[int]", checks: "array[int]", counts: "array[int]") -> None:
        self.ids, self.checks, self.counts = ids, checks, counts

    @classmethod
    def zero(cls, number: int) -> Self:
        return cls(array("Q", bytes(8 * number)), array("I", bytes(4 * number)), array("B", bytes(number)))

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, first: int, end: int) -> "Cells":
        return Cells(self.ids[first:end], self.checks[first:end], self.counts[first:end])

    def plus(self, other: "Cells") -> "Cells":
        counts = array("B", [one + two & 255 for one, two in zip(self.counts, other.counts, strict=True)])
        return Cells(xor(self.ids, other.ids), xor(self.checks, other.checks), counts)

    def minus(self, other: "Cells") -> "Cells":
        counts = array("B", [one - two & 255 for one, two in zip(self.counts, other.counts, strict=True)])
        return Cells(xor(self.ids, other.ids), xor(self.checks, other.checks), counts)

    def is_zero(self) -> bool:
        return not any(column.tobytes().strip(b"\0") for column in (self.counts, self.checks, self.ids))

    def spread(
        self, id: int, check: int, sign: int, place: tuple[int, int], touched: list[int] | None = None
    ) -> tuple[int, int]:
        """XOR the id into its cells from its place (generator's state, index) on; returns its next place.

        Only IEEE-exact operations (conversion to nearest, + - * / sqrt) decide the cells, so that every
        platform and numpy find the same ones.
        """
        ids, checks, counts, end = self.ids, self.checks, self.counts, len(self.ids)
        state, index = place
        while index < end:
            ids[index] ^= id
            checks[index] ^= check
            counts[index] = counts[index] + sign & 255
            if touched is not None:
                touched.append(index)
            state = state * FACTOR & MASK
            index = int((index + 1.5) * sqrt(WHOLE / state) - 0.5)
        return state, index


def xor(left: "array[int]", right: "array[int]") -> "array[int]":
    """Whole columns at once as two long integers: as fast as numpy, and always there."""
    result: array[int] = array(left.typecode)
    both = int.from_bytes(left.tobytes(), "little") ^ int.from_bytes(right.tobytes(), "little")
    result.frombytes(both.to_bytes(len(left) * left.itemsize, "little"))
    return result


@dataclass(frozen=True, slots=True)
class SetFingerprint:
    """Size and two sums over a set: changed by every insert and removal, added up over disjoint sets.

    Two different sets agree by accident once in 2**128. It is no defence against somebody who grinds ids.
    """

    size: int = 0
    first: int = 0
    second: int = 0

    @classmethod
    def of(cls, ids: Iterable[int]) -> "SetFingerprint":
        size = first = second = 0
        for id in ids:
            one, two = lanes(id)
            size, first, second = size + 1, first + one, second + two
        return cls(size, first & MASK, second & MASK)

    def __add__(self, other: "SetFingerprint") -> "SetFingerprint":
        return SetFingerprint(
            self.size + other.size, self.first + other.first & MASK, self.second + other.second & MASK
        )

    def __sub__(self, other: "SetFingerprint") -> "SetFingerprint":
        return SetFingerprint(
            self.size - other.size, self.first - other.first & MASK, self.second - other.second & MASK
        )


class Sketch:
    """The first cells of a set, and its fingerprint.

    The caller keeps the set: inserting an id twice, or removing one that is not there, makes a sketch of
    no set at all, which another sketch will not decode against.
    """

    __slots__ = ("_first", "_second", "_size", "cells")

    def __init__(self, cells: int) -> None:
        if not 1 <= cells <= MAX_CELLS:
            raise UsageError(f"a sketch has 1 to {MAX_CELLS} cells; got {cells}")
        self.cells = Cells.zero(cells)
        self._size = self._first = self._second = 0

    @classmethod
    def of(cls, ids: Sequence[int], cells: int) -> "Sketch":
        """Build from the ids: also the only way to more cells than a sketch was made with."""
        sketch = cls(cells)
        sketch.insert_many(ids)
        return sketch

    @classmethod
    def restored(cls, cells: Cells, fingerprint: SetFingerprint) -> "Sketch":
        """A sketch from cells and fingerprint that were kept together."""
        sketch = cls(len(cells))
        sketch.cells = cells
        sketch._size, sketch._first, sketch._second = fingerprint.size, fingerprint.first, fingerprint.second
        return sketch

    def copy(self) -> "Sketch":
        return Sketch.restored(self.cells.part(0, len(self.cells)), self.fingerprint)

    @property
    def size(self) -> int:
        return self._size

    @property
    def fingerprint(self) -> SetFingerprint:
        return SetFingerprint(self._size, self._first, self._second)

    def __len__(self) -> int:
        """The number of cells."""
        return len(self.cells)

    def merged(self, others: Iterable["Sketch"]) -> "Sketch":
        """The sketch of this set and the others together, all disjoint; as long as the shortest of them."""
        cells, total = self.cells, self.fingerprint
        for other in others:
            length = min(len(cells), len(other))
            cells = cells.part(0, length).plus(other.cells.part(0, length))
            total += other.fingerprint
        return Sketch.restored(cells.part(0, len(cells)), total)

    def insert(self, id: int) -> None:
        self._toggle(id, 1)

    def remove(self, id: int) -> None:
        self._toggle(id, -1)

    def insert_many(self, ids: Sequence[int]) -> None:
        """Insert each id; by numpy where there are many and numpy is installed, with the same result."""
        if vectorisable(len(ids)):
            from contentdb.sketch_vectorised import insert_ids

            self._add(insert_ids(self.cells, ids))
            return
        for id in ids:
            self._toggle(id, 1)

    def _toggle(self, id: int, sign: int) -> None:
        if not 0 <= id <= MASK:
            raise UsageError(f"a short id is an integer of 64 bits; got {id}")
        first, second = lanes(id)
        self.cells.spread(id, second >> 32, sign, (first | 1, 0))
        self._size += sign
        self._first = self._first + sign * first & MASK
        self._second = self._second + sign * second & MASK

    def _add(self, fingerprint: SetFingerprint) -> None:
        total = self.fingerprint + fingerprint
        self._size, self._first, self._second = total.size, total.first, total.second


def vectorisable(amount: int) -> bool:
    """Whether numpy is there and pays for so many ids; without numpy everything works, only slower."""
    if amount < (VECTORISE_FROM if "numpy" in sys.modules else IMPORT_FROM):
        return False
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True
