"""Turns a selector's tree into a few conjunctions, each of which an index can find by one of its terms.

Only *true* matches, so three-valued logic needs no third value here. A conjunction is true when all its
terms are, a disjunction when any arm is, and a negation is pushed down to the leaves, where it means "is
this comparison false?". ``NOT (a < 3)`` is ``a >= 3``: both are unknown where ``a`` is missing or text.

A leaf becomes a term, three values of which the first is the attribute's name, or else a test:

- ``name, low, high``: the attribute is a number and lies between them, both ends included;
- ``name, value, "="``: it is that text or that boolean;
- ``name, value, "<>"``: it is another text, or another number;
- ``name, (pattern, escape), "LIKE"`` or ``"NOT LIKE"``: it is a text that matches, or one that does not;
- a test is any other condition, kept as a tree and evaluated.
"""

from collections.abc import Iterator
from math import inf, nextafter
from typing import Any, TypeAlias, TypeGuard

from contentdb.model import MAX_INTEGER, MIN_INTEGER
from contentdb.selector.nodes import (
    And,
    Between,
    Comparison,
    Condition,
    Expression,
    Identifier,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Sign,
    names_in,
)

# Two disjunctions of eight arms, or a list of as many values; whoever writes more gets fewer, coarser ones.
MAX_ROWS = 64
# Above this, doubles are all integers and not every integer is a double.
EXACT_INTEGERS = 2**53

Number: TypeAlias = int | float
Term: TypeAlias = tuple[str, Any, Any]
Atom: TypeAlias = Term | Condition
# Terms and tests that must all be true; every attribute has at most one interval. The terms stand one after
# another in a flat tuple, because an index has a million of them: it is one object instead of four, and one
# that the garbage collector soon stops looking at.
Terms: TypeAlias = tuple[Any, ...]
Conjunction: TypeAlias = tuple[Terms, tuple[Condition, ...]]

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_BRANCHING = frozenset({And, Or, Not, In})


def conjunctions(condition: Condition, *, limit: int = MAX_ROWS) -> list[Conjunction]:
    """The condition is true exactly where one of these is; none at all if it can never be true.

    At most ``limit``, or one for each arm of an outermost OR and each value of an outermost list. What would
    not fit stays a test.
    """
    rows = _outermost(condition, True, limit)
    return [row for atoms in rows if (row := _conjunction(atoms)) is not None]


def each_term(terms: Terms) -> Iterator[Term]:
    values = iter(terms)
    return zip(values, values, values, strict=True)


def required_names(test: Condition) -> Iterator[str]:
    """Attributes without which this test cannot be true."""
    if isinstance(test, Not):
        test = test.operand
        if isinstance(test, IsNull):
            return
    if isinstance(test, Comparison):
        yield from names_in(test.left)
        yield from names_in(test.right)
    elif isinstance(test, (Between, In, Like)) or (isinstance(test, IsNull) and test.negated):
        yield from names_in(test.operand)


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
    return rows if rows is not None else [[_test(condition, wanted)]]


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
    atom = _leaf(condition, wanted)
    if isinstance(atom, bool):
        return [[]] if atom else []
    return [[atom]]


def _product(operands: tuple[Condition, ...], wanted: bool, budget: int) -> list[list[Atom]]:
    """Plain terms stand in every row; an operand with arms multiplies the rows while the budget lasts."""
    common: list[Atom] = []
    rows: list[list[Atom]] = [common]
    branching: list[Condition] = []
    for operand in operands:
        kind = operand.__class__
        if kind in _BRANCHING or (isinstance(operand, Between) and operand.negated == wanted):
            branching.append(operand)
            continue
        atom = _leaf(operand, wanted)
        if atom is False:
            return []
        if atom is not True:
            common.append(atom)
    for operand in branching:
        arms = _expand(operand, wanted, budget // len(rows))
        if arms is None:
            arms = [[_test(operand, wanted)]]
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


def _bounds(condition: Between) -> tuple[str, Number, Number] | None:
    operand, low, high = condition.operand, _constant(condition.low), _constant(condition.high)
    if isinstance(operand, Identifier) and _is_number(low) and _is_number(high):
        return operand.name, low, high
    return None


def _outside(condition: Between, wanted: bool, budget: int) -> list[list[Atom]] | None:
    bounds = _bounds(condition)
    if bounds is None:
        return [[_test(condition, wanted)]]
    if budget < 2:
        return None
    name, low, high = bounds
    return [[(name, -inf, _below(low))], [(name, _above(high), inf)]]


def _listed(condition: In, wanted: bool, budget: int) -> list[list[Atom]] | None:
    operand = condition.operand
    if not isinstance(operand, Identifier) or condition.constants() is None:
        return [[_test(condition, wanted)]]
    if len(condition.values) > budget:
        return None
    return [[_comparison(Comparison("=", operand, value), True)] for value in condition.values]


def _leaf(condition: Condition, wanted: bool) -> Atom | bool:
    """One atom that holds exactly where the condition is ``wanted``; or True, or False, if it always is."""
    if isinstance(condition, Comparison):
        return _comparison(condition, wanted)
    if isinstance(condition, Between) and wanted != condition.negated:
        bounds = _bounds(condition)
        return bounds if bounds is not None else _test(condition, wanted)
    if isinstance(condition, Like) and isinstance(condition.operand, Identifier):
        operator = "LIKE" if wanted != condition.negated else "NOT LIKE"
        return condition.operand.name, (condition.pattern, condition.escape), operator
    if isinstance(condition, Identifier):
        return condition.name, wanted, "="
    if isinstance(condition, Literal):
        return condition.value is wanted
    if isinstance(condition, IsNull):
        return IsNull(condition.operand, condition.negated == wanted)
    return _test(condition, wanted)


def _comparison(condition: Comparison, wanted: bool) -> Atom:
    op: str = condition.op
    left, right = condition.left, condition.right
    if not isinstance(left, Identifier):
        op, left, right = _MIRRORED[op], right, left
    value = _constant(right)
    if value is None or not isinstance(left, Identifier):
        return _test(condition, wanted)
    if not wanted:
        op = _OPPOSITE[op]
    if isinstance(value, str):
        return (left.name, value, op) if op in ("=", "<>") else _test(condition, wanted)
    if isinstance(value, bool):
        if op in ("=", "<>"):
            return left.name, value if op == "=" else not value, "="
        return _test(condition, wanted)
    return left.name, *_interval(op, value)


def _interval(op: str, value: Number) -> tuple[Number, Number | str]:
    if op == "=":
        return value, value
    if op == "<=":
        return -inf, value
    if op == ">=":
        return value, inf
    if op == "<":
        return -inf, _below(value)
    if op == ">":
        return _above(value), inf
    return value, op


def _below(value: Number) -> Number:
    """The largest number, integer or double, that is less: ``a < value`` is ``a <= _below(value)``."""
    return nextafter(value, -inf) if abs(value) < EXACT_INTEGERS else int(value) - 1


def _above(value: Number) -> Number:
    return nextafter(value, inf) if abs(value) < EXACT_INTEGERS else int(value) + 1


def _constant(expression: Expression) -> str | bool | Number | None:
    """The value of a literal or signed literal that every evaluation agrees about; None for anything else."""
    if isinstance(expression, Literal):
        value = expression.value
    elif isinstance(expression, Sign):
        number = _constant(expression.operand)
        if not _is_number(number):
            return None
        value = -number if expression.op == "-" else number
    else:
        return None
    if isinstance(value, float):
        return value if -inf < value < inf else None
    if isinstance(value, int):
        return value if MIN_INTEGER <= value <= MAX_INTEGER else None
    return value


def _is_number(value: object) -> TypeGuard[Number]:
    kind = value.__class__
    return kind is float or kind is int or (isinstance(value, int | float) and not isinstance(value, bool))


def _test(condition: Condition, wanted: bool) -> Condition:
    return condition if wanted else Not(condition)


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
