"""Turns a selector's tree into a few conjunctions, each of which an index can find by one of its terms.

Only *true* matches, so three-valued logic needs no third value here. A conjunction is true when all its
terms are, a disjunction when any arm is, and a negation is pushed down to the leaves, where it means "is
this comparison false?". ``NOT (a < 3)`` is ``a >= 3``: both are unknown where ``a`` is missing or text.

A leaf becomes a term or a test (terms).
"""

from math import inf
from typing import Any, TypeAlias

from contentdb.selector.nodes import And, Between, Comparison, Condition, Identifier, In, Literal, Not, Or
from contentdb.selector.terms import Atom, Number, Terms, above, as_test, below, bounds, comparison, leaf

# Two disjunctions of eight arms, or a list of as many values; whoever writes more gets fewer, coarser ones.
MAX_ROWS = 64
# Terms and tests that must all be true; every attribute has at most one interval.
Conjunction: TypeAlias = tuple[Terms, tuple[Condition, ...]]

_NUMBERS = frozenset({int, float})
_BRANCHING = frozenset({And, Or, Not, In})


def conjunctions(condition: Condition, *, limit: int = MAX_ROWS) -> list[Conjunction]:
    """The condition is true exactly where one of these is; none at all if it can never be true.

    At most ``limit``, or one for each arm of an outermost OR and each value of an outermost list. What would
    not fit stays a test.
    """
    if isinstance(condition, And) and (terms := _plain_terms(condition.operands)) is not None:
        return [(terms, ())]
    rows = _outermost(condition, True, limit)
    return [row for atoms in rows if (row := _conjunction(atoms)) is not None]


def _plain_terms(operands: tuple[Condition, ...]) -> Terms | None:
    """The same for texts to equal and numbers to lie between, of which most selectors are made, in half the
    time; None if there is anything else."""
    terms: list[Any] = []
    for operand in operands:
        if isinstance(operand, Comparison):
            name, value = operand.left, operand.right
            if operand.op != "=" or not isinstance(name, Identifier) or not isinstance(value, Literal):
                return None
            if value.value.__class__ is not str:
                return None
            terms += (name.name, value.value, "=")
        elif isinstance(operand, Between) and not operand.negated:
            name, low, high = operand.operand, operand.low, operand.high
            if not isinstance(name, Identifier) or name.name in terms:
                return None
            if not isinstance(low, Literal) or not isinstance(high, Literal):
                return None
            least, most = low.value, high.value
            if least.__class__ not in _NUMBERS or most.__class__ not in _NUMBERS or not least <= most:  # type: ignore[operator]
                return None
            terms += (name.name, least, most)
        else:
            return None
    return tuple(terms)


def _outermost(condition: Condition, wanted: bool, limit: int) -> list[list[Atom]]:
    while isinstance(condition, Not):
        condition, wanted = condition.operand, not wanted
    if not isinstance(condition, Or if wanted else And):
        return _arm(condition, wanted, limit)
    share = max(1, limit // len(condition.operands))
    return [row for each in condition.operands for row in _arm(each, wanted, share)]


def _arm(condition: Condition, wanted: bool, budget: int) -> list[list[Atom]]:
    while isinstance(condition, Not):
        condition, wanted = condition.operand, not wanted
    if isinstance(condition, In):
        # As a test, a list of a hundred feeds would be asked of every entry, because all entries have a feed.
        budget = max(budget, len(condition.values))
    rows = _expand(condition, wanted, budget)
    return rows if rows is not None else [[as_test(condition, wanted)]]


def _expand(condition: Condition, wanted: bool, budget: int) -> list[list[Atom]] | None:
    """Rows of atoms, one of which holds exactly where the condition is ``wanted``; None if over budget."""
    if isinstance(condition, Not):
        return _expand(condition.operand, not wanted, budget)
    if isinstance(condition, (And, Or)):
        if isinstance(condition, And) == wanted:
            return _product(condition.operands, wanted, budget)
        return _union(condition.operands, wanted, budget)
    if isinstance(condition, Between) and wanted == condition.negated:
        return _outside(condition, wanted, budget)
    if isinstance(condition, In) and wanted != condition.negated:
        return _listed(condition, wanted, budget)
    atom = leaf(condition, wanted)
    if isinstance(atom, bool):
        return [[]] if atom else []
    return [[atom]]


def _product(operands: tuple[Condition, ...], wanted: bool, budget: int) -> list[list[Atom]]:
    """Plain terms stand in every row; an operand with arms multiplies the rows while the budget lasts."""
    common: list[Atom] = []
    rows: list[list[Atom]] = [common]
    branching: list[Condition] = []
    for operand in operands:
        if operand.__class__ in _BRANCHING or (isinstance(operand, Between) and operand.negated == wanted):
            branching.append(operand)
            continue
        atom = leaf(operand, wanted)
        if atom is False:
            return []
        if atom is not True:
            common.append(atom)
    for operand in branching:
        arms = _expand(operand, wanted, budget // len(rows))
        if arms is None:
            arms = [[as_test(operand, wanted)]]
        rows = [row + arm for row in rows for arm in arms]
        if not rows:
            return []
    return rows


def _union(operands: tuple[Condition, ...], wanted: bool, budget: int) -> list[list[Atom]] | None:
    rows: list[list[Atom]] = []
    for operand in operands:
        arms = _expand(operand, wanted, budget - len(rows))
        if arms is None or len(rows) + len(arms) > budget:
            return None
        rows += arms
    return rows


def _outside(condition: Between, wanted: bool, budget: int) -> list[list[Atom]] | None:
    between = bounds(condition)
    if between is None:
        return [[as_test(condition, wanted)]]
    if budget < 2:
        return None
    name, low, high = between
    return [[(name, -inf, below(low))], [(name, above(high), inf)]]


def _listed(condition: In, wanted: bool, budget: int) -> list[list[Atom]] | None:
    operand = condition.operand
    if not isinstance(operand, Identifier) or condition.constants() is None:
        return [[as_test(condition, wanted)]]
    if len(condition.values) > budget:
        return None
    return [[comparison(Comparison("=", operand, value), True)] for value in condition.values]


def _conjunction(atoms: list[Atom]) -> Conjunction | None:
    """Terms before tests, several intervals of one attribute cut into one; None if that leaves nothing."""
    terms: list[Any] = []
    tests: list[Condition] = []
    for atom in atoms:
        if atom.__class__ is not tuple:
            tests.append(atom)  # type: ignore[arg-type]
        elif atom[2].__class__ is not str:
            name, low, high = atom
            if name in terms:
                low, high = _cut_out(terms, name, low, high)
            if low > high:
                return None
            terms += (name, low, high)
        else:
            terms += atom
    return tuple(terms), tuple(tests)


def _cut_out(terms: list[Any], name: str, low: Number, high: Number) -> tuple[Number, Number]:
    """Take an interval of the same attribute from the terms; what it has in common with this one."""
    for at in range(0, len(terms), 3):
        if terms[at] == name and terms[at + 2].__class__ is not str:
            _, other_low, other_high = terms[at : at + 3]
            del terms[at : at + 3]
            return max(low, other_low), min(high, other_high)
    return low, high
