"""Files on their way from a page into an entry: one folder each, gone when published or after a while."""

import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from contentdb.blobs import safe_name
from contentdb.errors import StoreError, UsageError

MAX_AGE_S = 3600
# A page uploads one file after the other and publishes them; more are forgotten ones.
MAX_WAITING = 64


class Uploads:
    def __init__(self, folder: Path, *, max_bytes: int, entropy: Callable[[int], bytes]) -> None:
        self._folder, self._max_bytes, self._entropy = folder, max_bytes, entropy
        self._waiting: dict[str, tuple[Path, float]] = {}
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier run, whose pages are gone

    async def receive(self, name: str, pieces: AsyncIterator[bytes]) -> str:
        """Keep what comes; returns the name by which `files` finds it again."""
        self._forget_old()
        if len(self._waiting) >= MAX_WAITING:
            raise UsageError(f"{MAX_WAITING} uploads wait to be published; publish or wait an hour")
        upload = self._entropy(16).hex()
        path = self._folder / upload / safe_name(name)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path.parent.mkdir(mode=0o700)
            await self._write(path, pieces)
        except OSError as error:
            self._remove(path)
            raise StoreError(f"{name} cannot be kept: {error.strerror or error}") from error
        except BaseException:
            self._remove(path)
            raise
        self._waiting[upload] = (path, time.monotonic())
        return upload

    async def _write(self, path: Path, pieces: AsyncIterator[bytes]) -> None:
        size = 0
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            async for piece in pieces:
                size += len(piece)
                if size > self._max_bytes:
                    raise UsageError(f"the file has more than {self._max_bytes} bytes, all that may be kept")
                file.write(piece)

    def files(self, uploads: list[str]) -> list[str]:
        """Their paths; UsageError if one is not here, or not any more."""
        if not isinstance(uploads, list) or not all(isinstance(each, str) for each in uploads):
            raise UsageError("uploads is a list of what uploading returned")
        gone = [each for each in uploads if each not in self._waiting]
        if gone:
            raise UsageError("an uploaded file has expired; choose it again")
        return [str(self._waiting[each][0]) for each in uploads]

    def published(self, uploads: list[str]) -> None:
        for upload in uploads:
            path, _ = self._waiting.pop(upload)
            self._remove(path)

    def _forget_old(self) -> None:
        old = time.monotonic() - MAX_AGE_S
        self.published([upload for upload, (_, since) in self._waiting.items() if since < old])

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _remove(self, path: Path) -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
