"""What a command works at: the home folder, opened when first needed, the clock, and a place to print."""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from contentdb.errors import StoreError, UsageError
from middleware.cli.streams import clipped, tell
from middleware.cli.words import clean, dates_in, show_json
from middleware.client.homes import default_home

PROGRESS_EVERY_S = 0.2
# Subscriptions made by hand belong to an app of this name.
CLI_APP = "cli"

if TYPE_CHECKING:  # opened only by commands that need them: a usage error should cost no crypto library
    from contentdb.blobs import Progress
    from contentdb.keystore import Keystore
    from contentdb.library import Library
    from contentdb.store import Store
    from middleware.api.local import InProcess
    from middleware.client.connection import Connection


class Desk:
    """Closed at the end of the command, whatever happened, so that the store stops cleanly."""

    def __init__(self, home: Path | None, *, as_json: bool) -> None:
        try:
            self.home = (home or Path(default_home())).expanduser().absolute()
        except RuntimeError:  # ~somebody, and there is nobody of that name
            raise UsageError(f"there is no folder {home}; choose another with --home") from None
        self.as_json = as_json
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    @cached_property
    def node(self) -> "Connection | InProcess":
        """The node of this home; if none runs, the home itself, opened here."""
        from middleware.client.reach import reach

        node = reach(self.home, CLI_APP, progress=self.progress("reading files"))
        self._opened.callback(node.close)
        return node

    @cached_property
    def running(self) -> "Connection":
        """The node that runs here, for what only a running one can say; it raises NodeNotRunning."""
        from middleware.client.connection import Connection

        node = Connection(str(self.home), CLI_APP)
        self._opened.callback(node.close)
        return node

    @property
    def is_running(self) -> bool:
        """Does a node run in this home?"""
        from middleware.client.errors import NodeNotRunning
        from middleware.client.wire import open_socket

        try:
            sock, _ = open_socket(str(self.home))
        except NodeNotRunning:
            return False
        sock.close()
        return True

    @property
    def is_in_use(self) -> bool:
        """Does another process have the store open?"""
        from contentdb.errors import StoreBusyError
        from contentdb.store import Store

        try:
            Store.open(self.home, entropy=os.urandom).close()
        except StoreBusyError:
            return True
        except StoreError:  # for `doctor` to tell
            return False
        return False

    def call(self, method: str, **params: Any) -> Any:
        """What the node says to a call; parameters that are None are as if they were not given."""
        return self.node.call(method, {name: value for name, value in params.items() if value is not None})

    @cached_property
    def store(self) -> "Store":
        """The store itself, for what is done where no node may run."""
        from middleware.api.local import open_store

        return self._opened.enter_context(open_store(self.home))

    @cached_property
    def keys(self) -> "Keystore":
        from contentdb.keystore import Keystore

        return Keystore(self.home, os.urandom)

    @cached_property
    def library(self) -> "Library":
        from contentdb.library import Library

        return Library(self.store, self.keys.author(), entropy=os.urandom, name=self.store.owner_name)

    def path(self, name: str) -> str:
        """As the node needs it, which stands elsewhere."""
        return os.path.abspath(os.path.expanduser(name))

    # -- printing

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None if the result goes to a file or another program."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def show(self, document: object, lines: Sequence[str] = ()) -> int:
        """Print the result: one JSON document if that was asked for, else the lines. Returns success."""
        if self.as_json:
            encoding = sys.stdout.encoding or "utf-8"
            print(show_json(document, is_ascii=not encoding.lower().startswith("utf")))
        else:
            for line in lines:
                print(clean(line))
        return 0

    def show_line(self, document: object, line: str) -> None:
        """Print one of many that come one by one: in JSON a document a line, else a line for people."""
        print(clean(line) if not self.as_json else show_json(document, is_ascii=True, indent=None))

    def progress(self, what: str) -> "Progress | None":
        """A line that counts up while something long runs; only where a person watches."""
        if not sys.stderr.isatty():
            return None
        shown_at = [time.monotonic()]

        def show(done: int, total: int) -> None:
            now = time.monotonic()
            if now - shown_at[0] > PROGRESS_EVERY_S:
                shown_at[0] = now
                tell(f"\rpasserby: {what}: {done * 100 // max(total, 1)} %\x1b[K")
            if done == total:
                tell("\r\x1b[K")

        return show

    def hint_at_dates(self, selector: str) -> None:
        for text, moment in dates_in(selector):
            self.say(
                f"{text} in a selector is a subtraction; times are in milliseconds: {moment} is {text} here"
            )

    def say(self, message: str) -> None:
        """Tell the person something; standard output stays clean for the result."""
        tell(f"passerby: {clean(clipped(message))}\n")
