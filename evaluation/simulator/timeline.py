"""What is going to happen, in the order of time: a calendar with one leaf for each millisecond.

Most events lie on a leaf of their own or with few others. So putting one down is an append, and only the leaf
that is torn off next is put in order: by time, then by who was first to ask. A heap over everything costs
six times as much with a thousand nodes.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

Event = tuple[float, int, Callable[[], None]]


class Timeline:
    def __init__(self) -> None:
        self.now = 0.0
        self._number = 0
        self._leaves: dict[int, list[Event]] = {}
        self._ahead: list[int] = []  # the numbers of the leaves, as a heap
        self._open: list[Event] = []  # today's leaf, as a heap: what is added to it must find its place
        self._today = -1

    def after(self, delay_s: float, do: Callable[[], None]) -> None:
        """Do this so much later, and after everything that is already due at that moment."""
        self.when(self.now + delay_s, do)

    def when(self, time: float, do: Callable[[], None]) -> None:
        """Do this at that time, or now if it has passed."""
        time = max(time, self.now)
        self._number += 1
        leaf = int(time * 1000)
        if leaf == self._today:
            heappush(self._open, (time, self._number, do))
        elif leaf in self._leaves:
            self._leaves[leaf].append((time, self._number, do))
        else:
            self._leaves[leaf] = [(time, self._number, do)]
            heappush(self._ahead, leaf)

    def run(self, for_s: float) -> None:
        """Let so much time pass."""
        until = self.now + for_s
        while self._ahead and self._ahead[0] <= until * 1000:
            self._today = self._ahead[0]
            self._open = self._leaves[self._today]
            heapify(self._open)
            self._run_leaf(until)
            if self._open:  # the rest of this millisecond is not due yet
                break
            heappop(self._ahead)
            del self._leaves[self._today]
        self._today, self.now = -1, until

    def _run_leaf(self, until: float) -> None:
        leaf = self._open
        while leaf and leaf[0][0] <= until:
            self.now, _, do = heappop(leaf)
            do()
