"""Commands about a node that runs: how it is, who is near, and its end."""

import argparse
import time
from typing import Any

from contentdb.errors import UsageError
from contentdb.names import fingerprint
from middleware.cli.desk import Desk
from middleware.cli.words import aligned, show_number, show_size, table

# Closing a store with much in its journal takes a moment.
MAX_STOP_S = 30.0
LOOK_EVERY_S = 0.02


def status(desk: Desk, options: argparse.Namespace) -> int:
    status = desk.running.call("status")
    used, limit = show_size(status["storage"]["used"]), show_size(status["storage"]["limit"])
    lines = [
        ("node", status["node_id"]),
        ("near", show_number(status["neighbours"], "neighbour")),
        ("sessions", str(status["sessions"])),
        ("holds", _holding(status)),
        ("storage", f"{used} of {limit}"),
    ]
    if status["dashboard"]:
        lines.append(("dashboard", status["dashboard"]))
    return desk.show(status, aligned(lines))


def _holding(status: dict[str, Any]) -> str:
    entries = show_number(status["entries"], "entry", "entries")
    return f"{entries} in {show_number(status['feeds'], 'feed')}"


def down(desk: Desk, options: argparse.Namespace) -> int:
    node = desk.running.call("stop")["node_id"]
    give_up_at = time.monotonic() + MAX_STOP_S
    # It leaves its socket first; when the store is free, it has nothing more to write.
    while desk.is_running or desk.is_in_use:
        if time.monotonic() > give_up_at:
            raise UsageError(f"the node was asked to stop {MAX_STOP_S:.0f} s ago and still runs; see its log")
        time.sleep(LOOK_EVERY_S)
    desk.say("stopped; nothing is lost")
    return desk.show({"node_id": node}, ())


def neighbours(desk: Desk, options: argparse.Namespace) -> int:
    found = desk.running.call("neighbours")
    now = desk.now()
    rows = [_row(each, now) for each in found]
    if not found:
        desk.say("nobody is near; if somebody should be: passerby doctor")
    lines = table(("NODE", "HERE FOR", "ADDRESS", "ID"), rows, width=desk.width) if found else []
    return desk.show(found, lines)


def _row(neighbour: dict[str, Any], now: int) -> tuple[str, str, str, str]:
    node = neighbour["node_id"]
    return fingerprint(node)[:9], span(now - neighbour["since"]), neighbour["address"] or "-", node


def span(milliseconds: int) -> str:
    seconds = max(0, milliseconds // 1000)
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
