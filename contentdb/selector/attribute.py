"""One attribute in the index: the postings of its values, which of them an entry hits, and how rare each is.

A row is kept in one posting only. An entry looks up

- its word (text or boolean) or its number, for rows that want it equal;
- the trigrams of its text, which lead to LIKE patterns that contain them; each pattern is tried once,
  however many rows want it;
- two cells of each width in use: an interval no longer than ``2**level`` lies in one of the overlapping cells
  ``[cell, cell + 2) * 2**level``, and a number lies in two of them;
- that it has the attribute at all.

How rare a value is, entries tell; before any came, a word is guessed to be as rare as selectors mention
different ones, and an interval as its share of the span they mention.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from math import floor, frexp, inf
from typing import Any, TypeAlias

from contentdb.selector.like import matcher, shape
from contentdb.selector.postings import GUESS_WEIGHT, Posting
from contentdb.selector.terms import Number

# Where a row may be kept: the share of entries that would then find it, the table, and the place in it.
Offer: TypeAlias = tuple[float, dict[Any, Posting], Any]

Pattern: TypeAlias = tuple[str, str | None]
# Which attributes' texts are known to match which patterns, for the entry at hand.
Likes: TypeAlias = dict[tuple[str, Pattern], bool]

# Narrower than this, scaling a number into its cell could overflow; wider, it tells nothing.
_MIN_LEVEL, _MAX_LEVEL = -900, 900
# No cell is farther from zero than doubles count exactly.
_CELL_BITS = 53
_FARTHEST_CELL = 2.0**_CELL_BITS
_TRIGRAM = 3
# How many titles have a given word in them, if nothing is known.
_PATTERN_GUESS = 0.01
# Below this many trigrams in use for each character of a text, it is cheaper to search for each of them.
_SEARCH_PER_CHARACTER = 0.1
# Enough to tell rare from common; what is not among them is rare.
_MAX_WORDS = 4_096
# How many entries are remembered in full: rather many, because counting anew costs more than old counts.
_FADE_AFTER = 8_192
# Enough to estimate an interval's share to a few per cent; sorted again once this many more have come.
_SAMPLE, _RESORT = 256, 64


def cell_of(low: Number, high: Number) -> tuple[int, int] | None:
    """The level and cell that contain an interval; None if it is open on one side or too wide."""
    if not -inf < low <= high < inf:
        return None
    # Rounding to doubles keeps the order, and scaling by a power of two is exact: whatever lies between
    # the ends also lies between their cells.
    start, end = float(low), float(high)
    if end - start == inf:
        return None
    level = max(_MIN_LEVEL, frexp(end - start)[1], frexp(max(-start, end))[1] - _CELL_BITS + 1)
    return (level, floor(start * 2.0**-level)) if level <= _MAX_LEVEL else None


def trigrams_of(pattern: str, escape: str | None) -> list[str]:
    """What every text that matches contains."""
    runs = shape(pattern, escape).literal_runs()
    return [run[at : at + _TRIGRAM] for run in runs for at in range(len(run) - _TRIGRAM + 1)]


def _matcher(pattern: str, escape: str | None) -> Callable[[str], bool]:
    segments = shape(pattern, escape).segments
    if len(segments) == 3 and not segments[0] and not segments[2] and None not in segments[1]:
        literal = "".join(symbol or "" for symbol in segments[1])
        return lambda text: literal in text  # by far the commonest: '%word%'
    return matcher(pattern, escape)


class Attribute:
    __slots__ = (
        "_high", "_levels", "_low", "_mentioned", "_recent", "_seen", "_since", "_sorted", "_trigrams",
        "_words_seen", "cells", "name", "numbers", "patterns", "present", "rows", "view", "words",
    )  # fmt: skip

    def __init__(self, name: str, now: int) -> None:
        self.name = name
        self.rows = 0  # that mention it, wherever they are kept
        self.view = 0  # its place in the columns
        self.words: dict[Any, Posting] = {}
        self.numbers: dict[Any, Posting] = {}
        self.patterns: dict[Any, Posting] = {}
        self.cells: dict[Any, Posting] = {}
        self.present: dict[Any, Posting] = {}
        self._trigrams: dict[str, dict[Pattern, Callable[[str], bool]]] = {}
        self._levels: dict[int, int] = {}  # how many cells of each level are in use
        self._mentioned: set[str | bool] = set()
        self._low, self._high = inf, -inf  # of the finite bounds mentioned
        self._since = now
        self._seen = 0
        self._words_seen: dict[str | bool, int] = {}
        self._recent: list[Number] = []  # a ring of the last numbers seen
        self._sorted: list[Number] = []

    # -- what selectors want

    def by_word(self, word: str | bool, now: int) -> Offer:
        mentioned = self._mentioned
        if len(mentioned) < _MAX_WORDS:
            mentioned.add(word)
        weighed = self._words_seen.get(word, 0) + GUESS_WEIGHT / (2 + len(mentioned))
        return weighed / (now - self._since + GUESS_WEIGHT), self.words, word

    def by_pattern(self, place: Pattern, now: int) -> Offer | None:
        posting = self.patterns.get(place)
        if posting is not None:
            return posting.rate(_PATTERN_GUESS, now), self.patterns, place
        return (_PATTERN_GUESS, self.patterns, place) if trigrams_of(*place) else None

    def by_presence(self, now: int) -> Offer:
        return self._rate(self._seen, 0.5, now), self.present, None

    def by_interval(self, low: Number, high: Number, now: int, below: float) -> Offer | None:
        """None also if it cannot be rarer than ``below``, which shows before its cell is known."""
        if low == high:
            guess = 1 / (2 + len(self.numbers))
            return self._rate(self._share(low, high), guess, now), self.numbers, low
        if low == -inf or high == inf:
            return None
        # What is next to the largest double is an integer, twice which is too large for any.
        start, end = float(low), float(high)
        if start < self._low:
            self._low = start
        if end > self._high:
            self._high = end
        span = self._high - self._low
        # No cell is narrower than what it holds.
        twice = 2 * (end - start)
        least = twice / span if span > 2 * twice else 0.5
        if GUESS_WEIGHT * least >= below * (now - self._since + GUESS_WEIGHT):
            return None
        place = cell_of(low, high)
        if place is None:
            return None
        width = 2.0 ** place[0]
        guess = 2 * width / span if span > 4 * width else 0.5
        start = place[1] * width
        count = self._share(start, start + 2 * width) if self._sorted else 0
        return self._rate(count, guess, now), self.cells, place

    def open(self, table: dict[Any, Posting], place: Any, now: int) -> Posting:
        posting = table[place] = Posting(self, table, place, now)
        if table is self.cells:
            self._levels[place[0]] = self._levels.get(place[0], 0) + 1
        elif table is self.patterns:
            leading = min(trigrams_of(*place), key=lambda trigram: len(self._trigrams.get(trigram, ())))
            self._trigrams.setdefault(leading, {})[place] = _matcher(*place)
        return posting

    def close(self, posting: Posting) -> None:
        place = posting.place
        del posting.table[place]
        if posting.table is self.cells:
            self._levels[place[0]] -= 1
            if not self._levels[place[0]]:
                del self._levels[place[0]]
        elif posting.table is self.patterns:
            for trigram in trigrams_of(*place):
                led = self._trigrams.get(trigram, {})
                if led.pop(place, None) is not None and not led:
                    del self._trigrams[trigram]

    # -- what entries have

    def hit_by_word(self, word: str | bool, hits: list[Posting], likes: Likes, now: int) -> None:
        """Count an entry with this text or boolean, and append every posting it leads to."""
        self._seen += 1
        counts = self._words_seen
        if self._seen >= _FADE_AFTER or len(counts) >= _MAX_WORDS:
            self._fade(now)
            counts = self._words_seen
        counts[word] = counts.get(word, 0) + 1
        posting = self.words.get(word)
        if posting is not None:
            hits.append(posting)
        if self._trigrams and isinstance(word, str):
            self._hit_patterns(word, hits, likes)
        if self.present:
            hits.extend(self.present.values())

    def hit_by_number(self, number: Number, hits: list[Posting], now: int) -> None:
        recent = self._recent
        if len(recent) < _SAMPLE:
            recent.append(number)
        else:
            recent[self._seen % _SAMPLE] = number
        self._seen += 1
        if self._seen >= _FADE_AFTER:
            self._fade(now)
        if self._seen % _RESORT == 0 or self._seen == GUESS_WEIGHT:
            self._sorted = sorted(recent)
        if self.numbers:
            posting = self.numbers.get(number)
            if posting is not None:
                hits.append(posting)
        find = self.cells.get
        for level in self._levels:
            place = number * 2.0**-level
            if -_FARTHEST_CELL <= place <= _FARTHEST_CELL:
                cell = floor(place)
                if (posting := find((level, cell))) is not None:
                    hits.append(posting)
                if (posting := find((level, cell - 1))) is not None:
                    hits.append(posting)
        if self.present:
            hits.extend(self.present.values())

    def _fade(self, now: int) -> None:
        """What is long ago counts less: what was seen so far counts half, and words seen once not at all."""
        self._seen //= 2
        self._since = now - (now - self._since) // 2
        self._words_seen = {word: count // 2 for word, count in self._words_seen.items() if count > 1}

    def _hit_patterns(self, text: str, hits: list[Posting], likes: Likes) -> None:
        trigrams = self._trigrams
        if len(trigrams) < len(text) * _SEARCH_PER_CHARACTER:
            found = {trigram for trigram in trigrams if trigram in text}
        else:
            found = {text[at : at + _TRIGRAM] for at in range(len(text) - _TRIGRAM + 1)}
            found &= trigrams.keys()
        for trigram in found:
            for place, matches in trigrams[trigram].items():
                if matches(text):
                    likes[self.name, place] = True
                    hits.append(self.patterns[place])

    def _share(self, low: Number, high: Number) -> float:
        """How many of the entries seen had a number between these, going by the last of them."""
        known = self._sorted
        if not known:
            return 0
        return (bisect_right(known, high) - bisect_left(known, low)) / len(known) * self._seen

    def _rate(self, count: float, guess: float, now: int) -> float:
        return (count + GUESS_WEIGHT * guess) / (now - self._since + GUESS_WEIGHT)
