"""Hypothesis strategies for selectors and attributes, close together so that they often meet.

Values sit at the limits (2^53, 2^63, zero with and without sign), strings use wildcards and characters that
storage likes to mistake. ``trees()`` are as the parser makes them: ``parse(written(tree)).tree == tree``.
"""

from hypothesis import strategies as st

from contentdb.model import BUILT_IN_IDENTIFIERS, MAX_INTEGER, MIN_INTEGER
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

NAMES = ("a", "b", "flag", "genre", "ünï")
# Of the built-in names, those that are text, and those that are numbers, in every entry that has them.
TEXT_NAMES = ("title", "summary", "author_name", "type", "language", "categories", "id")
NUMBER_NAMES = ("updated", "published", "expires", "size", "enclosures")

integers = st.one_of(
    st.sampled_from(
        [0, 1, -1, 2, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, MAX_INTEGER - 1, MAX_INTEGER, MIN_INTEGER]
    ),
    st.integers(-5, 5),
    st.integers(MIN_INTEGER, MAX_INTEGER),
)
decimals = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 0.5, 1.0, -1.0, 2.0**53, 2.0**63, -(2.0**63), 1e308, 5e-324, 1.5]),
    st.floats(allow_nan=False, allow_infinity=False),
)
strings = st.one_of(
    st.sampled_from(
        ["", "a", "A", "ab", "abc", "abcabc", "%", "_", "a%c", "a_c", "jazz", "|jazz|", "|music|jazz|"]
    ),
    st.text("abAB%_|'\\\" \nß😀é", max_size=8),
)
scalars: st.SearchStrategy[Scalar] = st.one_of(integers, decimals, strings, st.booleans())
identifiers = st.builds(Identifier, st.sampled_from(NAMES + BUILT_IN_IDENTIFIERS))
# In proportion: most comparisons should be ones that can be true.
literals = st.builds(Literal, scalars)

custom_attributes = st.dictionaries(st.sampled_from(NAMES), scalars, max_size=len(NAMES))
built_in_attributes: st.SearchStrategy[dict[str, Scalar]] = st.fixed_dictionaries(
    {"title": strings, "updated": integers, "size": st.integers(0, MAX_INTEGER), "id": st.just("urn:x:1")},
    optional={
        **dict.fromkeys(("summary", "author_name", "type", "language"), strings),
        **dict.fromkeys(("published", "expires"), integers),
        "enclosures": st.integers(0, 32),
    },
)


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, Scalar]:
    """What a selector may meet: an entry's built-in names, those that exist, and its own attributes."""
    found = draw(built_in_attributes) | draw(custom_attributes)
    terms = draw(st.lists(st.sampled_from(["music", "jazz", "a", "ß😀", "a|b", ""]), max_size=3))
    if terms:
        found["categories"] = "|" + "|".join(terms) + "|"
    return found


def _numeric(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    signs = st.builds(
        Sign, st.sampled_from("+-"), children.filter(lambda node: not isinstance(node, Literal))
    )
    return signs | st.builds(Arithmetic, st.sampled_from("+-*/"), children, children)


numbers: st.SearchStrategy[Expression] = st.recursive(
    identifiers | st.builds(Literal, integers | decimals), _numeric, max_leaves=4
)
expressions: st.SearchStrategy[Expression] = identifiers | literals | numbers


@st.composite
def likes(draw: st.DrawFn) -> Like:
    escape = draw(st.none() | st.sampled_from("\\!|a%_"))
    pattern = draw(st.text("ab%_|\\!😀", max_size=8) | strings)
    if escape is not None and escape not in "%_":
        pattern = pattern.rstrip(escape)
    return Like(draw(identifiers | literals), pattern, escape, draw(st.booleans()))


comparisons = st.builds(
    Comparison, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), expressions, expressions
)
leaves: st.SearchStrategy[Condition] = st.one_of(
    comparisons,
    st.builds(Comparison, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), identifiers, literals),
    st.builds(Between, expressions, expressions, expressions, st.booleans()),
    st.builds(In, expressions, st.lists(literals, min_size=1, max_size=4).map(tuple), st.booleans()),
    st.builds(In, expressions, st.lists(expressions, min_size=1, max_size=3).map(tuple), st.booleans()),
    likes(),
    st.builds(IsNull, identifiers, st.booleans()),
    identifiers,
    st.builds(Literal, st.booleans()),
)


def _joined(children: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    unknown = st.builds(
        IsUnknown, children.filter(lambda node: not isinstance(node, Identifier)), st.booleans()
    )
    truths = st.builds(Comparison, st.sampled_from(["=", "<>"]), children, expressions)
    listed = st.builds(
        In, children, st.lists(children | literals, min_size=1, max_size=2).map(tuple), st.booleans()
    )
    return st.one_of(
        st.builds(Not, children), st.builds(And, several), st.builds(Or, several), unknown, truths, listed
    )


def trees(max_leaves: int = 8) -> st.SearchStrategy[Condition]:
    return st.recursive(leaves, _joined, max_leaves=max_leaves)
