"""Text to tree, with errors that point at the column.

Precedence, tightest first: signs; ``* /``; ``+ -``; comparisons, BETWEEN, IN, LIKE and IS; NOT; AND; OR.
One loop climbs it, so that a pair of parentheses costs few stack frames, and the depth of the tree is
bounded: whatever a stranger sends, Python's own stack is never what ends it.
"""

from collections.abc import Iterator
from typing import Literal as OneOf
from typing import NamedTuple, cast

from contentdb.model import MAX_INTEGER
from contentdb.selector import nodes
from contentdb.selector.lexer import SelectorError, Token, tokenise

MAX_DEPTH = 50
MAX_TERMS = 1_000  # names and literals

_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT = range(1, 7)
_COMPARING = frozenset({"=", "<>", "<", "<=", ">", ">="})
_LEVEL = (
    {"OR": _OR, "AND": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}
    | dict.fromkeys(_COMPARING, _COMPARISON)
    # NOT behind a value belongs to NOT BETWEEN, NOT IN, NOT LIKE.
    | dict.fromkeys(("NOT", "BETWEEN", "IN", "LIKE", "IS"), _COMPARISON)
)
_VALUE = "a name, a literal or ("
_TERMS = frozenset({"name", "string", "number", "TRUE", "FALSE"})


class Part(NamedTuple):
    """A piece of the tree, where its text starts, and how deep it is."""

    node: nodes.Expression
    column: int
    depth: int = 1


def parse_tree(text: str) -> nodes.Condition | None:
    """The tree of a selector, None for an empty one; raises SelectorError, which points at the column."""
    return _Parser(tokenise(text)).selector()


class _Parser:
    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._token = next(tokens)
        self._kind = self._token.kind
        self._terms = 0
        self._open = 0  # parentheses and prefixes around what is being read
        self._compared = False  # what was read last is a comparison, behind which no operator fits

    def selector(self) -> nodes.Condition | None:
        if self._kind == "end":
            return None
        part = self._expression(_OR)
        if self._kind != "end":
            raise self._error("AND, OR or the end" if self._compared else "AND, OR, an operator or the end")
        return _condition(part)

    def _take(self) -> Token:
        token = self._token
        if token.kind in _TERMS:
            self._terms += 1
            if self._terms > MAX_TERMS:
                raise self._error(f"at most {MAX_TERMS} names and literals")
        self._token = next(self._tokens, token)
        self._kind = self._token.kind
        return token

    def _expect(self, kind: str, expected: str) -> Token:
        if self._kind != kind:
            raise self._error(expected)
        return self._take()

    def _error(self, expected: str) -> SelectorError:
        token = self._token
        return SelectorError(token.column, expected, repr(token.text[:40]) if token.text else "the end")

    def _expression(self, level: int) -> Part:
        # Whatever binds tighter than NOT has been read by its operand: `NOT a = b = c` wants parentheses too.
        highest = _NOT if self._kind == "NOT" else _PRODUCT
        left = self._prefix(level)
        while level <= (found := _LEVEL.get(self._kind, 0)) <= highest:
            left = self._infix(left, found)
            if left.depth > MAX_DEPTH:
                raise SelectorError(left.column, f"a nesting of at most {MAX_DEPTH}", "a deeper one")
            # Comparisons do not chain: `a = b = c` wants parentheses.
            highest = found - 1 if found == _COMPARISON else found
            if found >= _COMPARISON:
                self._compared = found == _COMPARISON
        return left

    def _prefix(self, level: int) -> Part:
        self._open += 1
        if self._open > MAX_DEPTH:
            raise self._error(f"a nesting of at most {MAX_DEPTH}")
        token = self._token
        if token.kind == "(":
            part = self._parenthesised()
        elif token.kind == "NOT" and level <= _NOT:
            self._take()
            operand = self._expression(_NOT)
            part = Part(nodes.Not(_condition(operand)), token.column, operand.depth + 1)
        elif token.kind in ("+", "-"):
            part = self._signed()
        else:
            part = self._term()
        self._open -= 1
        return part

    def _parenthesised(self) -> Part:
        opening = self._take()
        inner = self._expression(_OR)
        fitting = "AND, OR" if self._compared else "an operator"
        self._expect(")", f"{fitting} or the ) that closes column {opening.column}")
        self._compared = False
        return inner._replace(column=opening.column)

    def _signed(self) -> Part:
        sign = self._take()
        if self._token.value == MAX_INTEGER + 1 and sign.kind == "-" and self._kind == "number":
            return Part(nodes.Literal(-cast(int, self._take().value)), sign.column)
        operand = self._prefix(_PRODUCT)
        node = _number(operand)
        if isinstance(node, nodes.Literal):
            value = cast(int | float, node.value)
            signed = -value if sign.kind == "-" else value
            if isinstance(signed, float) or signed <= MAX_INTEGER:
                return Part(nodes.Literal(signed), sign.column)
        op = cast(OneOf["+", "-"], sign.kind)
        return Part(nodes.Sign(op, node), sign.column, operand.depth + 1)

    def _term(self) -> Part:
        token = self._token
        if token.kind == "name":
            node: nodes.Expression = nodes.Identifier(str(token.value))
        elif token.kind in ("TRUE", "FALSE"):
            node = nodes.Literal(token.kind == "TRUE")
        elif token.kind in ("string", "number"):
            if token.kind == "number" and isinstance(token.value, int) and token.value > MAX_INTEGER:
                raise self._error("an integer of at most 64 bits")
            node = nodes.Literal(token.value)
        else:
            raise self._error(_VALUE)
        self._take()
        self._compared = False
        return Part(node, token.column)

    def _infix(self, left: Part, level: int) -> Part:
        if level in (_OR, _AND):
            return self._junction(left, level)
        operator = self._take().kind
        if level > _COMPARISON:
            right = self._expression(level + 1)
            op = cast(OneOf["+", "-", "*", "/"], operator)
            node: nodes.Expression = nodes.Arithmetic(op, _number(left), _number(right))
            return Part(node, left.column, max(left.depth, right.depth) + 1)
        if operator in _COMPARING:
            if self._kind == "NULL" and operator in ("=", "<>"):
                raise self._error("IS NULL" if operator == "=" else "IS NOT NULL")
            right = self._expression(_SUM)
            relation = cast(OneOf["=", "<>", "<", "<=", ">", ">="], operator)
            node = nodes.Comparison(relation, left.node, right.node)
            return Part(node, left.column, max(left.depth, right.depth) + 1)
        return self._predicate(left, operator)

    def _junction(self, left: Part, level: int) -> Part:
        kind = self._kind
        parts = [left]
        while self._kind == kind:
            self._take()
            parts.append(self._expression(level + 1))
        operands = tuple(_condition(part) for part in parts)
        node = nodes.Or(operands) if level == _OR else nodes.And(operands)
        return Part(node, left.column, max(part.depth for part in parts) + 1)

    def _predicate(self, left: Part, operator: str) -> Part:
        if operator == "IS":
            return self._is_null(left)
        negated = operator == "NOT"
        if negated:
            if self._kind not in ("BETWEEN", "IN", "LIKE"):
                raise self._error("BETWEEN, IN or LIKE after NOT")
            operator = self._take().kind
        if operator == "BETWEEN":
            return self._between(left, negated)
        return self._in(left, negated) if operator == "IN" else self._like(left, negated)

    def _is_null(self, left: Part) -> Part:
        negated = self._kind == "NOT"
        if negated:
            self._take()
        self._expect("NULL", "NULL" if negated else "NULL or NOT NULL")
        if isinstance(left.node, nodes.Identifier):
            return Part(nodes.IsNull(left.node, negated), left.column, left.depth + 1)
        return Part(nodes.IsUnknown(left.node, negated), left.column, left.depth + 1)

    def _between(self, left: Part, negated: bool) -> Part:
        low = self._expression(_SUM)
        self._expect("AND", "AND and the upper bound of BETWEEN")
        high = self._expression(_SUM)
        node = nodes.Between(left.node, low.node, high.node, negated)
        return Part(node, left.column, max(left.depth, low.depth, high.depth) + 1)

    def _like(self, left: Part, negated: bool) -> Part:
        token = self._expect("string", "a pattern in single quotes")
        pattern, escape = str(token.value), None
        if self._kind == "ESCAPE":
            self._take()
            escape_token = self._expect("string", "one character in single quotes")
            escape = str(escape_token.value)
            if len(escape) != 1:
                raise SelectorError(
                    escape_token.column, "one character in single quotes", escape_token.text[:40]
                )
            if escape not in "%_" and _ends_open(pattern, escape):
                raise SelectorError(token.column, "a character behind the last escape", token.text[-40:])
        return Part(nodes.Like(left.node, pattern, escape, negated), left.column, left.depth + 1)

    def _in(self, left: Part, negated: bool) -> Part:
        self._expect("(", "( and a list of values")
        parts = [self._expression(_SUM)]
        while self._kind == ",":
            self._take()
            parts.append(self._expression(_SUM))
        self._expect(")", ", or ) after a value of the list")
        node = nodes.In(left.node, tuple(part.node for part in parts), negated)
        return Part(node, left.column, max(left.depth, *(part.depth for part in parts)) + 1)


def _ends_open(pattern: str, escape: str) -> bool:
    trailing = len(pattern) - len(pattern.rstrip(escape))
    return trailing % 2 == 1


def _condition(part: Part) -> nodes.Condition:
    node = part.node
    if isinstance(node, nodes.Sign | nodes.Arithmetic):
        raise SelectorError(part.column, "a condition", "a number")
    if isinstance(node, nodes.Literal) and not isinstance(node.value, bool):
        raise SelectorError(part.column, "a condition", repr(node.value)[:40])
    return node


def _number(part: Part) -> nodes.Expression:
    node = part.node
    if isinstance(node, nodes.Literal) and isinstance(node.value, bool | str):
        raise SelectorError(part.column, "a number", repr(node.value)[:40])
    if not isinstance(node, nodes.Literal | nodes.Identifier | nodes.Sign | nodes.Arithmetic):
        raise SelectorError(part.column, "a number", "a condition")
    return node
