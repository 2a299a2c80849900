"""What the index keeps: numbered rows, one for each conjunction, each in the posting through which entries
find it.

What belongs to a row stands in lists, at the row's number. An object for each would be easier to read, but
with a million of them the garbage collector takes a third of the time in which they are added.
"""

from array import array
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from contentdb.selector.evaluate import Attributes, Check, prepare
from contentdb.selector.like import matcher
from contentdb.selector.nodes import And, Condition
from contentdb.selector.normal_form import Conjunction
from contentdb.selector.terms import Number, Terms

if TYPE_CHECKING:
    from contentdb.selector.attribute import Attribute, Likes, Pattern

Key: TypeAlias = Hashable

# How many entries a guess counts for, against what was then observed.
GUESS_WEIGHT = 8
FIRST_REVIEW = 16
# So that a posting whose key becomes common is noticed, however long it was rare.
_REVIEW_AT_LEAST_EVERY = 4_096
# Prepared checks take about a kilobyte each; beyond this many, all are made again when they are needed.
_MAX_CHECKS = 16_384


class Posting:
    """The rows kept under one access key, and how many entries had that key since it is in use."""

    __slots__ = ("attribute", "cursor", "due", "hits", "place", "rows", "since", "table")

    def __init__(
        self, attribute: "Attribute | None", table: "dict[Any, Posting]", place: Any, now: int
    ) -> None:
        self.attribute = attribute  # that leads here; None for the rows that are always checked
        self.table = table
        self.place = place
        self.rows = array("i")
        self.hits = 0
        self.since = now
        self.due = FIRST_REVIEW  # hits at which the rows are asked whether they have a better key by now
        self.cursor = 0

    def rate(self, guess: float, now: int) -> float:
        """The share of entries that have this key, of ``now`` entries seen in all."""
        return (self.hits + GUESS_WEIGHT * guess) / (now - self.since + GUESS_WEIGHT)

    def reviewed(self, now: int) -> None:
        """From here on, what was before counts half."""
        self.cursor = 0
        self.due = min(2 * self.hits, self.hits // 2 + _REVIEW_AT_LEAST_EVERY)
        self.hits //= 2
        self.since = now - (now - self.since) // 2


class Probe(NamedTuple):
    """An entry as the rows see it: its numbers, its texts and booleans, and everything."""

    numbers: dict[str, Number]
    words: dict[str, str | bool]
    likes: "Likes"
    attributes: Attributes


class Rows:
    """Conjunctions by number; the numbers of those that went are given again."""

    def __init__(self) -> None:
        self.terms: list[Terms] = []
        self.tests: dict[int, tuple[Condition, ...]] = {}  # of the few rows that have any
        self._keys: list[Any] = []  # a key, or a set once several selectors have the same row
        self._homes: list[Posting] = []
        self._positions = array("i")  # in its home
        self._free: list[int] = []
        self._checks: dict[int, Check] = {}
        self._matchers: dict[Pattern, Any] = {}

    def __len__(self) -> int:
        return len(self.terms) - len(self._free)

    @property
    def next(self) -> int:
        """The number that the next row will have."""
        return self._free[-1] if self._free else len(self.terms)

    def open(self, row: int, conjunction: Conjunction, key: Key, posting: Posting) -> None:
        """Keep it under the next number, in this posting."""
        terms, tests = conjunction
        if self._free:
            self._free.pop()
            self.terms[row], self._keys[row] = terms, key
            self.enter(row, posting)
        else:
            self.terms.append(terms)
            self._keys.append(key)
            self._homes.append(posting)
            self._positions.append(len(posting.rows))
            posting.rows.append(row)
        if tests:
            self.tests[row] = tests

    def close(self, row: int) -> None:
        self.terms[row], self._keys[row], self._homes[row] = (), None, _NOWHERE
        self.tests.pop(row, None)
        self._checks.pop(row, None)
        self._free.append(row)

    def add_key(self, row: int, key: Key) -> None:
        keys = self._keys[row]
        if keys.__class__ is set:
            keys.add(key)
        else:
            self._keys[row] = {keys, key}

    def discard_key(self, row: int, key: Key) -> bool:
        """Was it the last?"""
        keys = self._keys[row]
        if keys.__class__ is not set:
            return True
        keys.discard(key)
        return not keys

    def keys(self, row: int) -> Iterator[Key]:
        keys = self._keys[row]
        return iter(keys if keys.__class__ is set else (keys,))

    def enter(self, row: int, posting: Posting) -> None:
        self._homes[row], self._positions[row] = posting, len(posting.rows)
        posting.rows.append(row)

    def leave(self, row: int) -> Posting:
        """Take it out of the posting it is in; the last row there takes its place."""
        home, position = self._homes[row], self._positions[row]
        last = home.rows.pop()
        if last != row:
            home.rows[position] = last
            self._positions[last] = position
        return home

    def scan(self, rows: Iterable[int], probe: Probe, found: set[Key]) -> None:
        """Add the keys of the rows that are true; this decides, whatever proposed the rows."""
        numbers, words = probe.numbers, probe.words
        all_terms, all_keys, tests = self.terms, self._keys, self.tests
        for row in rows:
            values = iter(all_terms[row])
            for name, low, high in zip(values, values, values):  # noqa: B905 - strict takes longer
                if high.__class__ is not str:
                    value = numbers.get(name)
                    if value is None or not low <= value <= high:
                        break
                elif high == "=":
                    if words.get(name) != low:
                        break
                elif not self._holds(name, low, high, probe):
                    break
            else:
                if row not in tests or self._passes_tests(row, probe.attributes):
                    keys = all_keys[row]
                    if keys.__class__ is set:
                        found |= keys
                    else:
                        found.add(keys)

    def _holds(self, name: str, value: Any, operator: str, probe: Probe) -> bool:
        word = probe.words.get(name)
        if operator == "<>":
            if not isinstance(value, str):
                return name in probe.numbers and probe.numbers[name] != value
            return isinstance(word, str) and word != value
        if not isinstance(word, str):
            return False
        likes = probe.likes.get((name, value))
        if likes is None:
            likes = probe.likes[name, value] = self._matcher(value)(word)
        return likes is (operator == "LIKE")

    def _matcher(self, pattern: "Pattern") -> Any:
        matches = self._matchers.get(pattern)
        if matches is None:
            if len(self._matchers) >= _MAX_CHECKS:
                self._matchers.clear()
            matches = self._matchers[pattern] = matcher(*pattern)
        return matches

    def _passes_tests(self, row: int, attributes: Attributes) -> bool:
        check = self._checks.get(row)
        if check is None:
            if len(self._checks) >= _MAX_CHECKS:
                self._checks.clear()
            tests = self.tests[row]
            check = self._checks[row] = prepare(tests[0] if len(tests) == 1 else And(tests))
        return check(attributes) is True


_NOWHERE = Posting(None, {}, None, 0)
