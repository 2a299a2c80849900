"""Where the store keeps what a name stands for, and which entries may satisfy a condition on it.

Attributes are rows (name, value, entry) in order of name and value: numbers before texts, TRUE as 1. Built-in
names are columns of the entry, texts or integers. `like` and `compared` give a superset, as every plan does;
a condition between types that do not compare is unknown for every entry, so nothing satisfies it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from contentdb.model import MAX_INTEGER, MIN_INTEGER
from contentdb.selector.candidates import (
    EVERYTHING,
    FULL_TEXT,
    NOTHING,
    Fragment,
    Keys,
    Plan,
    Source,
    joined,
    keys_from,
    tested,
)
from contentdb.selector.like import shape
from contentdb.selector.nodes import Scalar

TEXT_COLUMNS = {
    "feed": "(SELECT id FROM feeds WHERE key = e.feed)",
    "author": "(SELECT public FROM authors WHERE key = e.author)",
    **{name: f"e.{name}" for name in ("id", "title", "summary", "author_name", "type", "language")},
    "categories": "e.categories",
}
NUMBER_COLUMNS = ("updated", "published", "expires", "size", "enclosures")
FULL_TEXT_COLUMNS = ("title", "summary", "categories")
CATEGORY_KEY = 0  # under which name the single terms of `categories` stand among the attributes

# Guesses, as orders of magnitude, of how many rows a kind of condition leaves; the rarest is walked.
_EQUAL, _MATCH, _PREFIX, _BETWEEN, _BEYOND, _CONTAINING, _PRESENT = range(1, 8)
# SQLite nests a row of ANDs as deep as it is long, and no deeper than 1,000; the longest runs tell the most.
MAX_RUNS = 16
# Each trigram narrows what the others left, and costs reading one more list.
MAX_TRIGRAMS = 8

_ATTRIBUTE = "SELECT entry FROM entry_attributes WHERE name = ?"
# In SQLite's order, every number is before the empty text, and every text before the empty blob. The plus
# keeps the first from being taken for the end of the stretch to walk, where a closer one may be given.
_IS_NUMBER, _IS_TEXT = "+value < ''", "value >= '' AND value < x''"


@dataclass(frozen=True, slots=True)
class TextColumn:
    name: str
    full_text: bool

    @property
    def _sql(self) -> str:
        return TEXT_COLUMNS[self.name]

    def present(self) -> Plan:
        return tested(Fragment(f"{self._sql} IS NOT NULL"))

    def absent(self) -> Plan:
        return tested(Fragment(f"{self._sql} IS NULL"))

    def compared(self, op: str, value: Scalar) -> Plan:
        if not isinstance(value, str) or op not in ("=", "<>"):
            return NOTHING
        if op == "=":
            return self.listed((value,))
        return tested(Fragment(f"{self._sql} <> ?", (value,)))

    def listed(self, values: Sequence[Scalar]) -> Plan:
        texts = tuple(value for value in values if isinstance(value, str))
        if not texts:
            return NOTHING
        marks = ",".join("?" * len(texts))
        if self.name == "feed":
            # By its key, the feed leads to its entries in order of time.
            return tested(Fragment(f"e.feed IN (SELECT key FROM feeds WHERE id IN ({marks}))", texts))
        return tested(Fragment(f"{self._sql} IN ({marks})", texts))

    def like(self, pattern: str, escape: str | None) -> Plan:
        wanted = shape(pattern, escape)
        if (exact := wanted.exact()) is not None:
            return self.compared("=", exact)
        runs = wanted.literal_runs()
        tests = [Fragment(f"instr({self._sql}, ?)", (run,)) for run in _most_telling(runs)]
        test = joined("AND", tests) if tests else Fragment(f"{self._sql} IS NOT NULL")
        keys = self._keys(runs)
        return Plan(keys, test, test)

    def _keys(self, runs: list[str]) -> Keys | None:
        terms = [term for run in runs for term in run.split("|")[1:-1] if term]
        if self.name == "categories" and terms:
            return Keys((Fragment(f"{_ATTRIBUTE} AND value = ?", (CATEGORY_KEY, terms[0])),), _EQUAL)
        trigrams = _trigrams(runs) if self.full_text and self.name in FULL_TEXT_COLUMNS else []
        if not trigrams:
            return None
        quoted = " AND ".join('"' + trigram.replace('"', '""') + '"' for trigram in trigrams)
        return keys_from(FULL_TEXT, [Fragment(f"{self.name} : ({quoted})")], _MATCH)


@dataclass(frozen=True, slots=True)
class NumberColumn:
    name: str

    def present(self) -> Plan:
        return tested(Fragment(f"e.{self.name} IS NOT NULL"))

    def absent(self) -> Plan:
        return tested(Fragment(f"e.{self.name} IS NULL"))

    def compared(self, op: str, value: Scalar) -> Plan:
        if isinstance(value, str | bool):
            return NOTHING
        if value != (whole := math.floor(value)):
            # Between two integers: nothing equals it, and what is above the lower one is above it.
            if op in ("=", "<>"):
                return NOTHING if op == "=" else self.present()
            op = "<=" if op in ("<", "<=") else ">"
        if not MIN_INTEGER <= whole <= MAX_INTEGER:
            below = op in ("<", "<=", "<>") if whole > 0 else op in (">", ">=", "<>")
            return self.present() if below else NOTHING
        return tested(Fragment(f"e.{self.name} {op} ?", (whole,)))

    def listed(self, values: Sequence[Scalar]) -> Plan:
        whole = tuple(
            int(value)
            for value in values
            if not isinstance(value, str | bool)
            and value == math.floor(value)
            and MIN_INTEGER <= value <= MAX_INTEGER
        )
        if not whole:
            return NOTHING
        return tested(Fragment(f"e.{self.name} IN ({','.join('?' * len(whole))})", whole))

    def like(self, pattern: str, escape: str | None) -> Plan:
        return NOTHING


@dataclass(frozen=True, slots=True)
class AttributeRows:
    key: int
    name: str

    def present(self) -> Plan:
        return self._found("", (), _PRESENT)

    def absent(self) -> Plan:
        return tested(Fragment("(e.attributes IS NULL OR NOT instr(e.attributes, ?))", (self._member,)))

    def compared(self, op: str, value: Scalar) -> Plan:
        if isinstance(value, str | bool) and op not in ("=", "<>"):
            return NOTHING
        if op == "=":
            return self.listed((value,))
        if op == "<>":
            return self.present()
        return self._found(f"value {op} ? AND {_IS_NUMBER}", (value,), _BEYOND)

    def between(self, low: Scalar, high: Scalar) -> Plan:
        if isinstance(low, str | bool) or isinstance(high, str | bool):
            return NOTHING
        return self._found("value BETWEEN ? AND ?", (low, high), _BETWEEN)

    def listed(self, values: Sequence[Scalar]) -> Plan:
        term = "value = ?" if len(values) == 1 else f"value IN ({','.join('?' * len(values))})"
        plan = self._found(term, values, _EQUAL)
        sql = f"EXISTS (SELECT 1 FROM entry_attributes WHERE name = ? AND {term} AND entry = e.key)"
        looked_up = Fragment(sql, (self.key, *values), probes=len(values), weaker=plan.test)
        return replace(plan, test=joined("AND", [looked_up]))

    def like(self, pattern: str, escape: str | None) -> Plan:
        wanted = shape(pattern, escape)
        if (exact := wanted.exact()) is not None:
            return self.compared("=", exact)
        prefix, runs = wanted.prefix(), _most_telling(wanted.literal_runs())
        terms, parameters = [_IS_TEXT], list[object]()
        if prefix:
            terms, parameters = ["value >= ? AND value < x''"], [prefix]
            if (end := _successor(prefix)) is not None:
                terms, parameters = ["value >= ? AND value < ?"], [prefix, end]
        terms += ["instr(value, ?)"] * len(runs)
        rank = _PREFIX if prefix else _CONTAINING
        return self._found(" AND ".join(terms), (*parameters, *runs), rank)

    def _found(self, term: str, parameters: Sequence[object], rank: float) -> Plan:
        """Walk the attribute's rows, or, if others are walked, look whether the entry has it at all."""
        source = Source(_ATTRIBUTE, (self.key,))
        terms = [Fragment(term, tuple(parameters))] if term else []
        mentioned = Fragment("instr(e.attributes, ?)", (self._member,))
        return Plan(keys_from(source, terms, rank), mentioned, EVERYTHING.test)

    @property
    def _member(self) -> str:
        """How the attribute starts in the JSON of an entry; inside a text the quotes would be escaped."""
        return f'"{self.name}":'


def _successor(prefix: str) -> str | None:
    """The first text after all that start so; None if there is none. UTF-8 sorts as the characters do."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    code = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)


def _most_telling(runs: list[str]) -> list[str]:
    return sorted(dict.fromkeys(runs), key=len, reverse=True)[:MAX_RUNS]


def _trigrams(runs: list[str]) -> list[str]:
    """Some of the trigrams that every match contains, side by side rather than overlapping.

    FTS5 reads a query no further than a NUL; content comes from XML, which has none.
    """
    found: dict[str, None] = {}
    for run in runs:
        for piece in run.split("\0"):
            last = len(piece) - 3
            starts = [*range(0, last, 3), last] if last >= 0 else []
            found.update((piece[start : start + 3], None) for start in starts)
    return list(found)[:MAX_TRIGRAMS]
