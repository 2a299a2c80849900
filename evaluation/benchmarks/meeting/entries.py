"""How long many small entries take, from a neighbour that is found to an app that has read the last."""

import os
import socket
import statistics
from collections.abc import Callable
from pathlib import Path

from evaluation.benchmarks.harness import Row, interleaved, lacking, row
from evaluation.benchmarks.meeting.content import publish_entries
from evaluation.benchmarks.meeting.emulator import Introduction
from evaluation.benchmarks.meeting.nodes import Home, Place, Reader, free_port
from evaluation.benchmarks.meeting.peers import is_missing, syncthing_seconds

FULL, QUICK = 10_000, 500
MOST_S = 1.5
MOST_OF_SYNCTHING = 0.3
# Syncthing takes many seconds, and flushes each file.
MOST_ROUNDS = 3
FILE_BYTES = 1_000


def run(rounds: int, quick: bool) -> list[Row]:
    count = QUICK if quick else FULL
    with Place() as place:
        port = free_port()
        ada = place.home("ada", settings=f"mdns = false\n[sessions]\nport = {port}")
        feed = ada.do("feed", "create", "Bench")
        publish_entries(ada, feed, count)
        ada.up()
        measured: dict[str, Callable[[], float]] = {
            "ours": lambda: our_seconds(place, ada, port, feed, count)
        }
        if not is_missing("syncthing"):
            measured["syncthing"] = lambda: syncthing_seconds(
                place.folder / "syncthing", lambda into: _fill(into, count), count
            )
        took = interleaved(measured, min(rounds, MOST_ROUNDS))
    return rows_from(took, count)


def rows_from(took: dict[str, list[float]], count: int) -> list[Row]:
    ours = statistics.median(took["ours"])
    what = f"{count:,} signed entries of 1 kB: from neighbour found to the last read by an app"
    rows = [row(what, took["ours"], "s", promise=f"at most {MOST_S} s", kept=ours <= MOST_S)]
    other = f"{count:,} files of 1 kB by Syncthing: from connection to complete"
    if "syncthing" not in took:
        return [*rows, lacking(other, is_missing("syncthing"))]
    ratio = ours / statistics.median(took["syncthing"])
    promise = f"ours at most {MOST_OF_SYNCTHING} x this"
    is_kept = ratio <= MOST_OF_SYNCTHING
    return [*rows, row(other, took["syncthing"], "s", promise=promise, ratio=ratio, kept=is_kept)]


def our_seconds(place: Place, ada: Home, port: int, feed: str, count: int) -> float:
    bob = place.home("bob", hello_port=free_port(socket.SOCK_DGRAM))
    try:
        bob.up()
        reader = Reader(bob, feed, count)
        with Introduction(ada, port, [bob]):
            last = reader.last_read()
        return last - float(bob.wait_for("contact_began")[0]["now"])
    finally:
        bob.forget()


def _fill(into: Path, count: int) -> None:
    for number in range(count):
        (into / str(number)).write_bytes(os.urandom(FILE_BYTES))
