"""Keeps a logbook on disk: one file a day, readable by nobody else, old ones removed."""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

from contentdb.errors import StoreError

DAY_MS = 86_400_000


class LogbookFile:
    def __init__(self, folder: Path, keep_days: int) -> None:
        self._folder, self._keep_days = folder, keep_days
        self._day, self._file = "", -1

    def next_seq(self) -> int:
        """One more than the last number that was written, also by an earlier run."""
        for path in sorted(self._folder.glob("*.jsonl"), reverse=True):
            for line in reversed(path.read_bytes().splitlines()):
                try:
                    return int(json.loads(line)["seq"]) + 1
                except (ValueError, KeyError, TypeError):
                    continue  # cut short by a kill
        return 1

    def recent_lines(self, at: int) -> list[str]:
        """The lines of yesterday and today, oldest first."""
        days = (time.strftime("%Y-%m-%d", time.gmtime((at - ago) / 1000)) for ago in (DAY_MS, 0))
        paths = [path for day in days if (path := self._folder / f"{day}.jsonl").exists()]
        return [line for path in paths for line in path.read_text("utf-8", "replace").splitlines()]

    def write(self, lines: Iterable[str], at: int) -> None:
        text = "".join(line + "\n" for line in lines)
        if text:
            try:
                self._open(at)
                os.write(self._file, text.encode())
            except OSError as error:
                raise StoreError(f"cannot write the logbook in {self._folder}: {error.strerror}") from error

    def _open(self, at: int) -> None:
        day = time.strftime("%Y-%m-%d", time.gmtime(at / 1000))
        if day == self._day:
            return
        self.close()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._day = day
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._file = os.open(self._folder / f"{day}.jsonl", flags, 0o600)
        oldest = time.strftime("%Y-%m-%d", time.gmtime((at - self._keep_days * DAY_MS) / 1000))
        for path in self._folder.glob("????-??-??.jsonl"):
            if path.stem < oldest:
                path.unlink()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._day, self._file = "", -1
