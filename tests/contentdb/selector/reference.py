"""A second opinion: selectors evaluated in the simplest way, to check the fast ones against.

Truth is a number here: 0 false, 1/2 unknown, 1 true, so that AND is min, OR is max and NOT is 1 - x. Numbers
are compared as fractions, LIKE is a set of positions. Nothing is shared with the product but the tree.
"""

from collections.abc import Mapping
from fractions import Fraction

from contentdb.selector.nodes import (
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
    Expression,
    Identifier,
    In,
    IsNull,
    IsUnknown,
    Like,
    Literal,
    Not,
    Or,
    Sign,
)

HALF = 0.5
WORDS = {0: False, HALF: None, 1: True}


def evaluate(tree: Condition | None, attributes: Mapping[str, object]) -> bool | None:
    return True if tree is None else WORDS[truth(tree, attributes)]


def truth(node: Expression, attributes: Mapping[str, object]) -> float:
    match node:
        case Not(operand):
            return 1 - truth(operand, attributes)
        case And(operands):
            return min(truth(operand, attributes) for operand in operands)
        case Or(operands):
            return max(truth(operand, attributes) for operand in operands)
        case Comparison(op, left, right):
            return related(op, value(left, attributes), value(right, attributes))
        case Between(operand, low, high, negated):
            middle = value(operand, attributes)
            above = related(">=", middle, value(low, attributes))
            return flipped(min(above, related("<=", middle, value(high, attributes))), negated)
        case In(operand, values, negated):
            found = value(operand, attributes)
            return flipped(max(related("=", found, value(each, attributes)) for each in values), negated)
        case Like(operand, pattern, escape, negated):
            text = value(operand, attributes)
            return flipped(float(like(text, pattern, escape)), negated) if isinstance(text, str) else HALF
        case IsNull(operand, negated) | IsUnknown(operand, negated):
            return flipped(float(value(operand, attributes) is None), negated)
        case _:
            result = value(node, attributes)
            return float(result) if isinstance(result, bool) else HALF


def value(node: Expression, attributes: Mapping[str, object]) -> object:
    match node:
        case Literal(constant):
            return constant
        case Identifier(name):
            return attributes.get(name)
        case Sign(op, operand):
            return calculated(op, 0, value(operand, attributes))
        case Arithmetic(op, left, right):
            return calculated(op, value(left, attributes), value(right, attributes))
        case _:
            return WORDS[truth(node, attributes)]


def flipped(degree: float, negated: bool) -> float:
    return 1 - degree if negated else degree


def related(op: str, left: object, right: object) -> float:
    if is_number(left) and is_number(right):
        first, second = Fraction(left), Fraction(right)  # type: ignore[call-overload]
        order = (first > second) - (first < second)
        wanted = {"=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
        return float(order in wanted[op])
    if type(left) is type(right) and isinstance(left, str | bool) and op in ("=", "<>"):
        return float((left == right) == (op == "="))
    return HALF


def is_number(found: object) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def calculated(op: str, left: object, right: object) -> object:
    if not is_number(left) or not is_number(right) or (op == "/" and right == 0):
        return None
    both_whole = isinstance(left, int) and isinstance(right, int)
    a, b = (left, right) if both_whole and op != "/" else (float(left), float(right))  # type: ignore[arg-type]
    if both_whole and op == "/":
        return float(Fraction(left, right))  # type: ignore[call-overload]
    result = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()  # type: ignore
    if isinstance(result, int):
        return result if -(2**63) <= result < 2**63 else None
    return result if abs(result) <= 1.7976931348623157e308 else None


def like(text: str, pattern: str, escape: str | None) -> bool:
    symbols = meanings(pattern, escape)
    reached = {0}
    for symbol in symbols:
        if symbol == "%":
            reached = set(range(min(reached), len(text) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(text) and symbol in ("_", "=" + text[at])}
    return len(text) in reached


def meanings(pattern: str, escape: str | None) -> list[str]:
    """``%``, ``_``, or ``=`` before a character that stands for itself."""
    symbols = []
    rest = list(pattern)
    while rest:
        symbol = rest.pop(0)
        escapes = symbol == escape and bool(rest) and (escape not in ("%", "_") or rest[0] in "%_")
        if escapes:
            symbols.append("=" + rest.pop(0))
        else:
            symbols.append(symbol if symbol in "%_" else "=" + symbol)
    return symbols
