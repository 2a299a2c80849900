"""The command that shows what goes on, live: who is near, what is on its way, what has arrived.

On a terminal it is a view that stays in place; into a file or a program it is one line for each thing that
happens, or with --json one document a line, as the node tells it.
"""

import argparse
import os
import shutil
import sys
import time

from middleware.cli.desk import Desk
from middleware.cli.watch_view import FIRST_SCREEN, OTHER_SCREEN, News, View, arrival, drawn, name_of, percent
from middleware.cli.words import shorten, show_size
from middleware.client.conversation import Inbox

REFRESH_EVERY_S = 0.5


def watch(desk: Desk, options: argparse.Namespace) -> int:
    """Until Ctrl-C."""
    node = desk.running
    inbox = node.open_inbox(Inbox("watch", {}))
    try:
        if not desk.as_json and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            return _live(desk, inbox)
        told = Told()
        while taken := node.take(lambda: [inbox]):
            news = taken[1]
            for line in told.lines(news):
                if not desk.as_json:
                    desk.show_line(news, f"{time.strftime('%H:%M:%S')}  {line}")
            if desk.as_json:
                desk.show_line({name: value for name, value in news.items() if name != "watch"}, "")
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    return 0


def _live(desk: Desk, inbox: Inbox) -> int:
    """Draw on the terminal's other screen, so that what was there before is there again at the end."""
    node = desk.running
    view = View(node.call("status")["node_id"])
    tell_terminal(OTHER_SCREEN)
    try:
        while True:
            taken = node.take(lambda: [inbox], REFRESH_EVERY_S)
            if taken is not None:
                view.told(taken[1])
            if not inbox.items:  # else more is known already
                size = shutil.get_terminal_size()
                tell_terminal(
                    drawn(view.lines(size.columns, size.lines), has_colour=not os.environ.get("NO_COLOR"))
                )
    finally:
        tell_terminal(FIRST_SCREEN)


def tell_terminal(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class Told:
    """What was said last, so that a line is printed only for what has changed."""

    def __init__(self) -> None:
        self._near: dict[str, News] = {}
        self._moving: dict[str, News] = {}

    def lines(self, news: News) -> list[str]:
        if news["kind"] == "neighbours":
            return self._neighbours({each["node_id"]: each for each in news["neighbours"]})
        if news["kind"] == "transfers":
            return self._transfers({each["root"]: each for each in news["transfers"]})
        return [f"arrived: {', '.join(arrival(news))}"] if news["kind"] == "arrival" else []

    def _neighbours(self, near: dict[str, News]) -> list[str]:
        came = [
            f"near: {name_of(node)} at {near[node]['address'] or '?'}" for node in near.keys() - self._near
        ]
        gone = [f"gone: {name_of(node)}" for node in self._near.keys() - near]
        self._near = near
        return [*sorted(came), *sorted(gone)]

    def _transfers(self, moving: dict[str, News]) -> list[str]:
        lines = []
        for root, each in moving.items():
            if root not in self._moving:
                lines.append(f"wanted: {shorten(each['name'])} ({show_size(each['length'])})")
            elif each["received"] != self._moving[root]["received"]:
                lines.append(f"on its way: {progress(each)}")
        lines += [
            f"over: {shorten(each['name'])}" for root, each in self._moving.items() if root not in moving
        ]
        self._moving = moving
        return lines


def progress(transfer: News) -> str:
    rate = f", {show_size(transfer['rate'])}/s" if transfer.get("rate") else ""
    return f"{shorten(transfer['name'])} {percent(transfer)} % of {show_size(transfer['length'])}{rate}"
