"""The disjunctive form is true exactly where the selector is, and stays within its bounds."""

from math import inf
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contentdb.selector import parse
from contentdb.selector.evaluate import prepare
from contentdb.selector.like import matcher
from contentdb.selector.nodes import Scalar
from contentdb.selector.normal_form import MAX_ROWS, Conjunction, conjunctions
from contentdb.selector.terms import each_term, required_names
from tests.contentdb.selector.strategies import attributes, trees


def of(text: str) -> list[Conjunction]:
    tree = parse(text).tree
    assert tree is not None
    return conjunctions(tree)


def holds(row: Conjunction, entry: dict[str, Scalar]) -> bool:
    def fits(name: str, low: Any, high: Any) -> bool:
        value = entry.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if high == "=":
            return isinstance(value, str | bool) and value == low
        if high == "<>":
            return value != low and (isinstance(value, str) if isinstance(low, str) else number)
        if high in ("LIKE", "NOT LIKE"):
            return isinstance(value, str) and matcher(*low)(value) == (high == "LIKE")
        return number and low <= value <= high

    terms, tests = row
    return all(fits(*term) for term in each_term(terms)) and all(
        prepare(test)(entry) is True for test in tests
    )


@given(trees(max_leaves=12), attributes(), st.sampled_from([1, 2, 3, 16, MAX_ROWS]))
def test_one_row_holds_exactly_where_the_selector_is_true(tree, entry, limit) -> None:  # type: ignore[no-untyped-def]
    rows = conjunctions(tree, limit=limit)
    assert any(holds(row, entry) for row in rows) == (prepare(tree)(entry) is True)


@given(trees(max_leaves=12), attributes())
def test_a_test_is_never_true_without_the_names_it_requires(tree, entry) -> None:  # type: ignore[no-untyped-def]
    for name in required_names(tree):
        without = {each: value for each, value in entry.items() if each != name}
        assert prepare(tree)(without) is not True


def test_a_conjunction_of_plain_terms_is_one_row_without_tests() -> None:
    ((terms, tests),) = of(
        "feed = 'a' AND size BETWEEN 1 AND 5 AND size < 4 AND flag AND NOT (title LIKE 'x%')"
    )
    feed, size, flag, title = each_term(terms)
    assert (feed, flag, title) == (
        ("feed", "a", "="),
        ("flag", True, "="),
        ("title", ("x%", None), "NOT LIKE"),
    )
    assert size[:2] == ("size", 1) and 3 < size[2] < 4
    assert tests == ()


def test_a_negated_comparison_becomes_its_opposite() -> None:
    assert of("NOT (a < 3)") == of("a >= 3") == [(("a", 3, inf), ())]
    assert of("NOT (a = 3)") == of("a <> 3") == [(("a", 3, "<>"), ())]


def test_terms_of_different_meaning_are_never_equal() -> None:
    texts = ["a = 0", "a <> 0", "NOT a", "a", "a = 1", "a = '='", "a <> '='", "a LIKE '='", "a >= 0"]
    assert len({of(text)[0] for text in texts}) == len(texts)


def test_a_list_of_values_becomes_a_row_for_each() -> None:
    assert of("feed IN ('a', 'b')") == [(("feed", "a", "="), ()), (("feed", "b", "="), ())]


def test_a_selector_that_can_never_be_true_has_no_row() -> None:
    assert of("a > 3 AND a < 2") == []
    assert of("FALSE AND b = 1") == []


def test_too_many_alternatives_stay_one_test_instead_of_many_rows() -> None:
    arms = " AND ".join(f"(a{at} = 1 OR b{at} = 2)" for at in range(10))
    rows = of(arms)
    assert len(rows) <= MAX_ROWS
    assert all(tests for _, tests in rows)


def test_a_list_longer_than_the_bound_stays_a_test_beside_other_terms() -> None:
    values = ", ".join(str(at) for at in range(MAX_ROWS + 1))
    ((terms, tests),) = of(f"a IN ({values}) AND b = 1")
    assert terms == ("b", 1, 1) and len(tests) == 1


def test_a_list_by_itself_or_in_an_outermost_or_becomes_a_row_for_each_value_however_many() -> None:
    count = 4 * MAX_ROWS
    values = ", ".join(str(at) for at in range(count))
    for text, more in ((f"a IN ({values})", 0), (f"NOT (a NOT IN ({values}) AND b <> 1)", 1)):
        rows = of(text)
        assert len(rows) == count + more
        assert not any(tests for _, tests in rows)


def test_a_list_with_names_in_it_stays_a_test() -> None:
    ((terms, tests),) = of("a IN (b, 2)")
    assert terms == () and len(tests) == 1
