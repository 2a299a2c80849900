"""Sets of candidate entries as SQL: what they are found by, and what each of them is then tested for.

A plan never names too few entries; it may name too many. ``keys`` are selects that give the keys of entries
by an index; ``test`` is a condition on one row ``e``. Each is a superset of the matches by itself, so that
whoever joins plans may drop either of them: AND walks the rarest keys and tests the rest, OR needs the keys
of every branch. Were all conditions written as ``e.key IN (SELECT ...)``, SQLite would collect each of these
sets in full before it looked at the first row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Optional, cast

# How many rows a select with these parameters gives, counted no further than the limit.
Count = Callable[[str, Sequence[object], int], int]
# Most questions have a rare condition, which shows after few rows; only else it is worth counting on.
_COUNT_TO = (100, 10_000)
# A few selects are walked whatever they give; more of them only if they give less than this together.
_FEW, _MANY = 8, 100_000

# SQLite's parser has a stack of 100, of which a pair of parentheses with an operator takes three.
MAX_SQL_DEPTH = 16
# SQLite takes 32,766 parameters in a statement and 500 selects in a union; the caller wants some as well.
MAX_PARAMETERS = 8_000
MAX_UNION = 200
# A probe costs a row a microsecond, to evaluate the selector costs it about ten.
MAX_PROBES = 16
# FTS5 nests its queries no deeper than 256; long before that, another term narrows nothing.
MAX_MERGED = 16


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of SQL with its parameters, and how deep it nests.

    ``probes`` is how often it looks into another table for a row, ``weaker`` a superset that never does.
    """

    sql: str
    parameters: tuple[object, ...] = ()
    depth: int = 1
    probes: int = 0
    weaker: Optional["Fragment"] = None


@dataclass(frozen=True, slots=True)
class Source:
    """An index that gives keys of entries: a select up to its conditions, and how these are joined.

    Only where an entry is found once or not at all may the conditions of several keys become one.
    """

    sql: str
    parameters: tuple[object, ...] = ()


# FTS5 intersects its own lists, beginning with the shortest, if it gets them in one query.
FULL_TEXT = Source("SELECT rowid FROM entry_text WHERE entry_text MATCH")


@dataclass(frozen=True, slots=True)
class Keys:
    """Selects whose union holds all candidates. ``rank`` guesses how many: the lowest is walked."""

    selects: tuple[Fragment, ...]
    rank: float
    source: Source | None = None
    terms: tuple[Fragment, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """``rest`` is what is left to test of a row that the keys gave."""

    keys: Keys | None
    test: Fragment
    rest: Fragment


_TRUE, _FALSE = Fragment("1"), Fragment("0")
EVERYTHING = Plan(None, _TRUE, _TRUE)
NOTHING = Plan(None, _FALSE, _FALSE)


def tested(test: Fragment) -> Plan:
    """Entries that no index of ours leads to."""
    return Plan(None, test, test)


def keys_from(source: Source, terms: Sequence[Fragment], rank: float) -> Keys:
    """The entries that this index finds for all these terms at once."""
    if source is FULL_TEXT:
        query = " AND ".join(f"({term.sql})" for term in terms)
        select = Fragment(f"{source.sql} ?", (query,))
    else:
        sql = " AND ".join([source.sql, *(term.sql for term in terms)])
        parameters = tuple(value for term in terms for value in term.parameters)
        select = Fragment(sql, source.parameters + parameters)
    return Keys((select,), rank, source, tuple(terms))


def all_of(plans: Sequence[Plan], count: Count | None = None) -> Plan:
    """What is in every plan."""
    if NOTHING in plans:
        return NOTHING
    plans = _merged([plan for plan in plans if plan != EVERYTHING])
    if len(plans) < 2:
        return plans[0] if plans else EVERYTHING
    test = joined("AND", [plan.test for plan in plans])
    driver = _rarest([plan for plan in plans if plan.keys is not None], count)
    if driver is None:
        return tested(test)
    rest = joined("AND", [plan.rest if plan is driver else plan.test for plan in plans])
    return Plan(driver.keys, test, rest)


def any_of(plans: Sequence[Plan], count: Count | None = None) -> Plan:
    """What is in at least one plan."""
    if EVERYTHING in plans:
        return EVERYTHING
    plans = [plan for plan in plans if plan != NOTHING]
    if len(plans) < 2:
        return plans[0] if plans else NOTHING
    test = joined("OR", [plan.test for plan in plans])
    found = [plan.keys for plan in plans if plan.keys is not None]
    selects = tuple(dict.fromkeys(select for each in found for select in each.selects))
    keys = Keys(selects, sum(each.rank for each in found))
    if len(found) == len(plans) and not _overlap(keys, count):
        rest = _TRUE if all(plan.rest == _TRUE for plan in plans) else test
        return Plan(keys, test, rest)
    if count is not None and found and rows_of(keys, count, _COUNT_TO[-1]) < _COUNT_TO[-1]:
        # Every row will be looked at. What is rare is better collected once than looked for in each of them.
        others = [plan.test for plan in plans if plan.keys is None]
        test = joined("OR", [_among(keys), *others])
    return tested(test)


def _overlap(keys: Keys, count: Count | None) -> bool:
    """Would the selects give the same common entries over and over, as in `a > 1 OR a > 2 OR ...`?"""
    return len(keys.selects) > _FEW and count is not None and rows_of(keys, count, _MANY) >= _MANY


def rows_of(keys: Keys, count: Count, limit: int) -> int:
    """How many rows these give in all, counted no further than the limit."""
    rows = 0
    for select in keys.selects:
        if rows < limit:
            rows += count(select.sql, select.parameters, limit - rows)
    return rows


def joined(operator: str, tests: Sequence[Fragment]) -> Fragment:
    """The tests joined in pairs of pairs: in a row, SQLite would count each of them as one level more."""
    level = list(dict.fromkeys(tests))
    probes = sum(test.probes for test in level)
    weaker = joined(operator, [test.weaker or test for test in level]) if probes else None
    if weaker is not None and probes > MAX_PROBES:
        return weaker
    if operator == "AND":
        level = [test for test in level if test != _TRUE] or [_TRUE]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[len(level) - len(level) % 2 :]
        level = [_pair(operator, left, right) for left, right in pairs] + odd
    return replace(level[0], probes=probes, weaker=weaker) if probes else level[0]


def statement(plan: Plan) -> Fragment:
    """The condition on ``e`` that the plan stands for."""
    parts = [plan.rest]
    if plan.keys is not None:
        parts.insert(0, _among(plan.keys))
    # Keys first: if not all fits into a statement, they alone do more than the tests alone.
    kept: list[Fragment] = []
    for part in parts:
        if sum(len(each.parameters) for each in [*kept, part]) <= MAX_PARAMETERS:
            kept.append(part)
    return joined("AND", kept)


def _among(keys: Keys) -> Fragment:
    selects = [select.sql for select in keys.selects]
    if len(selects) > MAX_UNION:
        some = (selects[at : at + MAX_UNION] for at in range(0, len(selects), MAX_UNION))
        selects = [f"SELECT * FROM ({' UNION ALL '.join(each)})" for each in some]
    parameters = tuple(value for select in keys.selects for value in select.parameters)
    # Deeper than it looks, by the selects inside.
    return Fragment(f"e.key IN ({' UNION ALL '.join(selects)})", parameters, depth=3)


def _pair(operator: str, left: Fragment, right: Fragment) -> Fragment:
    depth = max(left.depth, right.depth) + 1
    if depth > MAX_SQL_DEPTH:
        # What nests too deep is not tested: for OR that leaves nothing to test, for AND the other side.
        return _TRUE if operator == "OR" else min(left, right, key=lambda each: each.depth)
    return Fragment(f"({left.sql} {operator} {right.sql})", left.parameters + right.parameters, depth)


def _merged(plans: Sequence[Plan]) -> list[Plan]:
    """Conditions on one index become one: `a > 1` and `a < 5` are a stretch of it, not two halves."""
    groups: dict[object, list[Plan]] = {}
    for at, plan in enumerate(plans):
        source = plan.keys.source if plan.keys is not None else None
        groups.setdefault(at if source is None else source, []).append(plan)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _one(group: Sequence[Plan]) -> Plan:
    keys = [plan.keys for plan in group if plan.keys is not None]
    terms = dict.fromkeys(term for each in keys for term in each.terms)
    # A stretch with two ends is rarer than one with either.
    rank = min(each.rank for each in keys) - 0.5
    test = joined("AND", [plan.test for plan in group])
    rest = joined("AND", [plan.rest for plan in group]) if len(terms) <= MAX_MERGED else test
    return Plan(keys_from(cast(Source, keys[0].source), list(terms)[:MAX_MERGED], rank), test, rest)


def _rarest(driven: Sequence[Plan], count: Count | None) -> Plan | None:
    sizes = [0.0] * len(driven)
    for limit in _COUNT_TO if count is not None and len(driven) > 1 else ():
        sizes = [rows_of(cast(Keys, plan.keys), cast(Count, count), limit) for plan in driven]
        if min(sizes) < limit:
            break
    ranked = sorted(
        zip(sizes, driven, strict=True), key=lambda each: (each[0], cast(Keys, each[1].keys).rank)
    )
    return ranked[0][1] if ranked else None
