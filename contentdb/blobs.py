"""Enclosure bytes with their leaf hashes and have-bitmaps: one interface, on disk and in memory.

    blobs = DiskBlobs(home / "blobs")
    blobs.recover()                              # once, before anything else
    root, length = blobs.add_file(path)          # publish: durable when it returns

    if not blobs.begin(root, length):            # receive: length and root come from a signed entry
        blobs.set_leaves(root, 1, verify_range(root, length, 1, hashes, proof))
        is_done = blobs.write_chunk(root, 1, data)

Chunks and leaf hashes are numbered from 1, ranges of them are ``range`` objects, several leaf hashes are one
byte string of 32 bytes each. A UsageError is the caller's fault, a RemoteError the peer's, a StoreError the
disk's; after any of them the content that was there is still there, and the call can be tried again.
"""

from pathlib import Path
from typing import Protocol

from contentdb.blobs_disk import DiskBlobs
from contentdb.blobs_files import Progress, safe_name
from contentdb.blobs_memory import MemoryBlobs
from contentdb.blobs_state import Repair
from contentdb.names import Root
from contentdb.openfile import OpenFile

__all__ = ["Blobs", "DiskBlobs", "MemoryBlobs", "Progress", "Repair", "safe_name"]


class Blobs(Protocol):
    def add_file(self, path: Path | OpenFile, *, progress: Progress | None = None) -> tuple[Root, int]:
        """Copy a local file in while hashing it; returns its root and length when it is durable.

        Raises UsageError if it is no readable plain file, or changed meanwhile. A file that is already
        here is not kept twice; if it was damaged, it is whole again. ``progress`` is called with the bytes
        done and the bytes in all.
        """

    def add_bytes(self, data: bytes) -> tuple[Root, int]:
        """The same for bytes that are already in memory."""

    def begin(self, root: Root, length: int) -> bool:
        """Make ready to receive, or go on receiving; True if it is all here already.

        Takes no space for what is not here. Raises RemoteError for a length that cannot be,
        as far as the enclosure was verified already.
        """

    def set_leaves(self, root: Root, first: int, hashes: bytes) -> None:
        """Keep leaf hashes that chunking.verify_range returned."""

    def missing_leaves(self, root: Root) -> list[range]: ...

    def leaves(self, root: Root, first: int, last: int) -> bytes: ...

    def hashes(self, root: Root, first: int, last: int) -> tuple[bytes, bytes]:
        """Leaf hashes and the proof for them, for a peer that asks; needs all leaf hashes to be known."""

    def write_chunk(self, root: Root, index: int, data: bytes | memoryview) -> bool:
        """Verify a chunk and keep it; True if the enclosure became complete, and durable, by it.

        Raises RemoteError if it does not match its leaf hash, or if that is not known. A chunk that is
        already here is ignored. The call that completes waits until the disk has everything.
        """

    def flush(self) -> None:
        """Wait until what was written is on the disk, so that recovery need not hash it again.

        Never needed for correctness. May run on another thread than the other calls.
        """

    def read_chunk(self, root: Root, index: int) -> bytes: ...

    def length(self, root: Root) -> int: ...

    def has_chunk(self, root: Root, index: int) -> bool: ...

    def have(self, root: Root) -> list[range]: ...

    def missing(self, root: Root) -> list[range]: ...

    def received(self, root: Root) -> int:
        """How many bytes of it are here; 0 for one that was never begun."""

    def is_complete(self, root: Root) -> bool: ...

    def path(self, root: Root) -> Path | None:
        """The file of a complete enclosure; None where it lies in no file.

        Raises StoreError if it is not here at all, UsageError if it is not complete.
        """

    def copy_out(self, root: Root, folder: Path, name: str) -> Path:
        """Copy a complete enclosure into somebody's folder under a safe and free name; returns its path."""

    def roots(self) -> list[Root]:
        """Every enclosure of which anything is here, sorted."""

    def size_bytes(self) -> int:
        """What all of it really takes, with what is kept beside the content."""

    def verify(self, root: Root, *, progress: Progress | None = None) -> list[int]:
        """Hash every chunk that is here again; those that are wrong are missing from then on."""

    def remove(self, root: Root) -> None:
        """Forget an enclosure; not an error if it is not here."""

    def recover(self) -> list[Repair]:
        """Put right what an unclean stop left behind; called once, before the first other call."""

    def close(self) -> None:
        """Flush and close all files; the next call opens them again."""
