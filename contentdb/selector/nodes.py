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
        # To Python, 1 equals TRUE and 1.0. To a selector TRUE is of another type, and `a + 1` can overflow
        # where `a + 1.0` does not.
        return (
            isinstance(other, Literal) and self.value == other.value and type(self.value) is type(other.value)
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
    """Not a row of comparisons: each would repeat the operand, and nested lists multiply the copies."""

    operand: "Expression"
    values: "tuple[Expression, ...]"
    negated: bool

    def constants(self) -> tuple[Scalar, ...] | None:
        """The values of the list if all of them are literals."""
        found = tuple([each.value for each in self.values if isinstance(each, Literal)])
        return found if len(found) == len(self.values) else None


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
