"""The predicate tree of a selector: what the parser makes and everything else reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Literal:
    value: Scalar

    def __eq__(self, other: object) -> bool:
        # To Python, True equals 1; to a selector they are of different types.
        return (
            isinstance(other, Literal)
            and self.value == other.value
            and isinstance(self.value, bool) == isinstance(other.value, bool)
        )


@dataclass(frozen=True, slots=True)
class Identifier:
    name: str


@dataclass(frozen=True, slots=True)
class Sign:
    op: OneOf["+", "-"]
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    op: OneOf["+", "-", "*", "/"]
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Comparison:
    op: OneOf["=", "<>", "<", "<=", ">", ">="]
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Between:
    operand: "Expression"
    low: "Expression"
    high: "Expression"
    negated: bool


@dataclass(frozen=True, slots=True)
class In:
    operand: "Expression"
    values: tuple[Scalar, ...]
    negated: bool

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, In)
            and (self.operand, self.negated) == (other.operand, other.negated)
            and [Literal(value) for value in self.values] == [Literal(value) for value in other.values]
        )


@dataclass(frozen=True, slots=True)
class Like:
    operand: "Expression"
    pattern: str
    escape: str | None
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Identifier
    negated: bool


@dataclass(frozen=True, slots=True)
class IsUnknown:
    """``(a > b) IS NULL``, ``a + 1 IS NOT NULL``: asks whether a computed value is unknown."""

    operand: "Expression"
    negated: bool


@dataclass(frozen=True, slots=True)
class Not:
    operand: "Condition"


@dataclass(frozen=True, slots=True)
class And:
    operands: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    operands: "tuple[Condition, ...]"


# A bare identifier or boolean literal is a condition as well: it holds where the attribute is TRUE.
Condition: TypeAlias = (
    Comparison | Between | In | Like | IsNull | IsUnknown | Not | And | Or | Identifier | Literal
)
Expression: TypeAlias = Condition | Sign | Arithmetic


def names_in(expression: Expression) -> Iterator[str]:
    """The attributes an expression is made of; it is unknown where one of them is missing."""
    if isinstance(expression, Identifier):
        yield expression.name
    elif isinstance(expression, Sign):
        yield from names_in(expression.operand)
    elif isinstance(expression, Arithmetic):
        yield from names_in(expression.left)
        yield from names_in(expression.right)
