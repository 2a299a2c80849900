"""The sidecar of an enclosure on disk: its leaf hashes, and which chunks are there and which are safe.

    header (64)   magic, version, length, root, checksum; big-endian
    known         bitmap: this leaf hash is verified and on the disk
    have          bitmap: this chunk was verified and written
    flushed       bitmap: ... and was on the disk itself when this bit was set
    leaves        32 bytes each, from the next multiple of 32 on

Bit i - 1 of a bitmap, lowest bit of a byte first, stands for chunk i. After a power cut ``have`` may run
ahead of the bytes, ``flushed`` never does; the difference is what has to be hashed again. Holes in the file
mean "not yet", so a new sidecar takes next to nothing, whatever length a stranger claims.
"""

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from contentdb.blobs_bitmap import clear_bit, full_bitmap, has_bit, ranges_of, set_run
from contentdb.blobs_files import flush, open_private, read_at, write_at
from contentdb.chunking import (
    EMPTY_ROOT,
    HASH_BYTES,
    MAX_RANGE_HASHES,
    Span,
    chunk_count,
    prove,
    subtree_hash,
)
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.model import MAX_ENCLOSURE_BYTES
from contentdb.names import Root

MAGIC = b"pby-blob"
VERSION = 1
HEADER = struct.Struct(">8sIQ32s8xI")


class DamagedState(StoreError):
    """The sidecar does not say what it must; recovery sets it aside and hashes the file again."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing recovery found and put right."""

    root: Root
    what: str
    lost: int = 0  # chunks that have to be fetched again


def check_claim(root: Root, length: int) -> None:
    """What can be said against a length and a root before anything of the enclosure is here."""
    if not 0 <= length <= MAX_ENCLOSURE_BYTES:
        raise UsageError(f"an enclosure has 0 to {MAX_ENCLOSURE_BYTES} bytes; got {length}")
    if (length == 0) != (root == EMPTY_ROOT):
        raise RemoteError(f"an enclosure of {length} bytes cannot have the root {root}")


def check_range(count: int, first: int, last: int) -> None:
    if not 1 <= first <= last <= count:
        raise UsageError(f"expected chunks within 1 to {count}; got {first} to {last}")


def last_of(count: int, first: int, hashes: bytes) -> int:
    """The number of the last of these hashes, if they are whole and lie within the enclosure."""
    if len(hashes) % HASH_BYTES:
        raise UsageError(f"leaf hashes have {HASH_BYTES} bytes each; got {len(hashes)} bytes in all")
    last = first + len(hashes) // HASH_BYTES - 1
    check_range(count, first, last)
    return last


class State:
    """An open sidecar; the bitmaps are also in memory, the leaf hashes are read when needed."""

    def __init__(self, fd: int, root: Root, length: int) -> None:
        self.fd, self.root, self.length = fd, root, length
        self.count = chunk_count(length)
        self._bitmap_bytes = -(-self.count // 8)
        self._have_at = HEADER.size + self._bitmap_bytes
        self._flushed_at = self._have_at + self._bitmap_bytes
        self._leaves_at = -(-(self._flushed_at + self._bitmap_bytes) // HASH_BYTES) * HASH_BYTES
        self.known, self.have, self.flushed = (bytearray(self._bitmap_bytes) for _ in range(3))
        self.left = self.count
        self._blocks: bytes | None = None

    @classmethod
    def create(cls, path: Path, root: Root, length: int, leaves: bytes = b"") -> Self:
        """A new sidecar: of an enclosure of which nothing is here or, with its leaves, of a complete one."""
        state = cls(open_private(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), root, length)
        try:
            write_at(state.fd, _header(root, length), 0)
            os.ftruncate(state.fd, state.file_bytes)
            if leaves:
                state.have, state.flushed, state.left = full_bitmap(state.count), full_bitmap(state.count), 0
            elif state.count == 1:
                leaves = bytes.fromhex(root)  # a tree of one leaf is that leaf
            if leaves:
                state.known = full_bitmap(state.count)
                write_at(state.fd, leaves, state._leaves_at)
                write_at(state.fd, state.known + state.have + state.flushed, HEADER.size)
        except BaseException:
            os.close(state.fd)
            raise
        return state

    @classmethod
    def open(cls, path: Path, root: Root) -> Self:
        """Raises FileNotFoundError, DamagedState, or StoreError for a version that is not ours."""
        fd = open_private(path, os.O_RDWR)
        try:
            state = cls(fd, root, _read_header(fd, path, root))
            if os.fstat(fd).st_size != state.file_bytes:
                raise DamagedState(f"{path} must have {state.file_bytes} bytes; restart to repair it")
            bitmaps = read_at(fd, 3 * state._bitmap_bytes, HEADER.size)
        except BaseException:
            os.close(fd)
            raise
        size = state._bitmap_bytes
        state.known, state.have, state.flushed = (bytearray(bitmaps[at * size :][:size]) for at in range(3))
        state._count_left()
        return state

    @property
    def file_bytes(self) -> int:
        return self._leaves_at + self.count * HASH_BYTES

    @property
    def knows_all_leaves(self) -> bool:
        return self.known == full_bitmap(self.count)

    def has(self, index: int) -> bool:
        return 1 <= index <= self.count and has_bit(self.have, index)

    def change_length(self, length: int) -> None:
        """Another length of as many chunks: nothing but the header changes."""
        write_at(self.fd, _header(self.root, length), 0)
        self.length = length

    def mark(self, index: int) -> None:
        at = index - 1 >> 3
        value = self.have[at] | 1 << (index - 1 & 7)
        write_at(self.fd, bytes((value,)), self._have_at + at)
        self.have[at] = value
        self.left -= 1

    def flush(self, fd: int) -> None:
        """Flush the enclosure's own file; after a failure nothing since the last good flush counts."""
        had = bytes(self.have)
        try:
            flush(fd)
        except OSError:
            self.distrust()
            raise
        self.mark_flushed(had)

    def mark_flushed(self, have: bytes) -> None:
        """These chunks are on the disk now: ``have`` as it was before the flush began."""
        # A bit that was taken back during the flush stays away.
        self.flushed = bytearray(a & b for a, b in zip(have, self.have, strict=True))
        write_at(self.fd, self.flushed, self._flushed_at)

    def mark_all(self) -> None:
        """Treat every chunk as written, for a file that was complete whatever the bitmaps say."""
        self.have, self.left = full_bitmap(self.count), 0

    def unmark(self, indexes: list[int]) -> None:
        for index in indexes:
            clear_bit(self.have, index)
            clear_bit(self.flushed, index)
        self.write_bitmaps()

    def distrust(self) -> None:
        """After a flush that failed, nothing written since the last good one can be relied on."""
        self.have = bytearray(self.flushed)
        self.write_bitmaps()

    def write_bitmaps(self) -> None:
        self._count_left()
        write_at(self.fd, self.have + self.flushed, self._have_at)

    def _count_left(self) -> None:
        self.left = self.count - int.from_bytes(self.have, "little").bit_count()

    def leaf(self, index: int) -> bytes:
        if not has_bit(self.known, index):
            raise RemoteError(f"chunk {index} came before its leaf hash; expected a verified hash first")
        return read_at(self.fd, HASH_BYTES, self._leaves_at + (index - 1) * HASH_BYTES)

    def leaves(self, first: int, last: int) -> bytes:
        check_range(self.count, first, last)
        unknown = ranges_of(self.known, self.count, False) if not self.knows_all_leaves else []
        for run in unknown:
            if run.start <= last and first < run.stop:
                raise UsageError(f"leaf hash {max(first, run.start)} is not known yet; fetch it first")
        return self._read_leaves((first - 1, last))

    def set_leaves(self, first: int, hashes: bytes) -> None:
        """Keep verified leaf hashes; they are on the disk before they count as known."""
        last = last_of(self.count, first, hashes)
        write_at(self.fd, hashes, self._leaves_at + (first - 1) * HASH_BYTES)
        flush(self.fd)
        known = bytearray(self.known)
        set_run(known, first, last)
        write_at(self.fd, known, HEADER.size)
        self.known = known

    def proof(self, first: int, last: int) -> bytes:
        """A range proof that reads the leaves of two blocks at most, besides one hash a block."""
        if not self.knows_all_leaves:
            raise UsageError("a proof needs all leaf hashes, and some are not known yet")
        return prove(self.count, first, last, self._hash_of)

    def _hash_of(self, span: Span) -> bytes:
        first_block, in_block = divmod(span[0], MAX_RANGE_HASHES)
        if in_block or span[1] - span[0] < MAX_RANGE_HASHES:
            return subtree_hash(self._read_leaves(span))
        last_block = -(-span[1] // MAX_RANGE_HASHES)
        return subtree_hash(self._block_hashes()[first_block * HASH_BYTES : last_block * HASH_BYTES])

    def _block_hashes(self) -> bytes:
        # Without these, each answer about a gigabyte would hash 65,536 leaves again.
        if self._blocks is None:
            starts = range(0, self.count, MAX_RANGE_HASHES)
            spans = [(start, min(start + MAX_RANGE_HASHES, self.count)) for start in starts]
            self._blocks = b"".join(subtree_hash(self._read_leaves(span)) for span in spans)
        return self._blocks

    def _read_leaves(self, span: Span) -> bytes:
        return read_at(self.fd, (span[1] - span[0]) * HASH_BYTES, self._leaves_at + span[0] * HASH_BYTES)

    def close(self) -> None:
        os.close(self.fd)


def _header(root: Root, length: int) -> bytes:
    fields = (MAGIC, VERSION, length, bytes.fromhex(root))
    return HEADER.pack(*fields, zlib.crc32(HEADER.pack(*fields, 0)[:-4]))


def _read_header(fd: int, path: Path, root: Root) -> int:
    raw = read_at(fd, HEADER.size, 0)
    if len(raw) < HEADER.size:
        raise DamagedState(f"{path} has {len(raw)} bytes, fewer than its header; restart to repair it")
    magic, version, length, named, checksum = HEADER.unpack(raw)
    if magic != MAGIC or checksum != zlib.crc32(raw[:-4]) or length > MAX_ENCLOSURE_BYTES:
        raise DamagedState(f"{path} has a damaged header; restart to repair it")
    if version != VERSION:
        raise StoreError(f"{path} is of version {version}, this program knows {VERSION}; install a newer one")
    if named.hex() != root:
        raise DamagedState(f"{path} belongs to {named.hex()}; restart to repair it")
    return int(length)
