"""Sets of whole numbers as sorted runs: a gigabyte has 65,536 chunks, and mostly one run of them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Runs:
    """A set of positive integers, kept as runs `first` to `last`, ends included."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in runs:
            self.add(first, last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def __len__(self) -> int:
        """How many runs, not how many numbers."""
        return len(self._firsts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and list(self) == list(other)

    def add(self, first: int, last: int) -> None:
        if first > last:
            return
        start = bisect_right(self._firsts, first - 1)
        if start and self._lasts[start - 1] >= first - 1:
            start -= 1
            first = self._firsts[start]
        stop = bisect_right(self._firsts, last + 1)
        if stop > start:
            last = max(last, self._lasts[stop - 1])
        self._firsts[start:stop] = [first]
        self._lasts[start:stop] = [last]

    def remove(self, first: int, last: int) -> None:
        start = bisect_right(self._firsts, first)
        if start and self._lasts[start - 1] >= first:
            start -= 1
        stop = bisect_right(self._firsts, last)
        left: list[tuple[int, int]] = []
        if start < stop:
            if self._firsts[start] < first:
                left.append((self._firsts[start], first - 1))
            if self._lasts[stop - 1] > last:
                left.append((last + 1, self._lasts[stop - 1]))
        self._firsts[start:stop] = [run[0] for run in left]
        self._lasts[start:stop] = [run[1] for run in left]

    def common(self, other: "Runs") -> Iterator[tuple[int, int]]:
        """The runs of what is in both, in order."""
        mine, theirs = iter(self), iter(other)
        one, two = next(mine, None), next(theirs, None)
        while one is not None and two is not None:
            first, last = max(one[0], two[0]), min(one[1], two[1])
            if first <= last:
                yield first, last
            if one[1] < two[1]:
                one = next(mine, None)
            else:
                two = next(theirs, None)

    def edges_within(self, first: int, last: int) -> Iterator[int]:
        """Where a run begins, or the number behind its last, after `first` and up to `last`."""
        for numbers, behind in ((self._firsts, 0), (self._lasts, 1)):
            start, stop = bisect_right(numbers, first - behind), bisect_right(numbers, last - behind)
            for number in numbers[start:stop]:
                yield number + behind


def cut(run: tuple[int, int], others: Iterable[Runs]) -> Iterator[tuple[int, int]]:
    """The run in pieces, each of which is wholly in every other set or wholly not in it; in order."""
    first, last = run
    edges = sorted({edge for other in others for edge in other.edges_within(first, last)})
    for edge in edges:
        yield first, edge - 1
        first = edge
    yield first, last
