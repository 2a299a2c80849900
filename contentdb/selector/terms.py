"""One condition without branches as a term by which an index can find it, or else as a test.

A term is three values, of which the first is the attribute's name:

- ``name, low, high``: the attribute is a number and lies between them, both ends included;
- ``name, value, "="``: it is that text or that boolean;
- ``name, value, "<>"``: it is another text, or another number;
- ``name, (pattern, escape), "LIKE"`` or ``"NOT LIKE"``: it is a text that matches, or one that does not.

A test is any other condition, kept as a tree and evaluated.
"""

from collections.abc import Iterator
from math import inf, nextafter
from typing import Any, TypeAlias, TypeGuard

from contentdb.model import MAX_INTEGER, MIN_INTEGER
from contentdb.selector.nodes import (
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
    Sign,
    names_in,
)

# Above this, doubles are all integers and not every integer is a double.
EXACT_INTEGERS = 2**53

Number: TypeAlias = int | float
Term: TypeAlias = tuple[str, Any, Any]
Atom: TypeAlias = Term | Condition
# One term after another in a flat tuple, because an index has a million of them: it is one object instead of
# four, and one that the garbage collector soon stops looking at.
Terms: TypeAlias = tuple[Any, ...]

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def leaf(condition: Condition, wanted: bool) -> Atom | bool:
    """One atom that holds exactly where the condition is ``wanted``; or True, or False, if it always is."""
    if isinstance(condition, Comparison):
        return comparison(condition, wanted)
    if isinstance(condition, Between) and wanted != condition.negated:
        between = bounds(condition)
        return between if between is not None else as_test(condition, wanted)
    if isinstance(condition, Like) and isinstance(condition.operand, Identifier):
        operator = "LIKE" if wanted != condition.negated else "NOT LIKE"
        return condition.operand.name, (condition.pattern, condition.escape), operator
    if isinstance(condition, Identifier):
        return condition.name, wanted, "="
    if isinstance(condition, Literal):
        return condition.value is wanted
    if isinstance(condition, IsNull):
        return IsNull(condition.operand, condition.negated == wanted)
    return as_test(condition, wanted)


def comparison(condition: Comparison, wanted: bool) -> Atom:
    op: str = condition.op
    left, right = condition.left, condition.right
    if not isinstance(left, Identifier):
        op, left, right = _MIRRORED[op], right, left
    value = _constant(right)
    if value is None or not isinstance(left, Identifier):
        return as_test(condition, wanted)
    if not wanted:
        op = _OPPOSITE[op]
    if isinstance(value, str):
        return (left.name, value, op) if op in ("=", "<>") else as_test(condition, wanted)
    if isinstance(value, bool):
        if op in ("=", "<>"):
            return left.name, value if op == "=" else not value, "="
        return as_test(condition, wanted)
    return left.name, *_interval(op, value)


def _interval(op: str, value: Number) -> tuple[Number, Number | str]:
    if op == "=":
        return value, value
    if op == "<=":
        return -inf, value
    if op == ">=":
        return value, inf
    if op == "<":
        return -inf, below(value)
    if op == ">":
        return above(value), inf
    return value, op


def below(value: Number) -> Number:
    """The largest number, integer or double, that is less: ``a < value`` is ``a <= below(value)``."""
    return nextafter(value, -inf) if abs(value) < EXACT_INTEGERS else int(value) - 1


def above(value: Number) -> Number:
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


def as_test(condition: Condition, wanted: bool) -> Condition:
    return condition if wanted else Not(condition)


def bounds(condition: Between) -> tuple[str, Number, Number] | None:
    operand, low, high = condition.operand, _constant(condition.low), _constant(condition.high)
    if isinstance(operand, Identifier) and _is_number(low) and _is_number(high):
        return operand.name, low, high
    return None


def each_term(terms: Terms) -> Iterator[Term]:
    values = iter(terms)
    return zip(values, values, values)  # noqa: B905 - strict takes longer


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
