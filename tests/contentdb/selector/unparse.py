"""Writes a tree as text, with every pair of parentheses: what the parser must read back as the same tree."""

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
    Scalar,
    Sign,
)


def unparse(node: Condition | Expression) -> str:
    match node:
        case Literal(value):
            return literal(value)
        case Identifier(name):
            return name
        case Sign(op, operand):
            return f"{op}({unparse(operand)})"
        case Arithmetic(op, left, right) | Comparison(op, left, right):
            return f"({unparse(left)}) {op} ({unparse(right)})"
        case Between(operand, low, high, negated):
            return f"({unparse(operand)}){_not(negated)} BETWEEN ({unparse(low)}) AND ({unparse(high)})"
        case In(operand, values, negated):
            listed = ", ".join(f"({unparse(value)})" for value in values)
            return f"({unparse(operand)}){_not(negated)} IN ({listed})"
        case Like(operand, pattern, escape, negated):
            ending = f" ESCAPE {literal(escape)}" if escape is not None else ""
            return f"({unparse(operand)}){_not(negated)} LIKE {literal(pattern)}{ending}"
        case IsNull(operand, negated) | IsUnknown(operand, negated):
            return f"({unparse(operand)}) IS{_not(negated)} NULL"
        case Not(operand):
            return f"NOT ({unparse(operand)})"
        case And(operands):
            return " AND ".join(f"({unparse(operand)})" for operand in operands)
        case Or(operands):
            return " OR ".join(f"({unparse(operand)})" for operand in operands)


def literal(value: Scalar) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def _not(negated: bool) -> str:
    return " NOT" if negated else ""
