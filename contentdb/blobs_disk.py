"""Enclosures in a folder: each file named by its root, beside a sidecar that says what of it is there.

One process owns the folder. Its threads may share one object: a lock covers every step that is short, and
hashing, copying and flushing happen outside of it.
"""

import os
from pathlib import Path
from threading import Lock, RLock

from contentdb import blobs_recovery
from contentdb.blobs_bitmap import ranges_of, received_bytes
from contentdb.blobs_files import (
    Progress,
    append,
    copy_content,
    disk,
    flush,
    hash_source,
    make_folder,
    open_private,
    place,
    read_at,
    store_error,
    used_bytes,
    write_at,
)
from contentdb.blobs_shelf import Held, OpenFiles, Shelf, write_sidecar
from contentdb.blobs_state import Repair, State, check_claim
from contentdb.chunking import TreeHasher, check_chunk, chunk_count, chunk_length, hash_chunk
from contentdb.errors import RemoteError, UsageError
from contentdb.model import CHUNK_BYTES
from contentdb.names import Root
from contentdb.openfile import OpenFile


class DiskBlobs:
    """Enclosure bytes on disk; see contentdb.blobs.Blobs for what each call promises."""

    def __init__(self, folder: Path) -> None:
        self._shelf = Shelf(Path(folder))
        self._writing = f"writing to {folder}"
        self._lock = RLock()
        self._files = OpenFiles(self._shelf)
        self._unflushed: set[Root] = set()
        self._flush_lock = Lock()
        self._flushing: Root | None = None
        with disk(f"opening {folder}"):
            make_folder(self._shelf.temporary)

    # --- publishing ---

    def add_file(self, path: Path | OpenFile, *, progress: Progress | None = None) -> tuple[Root, int]:
        with disk(self._writing), self._shelf.incoming() as (target, temporary):
            hasher = hash_source(path, lambda piece: append(target, piece), progress, target)
            return self._adopt(target, temporary, hasher)

    def add_bytes(self, data: bytes) -> tuple[Root, int]:
        with disk(self._writing), self._shelf.incoming() as (target, temporary):
            hasher = TreeHasher()
            hasher.update(data)
            append(target, data)
            return self._adopt(target, temporary, hasher)

    def _adopt(self, target: int, temporary: Path, hasher: TreeHasher) -> tuple[Root, int]:
        """Bring a finished file in under its root, whole and durable before anybody hears of it."""
        root, length = hasher.root(), hasher.length
        flush(target)
        sidecar = temporary.with_name(temporary.name + ".state")
        write_sidecar(sidecar, root, hasher)
        with self._lock:
            self._forget_open(root)
            # Also where one is complete: its size says nothing of its bytes, and this one was just hashed.
            self._shelf.adopt(root, temporary, sidecar)
        return root, length

    # --- receiving ---

    def begin(self, root: Root, length: int) -> bool:
        check_claim(root, length)
        with self._lock, disk(f"preparing enclosure {root}"):
            if not self._files.knows(root):
                self._shelf.create(root, length)
            held = self._files.held(root)
            if held.state.length != length:
                held = self._with_length(held, length)
            if not held.is_complete and not held.state.left:
                self._finish(held)
            return held.is_complete

    def _with_length(self, held: Held, length: int) -> Held:
        state = held.state
        if chunk_count(length) == state.count and not state.has(state.count):
            state.change_length(length)  # as many chunks: only the last one tells which length is true
            return held
        if held.is_complete or state.left < state.count or (state.count > 1 and any(state.known)):
            raise RemoteError(
                f"expected {state.length} bytes, as far as enclosure {state.root} was verified; {length} came"
            )
        # So far the length was only somebody's claim: it must not shut out the next one's.
        self._forget_open(state.root)
        self._shelf.create(state.root, length)
        return self._files.held(state.root)

    def set_leaves(self, root: Root, first: int, hashes: bytes) -> None:
        with self._lock, disk(f"keeping hashes of enclosure {root}"):
            held = self._files.held(root)
            if not held.is_complete:
                held.state.set_leaves(first, hashes)

    def write_chunk(self, root: Root, index: int, data: bytes | memoryview) -> bool:
        with self._lock:
            held = self._files.held(root)
            state = held.state
            check_chunk(state.length, index, data)
            if held.is_complete or state.has(index):
                return False
            if hash_chunk(data) != state.leaf(index):
                raise RemoteError(f"expected chunk {index} of enclosure {root}; bytes with another hash came")
            try:
                write_at(held.fd, data, (index - 1) * CHUNK_BYTES)
                state.mark(index)
            except OSError as error:
                raise store_error(error, f"writing chunk {index} of enclosure {root}") from error
            self._unflushed.add(root)
            if state.left:
                return False
            with disk(f"completing enclosure {root}"):
                self._finish(held)
            return True

    def _finish(self, held: Held) -> None:
        root = held.state.root
        held.state.flush(held.fd)
        self._forget_open(root)  # its descriptor is for a file of another name
        self._shelf.promote(root)
        held.is_complete = True

    def flush(self) -> None:
        with self._flush_lock:
            for root in list(self._unflushed):
                with disk(f"flushing enclosure {root}"):
                    self._flush_one(root)

    def _flush_one(self, root: Root) -> None:
        with self._lock:
            if root not in self._unflushed:  # completed or removed meanwhile
                return
            self._unflushed.discard(root)
            if not self._files.knows(root):
                raise self._shelf.gone(root)
            self._flushing = root
            held = self._files.held(root)
            fd, had = os.dup(held.fd), bytes(held.state.have)
        try:
            flush(fd)
        except OSError:
            with self._lock:
                if self._flushing == root:
                    self._files.held(root).state.distrust()
            raise
        finally:
            os.close(fd)
        with self._lock:
            if self._flushing == root:
                self._files.held(root).state.mark_flushed(had)

    def _forget_open(self, root: Root) -> None:
        """Close what is open, and let no flush that is under way speak for what comes next."""
        self._files.drop(root)
        self._unflushed.discard(root)
        if self._flushing == root:
            self._flushing = None

    # --- asking and reading ---

    def _state(self, root: Root) -> State:
        with self._lock:
            return self._files.held(root).state

    def missing_leaves(self, root: Root) -> list[range]:
        state = self._state(root)
        return ranges_of(state.known, state.count, False)

    def leaves(self, root: Root, first: int, last: int) -> bytes:
        with self._lock, disk(f"reading hashes of enclosure {root}"):
            return self._files.held(root).state.leaves(first, last)

    def hashes(self, root: Root, first: int, last: int) -> tuple[bytes, bytes]:
        with self._lock, disk(f"reading hashes of enclosure {root}"):
            state = self._files.held(root).state
            proof = state.proof(first, last)
            return state.leaves(first, last), proof

    def read_chunk(self, root: Root, index: int) -> bytes:
        with self._lock:
            held = self._files.held(root)
            if not held.state.has(index):
                raise UsageError(f"chunk {index} of enclosure {root} is not here")
            wanted = chunk_length(held.state.length, index)
            with disk(f"reading chunk {index} of enclosure {root}"):
                data = read_at(held.fd, wanted, (index - 1) * CHUNK_BYTES)
        if len(data) != wanted:
            raise self._shelf.cut_short(root)
        return data

    def length(self, root: Root) -> int:
        return self._state(root).length

    def has_chunk(self, root: Root, index: int) -> bool:
        with self._lock:
            return self._files.knows(root) and self._files.held(root).state.has(index)

    def have(self, root: Root) -> list[range]:
        state = self._state(root)
        return ranges_of(state.have, state.count, True)

    def missing(self, root: Root) -> list[range]:
        state = self._state(root)
        return ranges_of(state.have, state.count, False)

    def received(self, root: Root) -> int:
        if not self._files.knows(root):
            return 0
        state = self._state(root)
        return received_bytes(state.have, state.count, state.length)

    def is_complete(self, root: Root) -> bool:
        with self._lock:
            return self._files.knows(root) and self._files.held(root).is_complete

    def path(self, root: Root) -> Path:
        with self._lock:
            if not self._files.knows(root):
                raise self._shelf.gone(root)
            held = self._files.held(root)
            if not held.is_complete:
                left, count = held.state.left, held.state.count
                raise UsageError(f"enclosure {root} is not complete: {left} of {count} chunks are missing")
            return self._shelf.whole(root, held.state.length)

    def copy_out(self, root: Root, folder: Path, name: str) -> Path:
        path, length = self.path(root), self.length(root)
        with disk(f"reading enclosure {root}"):
            source = open_private(path, os.O_RDONLY)
        try:
            return place(Path(folder), name, lambda target: copy_content(source, target, length))
        finally:
            os.close(source)

    def roots(self) -> list[Root]:
        with disk(f"listing {self._shelf.folder}"):
            return self._shelf.roots()

    def size_bytes(self) -> int:
        with disk(f"listing {self._shelf.folder}"):
            return sum(map(used_bytes, self._shelf.files()))

    # --- looking after ---

    def verify(self, root: Root, *, progress: Progress | None = None) -> list[int]:
        with disk(f"verifying enclosure {root}"):
            held = self._shelf.open(root)  # descriptors of its own: this takes long and needs no lock
            try:
                had = ranges_of(held.state.have, held.state.count, True)
                wrong = blobs_recovery.wrong_chunks(held.state, held.fd, had, progress)
            finally:
                held.close()
            if wrong:
                self._unmark(root, wrong)
            return wrong

    def _unmark(self, root: Root, wrong: list[int]) -> None:
        with self._lock:
            held = self._files.held(root)
            held.state.unmark(wrong)
            self._forget_open(root)
            if held.is_complete:
                self._shelf.demote(root)

    def remove(self, root: Root) -> None:
        with self._lock, disk(f"removing enclosure {root}"):
            self._forget_open(root)
            self._shelf.remove(root)

    def recover(self) -> list[Repair]:
        with self._lock, disk(f"recovering {self._shelf.folder}"):
            self._files.drop_all()
            self._unflushed.clear()
            return blobs_recovery.recover(self._shelf)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            with self._lock:
                self._files.drop_all()
