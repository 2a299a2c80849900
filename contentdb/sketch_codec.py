"""Cells on the wire: blocks that each say where they begin, of which set, and fit to its fingerprint.

Layout and bounds: docs/protocol/sketch-v1.md. A block without cells is a summary: size and fingerprint
alone, which is the whole answer where two sets are equal.
"""

import struct
import sys
from array import array
from dataclasses import dataclass

from contentdb.errors import RemoteError, UsageError
from contentdb.sketch import MAX_CELLS, MAX_IDS, Cells, SetFingerprint, Sketch

VERSION = 1
HEADER = struct.Struct(">BHHIQQ")  # version, first cell, cells, ids in the set, two sums of the fingerprint
CELL_BYTES = 13  # id 8, check 4, count 1
MAX_BLOCK_CELLS = 16_384


@dataclass(frozen=True, slots=True)
class CellBlock:
    """Some cells of a peer's set, from ``first`` on, and the fingerprint of the whole set."""

    first: int
    cells: Cells
    fingerprint: SetFingerprint

    @property
    def end(self) -> int:
        return self.first + len(self.cells)


def encode_summary(fingerprint: SetFingerprint) -> bytes:
    return encode_header(fingerprint, 0, 0)


def encode_cells(sketch: Sketch, first: int, end: int) -> bytes:
    """The cells ``first`` to ``end - 1`` of a sketch as one block."""
    if not 0 <= first < end <= len(sketch) or end - first > MAX_BLOCK_CELLS:
        raise UsageError(
            f"cells {first} to {end} of {len(sketch)} are no block of at most {MAX_BLOCK_CELLS}; "
            f"for more cells build a longer sketch from the ids"
        )
    part = sketch.cells.part(first, end)
    columns = _swapped(part.ids).tobytes() + _swapped(part.checks).tobytes() + part.counts.tobytes()
    return encode_header(sketch.fingerprint, first, end - first) + columns


def decode_cells(data: bytes) -> CellBlock:
    """Read a peer's block. Raises RemoteError for what is no block of any set."""
    if len(data) < HEADER.size:
        raise RemoteError(f"a block of cells has a header of {HEADER.size} bytes; got {len(data)} in all")
    version, first, number, size, one, two = HEADER.unpack_from(data)
    if version != VERSION:
        raise RemoteError(f"cells are of version {VERSION}; got {version}")
    if number > MAX_BLOCK_CELLS or first + number > MAX_CELLS or (first and not number):
        raise RemoteError(f"no block has {number} cells from {first} on")
    if len(data) != HEADER.size + CELL_BYTES * number:
        raise RemoteError(
            f"a block of {number} cells has {HEADER.size + CELL_BYTES * number} bytes; got {len(data)}"
        )
    ids, checks, counts = array("Q"), array("I"), array("B")
    checks_at = HEADER.size + 8 * number
    ids.frombytes(data[HEADER.size : checks_at])
    checks.frombytes(data[checks_at : checks_at + 4 * number])
    counts.frombytes(data[checks_at + 4 * number :])
    if first == 0 and number and counts[0] != size & 255:
        raise RemoteError(f"cell 0 holds every id, {size & 255} modulo 256; it says {counts[0]}")
    return CellBlock(first, Cells(_swapped(ids), _swapped(checks), counts), SetFingerprint(size, one, two))


def encode_header(fingerprint: SetFingerprint, first: int, number: int) -> bytes:
    if not 0 <= fingerprint.size <= MAX_IDS:
        raise UsageError(f"a set on the wire has 0 to {MAX_IDS} ids; got {fingerprint.size}")
    return HEADER.pack(VERSION, first, number, fingerprint.size, fingerprint.first, fingerprint.second)


def _swapped(column: "array[int]") -> "array[int]":
    """Big-endian to native order and back, in place: callers pass a copy."""
    if sys.byteorder == "little":
        column.byteswap()
    return column
