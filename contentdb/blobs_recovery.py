"""What a folder of enclosures needs after an unclean stop, and how chunks on disk are hashed again.

Nothing is destroyed: what turns out wrong or short becomes partial, what makes no sense is set aside, and
every such case is reported. Only temporary files, which nobody was told about, are deleted.
"""

import os
from collections.abc import Iterable

from contentdb.blobs_bitmap import clear_from, full_bitmap, has_bit, ranges_of
from contentdb.blobs_files import Progress, flush_folder, open_private, read_at, read_pieces
from contentdb.blobs_shelf import Shelf, write_sidecar
from contentdb.blobs_state import DamagedState, Repair, State
from contentdb.chunking import TreeHasher, chunk_length, hash_chunk
from contentdb.model import CHUNK_BYTES
from contentdb.names import Root


def recover(shelf: Shelf) -> list[Repair]:
    for path in shelf.temporary.iterdir():
        if path.is_file():
            path.unlink()
    repairs: list[Repair] = []
    for root in shelf.roots():
        repairs += _recover_one(shelf, root)
    return repairs


def wrong_chunks(
    state: State, fd: int, suspects: Iterable[range], progress: Progress | None = None
) -> list[int]:
    """Hash chunks on disk again; returns the numbers of those that are not what they must be."""
    wrong, done = [], 0
    for index in (index for run in suspects for index in run):
        wanted = chunk_length(state.length, index)
        data = read_at(fd, wanted, (index - 1) * CHUNK_BYTES)
        if not has_bit(state.known, index) or hash_chunk(data) != state.leaf(index):
            wrong.append(index)
        done += wanted
        if progress is not None:
            progress(done, state.length)
    return wrong


def _recover_one(shelf: Shelf, root: Root) -> list[Repair]:
    try:
        state = State.open(shelf.state(root), root)
    except FileNotFoundError:
        return _without_state(shelf, root)
    except DamagedState:
        shelf.set_aside(shelf.state(root))
        return _without_state(shelf, root)
    try:
        if not shelf.complete(root).exists():
            return _recover_partial(shelf, state, [])
        size = shelf.complete(root).stat().st_size
        if size != state.length:
            return _demote(shelf, state, size)
        if not state.knows_all_leaves:
            return _without_state(shelf, root)
        shelf.part(root).unlink(missing_ok=True)  # left when a published file overtook its download
        return []
    finally:
        state.close()


def _without_state(shelf: Shelf, root: Root) -> list[Repair]:
    """Only a complete file can speak for itself, by its hash."""
    complete = shelf.complete(root)
    if not complete.exists():
        if not shelf.part(root).exists():
            return []
        shelf.set_aside(shelf.part(root))
        return [Repair(root, "chunks without a sidecar cannot be told apart; they were set aside")]
    hasher = TreeHasher()
    fd = open_private(complete, os.O_RDONLY)
    try:
        for piece in read_pieces(fd, complete):
            hasher.update(piece)
    finally:
        os.close(fd)
    if hasher.root() != root:
        shelf.set_aside(complete)
        return [Repair(root, "the file is not what its name says and has no sidecar; it was set aside")]
    _write_state(shelf, root, hasher)
    return [Repair(root, "the sidecar was rebuilt from the complete file")]


def _write_state(shelf: Shelf, root: Root, hasher: TreeHasher) -> None:
    rebuilt = shelf.temporary / f"{root}.state"
    write_sidecar(rebuilt, root, hasher)
    os.replace(rebuilt, shelf.state(root))
    flush_folder(shelf.home(root))


def _demote(shelf: Shelf, state: State, size: int) -> list[Repair]:
    """A complete file of the wrong size: keep what is right of it and fetch the rest again."""
    state.have, state.flushed = full_bitmap(state.count), bytearray(len(state.have))
    state.write_bitmaps()
    shelf.demote(state.root)
    report = Repair(state.root, f"the complete file had {size} bytes instead of {state.length}")
    return _recover_partial(shelf, state, [report])


def _recover_partial(shelf: Shelf, state: State, repairs: list[Repair]) -> list[Repair]:
    part = shelf.part(state.root)
    is_gone = not part.exists()
    if is_gone and state.left < state.count:
        repairs.append(Repair(state.root, "the file is missing and has to be fetched again"))
    fd = open_private(part, os.O_RDWR | os.O_CREAT)
    try:
        lost = _recheck(state, fd)
        if os.fstat(fd).st_size > state.length:
            os.ftruncate(fd, state.length)
        state.flush(fd)
    finally:
        os.close(fd)
    if lost:
        repairs.append(Repair(state.root, f"{lost} chunks were not on the disk as they should be", lost))
    if not state.left:
        shelf.promote(state.root)
        repairs.append(Repair(state.root, "all chunks were there; the enclosure is complete now"))
    return repairs


def _recheck(state: State, fd: int) -> int:
    """Unmark what the last flush did not cover, or what lies beyond the end, unless it is right."""
    clear_from(state.flushed, os.fstat(fd).st_size // CHUNK_BYTES + 1)
    unsafe = bytes(have & ~safe for have, safe in zip(state.have, state.flushed, strict=True))
    wrong = wrong_chunks(state, fd, ranges_of(unsafe, state.count, True))
    state.unmark(wrong)
    return len(wrong)
