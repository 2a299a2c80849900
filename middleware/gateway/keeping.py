"""The shell that keeps a gateway's sources as a file, and downloads beside it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from contentdb.blobs_files import disk, make_folder
from contentdb.errors import StoreError, UsageError
from middleware.gateway.sources import MAX_SOURCES, Source, decode_sources, encode_sources

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FOLDER, SOURCES = "gateway", "sources.json"
# A thousand sources with a thousand files each have less.
MAX_STATE_BYTES = 2**28


class Shelf:
    """The folder `gateway` in a home. Several commands may change the sources; one at a time."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER
        self._path = self.folder / SOURCES
        self._home = home

    def sources(self) -> dict[str, Source]:
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_STATE_BYTES)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreError(f"cannot read {self._path}: {error.strerror}") from error
        try:
            return decode_sources(data)
        except UsageError as error:
            raise StoreError(
                f"{self._path} cannot be read: {error}; move it away and add the sources again"
            ) from None

    def add(self, source: Source) -> bool:
        """False if it is mirrored already: its settings are renewed, and what is known of it kept."""
        with self._changing() as sources:
            old = sources.get(source.address)
            if old is None and len(sources) >= MAX_SOURCES:
                raise UsageError(f"a gateway has at most {MAX_SOURCES} sources; remove one first")
            # Other settings may want what the last visit passed over, so the next one asks for all of it.
            kept = source if old is None else replace(source, memory=replace(old.memory, validated=""))
            sources[source.address] = kept
            return old is None

    def remove(self, address: str) -> None:
        with self._changing() as sources:
            sources.pop(address, None)

    def visited(self, source: Source) -> None:
        """Keep what a visit learnt, unless the source was removed meanwhile."""
        with self._changing() as sources:
            if source.address in sources:
                sources[source.address] = source

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Source]]:
        with self.locked("lock"):
            sources = self.sources()
            yield sources
            fresh = self._path.with_suffix(".new")
            with disk(f"write {self._path}"):
                with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                    file.write(encode_sources(sources))
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(self._path)

    @contextmanager
    def locked(self, name: str, busy: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold this lock; wait for it, or call `busy` if somebody has it. It ends with the process."""
        make_folder(self._home)
        make_folder(self.folder)
        with disk(f"write in {self.folder}"):
            descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(descriptor, busy)
            yield
        finally:
            os.close(descriptor)


def _take(descriptor: int, busy: Callable[[], None] | None) -> None:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK if busy else msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
    except OSError:
        if busy is None:
            raise
        busy()
