"""Which terms keep an entry from matching, for who asks why.

    wanted = parse("genre = 'jazz' AND n > 3")
    deciding(wanted, {"genre": "rock", "n": 4})  # [Term("genre = 'jazz'", ("genre",))]

It asks the same evaluation that decided; it never decides anything itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

from contentdb.selector import Selector, nodes
from contentdb.selector.evaluate import Attributes, Truth, prepare

# What a person reads; a selector may have hundreds of terms.
MAX_TERMS_TOLD = 3
MAX_TERM_CHARACTERS = 120


class Term(NamedTuple):
    """A condition without AND, OR and NOT, as one would write it, and the attributes that it looks at."""

    text: str
    names: tuple[str, ...]


def deciding(selector: Selector, attributes: Attributes) -> list[Term]:
    """The terms because of which a selector is not true; none if it is true. The first few are enough."""
    found: dict[Term, None] = {}
    if selector.tree is not None:
        for node in _blamed(selector.tree, True, attributes):
            text = written(node)
            short = text if len(text) <= MAX_TERM_CHARACTERS else text[: MAX_TERM_CHARACTERS - 1] + "…"
            found[Term(short, tuple(dict.fromkeys(_names(node))))] = None
            if len(found) == MAX_TERMS_TOLD:
                break
    return list(found)


def _blamed(node: nodes.Condition, wanted: bool, attributes: Attributes) -> Iterator[nodes.Condition]:
    """The terms that keep this condition from being `wanted`. Where one false term suffices, only such."""
    if prepare(node)(attributes) is wanted:
        return
    match node:
        case nodes.Not(operand):
            yield from _blamed(operand, not wanted, attributes)
        case nodes.And(operands) | nodes.Or(operands):
            needs_all = isinstance(node, nodes.And) is wanted
            truths: list[Truth] = [prepare(each)(attributes) for each in operands]
            is_decided = needs_all and (not wanted) in truths
            for operand, truth in zip(operands, truths, strict=True):
                if not is_decided or truth is (not wanted):
                    yield from _blamed(operand, wanted, attributes)
        case _:
            yield node


def _names(node: nodes.Expression) -> Iterator[str]:
    match node:
        case nodes.Identifier(name):
            yield name
        case nodes.Comparison(_, left, right) | nodes.Arithmetic(_, left, right):
            yield from (*_names(left), *_names(right))
        case nodes.Between(operand, low, high, _):
            yield from (*_names(operand), *_names(low), *_names(high))
        case nodes.In(operand, values, _):
            yield from (*_names(operand), *(name for value in values for name in _names(value)))
        case nodes.And(operands) | nodes.Or(operands):
            yield from (name for each in operands for name in _names(each))
        case nodes.Like() | nodes.IsNull() | nodes.IsUnknown() | nodes.Not() | nodes.Sign():
            yield from _names(node.operand)


def written(node: nodes.Expression) -> str:
    """A condition as text that means the same."""
    match node:
        case nodes.Literal(value):
            return literal(value)
        case nodes.Identifier(name):
            return name
        case nodes.Sign(op, operand):
            return f"{op}({written(operand)})"
        case nodes.Comparison(op, left, right) | nodes.Arithmetic(op, left, right):
            return f"{_inner(left)} {op} {_inner(right)}"
        case nodes.Between(operand, low, high, negated):
            return f"{_inner(operand)}{_not(negated)} BETWEEN {_inner(low)} AND {_inner(high)}"
        case nodes.In(operand, values, negated):
            return f"{_inner(operand)}{_not(negated)} IN ({', '.join(map(_inner, values))})"
        case nodes.Like(operand, pattern, escape, negated):
            ending = "" if escape is None else f" ESCAPE {literal(escape)}"
            return f"{_inner(operand)}{_not(negated)} LIKE {literal(pattern)}{ending}"
        case nodes.IsNull(operand, negated) | nodes.IsUnknown(operand, negated):
            return f"{_inner(operand)} IS{_not(negated)} NULL"
        case nodes.Not(operand):
            return f"NOT {_inner(operand)}"
        case nodes.And(operands):
            return " AND ".join(map(_inner, operands))
        case nodes.Or(operands):
            return " OR ".join(map(_inner, operands))


def literal(value: nodes.Scalar) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(float(value)) if isinstance(value, float) else repr(int(value))


def _inner(node: nodes.Expression) -> str:
    is_simple = isinstance(node, nodes.Literal | nodes.Identifier)
    return written(node) if is_simple else f"({written(node)})"


def _not(negated: bool) -> str:
    return " NOT" if negated else ""
