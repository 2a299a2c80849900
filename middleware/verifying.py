"""Verifies what neighbours deliver on a thread of its own, so that the node goes on meanwhile."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from contentdb.arrivals import Arrival, verify_and_read
from contentdb.model import Signed

# Batches of one session that are verified, and then stored, at once while more wait than one. A commit of two
# hundred entries costs half as much for each as one of fifty; storing them holds up hellos for 20 ms.
MOST_AT_ONCE = 4

Batches: TypeAlias = list[list[Arrival]]


class Verifier:
    """Calls `verified(session, batches)` on the loop, in the order in which they were submitted."""

    def __init__(self, verified: Callable[[int, Batches], None]) -> None:
        self._verified = verified
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, tuple[Signed, ...]]] = deque()
        self._worker = ThreadPoolExecutor(1, "verify")
        self._is_busy = False

    def submit(self, session: int, batch: tuple[Signed, ...]) -> None:
        self._waiting.append((session, batch))
        self._next()

    def close(self) -> None:
        self._waiting.clear()
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _next(self) -> None:
        if self._is_busy or not self._waiting:
            return
        session = self._waiting[0][0]
        batches: list[tuple[Signed, ...]] = []
        while self._waiting and self._waiting[0][0] == session and len(batches) < MOST_AT_ONCE:
            batches.append(self._waiting.popleft()[1])
        self._is_busy = True
        done = self._loop.run_in_executor(self._worker, _verify, batches)
        done.add_done_callback(lambda finished: self._finished(session, finished))

    def _finished(self, session: int, finished: "asyncio.Future[Batches]") -> None:
        self._is_busy = False
        if finished.cancelled():
            return
        self._next()  # before what was verified is stored: both go on at the same time
        self._verified(session, finished.result())


def _verify(batches: list[tuple[Signed, ...]]) -> Batches:
    return [verify_and_read(batch) for batch in batches]
