"""Enclosures in memory, for tests and simulations; they behave like the ones on disk, but for the disk."""

from dataclasses import dataclass, field
from pathlib import Path

from contentdb.blobs_bitmap import ranges_of, received_bytes, set_run
from contentdb.blobs_files import Progress, append, hash_source, place
from contentdb.blobs_state import Repair, check_claim, check_range, last_of
from contentdb.chunking import (
    HASH_BYTES,
    TreeHasher,
    check_chunk,
    chunk_count,
    hash_chunk,
    range_proof,
)
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.model import CHUNK_BYTES
from contentdb.names import Root
from contentdb.openfile import OpenFile


@dataclass(slots=True)
class Kept:
    length: int
    leaves: dict[int, bytes] = field(default_factory=dict)
    chunks: dict[int, bytes] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return chunk_count(self.length)

    @property
    def is_complete(self) -> bool:
        return len(self.chunks) == self.count

    def bitmap(self, numbers: dict[int, bytes]) -> bytearray:
        bitmap = bytearray(-(-self.count // 8))
        for number in numbers:
            set_run(bitmap, number, number)
        return bitmap


class MemoryBlobs:
    """Enclosure bytes in memory; see contentdb.blobs.Blobs for what each call promises."""

    def __init__(self) -> None:
        self._kept: dict[Root, Kept] = {}

    def add_file(self, path: Path | OpenFile, *, progress: Progress | None = None) -> tuple[Root, int]:
        data = bytearray()
        hasher = hash_source(path, data.extend, progress)
        return self._adopt(bytes(data), hasher)

    def add_bytes(self, data: bytes) -> tuple[Root, int]:
        hasher = TreeHasher()
        hasher.update(data)
        return self._adopt(data, hasher)

    def _adopt(self, data: bytes, hasher: TreeHasher) -> tuple[Root, int]:
        kept, leaves = Kept(len(data)), hasher.leaves()
        for index in range(1, kept.count + 1):
            kept.leaves[index] = leaves[(index - 1) * HASH_BYTES : index * HASH_BYTES]
            kept.chunks[index] = data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES]
        self._kept[hasher.root()] = kept
        return hasher.root(), len(data)

    def begin(self, root: Root, length: int) -> bool:
        check_claim(root, length)
        kept = self._kept.get(root)
        if kept is not None and kept.length != length:
            if chunk_count(length) == kept.count and kept.count not in kept.chunks:
                kept.length = length  # as many chunks: only the last one tells which length is true
            elif kept.chunks or (kept.count > 1 and kept.leaves):
                raise RemoteError(
                    f"expected {kept.length} bytes, as far as enclosure {root} was verified; {length} came"
                )
            else:
                kept = None
        if kept is None:
            kept = self._kept[root] = Kept(length)
            if kept.count == 1:
                kept.leaves[1] = bytes.fromhex(root)
        return kept.is_complete

    def set_leaves(self, root: Root, first: int, hashes: bytes) -> None:
        kept = self._held(root)
        for index in range(first, last_of(kept.count, first, hashes) + 1):
            kept.leaves[index] = hashes[(index - first) * HASH_BYTES : (index - first + 1) * HASH_BYTES]

    def write_chunk(self, root: Root, index: int, data: bytes | memoryview) -> bool:
        kept = self._held(root)
        check_chunk(kept.length, index, data)
        if index in kept.chunks:
            return False
        if index not in kept.leaves:
            raise RemoteError(f"chunk {index} came before its leaf hash; expected a verified hash first")
        if hash_chunk(data) != kept.leaves[index]:
            raise RemoteError(f"expected chunk {index} of enclosure {root}; bytes with another hash came")
        kept.chunks[index] = bytes(data)
        return kept.is_complete

    def flush(self) -> None:
        """Nothing to do: memory has no other place to go to."""

    def missing_leaves(self, root: Root) -> list[range]:
        kept = self._held(root)
        return ranges_of(kept.bitmap(kept.leaves), kept.count, False)

    def leaves(self, root: Root, first: int, last: int) -> bytes:
        kept = self._held(root)
        check_range(kept.count, first, last)
        for index in range(first, last + 1):
            if index not in kept.leaves:
                raise UsageError(f"leaf hash {index} is not known yet; fetch it first")
        return b"".join(kept.leaves[index] for index in range(first, last + 1))

    def hashes(self, root: Root, first: int, last: int) -> tuple[bytes, bytes]:
        count = self._held(root).count
        if self.missing_leaves(root):
            raise UsageError("a proof needs all leaf hashes, and some are not known yet")
        every = self.leaves(root, 1, count) if count else b""
        proof = range_proof(every, first, last)
        return self.leaves(root, first, last), proof

    def read_chunk(self, root: Root, index: int) -> bytes:
        if index not in self._held(root).chunks:
            raise UsageError(f"chunk {index} of enclosure {root} is not here")
        return self._held(root).chunks[index]

    def length(self, root: Root) -> int:
        return self._held(root).length

    def has_chunk(self, root: Root, index: int) -> bool:
        return root in self._kept and index in self._kept[root].chunks

    def have(self, root: Root) -> list[range]:
        kept = self._held(root)
        return ranges_of(kept.bitmap(kept.chunks), kept.count, True)

    def missing(self, root: Root) -> list[range]:
        kept = self._held(root)
        return ranges_of(kept.bitmap(kept.chunks), kept.count, False)

    def received(self, root: Root) -> int:
        kept = self._kept.get(root)
        return received_bytes(kept.bitmap(kept.chunks), kept.count, kept.length) if kept else 0

    def is_complete(self, root: Root) -> bool:
        return root in self._kept and self._kept[root].is_complete

    def path(self, root: Root) -> Path | None:
        self._complete(root)
        return None

    def copy_out(self, root: Root, folder: Path, name: str) -> Path:
        kept = self._complete(root)

        def fill(target: int) -> None:
            for index in range(1, kept.count + 1):
                append(target, kept.chunks[index])

        return place(Path(folder), name, fill)

    def roots(self) -> list[Root]:
        return sorted(self._kept)

    def size_bytes(self) -> int:
        return sum(
            len(part)
            for kept in self._kept.values()
            for part in (*kept.chunks.values(), *kept.leaves.values())
        )

    def verify(self, root: Root, *, progress: Progress | None = None) -> list[int]:
        kept, done = self._held(root), 0
        wrong = []
        for index in sorted(kept.chunks):
            if hash_chunk(kept.chunks[index]) != kept.leaves[index]:
                wrong.append(index)
            done += len(kept.chunks[index])
            if progress is not None:
                progress(done, kept.length)
        for index in wrong:
            del kept.chunks[index]
        return wrong

    def remove(self, root: Root) -> None:
        self._kept.pop(root, None)

    def recover(self) -> list[Repair]:
        return []

    def close(self) -> None:
        """Nothing to do: no file is open."""

    def _held(self, root: Root) -> Kept:
        if root not in self._kept:
            raise UsageError(f"enclosure {root} is not here; begin it first")
        return self._kept[root]

    def _complete(self, root: Root) -> Kept:
        if root not in self._kept:
            raise StoreError(f"enclosure {root} is missing from memory; subscribe again to fetch it")
        kept = self._kept[root]
        if not kept.is_complete:
            left = kept.count - len(kept.chunks)
            raise UsageError(f"enclosure {root} is not complete: {left} of {kept.count} chunks are missing")
        return kept
