"""What a node costs that has nothing to do: processor time and memory, with neighbours and a full store."""

import os
import sys
import time
from pathlib import Path

from evaluation.benchmarks.harness import Row, lacking, row
from evaluation.benchmarks.meeting.content import publish_entries
from evaluation.benchmarks.meeting.nodes import Home, Place

NEIGHBOURS = 5
FULL_LIBRARY, QUICK_LIBRARY = 100_000, 2_000
FULL_S, QUICK_S = 60.0, 5.0
FULL_BYTES, QUICK_BYTES = 100_000_000, 4_000_000
MOST_PERCENT, MOST_MB, MOST_MB_AFTERWARDS = 0.4, 70.0, 100.0
SETTLE_S = 5.0


def run(_rounds: int, quick: bool) -> list[Row]:
    what = "idle node"
    if not sys.platform.startswith("linux"):
        return [lacking(what, "is measured by /proc, which only Linux has")]
    library, seconds, size = (
        (QUICK_LIBRARY, QUICK_S, QUICK_BYTES) if quick else (FULL_LIBRARY, FULL_S, FULL_BYTES)
    )
    with Place() as place:
        feed = _neighbours(place, size)
        node = place.home("node", settings="")
        publish_entries(node, node.do("feed", "create", "Library"), library)
        node.up()
        node.wait_for("contact_began", NEIGHBOURS)
        time.sleep(SETTLE_S)  # mDNS announces itself, and the start is over
        before = processor_s(node)
        time.sleep(seconds)
        percent = 100 * (processor_s(node) - before) / seconds
        resident = resident_mb(node)
        node.do("subscribe", feed)
        node.wait_for("enclosure_received")
        time.sleep(SETTLE_S)
        afterwards = resident_mb(node)
    what = f"idle node, {seconds:.0f} s, {NEIGHBOURS} neighbours, mDNS, {library:,} entries"
    after = f"resident after a transfer of {size // 1_000_000} MB"
    return [
        _row(f"{what}: of one core", percent, "%", MOST_PERCENT),
        _row(f"{what}: resident", resident, "MB", MOST_MB),
        _row(f"{what}: {after}", afterwards, "MB", MOST_MB_AFTERWARDS),
    ]


def _row(what: str, value: float, unit: str, most: float) -> Row:
    return row(what, [value], unit, promise=f"at most {most:g} {unit}", kept=value <= most)


def _neighbours(place: Place, size: int) -> str:
    """Nodes that say hello; the first has a file to fetch, in the feed that is returned."""
    others = [place.home(f"neighbour{number}", settings="") for number in range(NEIGHBOURS)]
    file = place.folder / "file"
    file.write_bytes(os.urandom(size))
    feed = others[0].do("feed", "create", "Bench")
    others[0].do("publish", feed, "--title", "File", "--file", str(file))
    for home in others:
        home.up()
    return feed


def processor_s(home: Home) -> float:
    """What all threads of the node have used so far, in user and in system mode."""
    fields = _proc(home, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(home: Home) -> float:
    line = next(line for line in _proc(home, "status").splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / 1e6


def _proc(home: Home, name: str) -> str:
    assert home.process is not None
    return Path(f"/proc/{home.process.pid}/{name}").read_text()
