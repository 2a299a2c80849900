"""How fast a file crosses between two nodes on loopback, against the bare pipeline and other programs."""

import os
import statistics
from collections.abc import Callable
from pathlib import Path

from evaluation.benchmarks.harness import Row, interleaved, lacking, row
from evaluation.benchmarks.meeting.bare import bare_seconds
from evaluation.benchmarks.meeting.nodes import Home, Place, client_session
from evaluation.benchmarks.meeting.peers import iperf3_bytes_per_second, is_missing, syncthing_seconds

FULL_BYTES, QUICK_BYTES = 100_000_000, 4_000_000
LEAST_OF_BARE, LEAST_OF_SYNCTHING, LEAST_OF_IPERF3 = 0.7, 1.0, 0.07


def run(rounds: int, quick: bool) -> list[Row]:
    size = QUICK_BYTES if quick else FULL_BYTES
    with Place() as place:
        file = place.folder / "file"
        file.write_bytes(os.urandom(size))
        ada = place.home("ada")
        feed = ada.do("feed", "create", "Bench")
        ada.do("publish", feed, "--title", "File", "--file", str(file))
        measured: dict[str, Callable[[], float]] = {
            "bare": lambda: size / bare_seconds(file, place.folder / "copy") / 1e6,
            "ours": lambda: size / our_seconds(place, ada, feed) / 1e6,
        }
        if not is_missing("syncthing"):
            measured["syncthing"] = lambda: size / _syncthing_seconds(place.folder, file) / 1e6
        if not is_missing("iperf3"):
            measured["iperf3"] = lambda: iperf3_bytes_per_second(1 if quick else 3) / 1e6
        rates = interleaved(measured, rounds)
    return rows_from(rates, f"{size // 1_000_000} MB file")


def rows_from(rates: dict[str, list[float]], what: str) -> list[Row]:
    bare, ours = rates["bare"], rates["ours"]
    ratio = statistics.median(ours) / statistics.median(bare)
    rows = [
        row(f"{what}: receive, decrypt, SHA-256, pwrite, fdatasync alone", bare, "MB/s"),
        row(
            f"{what}: two nodes, from connection to complete", ours, "MB/s",
            promise=f"at least {LEAST_OF_BARE} x alone", ratio=ratio, kept=ratio >= LEAST_OF_BARE,
        ),
    ]  # fmt: skip
    for peer, least, how in (
        ("syncthing", LEAST_OF_SYNCTHING, "Syncthing, from connection to complete"),
        ("iperf3", LEAST_OF_IPERF3, "iperf3 -l 16K, beside"),
    ):
        if peer not in rates:
            rows.append(lacking(f"{what}: {how}", is_missing(peer)))
            continue
        share = statistics.median(ours) / statistics.median(rates[peer])
        promise = f"ours at least {least:g} x this"
        rows.append(
            row(f"{what}: {how}", rates[peer], "MB/s", promise=promise, ratio=share, kept=share >= least)
        )
    return rows


def our_seconds(place: Place, ada: Home, feed: str) -> float:
    """What the client's logbook says from its connection to the file's last chunk, on disk."""
    bob = place.home("bob")
    bob.do("subscribe", feed)
    try:
        for home in (ada, bob):
            home.up()
        complete = bob.wait_for("enclosure_received")[0]
        session = client_session(bob)
        return float(complete["now"] - (session["now"] - session["seconds"]))
    finally:
        ada.stop()
        bob.forget()


def _syncthing_seconds(folder: Path, file: Path) -> float:
    def fill(into: Path) -> None:
        (into / "file").hardlink_to(file)

    return syncthing_seconds(folder / "syncthing", fill, 1)
