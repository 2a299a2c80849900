"""The façade: the names that people outside may rely on. `python -m passerby` is the command line.

import passerby

with passerby.connect(app="jukebox") as node:
    feed = node.create_feed("Street music", categories=["music"])
    node.publish(feed.id, title="Corner of 5th", attributes={"genre": "jazz"}, files=["take1.ogg"])
    for entry in node.subscribe(feed.id, where="genre = 'jazz'"):
        print(entry.title, entry.enclosures[0].path)
"""

import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded when they are asked for: a short command needs none of them
    from argparse import ArgumentParser

    from contentdb.attributes import Time as Time
    from contentdb.errors import UsageError as UsageError
    from middleware.api.messages import CallError as CallError
    from middleware.client.asynchronous import AsyncNode as AsyncNode
    from middleware.client.callbacks import Callback as Callback
    from middleware.client.errors import NodeGone as NodeGone
    from middleware.client.errors import NodeNotRunning as NodeNotRunning
    from middleware.client.feeds import Node as Node
    from middleware.client.results import Enclosure as Enclosure
    from middleware.client.results import Entry as Entry
    from middleware.client.results import Event as Event
    from middleware.client.results import Feed as Feed
    from middleware.client.results import Neighbour as Neighbour
    from middleware.client.results import Session as Session
    from middleware.client.results import Status as Status
    from middleware.client.results import Transfer as Transfer
    from middleware.client.streams import Stream as Stream

__version__ = "0.1.0"

_PLACES = {
    "contentdb.attributes": ("Time",),
    "contentdb.errors": ("UsageError",),
    "middleware.api.messages": ("CallError",),
    "middleware.client.asynchronous": ("AsyncNode",),
    "middleware.client.callbacks": ("Callback",),
    "middleware.client.errors": ("NodeGone", "NodeNotRunning"),
    "middleware.client.feeds": ("Node",),
    "middleware.client.results": (
        *("Enclosure", "Entry", "Event", "Feed", "Neighbour", "Session", "Status", "Transfer"),
    ),
    "middleware.client.streams": ("Stream",),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"passerby has no {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def connect(
    app: str = "app",
    *,
    home: "str | os.PathLike[str] | None" = None,
    schedule: "Callable[[Callable[[], None]], object] | None" = None,
    token: str | None = None,
) -> "Node":
    """Connect to the node of this device; NodeNotRunning, which says how to start one, if none runs.

        with passerby.connect(app="quiz") as node:
            print(node.status().neighbours, "near")

    `app` names the app: its subscriptions, and what it has been given, are kept under it. `home` is the
    node's folder; else PASSERBY_HOME, else the platform's. Callbacks run on a thread of their own, or are
    handed to `schedule`, such as `lambda call: Clock.schedule_once(lambda dt: call())` in Kivy. `token` is
    needed where the node listens on TCP and its home cannot be read.
    """
    from middleware.client.connection import Connection
    from middleware.client.feeds import Node, home_of

    return Node(Connection(home_of(home), app, token), schedule)


def connect_async(
    app: str = "app", *, home: "str | os.PathLike[str] | None" = None, token: str | None = None
) -> "AsyncNode":
    """The same for asyncio.

    async with passerby.connect_async(app="quiz") as node:
        async for entry in node.subscribe("urn:example:quiz"):
            print(entry.title)
    """
    from middleware.client.asynchronous import AsyncNode
    from middleware.client.feeds import home_of

    return AsyncNode(home_of(home), app, token)


# Verbs that measure; nothing of them is loaded for the others.
_MEASURING = ("bench", "simulate")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, 1 (it failed, with one sentence) or 2 (usage)."""
    if argv is None:
        _open_what_is_closed()
        _spare_the_terminal()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in _MEASURING:
        from evaluation.cli import main as measure

        return measure(arguments)
    from middleware.cli.main import main as command

    return command(arguments, version=__version__, measuring=_measuring_parser)


def _measuring_parser() -> "ArgumentParser":
    from evaluation.cli import build_parser

    return build_parser()


def _open_what_is_closed() -> None:
    """Who closes a stream (`>&-`) wants to hear nothing; the next file opened must not take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: that of the closed stream
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (to the end)


def _spare_the_terminal() -> None:
    """A character that the terminal does not know is shown as an escape, and ends nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
