"""Many selectors against one entry: which of a million match, without asking each.

Every selector becomes a few conjunctions (normal_form). Each of them is a row (postings), kept in one
posting, under its term that the fewest entries have (attribute). An entry looks up the postings its values
lead to; numpy, if it is there, thins out what they hold (columns), and every term of every row that is left
is checked.

Rarity is learned from the entries that are matched. When a long posting turns out to be hit often, its rows
are asked, a few at each entry, whether another of their terms is rarer by now.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import inf
from typing import Any

from contentdb.attributes import BUILT_IN_IDENTIFIERS
from contentdb.errors import UsageError
from contentdb.selector import Selector, parse
from contentdb.selector.attribute import Attribute, Offer
from contentdb.selector.columns import HAVE_NUMPY, Columns, code
from contentdb.selector.evaluate import known
from contentdb.selector.normal_form import Conjunction, conjunctions
from contentdb.selector.postings import Key, Posting, Probe, Rows
from contentdb.selector.terms import each_term, required_names

_EMPTY: Conjunction = (), ()
# Most entries have these, so that having one tells nothing.
_COMMON = frozenset(BUILT_IN_IDENTIFIERS)
# With fewer rows than this, even looking at all costs less than loading numpy.
_COLUMNS_FROM_ROWS = 512
# With fewer candidates than this, looking at each costs less than asking numpy.
_COLUMNS_FROM = 64
# How many rows may look for a better key during one match: more would make that match late.
_REVIEWED_ROWS = 2
# A shorter posting is not worth the work, and a row moves only if its new key is this much rarer.
_WORTH_REVIEW, _RARER = 64, 2


class SelectorIndex:
    """Selectors by key. ``match`` gives the keys of exactly those for which ``evaluate`` says True."""

    def __init__(self, *, vectorised: bool = HAVE_NUMPY) -> None:
        self._vectorised = vectorised
        self._columns: Columns | None = None
        self._entries = 0
        self._attributes: dict[str, Attribute] = {}  # that any row mentions
        self._rows = Rows()
        self._selectors: dict[Key, int | tuple[int, ...]] = {}
        self._shared: dict[Any, int] = {}
        self._residue = Posting(None, {}, None, 0)

    def __len__(self) -> int:
        return len(self._selectors)

    def __contains__(self, key: object) -> bool:
        return key in self._selectors

    @property
    def residue(self) -> int:
        """How many selectors have no term to be found by, so that every entry is checked against them."""
        return len({key for row in self._residue.rows for key in self._rows.keys(row)})

    def add(self, key: Key, selector: Selector | str) -> None:
        """Keep a selector; one that was kept under the same key is replaced.

        Raises SelectorError, and changes nothing, if the text cannot be parsed.
        """
        tree = (parse(selector) if isinstance(selector, str) else selector).tree
        wanted = conjunctions(tree) if tree is not None else [_EMPTY]
        if key in self._selectors:
            self.remove(key)
        if len(wanted) == 1:
            self._selectors[key] = self._add_row(wanted[0], key)
        else:
            self._selectors[key] = tuple(dict.fromkeys([self._add_row(each, key) for each in wanted]))

    def remove(self, key: Key) -> None:
        """Forget the selector kept under this key."""
        try:
            rows = self._selectors.pop(key)
        except KeyError:
            raise UsageError(
                f"no selector is kept under {key!r}; only what was added can be removed"
            ) from None
        for row in rows if isinstance(rows, tuple) else (rows,):
            if self._rows.discard_key(row, key):
                self._remove_row(row)

    def match(self, attributes: Mapping[str, object]) -> set[Key]:
        """The keys of all selectors that are true for these attributes."""
        probe = numbers, words, likes, _ = Probe({}, {}, {}, attributes)
        hits = [self._residue] if self._residue.rows else []
        now, seen = self._entries, list[tuple[int, Any]]()
        for name, value in attributes.items():
            attribute = self._attributes.get(name)
            if attribute is None:
                continue  # no term mentions it, and tests look into the attributes themselves
            scalar = known(value)
            if isinstance(scalar, (str, bool)):
                words[name] = scalar
                seen.append((attribute.view + 1, code(scalar)))
                attribute.hit_by_word(scalar, hits, likes, now)
            elif scalar is not None:
                numbers[name] = scalar
                seen.append((attribute.view, scalar))
                attribute.hit_by_number(scalar, hits, now)
        self._entries += 1
        found: set[Key] = set()
        self._rows.scan(self._candidates(hits, seen), probe, found)
        self._review(hits)
        return found

    def _candidates(self, hits: list[Posting], seen: list[tuple[int, Any]]) -> Iterable[int]:
        count = 0
        for posting in hits:
            posting.hits += 1
            count += len(posting.rows)
        postings = [posting.rows for posting in hits]
        if self._columns is None or count < _COLUMNS_FROM:
            return chain.from_iterable(postings)
        return self._columns.candidates(b"".join(postings), seen)

    # -- where rows are kept

    def _add_row(self, conjunction: Conjunction, key: Key) -> int:
        terms, tests = conjunction
        # Asked and entered at once, because Python hashes a tuple anew each time.
        row = self._rows.next
        known_row = self._shared.setdefault(terms if not tests else conjunction, row)
        if known_row != row:
            self._rows.add_key(known_row, key)
            return known_row
        attributes = self._attributes
        for name in _mentioned(conjunction):
            attribute = attributes.get(name) or self._open_attribute(name)
            attribute.rows += 1
        self._rows.open(row, conjunction, key, self._posting(self._best_offer(conjunction)))
        if self._columns is not None:
            self._columns.put(row, terms)
        elif self._vectorised and len(self._rows) >= _COLUMNS_FROM_ROWS:
            self._columns = Columns(attributes)
            for at, each in enumerate(self._rows.terms):
                self._columns.put(at, each)
        return row

    def _remove_row(self, row: int) -> None:
        rows = self._rows
        conjunction = rows.terms[row], rows.tests.get(row, ())
        identity = conjunction if conjunction[1] else conjunction[0]
        del self._shared[identity]
        self._leave(row)
        rows.close(row)
        for name in _mentioned(conjunction):
            attribute = self._attributes[name]
            attribute.rows -= 1
            if not attribute.rows:
                del self._attributes[name]
                if self._columns is not None:
                    self._columns.close_views(attribute)

    def _open_attribute(self, name: str) -> Attribute:
        attribute = self._attributes[name] = Attribute(name, self._entries)
        if self._columns is not None:
            self._columns.open_views(attribute)
        return attribute

    def _posting(self, offer: tuple[Attribute, Offer] | None) -> Posting:
        if offer is None:
            return self._residue
        attribute, (_, table, place) = offer
        return table.get(place) or attribute.open(table, place, self._entries)

    def _leave(self, row: int) -> None:
        home = self._rows.leave(row)
        if home.attribute is not None and not home.rows:
            home.attribute.close(home)

    def _best_offer(self, conjunction: Conjunction) -> tuple[Attribute, Offer] | None:
        """By which term the fewest entries would find these; None if there is none to find them by."""
        now, lowest, best = self._entries, inf, None
        attributes = self._attributes
        for name, low, high in each_term(conjunction[0]):
            attribute = attributes[name]
            offer: Offer | None = None
            if high.__class__ is not str:
                offer = attribute.by_interval(low, high, now, lowest)
            elif high == "=":
                offer = attribute.by_word(low, now)
            elif high == "LIKE":
                offer = attribute.by_pattern(low, now)
            if offer is not None and offer[0] < lowest:
                lowest, best = offer[0], (attribute, offer)
        return best if best is not None else self._best_presence(conjunction)

    def _best_presence(self, conjunction: Conjunction) -> tuple[Attribute, Offer] | None:
        attributes = [self._attributes[name] for name in _mentioned(conjunction) if name not in _COMMON]
        offers = [(attribute, attribute.by_presence(self._entries)) for attribute in attributes]
        return min(offers, key=lambda offer: offer[1][0], default=None)

    def _review(self, hits: list[Posting]) -> None:
        """Let a few rows of the longest posting that is due move to where fewer entries find them."""
        due = [posting for posting in hits if posting.hits >= posting.due and posting is not self._residue]
        longest = max(due, key=lambda posting: len(posting.rows), default=None)
        if longest is None or len(longest.rows) < _WORTH_REVIEW:
            return
        worth_leaving = longest.rate(0, self._entries) / _RARER
        for _ in range(_REVIEWED_ROWS):
            if longest.cursor >= len(longest.rows):
                longest.reviewed(self._entries)
                return
            row = longest.rows[longest.cursor]
            offer = self._best_offer((self._rows.terms[row], self._rows.tests.get(row, ())))
            if offer is not None and offer[1][0] < worth_leaving:
                self._rows.leave(row)
                self._rows.enter(row, self._posting(offer))
            else:
                longest.cursor += 1


def _mentioned(conjunction: Conjunction) -> Iterator[str] | tuple[str, ...]:
    """The attributes that an entry must have."""
    terms, tests = conjunction
    if not tests:
        return terms[::3]
    return chain(terms[::3], *map(required_names, tests))
