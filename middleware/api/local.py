"""The calls without a node: opens the home, runs them here, and closes it again.

with InProcess(home, "cli") as here:
    feeds = here.call("feeds")
"""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from contentdb.blobs import Progress
from contentdb.errors import StoreBusyError
from contentdb.keystore import Keystore
from contentdb.store import Store
from middleware.api.calls import run
from middleware.api.home import Home

# A command holds the home for a fraction of a second; what holds it longer is a node, which stays.
MAX_LOCK_WAIT_S = 5.0
LOCK_RETRY_S = 0.05


def open_store(home: Path) -> Store:
    """Commands that are started at the same time wait for each other."""
    give_up_at = time.monotonic() + MAX_LOCK_WAIT_S
    while True:
        try:
            return Store.open(home, entropy=os.urandom)
        except StoreBusyError:
            if time.monotonic() > give_up_at:
                raise
        time.sleep(LOCK_RETRY_S)


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


class InProcess:
    def __init__(self, path: Path, app: str, progress: Progress | None = None) -> None:
        self.app = app
        self._opened = ExitStack()
        store = self._opened.enter_context(open_store(path))
        keys = Keystore(path, os.urandom)
        self.home = Home(path, store, keys, at=wall_clock, monotonic=time.monotonic, entropy=os.urandom)
        self.home.progress = progress

    def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return run(self.home, self.app, method, params or {})

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)
