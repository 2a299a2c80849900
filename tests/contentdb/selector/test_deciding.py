"""Which terms kept an entry away, told by the evaluation that decided."""

import pytest
from hypothesis import given

from contentdb.selector import Selector, parse
from contentdb.selector.deciding import MAX_TERM_CHARACTERS, MAX_TERMS_TOLD, deciding, written
from contentdb.selector.nodes import Condition, Scalar
from tests.contentdb.selector.strategies import attributes, trees

ROCK: dict[str, Scalar] = {"genre": "rock", "n": 4, "live": True, "title": "Corner"}


@pytest.mark.parametrize(
    ("text", "terms", "names"),
    [
        ("genre = 'jazz' AND n > 3", ["genre = 'jazz'"], [("genre",)]),
        ("genre = 'jazz' AND mood = 'calm'", ["genre = 'jazz'"], [("genre",)]),
        ("mood = 'calm' AND n > 3", ["mood = 'calm'"], [("mood",)]),
        ("genre = 'jazz' OR n > 5", ["genre = 'jazz'", "n > 5"], [("genre",), ("n",)]),
        ("NOT (live OR n = 7)", ["live"], [("live",)]),
        ("NOT live", ["live"], [("live",)]),
        ("title LIKE '%5th%' AND live", ["title LIKE '%5th%'"], [("title",)]),
        ("n NOT BETWEEN 1 AND n + 1", ["n NOT BETWEEN 1 AND (n + 1)"], [("n",)]),
        ("n IS NULL", ["n IS NULL"], [("n",)]),
        ("genre IN ('jazz', 'it''s')", ["genre IN ('jazz', 'it''s')"], [("genre",)]),
    ],
)
def test_the_terms_that_decided_are_named(text: str, terms: list[str], names: list[tuple[str, ...]]) -> None:
    assert [(term.text, term.names) for term in deciding(parse(text), ROCK)] == list(
        zip(terms, names, strict=True)
    )


def test_of_many_terms_a_few_are_told_and_long_ones_are_cut() -> None:
    many = parse(" OR ".join(f"n = {number}" for number in range(100, 150)))
    assert len(deciding(many, ROCK)) == MAX_TERMS_TOLD
    (term,) = deciding(parse(f"genre = '{'x' * 1000}'"), ROCK)
    assert len(term.text) == MAX_TERM_CHARACTERS


@given(trees(), attributes())
def test_terms_are_blamed_exactly_where_the_selector_is_not_true(
    tree: Condition, values: dict[str, Scalar]
) -> None:
    selector = Selector(written(tree), tree)
    assert bool(deciding(selector, values)) is (selector.evaluate(values) is not True)
