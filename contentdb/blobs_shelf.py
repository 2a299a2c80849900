"""Where enclosures lie in their folder, and the few of them that are open at a time.

ab/cd/<root>            a complete enclosure
ab/cd/<root>.part       one of which some chunks are here
ab/cd/<root>.state      leaf hashes and bitmaps of either, see blobs_state
ab/cd/<root>*.damaged   what recovery could make no sense of, kept until the enclosure is removed
tmp/                    files on their way in; emptied by recovery
"""

import os
import re
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contentdb.blobs_files import disk, flush, flush_folder, make_folder, open_private
from contentdb.blobs_state import State
from contentdb.chunking import TreeHasher
from contentdb.errors import StoreError, UsageError
from contentdb.names import Root

# Two descriptors each; a phone allows a process about a thousand, and sockets need some.
MAX_OPEN = 32
_OURS = re.compile(r"([0-9a-f]{64})(\.part|\.state)?(\.damaged)?")


class Shelf:
    """The names of all files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"

    def home(self, root: Root) -> Path:
        return self.folder / root[:2] / root[2:4]

    def complete(self, root: Root) -> Path:
        return self.home(root) / root

    def part(self, root: Root) -> Path:
        return self.home(root) / f"{root}.part"

    def state(self, root: Root) -> Path:
        return self.home(root) / f"{root}.state"

    def holds(self, root: Root) -> bool:
        return self.state(root).exists() or self.complete(root).exists()

    def files(self) -> Iterator[Path]:
        for folder, _, names in os.walk(self.folder):
            yield from (Path(folder, name) for name in names)

    def roots(self) -> list[Root]:
        ours = (_OURS.fullmatch(path.name) for path in self.files() if path.parent != self.temporary)
        return sorted({Root(match[1]) for match in ours if match})

    @contextmanager
    def incoming(self) -> Iterator[tuple[int, Path]]:
        """An open private file, and its path, which goes away again unless somebody adopts it."""
        target, name = tempfile.mkstemp(dir=self.temporary)
        try:
            yield target, Path(name)
        finally:
            os.close(target)
            Path(name).unlink(missing_ok=True)
            Path(name + ".state").unlink(missing_ok=True)

    def adopt(self, root: Root, complete: Path, sidecar: Path) -> None:
        """Take in finished and flushed files under their names; they take the place of a download."""
        make_folder(self.home(root))
        os.replace(complete, self.complete(root))
        os.replace(sidecar, self.state(root))
        self.part(root).unlink(missing_ok=True)
        flush_folder(self.home(root))

    def promote(self, root: Root) -> None:
        """What was partial is complete; its bytes were flushed before."""
        os.replace(self.part(root), self.complete(root))
        flush_folder(self.home(root))

    def demote(self, root: Root) -> None:
        if self.part(root).exists():
            self.set_aside(self.part(root))
        os.replace(self.complete(root), self.part(root))
        flush_folder(self.home(root))

    def set_aside(self, path: Path) -> None:
        os.replace(path, path.with_name(path.name + ".damaged"))

    def remove(self, root: Root) -> None:
        # The sidecar last: what a crash leaves is then an enclosure that is not here yet, and no bytes.
        for kind in ("", ".part", ".damaged", ".part.damaged", ".state.damaged", ".state"):
            (self.home(root) / f"{root}{kind}").unlink(missing_ok=True)
        with suppress(OSError):  # others may lie there too
            self.home(root).rmdir()
            self.home(root).parent.rmdir()

    def create(self, root: Root, length: int) -> None:
        make_folder(self.home(root))
        # Under another name until its header is there: a crash leaves no sidecar that says nothing.
        unfinished = self.temporary / f"{root}.state"
        State.create(unfinished, root, length).close()
        os.replace(unfinished, self.state(root))

    def open(self, root: Root) -> "Held":
        try:
            state = State.open(self.state(root), root)
        except FileNotFoundError:
            if self.complete(root).exists():
                raise StoreError(f"{self.complete(root)} has no sidecar; restart to rebuild it") from None
            raise UsageError(f"enclosure {root} is not here; begin it first") from None
        try:
            fd, is_complete = self._open_bytes(state)
        except BaseException:
            state.close()
            raise
        if is_complete:
            state.mark_all()
        return Held(state, fd, is_complete)

    def _open_bytes(self, state: State) -> tuple[int, bool]:
        with suppress(FileNotFoundError):
            fd = open_private(self.complete(state.root), os.O_RDONLY)
            size = os.fstat(fd).st_size
            if size == state.length:
                return fd, True
            os.close(fd)
            raise StoreError(
                f"{self.complete(state.root)} has {size} bytes instead of {state.length}; "
                "restart to fetch what is missing again"
            )
        is_new = state.left == state.count
        try:
            return open_private(self.part(state.root), os.O_RDWR | (os.O_CREAT if is_new else 0)), False
        except FileNotFoundError:
            raise self.gone(state.root) from None

    def whole(self, root: Root, length: int) -> Path:
        """The file of a complete enclosure, looked at again: a descriptor opened before notices nothing."""
        path = self.complete(root)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise self.gone(root) from None
        if size != length:
            raise self.cut_short(root)
        return path

    def cut_short(self, root: Root) -> StoreError:
        return StoreError(f"the file of enclosure {root} was cut short; restart to fetch the rest again")

    def gone(self, root: Root) -> StoreError:
        return StoreError(
            f"the file of enclosure {root} is missing from {self.folder}; "
            "put it back, or restart and subscribe again to fetch it"
        )


def write_sidecar(path: Path, root: Root, hasher: TreeHasher) -> None:
    """The sidecar of a complete enclosure, on the disk when this returns."""
    state = State.create(path, root, hasher.length, hasher.leaves())
    try:
        flush(state.fd)
    finally:
        state.close()


class Held:
    """An enclosure with its files open."""

    __slots__ = ("fd", "is_complete", "state")

    def __init__(self, state: State, fd: int, is_complete: bool) -> None:
        self.state, self.fd, self.is_complete = state, fd, is_complete

    def close(self) -> None:
        self.state.close()
        os.close(self.fd)


class OpenFiles:
    """The enclosures used last, open, because opening two files costs more than writing a chunk."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._open: OrderedDict[Root, Held] = OrderedDict()

    def knows(self, root: Root) -> bool:
        return root in self._open or self._shelf.holds(root)

    def held(self, root: Root) -> Held:
        held = self._open.get(root)
        if held is not None:
            self._open.move_to_end(root)
            return held
        with disk(f"opening enclosure {root}"):
            held = self._shelf.open(root)
        self._open[root] = held
        if len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)[1].close()
        return held

    def drop(self, root: Root) -> None:
        held = self._open.pop(root, None)
        if held is not None:
            held.close()

    def drop_all(self) -> None:
        for root in list(self._open):
            self.drop(root)
