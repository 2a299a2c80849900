"""The command that shows the logbook: what this node met and moved, read from its files."""

import argparse
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from middleware.cli.desk import Desk

FOLDER = "logbook"
# A node writes its facts down every second or so.
LOOK_EVERY_S = 0.5
# What every line has, and does not tell anything about the fact.
FRAME = ("v", "node", "seq", "at", "now", "kind")


def logbook(desk: Desk, options: argparse.Namespace) -> int:
    """The last facts; with --follow one line each, and those that come."""
    notes = Notes(desk.home / FOLDER)
    facts = deque(notes.unread(), maxlen=options.limit)
    if not options.follow:
        if not facts:
            desk.say("nothing is noted yet; `passerby up` runs a node")
        return desk.show(list(facts), [_line(fact) for fact in facts])
    try:
        while True:
            for fact in facts:
                desk.show_line(fact, _line(fact))
            sys.stdout.flush()
            time.sleep(LOOK_EVERY_S)
            facts = deque(notes.unread())
    except KeyboardInterrupt:
        return 0


class Notes:
    """The files of a logbook, one a day, each read on from where it was read to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._day, self._read = "", 0

    def unread(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self._folder.glob("????-??-??.jsonl")):
            if path.stem >= self._day:
                yield from self._facts(path)

    def _facts(self, path: Path) -> Iterator[dict[str, Any]]:
        if path.stem > self._day:
            self._day, self._read = path.stem, 0
        with path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # half written; it is read when it is whole
                self._read += len(line)
                try:
                    fact = json.loads(line)
                except ValueError:
                    continue  # cut short when the machine stopped
                if isinstance(fact, dict) and {"kind", "at"} <= fact.keys():
                    yield fact


def _line(fact: dict[str, Any]) -> str:
    told = "  ".join(f"{name}={value}" for name, value in fact.items() if name not in FRAME)
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(fact["at"] / 1000))
    return f"{moment}  {fact['kind']:18}  {told}".rstrip()
