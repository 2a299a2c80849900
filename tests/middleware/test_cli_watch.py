"""`watch`: a line for each thing that happens, one document a line, or a view that stays in place."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from middleware.cli.watch_view import View, drawn
from tests.middleware.command import Commands
from tests.middleware.test_cli_looking import FEED, PATIENCE_S, Pair, goes_on
from tests.middleware.test_cli_looking import pair as pair

NODE = "3c0e46d3d0e2f0e54f6d3ae0ea9c0a3a3e4a4c22"


def test_on_a_pipe_each_thing_that_happens_is_a_line(run: Commands, pair: Pair) -> None:
    bob = pair.home("bob")
    with goes_on(bob, "watch") as lines:
        run.json("meet", pair.address, home=bob)
        assert "  near: " in next(line for line in lines if "near" in line)
        run.json("subscribe", FEED, home=bob)
        arrived = next(line for line in lines if "arrived" in line)
    assert "  arrived: one, no files, from " in arrived and "\x1b" not in arrived


def test_in_json_each_piece_of_news_is_a_document(run: Commands, pair: Pair) -> None:
    bob = pair.home("bob")
    run.json("subscribe", FEED, home=bob)
    with goes_on(bob, "watch", "--json") as lines:
        assert "kind" in json.loads(next(lines))  # everything as it is
        run.json("meet", pair.address, home=bob)
        arrived = next(news for line in lines if (news := json.loads(line))["kind"] == "arrival")
    assert arrived["entry"]["title"] == "one"
    assert arrived["peer"] == run.json("status", home=pair.home("ada"))["node_id"]


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_on_a_terminal_it_is_a_view_that_leaves_no_trace(pair: Pair, no_colour: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "passerby", "--home", str(pair.home("bob")), "watch"]
    environment = {**os.environ, "NO_COLOR": no_colour, "TERM": "xterm"}
    watch = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = read_until(ours, "nothing since you watch")
    assert shown.startswith("\x1b[?1049h") and ("\x1b[1mNear" in shown) is not bool(no_colour)
    watch.send_signal(signal.SIGINT)
    assert read_until(ours, "\x1b[?1049l")
    assert watch.wait(PATIENCE_S) == 0
    os.close(ours)


def read_until(terminal: int, wanted: str) -> str:
    text, give_up_at = "", time.monotonic() + PATIENCE_S
    while wanted not in text:
        assert time.monotonic() < give_up_at, text
        if select.select([terminal], [], [], 1.0)[0]:
            text += os.read(terminal, 65_536).decode(errors="replace")
    return text


def neighbour(number: int) -> dict[str, Any]:
    return {"node_id": f"{number:040x}", "address": "ip:192.0.2.7:4747", "since": 0, "last_seen": 90_000}


def test_a_view_shows_who_is_near_and_how_far_files_are() -> None:
    view = View(NODE)
    view.told({"kind": "neighbours", "neighbours": [neighbour(1)]})
    view.told({"kind": "sessions", "sessions": [{"node_id": f"{1:040x}"}]})
    song = {"root": "r", "name": "song\x1b[2J.ogg", "length": 2 << 20, "received": 1 << 20, "rate": 1 << 19}
    view.told({"kind": "transfers", "transfers": [song]})
    shown = "\n".join(view.lines(100, 30))
    assert "Near (1)" in shown and "for 90 s  exchanging  192.0.2.7:4747" in shown
    assert "song [2J.ogg  ━━━━━━━━━━──────────  50 %  of 2.0 MiB  512 KiB/s" in shown


def test_a_view_never_takes_more_than_the_terminal_has() -> None:
    view = View(NODE)
    view.told({"kind": "neighbours", "neighbours": [neighbour(number) for number in range(20)]})
    entry = {"title": "語" * 500, "updated": 1_790_000_000_000, "enclosures": []}
    for _ in range(300):
        view.told({"kind": "arrival", "entry": entry, "peer": None})
    assert "and 12 more" in "\n".join(view.lines(80, 40))
    for columns, rows in ((80, 24), (10, 3), (1, 1)):
        lines = view.lines(columns, rows)
        assert len(lines) <= rows and all(len(line) <= columns for line in lines)
    assert drawn(["Near", "  nobody"], has_colour=False) == "\x1b[HNear\x1b[K\r\n  nobody\x1b[K\x1b[J"
