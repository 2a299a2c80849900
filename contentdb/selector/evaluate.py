"""Does this entry match this tree? True, False, or None for unknown.

A tree is turned once into nested functions, which take the attributes and give a value; None is SQL's NULL.
Python's own rules do most of the work: integers and floats compare exactly, so 2^53 and 2^53+1 differ.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from contentdb.model import MAX_INTEGER, MIN_INTEGER
from contentdb.selector import nodes
from contentdb.selector.like import matcher

Attributes: TypeAlias = Mapping[str, object]
Truth: TypeAlias = bool | None
Check: TypeAlias = Callable[[Attributes], Truth]
Value: TypeAlias = Callable[[Attributes], nodes.Scalar | None]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def known(value: object) -> nodes.Scalar | None:
    """The value as a selector sees it: what no attribute can hold (NaN, 65 bits, a list) counts as absent."""
    kind = value.__class__
    if kind is str or kind is bool:
        return value  # type: ignore[return-value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if MIN_INTEGER <= value <= MAX_INTEGER else None
    if isinstance(value, float):
        # A subclass may answer comparisons with truths of its own, as numpy's doubles do.
        return float(value) if value - value == 0 else None
    return value if isinstance(value, str) else None


def compare(op: str, left: object, right: object) -> Truth:
    """Only like is compared with like, and only numbers have an order; everything else is unknown."""
    if isinstance(left, bool) or isinstance(right, bool):
        alike = isinstance(left, bool) and isinstance(right, bool) and op in ("=", "<>")
    elif isinstance(left, str):
        alike = isinstance(right, str) and op in ("=", "<>")
    else:
        alike = isinstance(left, int | float) and isinstance(right, int | float)
    return _ORDER[op](left, right) if alike else None


def compute(op: str, left: object, right: object) -> int | float | None:
    """Arithmetic on numbers; overflow, division by zero and anything without a number are unknown."""
    if isinstance(left, bool) or isinstance(right, bool):
        return None
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    if op == "/" and right == 0:
        return None
    result: int | float = _COMPUTE[op](left, right)
    if isinstance(result, int):
        return result if MIN_INTEGER <= result <= MAX_INTEGER else None
    return result if result - result == 0 else None


def conjunction(first: Truth, second: Truth) -> Truth:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def prepare(tree: nodes.Condition | None) -> Check:
    """The function that evaluates this tree; the empty selector is true for everything."""
    return (lambda attributes: True) if tree is None else _check(tree)


def _check(node: nodes.Condition) -> Check:
    match node:
        case nodes.Comparison(op, nodes.Identifier(name), nodes.Literal(value)):
            return _compare_attribute(op, name, value)
        case nodes.Comparison(op, left, right):
            first, second = _value(left), _value(right)
            return lambda attributes: compare(op, first(attributes), second(attributes))
        case nodes.Between(nodes.Identifier(name), nodes.Literal(low), nodes.Literal(high), negated):
            return _negated(_attribute_between(name, low, high), negated)
        case nodes.Between(operand, low, high, negated):
            return _negated(_between(_value(operand), _value(low), _value(high)), negated)
        case nodes.In(operand, values, negated):
            constants = node.constants()
            if constants is not None:
                return _negated(_in(_value(operand), constants), negated)
            return _negated(_in_computed(_value(operand), [_value(each) for each in values]), negated)
        case nodes.Like(operand, pattern, escape, negated):
            return _negated(_like(_value(operand), matcher(pattern, escape)), negated)
        case nodes.IsNull(operand, negated) | nodes.IsUnknown(operand, negated):
            looked_up = _value(operand)
            return lambda attributes: (looked_up(attributes) is None) is not negated
        case nodes.Not(operand):
            return _negated(_check(operand), True)
        case nodes.And(operands):
            return _all([_check(each) for each in operands])
        case nodes.Or(operands):
            return _any([_check(each) for each in operands])
        case nodes.Identifier(name):
            return lambda attributes: flag if isinstance(flag := attributes.get(name), bool) else None
        case nodes.Literal(constant):
            return lambda attributes: bool(constant)


def _value(node: nodes.Expression) -> Value:
    match node:
        case nodes.Literal(constant):
            return lambda attributes: constant
        case nodes.Identifier(name):
            return lambda attributes: known(attributes.get(name))
        case nodes.Sign(sign, operand):
            inner = _value(operand)
            # 0 - x would turn 0.0 into 0.0 where -x gives -0.0; the two are equal, so nobody can tell.
            return lambda attributes: compute(sign, 0, inner(attributes))
        case nodes.Arithmetic(op, left, right):
            first, second = _value(left), _value(right)
            return lambda attributes: compute(op, first(attributes), second(attributes))
        case _:
            return _check(node)


def _compare_attribute(op: str, name: str, constant: nodes.Scalar) -> Check:
    """The commonest condition, an attribute against a literal, with as few calls as possible."""
    ordered = _ORDER[op]
    if isinstance(constant, str | bool):
        like: type = str if isinstance(constant, str) else bool
        if op not in ("=", "<>"):
            return lambda attributes: None
        return lambda attributes: (
            ordered(value, constant) if isinstance(value := attributes.get(name), like) else None
        )

    def check(attributes: Attributes) -> Truth:
        value = attributes.get(name)
        if value.__class__ is not int and value.__class__ is not float:
            return compare(op, known(value), constant)
        value = known(value)
        return None if value is None else ordered(value, constant)

    return check


def _negated(check: Check, negated: bool) -> Check:
    if not negated:
        return check
    return lambda attributes: None if (truth := check(attributes)) is None else not truth


def _attribute_between(name: str, low: nodes.Scalar, high: nodes.Scalar) -> Check:
    """The same for a stretch of numbers; the general way is for everything else."""
    general = _between(lambda attributes: known(attributes.get(name)), lambda _: low, lambda _: high)
    if isinstance(low, str | bool) or isinstance(high, str | bool):
        return general
    least, most = low, high

    def check(attributes: Attributes) -> Truth:
        value = attributes.get(name)
        # Within the bounds it is a number that an attribute can hold; of anything else, ask more closely.
        kind = value.__class__
        return True if (kind is int or kind is float) and least <= value <= most else general(attributes)  # type: ignore[operator]

    return check


def _between(operand: Value, low: Value, high: Value) -> Check:
    def check(attributes: Attributes) -> Truth:
        value = operand(attributes)
        above = compare(">=", value, low(attributes))
        return False if above is False else conjunction(above, compare("<=", value, high(attributes)))

    return check


def _in(operand: Value, values: tuple[nodes.Scalar, ...]) -> Check:
    """Equal to one of them; a value of another type in the list leaves the answer open, as ``=`` would."""
    kinds = {_kind(value) for value in values}
    lists = {kind: frozenset(value for value in values if _kind(value) is kind) for kind in kinds}
    otherwise = False if len(kinds) == 1 else None

    def check(attributes: Attributes) -> Truth:
        value = operand(attributes)
        alike = None if value is None else lists.get(_kind(value))
        if alike is None:
            return None
        return True if value in alike else otherwise

    return check


def _in_computed(operand: Value, values: list[Value]) -> Check:
    def check(attributes: Attributes) -> Truth:
        value = operand(attributes)
        if value is None:
            return None
        result: Truth = False
        for each in values:
            truth = compare("=", value, each(attributes))
            if truth is True:
                return True
            if truth is None:
                result = None
        return result

    return check


def _kind(value: nodes.Scalar) -> type:
    """str, bool, or float for every number."""
    return str if isinstance(value, str) else bool if isinstance(value, bool) else float


def _like(operand: Value, matches: Callable[[str], bool]) -> Check:
    def check(attributes: Attributes) -> Truth:
        value = operand(attributes)
        return matches(value) if isinstance(value, str) else None

    return check


def _all(checks: list[Check]) -> Check:
    def check(attributes: Attributes) -> Truth:
        result: Truth = True
        for each in checks:
            truth = each(attributes)
            if truth is False:
                return False
            if truth is None:
                result = None
        return result

    return check


def _any(checks: list[Check]) -> Check:
    def check(attributes: Attributes) -> Truth:
        result: Truth = False
        for each in checks:
            truth = each(attributes)
            if truth is True:
                return True
            if truth is None:
                result = None
        return result

    return check
