"""One language, three machines: evaluation, SQL with a recheck, and the index always agree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.selector import Selector, parse
from contentdb.selector.deciding import written
from contentdb.selector.index import SelectorIndex
from contentdb.selector.nodes import Condition, Scalar
from tests.contentdb.selector import reference
from tests.contentdb.selector.stored import AUTHOR, FEED, StoredEntries
from tests.contentdb.selector.strategies import attributes, trees
from tests.contentdb.selector.test_brokers import MESSAGE, WORDS, broker_cases


def matched_by_sql(
    stored: StoredEntries, selector: Selector, entries: dict[int, dict[str, Scalar]]
) -> set[int]:
    """What a query gives: candidates of SQL that evaluate to true."""
    found = stored.candidates(selector.tree, full_text=True, counted=True)
    return {key for key in found if selector.evaluate(entries[key]) is True}


@settings(max_examples=150, deadline=None)
@given(st.lists(attributes(), min_size=1, max_size=5), st.lists(trees(), min_size=1, max_size=20))
def test_all_three_agree_with_the_second_opinion(
    values: list[dict[str, Scalar]], conditions: list[Condition]
) -> None:
    selectors = [parse(written(tree)) for tree in conditions]
    index = SelectorIndex()
    for number, selector in enumerate(selectors):
        index.add(number, selector)
    with StoredEntries() as stored:
        seen = [entry | {"feed": FEED, "author": AUTHOR} for entry in values]
        entries = {stored.add(entry): entry for entry in seen}
        by_sql = [matched_by_sql(stored, selector, entries) for selector in selectors]
        for key, entry in entries.items():
            expected = {n for n, tree in enumerate(conditions) if reference.evaluate(tree, entry) is True}
            assert {n for n, selector in enumerate(selectors) if selector.evaluate(entry) is True} == expected
            assert {n for n, found in enumerate(by_sql) if key in found} == expected
            assert index.match(entry) == expected


@pytest.mark.parametrize("vectorised", [True, False])
def test_the_index_matches_what_brokers_match(vectorised: bool) -> None:
    cases = [(text, WORDS[expected]) for expected, text in broker_cases() if expected in WORDS]
    index = SelectorIndex(vectorised=vectorised)
    for text, _ in cases:
        index.add(text, parse(text))
    assert index.match(MESSAGE) == {text for text, expected in cases if expected is True}


def test_the_store_finds_what_brokers_match() -> None:
    with StoredEntries() as stored:
        message = {name: value for name, value in MESSAGE.items() if isinstance(value, str | int | float)}
        key = stored.add(message | {"title": "A message", "updated": 1})
        stored.add({"title": "Another", "updated": 2})
        for expected, text in broker_cases():
            if expected == "true":
                tree = parse(text).tree
                assert key in stored.candidates(tree, full_text=True), text
                assert key in stored.candidates(tree, full_text=False, counted=True), text
