"""Matches LIKE patterns in time that is linear in the value.

A pattern is cut at each ``%`` into segments of fixed length. The first and the last stand at the ends of the
value; each one between is searched from where the one before ended. The leftmost place is always the best,
so nothing is ever tried again: regular expressions, which do, can be made to take hours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

# One character of a segment: itself, or None for `_`.
Symbol = str | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What a pattern means: the segments between its ``%``; a single one covers the whole value."""

    segments: tuple[tuple[Symbol, ...], ...]

    def literal_runs(self) -> list[str]:
        """Strings that every match contains."""
        return [text for segment in self.segments for _, text in _runs(segment)]

    def prefix(self) -> str:
        """What every match starts with."""
        first = self.segments[0]
        length = next((at for at, symbol in enumerate(first) if symbol is None), len(first))
        return "".join(symbol or "" for symbol in first[:length])

    def exact(self) -> str | None:
        """The only value that matches, if there is just one."""
        prefix = self.prefix()
        return prefix if len(self.segments) == 1 and len(prefix) == len(self.segments[0]) else None


def shape(pattern: str, escape: str | None) -> Shape:
    """Read a pattern. The escape takes the meaning from ``%``, ``_`` and itself, and changes nothing else
    if it is a wildcard; any other escape also stands before characters that need none."""
    segments: list[tuple[Symbol, ...]] = []
    segment: list[Symbol] = []
    at = 0
    while at < len(pattern):
        symbol, following = pattern[at], pattern[at + 1 : at + 2]
        if symbol == escape and following and (escape not in "%_" or following in "%_"):
            segment.append(following)
            at += 1
        elif symbol == "%":
            segments.append(tuple(segment))
            segment = []
        else:
            segment.append(None if symbol == "_" else symbol)
        at += 1
    segments.append(tuple(segment))
    return Shape(tuple(segments))


def matcher(pattern: str, escape: str | None) -> Callable[[str], bool]:
    """A function that says whether a value matches."""
    segments = shape(pattern, escape).segments
    first, last = _fixed(segments[0]), _fixed(segments[-1])
    head, tail = len(segments[0]), len(segments[-1])
    if len(segments) == 1:
        return lambda value: len(value) == head and first(value, 0)
    searches = [_search(segment) for segment in segments[1:-1] if segment]

    def matches(value: str) -> bool:
        end = len(value) - tail
        if end < head or not first(value, 0) or not last(value, end):
            return False
        position = head
        for search in searches:
            position = search(value, position, end)
            if position < 0:
                return False
        return True

    return matches


def _runs(segment: tuple[Symbol, ...]) -> list[tuple[int, str]]:
    """The literal stretches of a segment, each with where it starts."""
    runs = []
    at = 0
    for wild, symbols in groupby(segment, key=lambda symbol: symbol is None):
        text = "".join(symbol or "_" for symbol in symbols)
        if not wild:
            runs.append((at, text))
        at += len(text)
    return runs


def _fixed(segment: tuple[Symbol, ...]) -> Callable[[str, int], bool]:
    """Does the segment stand at this position? The caller has checked that the value is long enough."""
    pieces = _runs(segment)
    if len(pieces) == 1 and pieces[0][0] == 0:
        whole = pieces[0][1]
        return lambda value, position: value.startswith(whole, position)
    return lambda value, position: all(value.startswith(text, position + start) for start, text in pieces)


def _search(segment: tuple[Symbol, ...]) -> Callable[[str, int, int], int]:
    """Where the leftmost occurrence between two positions ends; -1 if there is none."""
    core = list(segment)
    before = after = 0
    while core and core[0] is None:
        core.pop(0)
        before += 1
    while core and core[-1] is None:
        core.pop()
        after += 1
    if None in core:
        return _shift_and(tuple(core), before, after)
    text = "".join(symbol or "" for symbol in core)
    length = len(text)

    def search(value: str, start: int, end: int) -> int:
        # find() takes an empty text for found even beyond the end.
        found = value.find(text, start + before, end)
        stop = found + length + after
        return stop if found >= 0 and stop <= end else -1

    return search


def _shift_and(core: tuple[Symbol, ...], before: int, after: int) -> Callable[[str, int, int], int]:
    """One integer holds all half-matched places as bits, so each character is looked at once."""
    anything = sum(1 << at for at, symbol in enumerate(core) if symbol is None)
    masks: dict[str, int] = {}
    for at, symbol in enumerate(core):
        if symbol is not None:
            masks[symbol] = masks.get(symbol, anything) | 1 << at
    complete = 1 << (len(core) - 1)

    def search(value: str, start: int, end: int) -> int:
        state = 0
        for at in range(start + before, end - after):
            state = (state << 1 | 1) & masks.get(value[at], anything)
            if state & complete:
                return at + 1 + after
        return -1

    return search
