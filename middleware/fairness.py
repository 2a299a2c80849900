"""Shares air time between subscriptions: whose file is asked for next.

Deficit round robin gives each subscription the same number of bytes in turn. The same order comes out of
tags: a file starts where its subscription's last one ended, counted in bytes, and the lowest start is next. A
subscription that was idle starts with the others, not before them, so nobody saves up turns.
"""

from collections.abc import Hashable


class Shares:
    def __init__(self) -> None:
        self._ends: dict[Hashable, float] = {}
        self._now = 0.0

    def start_of(self, who: Hashable, size: int) -> float:
        """Queue so many bytes for somebody; the lowest start goes first."""
        start = max(self._now, self._ends.get(who, 0.0))
        self._ends[who] = start + max(size, 1)
        return start

    def began(self, start: float) -> None:
        """Something with this start is being fetched: whoever comes now does not start before it."""
        if start > self._now:
            self._now = start
            self._ends = {who: end for who, end in self._ends.items() if end > start}

    def settled(self) -> None:
        """Nobody wants anything: who comes now starts with whoever comes next."""
        self._ends.clear()


def jain_index(amounts: list[float]) -> float:
    """1 when all got the same, 1/n when one got everything."""
    squares = sum(amount * amount for amount in amounts)
    return sum(amounts) ** 2 / (len(amounts) * squares) if squares else 1.0
