"""What `watch` draws on a terminal: a core that is told the news and says which lines to show.

Few lines of our own instead of a library: the widths of strangers' words are measured in `words` anyway, and
docs/architecture.md says what a library would weigh.
"""

import re
from collections import deque
from collections.abc import Sequence
from typing import Any

from contentdb.names import NodeId, fingerprint
from middleware.cli.running import span
from middleware.cli.words import aligned, clip, shorten, show_number, show_size, show_time

News = dict[str, Any]

# What arrived last; a screen has not more lines, and older ones are in `entries`.
MAX_ARRIVALS = 200
# Above this many rows of a kind the rest is only counted, so that each part keeps a place on the screen.
MAX_ROWS = 8
BAR_COLUMNS = 20
FULL, EMPTY = "━", "─"
# The terminal's other screen without a cursor, and back to the first with one.
OTHER_SCREEN, FIRST_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
BOLD, CYAN, PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[0m"


class View:
    def __init__(self, node: str) -> None:
        self._node = node
        self._now: dict[str, list[News]] = {"neighbours": [], "transfers": [], "sessions": []}
        self._arrivals: deque[News] = deque(maxlen=MAX_ARRIVALS)

    def told(self, news: News) -> None:
        if news["kind"] == "arrival":
            self._arrivals.appendleft(news)
        elif news["kind"] in self._now:
            self._now[news["kind"]] = news[news["kind"]]

    def lines(self, columns: int, rows: int) -> list[str]:
        """Headings at the left edge, all else indented; never more than the terminal has room for."""
        near, moving = self._now["neighbours"], self._now["transfers"]
        shown = [f"passerby {name_of(self._node)}", "  Ctrl-C ends this view, and not the node", ""]
        shown += _part("Near", near, [self._neighbour(each) for each in near[:MAX_ROWS]], "nobody")
        shown += _part(
            "On the way", moving, [_transfer(each) for each in moving[:MAX_ROWS]], "nothing is missing"
        )
        room = max(1, rows - len(shown) - 2)
        arrived = list(self._arrivals)[:room]
        table = [(show_time(each["entry"]["updated"]), *arrival(each)) for each in arrived]
        shown += _part("Arrived", arrived, table, "nothing since you watch", is_counted=False)
        return [clip(line, max(columns, 1)) for line in shown[:rows]]

    def _neighbour(self, near: News) -> tuple[str, ...]:
        is_busy = any(each["node_id"] == near["node_id"] for each in self._now["sessions"])
        return (
            name_of(near["node_id"]),
            f"for {span(near['last_seen'] - near['since'])}",
            "exchanging" if is_busy else "",
            (near["address"] or "").removeprefix("ip:"),
        )


def _part(
    title: str, found: list[News], rows: Sequence[Sequence[str]], nothing: str, *, is_counted: bool = True
) -> list[str]:
    heading = f"{title} ({len(found)})" if found and is_counted else title
    lines = aligned(rows) if rows else [nothing]
    if len(found) > len(rows):
        lines.append(f"and {len(found) - len(rows)} more")
    return [heading, *(f"  {line}" for line in lines), ""]


def _transfer(transfer: News) -> tuple[str, ...]:
    full = BAR_COLUMNS * percent(transfer) // 100
    rate = f"{show_size(transfer['rate'])}/s" if transfer.get("rate") else ""
    size = show_size(transfer["length"])
    bar = FULL * full + EMPTY * (BAR_COLUMNS - full)
    return shorten(transfer["name"], 30), bar, f"{percent(transfer)} %", f"of {size}", rate


def percent(transfer: News) -> int:
    return int(transfer["received"] * 100 // max(transfer["length"], 1))


def arrival(news: News) -> tuple[str, ...]:
    entry, peer = news["entry"], news["peer"]
    files = [show_number(len(entry["enclosures"]), "file")] if entry["enclosures"] else ["no files"]
    return shorten(entry["title"]), *files, "published here" if peer is None else f"from {name_of(peer)}"


def name_of(node: str) -> str:
    """As `neighbours` shows it."""
    return fingerprint(NodeId(node))[:9]


def drawn(lines: Sequence[str], *, has_colour: bool) -> str:
    """All of it in one write, over what was there, so that nothing flickers."""
    painted = [_painted(line) for line in lines] if has_colour else lines
    return HOME + "\r\n".join(line + REST_OF_LINE for line in painted) + REST_OF_SCREEN


def _painted(line: str) -> str:
    if line and not line.startswith(" "):
        return f"{BOLD}{line}{PLAIN}"
    if FULL in line or EMPTY in line:
        return re.sub(f"{FULL}+", lambda bar: f"{CYAN}{bar[0]}{PLAIN}", line)
    return line
