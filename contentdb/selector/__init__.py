"""Which feeds and entries match: SQL conditions over attributes, read once and asked often.

wanted = parse("genre = 'jazz' AND length_s < 600")
wanted.evaluate({"genre": "jazz", "length_s": 300})  # True
wanted.evaluate({"genre": "jazz"})                   # None: unknown, which does not match
"""

from contentdb.selector.evaluate import Attributes, Check, Truth, prepare
from contentdb.selector.lexer import MAX_CHARACTERS, SelectorError
from contentdb.selector.nodes import Condition
from contentdb.selector.parser import MAX_DEPTH, MAX_TERMS, parse_tree

__all__ = ["MAX_CHARACTERS", "MAX_DEPTH", "MAX_TERMS", "Selector", "SelectorError", "parse"]


class Selector:
    """A parsed selector. Two are equal if their trees are, however they were written."""

    __slots__ = ("_check", "text", "tree")
    text: str
    tree: Condition | None  # None: the empty selector, which matches everything

    def __init__(self, text: str, tree: Condition | None) -> None:
        self.text = text
        self.tree = tree
        # Made at the first evaluation: an index holds a million selectors and evaluates few of them.
        self._check: Check | None = None

    def evaluate(self, attributes: Attributes) -> Truth:
        """True, False or, where SQL says unknown, None; only True is a match."""
        return self.prepared()(attributes)

    def prepared(self) -> Check:
        """What `evaluate` calls, for who has many entries to ask about."""
        if self._check is None:
            self._check = prepare(self.tree)
        return self._check

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"


def parse(text: str) -> Selector:
    """Read a selector; raises SelectorError, which points at the column and says what fits there."""
    return Selector(text, parse_tree(text))
