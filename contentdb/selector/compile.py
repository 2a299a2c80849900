"""Tree to an SQL condition that holds for every entry that may match; who asks rechecks each with `evaluate`.

SQLite types, collates and rounds in its own way, so nothing here is translated word by word. Two functions
call each other: which entries may make a condition true, and which may make it false. What SQLite
cannot tell becomes weaker, up to every entry; what no entry can satisfy is recognised as nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from contentdb.selector import nodes
from contentdb.selector.candidates import (
    EVERYTHING,
    NOTHING,
    Count,
    Plan,
    all_of,
    any_of,
    rows_of,
    statement,
    tested,
)
from contentdb.selector.operands import NUMBER_COLUMNS, TEXT_COLUMNS, AttributeRows, NumberColumn, TextColumn

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

Operand = AttributeRows | NumberColumn | TextColumn


@dataclass(frozen=True, slots=True)
class Compiled:
    """A condition over ``e`` (entries), ``f`` (its feed) and ``a`` (its author)."""

    sql: str
    parameters: tuple[object, ...]
    # The condition names its entries by an index of its own; a caller who restricts them further does better
    # not to offer SQLite another index (``+e.feed = ?``).
    driven: bool


def condition(
    tree: nodes.Condition | None,
    *,
    attribute_key: Callable[[str], int | None],
    full_text: bool,
    count: Count | None = None,
    walk_below: int | None = None,
) -> Compiled:
    """The candidates of a selector: all entries that match, and some that do not.

    ``count(select, parameters, limit)`` says how many rows a select gives, counting no further than the
    limit; with it, the rarest of several conditions is walked, without it the one usually rarest.
    A caller who walks the entries of one feed anyway wants an index of ours only where it gives less than
    ``walk_below`` rows.
    """
    if tree is None:
        return Compiled("1", (), driven=False)
    plan = _Compiler(attribute_key, full_text, count).true(tree)
    if plan.keys is not None and count is not None and walk_below is not None:
        often = rows_of(plan.keys, count, walk_below) >= walk_below
        plan = tested(plan.test) if often else plan
    fragment = statement(plan)
    return Compiled(fragment.sql, fragment.parameters, driven=plan.keys is not None)


def identifiers(tree: nodes.Expression | None) -> set[str]:
    """All names that a selector mentions."""
    match tree:
        case nodes.Identifier(name):
            return {name}
        case nodes.Comparison(_, left, right) | nodes.Arithmetic(_, left, right):
            return identifiers(left) | identifiers(right)
        case nodes.Between(operand, low, high, _):
            return identifiers(operand) | identifiers(low) | identifiers(high)
        case nodes.In(operand, values, _):
            return identifiers(operand).union(*map(identifiers, values))
        case nodes.And(operands) | nodes.Or(operands):
            return {name for each in operands for name in identifiers(each)}
        case nodes.Literal() | None:
            return set()
        case _:
            return identifiers(tree.operand)


class _Compiler:
    def __init__(
        self, attribute_key: Callable[[str], int | None], full_text: bool, count: Count | None
    ) -> None:
        self._attribute_key = attribute_key
        self._full_text = full_text
        self._count = count

    def true(self, node: nodes.Condition) -> Plan:
        """Entries for which this may be true."""
        match node:
            case nodes.And(operands):
                return all_of([self.true(each) for each in operands], self._count)
            case nodes.Or(operands):
                return self._any(operands, wanted=True)
            case nodes.Not(operand):
                return self.false(operand)
            case nodes.Literal(constant):
                return EVERYTHING if constant is True else NOTHING
            case _:
                return self._leaf(node, wanted=True)

    def false(self, node: nodes.Condition) -> Plan:
        """Entries for which this may be false: not the others, for those between are unknown."""
        match node:
            case nodes.And(operands):
                return self._any(operands, wanted=False)
            case nodes.Or(operands):
                return all_of([self.false(each) for each in operands], self._count)
            case nodes.Not(operand):
                return self.true(operand)
            case nodes.Literal(constant):
                return EVERYTHING if constant is False else NOTHING
            case _:
                return self._leaf(node, wanted=False)

    def _any(self, operands: tuple[nodes.Condition, ...], wanted: bool) -> Plan:
        """Entries for which one of these may be as wanted. All values that one name may equal make one list:
        SQLite then walks its index once, where a row of comparisons would take a select for each."""
        lists: dict[str, list[nodes.Scalar]] = {}
        others: list[nodes.Condition] = []
        for each in operands:
            match each:
                case nodes.Comparison(op, nodes.Identifier(name), nodes.Literal(value)) if op == (
                    "=" if wanted else "<>"
                ):
                    lists.setdefault(name, []).append(value)
                case nodes.In(nodes.Identifier(name)) if wanted is not each.negated and each.constants():
                    lists.setdefault(name, []).extend(each.constants() or ())
                case _:
                    others.append(each)
        listed = [rows.listed(values) for name, values in lists.items() if (rows := self._operand(name))]
        plans = [self.true(each) if wanted else self.false(each) for each in others]
        return any_of([*listed, *plans], self._count)

    def _leaf(self, node: nodes.Condition, wanted: bool) -> Plan:
        match node:
            case nodes.Comparison(op, left, right):
                return self._comparison(op if wanted else _OPPOSITE[op], left, right)
            case nodes.Between(operand, low, high, negated):
                return self._between(operand, low, high, wanted is not negated)
            case nodes.In():
                return self._in(node, wanted is not node.negated)
            case nodes.Like(operand, pattern, escape, negated):
                return self._like(operand, pattern, escape, wanted is not negated)
            case nodes.IsNull(nodes.Identifier(name), negated):
                operand_rows = self._operand(name)
                if wanted is negated:
                    return operand_rows.present() if operand_rows else NOTHING
                return operand_rows.absent() if operand_rows else EVERYTHING
            case nodes.Identifier(name):
                rows = self._operand(name)
                return rows.compared("=", wanted) if rows else NOTHING
            case _:
                return EVERYTHING

    def _operand(self, name: str) -> Operand | None:
        """Where the values of this name are; None if no entry has one."""
        if name in TEXT_COLUMNS:
            return TextColumn(name, self._full_text)
        if name in NUMBER_COLUMNS:
            return NumberColumn(name)
        key = self._attribute_key(name)
        return AttributeRows(key, name) if key is not None else None

    def _comparison(self, op: str, left: nodes.Expression, right: nodes.Expression) -> Plan:
        if isinstance(left, nodes.Literal):
            left, right, op = right, left, _MIRRORED[op]
        if not isinstance(right, nodes.Literal):
            return self._present(left, right)
        if isinstance(left, nodes.Identifier):
            rows = self._operand(left.name)
            return rows.compared(op, right.value) if rows else NOTHING
        if isinstance(left, nodes.Literal | nodes.Sign | nodes.Arithmetic):
            return self._present(left)
        if not isinstance(right.value, bool) or op not in ("=", "<>"):
            return NOTHING
        return self.true(left) if right.value is (op == "=") else self.false(left)

    def _present(self, *operands: nodes.Expression) -> Plan:
        """Entries that have all these names: without one of them, what is computed is unknown."""
        computed = nodes.Literal | nodes.Identifier | nodes.Sign | nodes.Arithmetic
        names = {name for each in operands if isinstance(each, computed) for name in identifiers(each)}
        rows = [self._operand(name) for name in sorted(names)]
        return all_of([each.present() if each else NOTHING for each in rows], self._count)

    def _between(
        self, operand: nodes.Expression, low: nodes.Expression, high: nodes.Expression, wanted: bool
    ) -> Plan:
        if not wanted:
            beyond = [self._comparison("<", operand, low), self._comparison(">", operand, high)]
            return any_of(beyond, self._count)
        if isinstance(low, nodes.Literal) and isinstance(high, nodes.Literal):
            rows = self._operand(operand.name) if isinstance(operand, nodes.Identifier) else None
            if isinstance(rows, AttributeRows):
                return rows.between(low.value, high.value)
        bounds = [self._comparison(">=", operand, low), self._comparison("<=", operand, high)]
        return all_of(bounds, self._count)

    def _in(self, node: nodes.In, wanted: bool) -> Plan:
        if not wanted:
            # Unless one is equal, a single value that is unknown leaves the answer open.
            return self._present(node.operand, *node.values)
        if isinstance(node.operand, nodes.Identifier) and (constants := node.constants()) is not None:
            rows = self._operand(node.operand.name)
            return rows.listed(constants) if rows else NOTHING
        if len(node.values) == 1:
            return self._comparison("=", node.operand, node.values[0])
        return self._present(node.operand)

    def _like(self, operand: nodes.Expression, pattern: str, escape: str | None, wanted: bool) -> Plan:
        if not isinstance(operand, nodes.Identifier):
            return self._present(operand)
        rows = self._operand(operand.name)
        if rows is None:
            return NOTHING
        return rows.like(pattern, escape) if wanted else rows.present()
