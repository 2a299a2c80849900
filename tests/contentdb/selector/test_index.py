"""An index finds exactly the selectors that are true, whatever was added, removed or learned before."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from contentdb.attributes import Time
from contentdb.errors import UsageError
from contentdb.selector import Selector, SelectorError, parse
from contentdb.selector.index import SelectorIndex
from contentdb.selector.nodes import Condition, Scalar
from tests.contentdb.selector import reference
from tests.contentdb.selector.strategies import attributes, trees

both_kinds = pytest.mark.parametrize("vectorised", [True, False])


def some_selector(rng: Random) -> str:
    """Selectors that sit close together, so that postings get long enough for columns."""
    terms = [
        f"genre = '{rng.choice('abc')}'",
        f"a BETWEEN {rng.randrange(20)} AND {rng.randrange(10, 40)}",
        f"b > {rng.randrange(20) / 2}",
        f"title LIKE '%{rng.choice(['jazz', 'blues', 'rock'])}%'",
        f"NOT (language = '{rng.choice(['de', 'en'])}')",
        f"a = {rng.randrange(20)}",
        f"genre IN ('{rng.choice('abc')}', '{rng.choice('def')}')",
        f"(a + 1 > {rng.randrange(20)} OR flag)",
        "b IS NULL",
    ]
    return " AND ".join(rng.sample(terms, rng.randint(1, 3)))


def some_entry(rng: Random) -> dict[str, Scalar]:
    entry: dict[str, Scalar] = {
        "genre": rng.choice("abcdef"),
        "a": rng.choice([rng.randrange(40), rng.randrange(40) / 2]),
        "b": rng.randrange(20),
        "title": rng.choice(["all that jazz", "blues", "rock and jazz", ""]),
        "language": rng.choice(["de", "en", "fr"]),
        "flag": rng.random() < 0.5,
    }
    return {name: value for name, value in entry.items() if rng.random() < 0.8}


def matching(selectors: dict[int, Selector], entry: dict[str, Scalar]) -> set[int]:
    return {key for key, selector in selectors.items() if selector.evaluate(entry) is True}


@given(st.lists(trees(), max_size=12), st.lists(attributes(), min_size=1, max_size=4), st.booleans())
def test_an_index_agrees_with_evaluation_for_every_tree_and_entry(
    wanted: list[Condition], entries: list[dict[str, Scalar]], vectorised: bool
) -> None:
    index = SelectorIndex(vectorised=vectorised)
    for key, tree in enumerate(wanted):
        index.add(key, Selector("", tree))
    for entry in entries:
        expected = {key for key, tree in enumerate(wanted) if reference.evaluate(tree, entry) is True}
        assert index.match(entry) == expected


@both_kinds
def test_long_postings_agree_with_evaluation_while_selectors_come_and_go(vectorised: bool) -> None:
    rng = Random(5)
    index, selectors = SelectorIndex(vectorised=vectorised), dict[int, Selector]()
    for key in range(3_000):
        selectors[key] = parse(some_selector(rng))
        index.add(key, selectors[key])
    for turn in range(150):
        for key in rng.sample(sorted(selectors), 10):
            index.remove(key)
            del selectors[key]
        for key in range(5):
            selectors[10_000 + turn * 5 + key] = parse(some_selector(rng))
            index.add(10_000 + turn * 5 + key, selectors[10_000 + turn * 5 + key])
        entry = some_entry(rng)
        assert index.match(entry) == matching(selectors, entry)
    assert len(index) == len(selectors)


@both_kinds
def test_rows_move_to_rarer_keys_without_a_match_being_lost(vectorised: bool) -> None:
    index = SelectorIndex(vectorised=vectorised)
    selectors = {key: parse(f"common = 'x' AND rare = 'r{key}'") for key in range(300)}
    for key, selector in selectors.items():
        index.add(key, selector)
    rng = Random(1)
    for _ in range(400):
        entry: dict[str, Scalar] = {"common": "x", "rare": f"r{rng.randrange(400)}"}
        assert index.match(entry) == matching(selectors, entry)
    for key in selectors:
        index.remove(key)
    assert index.match({"common": "x", "rare": "r7"}) == set()


class ComingAndGoing(RuleBasedStateMachine):
    """Any order of adding, replacing, removing and matching, against a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.index = SelectorIndex()
        self.selectors: dict[int, Selector] = {}

    @rule(key=st.integers(0, 9), tree=trees(4))
    def add(self, key: int, tree: Condition) -> None:
        self.selectors[key] = Selector("", tree)
        self.index.add(key, self.selectors[key])

    @rule(key=st.integers(0, 9), seed=st.integers(0, 50))
    def add_often_seen_text(self, key: int, seed: int) -> None:
        self.selectors[key] = parse(some_selector(Random(seed)))
        self.index.add(key, self.selectors[key].text)

    @rule(key=st.integers(0, 9))
    def remove(self, key: int) -> None:
        if self.selectors.pop(key, None) is not None:
            self.index.remove(key)

    @rule(entry=attributes() | st.integers(0, 200).map(lambda seed: some_entry(Random(seed))))
    def match(self, entry: dict[str, Scalar]) -> None:
        assert self.index.match(entry) == matching(self.selectors, entry)

    @invariant()
    def it_counts_what_it_keeps(self) -> None:
        assert len(self.index) == len(self.selectors)


TestComingAndGoing = ComingAndGoing.TestCase
TestComingAndGoing.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_the_same_key_again_replaces_the_selector() -> None:
    index = SelectorIndex()
    index.add("k", "a = 1")
    index.add("k", "a = 2")
    assert (len(index), index.match({"a": 1}), index.match({"a": 2})) == (1, set(), {"k"})


def test_equal_selectors_under_several_keys_are_all_found_and_removed_one_by_one() -> None:
    index = SelectorIndex()
    for key in ("x", "y", "z"):
        index.add(key, "feed = 'urn:f' AND size > 3")
    index.remove("y")
    assert index.match({"feed": "urn:f", "size": 4}) == {"x", "z"}
    index.remove("x")
    assert index.match({"feed": "urn:f", "size": 4}) == {"z"}


def test_selectors_that_python_takes_for_equal_are_kept_apart() -> None:
    index = SelectorIndex()
    index.add("whole", "a + 1 = 9223372036854775807")
    index.add("decimal", "a + 1.0 = 9223372036854775807")
    index.add("listed", "a + 1 IN (9223372036854775807, b)")
    index.add("listed decimal", "a + 1.0 IN (9223372036854775807, b)")
    index.add("boolean", "a <> TRUE")
    index.add("number", "a <> 1")
    assert index.match({"a": 2**63 - 2}) == {"whole", "listed", "number"}
    assert index.match({"a": False}) == {"boolean"}


def test_only_selectors_without_a_term_to_be_found_by_are_always_checked() -> None:
    index = SelectorIndex()
    for key, text in enumerate(("", "title IS NULL", "NOT (a = 'x') OR size > 5", "a = 'x'", "custom > 5")):
        index.add(key, text)
    assert index.residue == 3
    assert index.match({"a": "x", "size": 9}) == {0, 1, 2, 3}


def test_a_long_list_of_feeds_is_found_by_its_feeds() -> None:
    index = SelectorIndex()
    for key in range(30):
        feeds = ", ".join(f"'urn:{key}:{at}'" for at in range(100))
        index.add(key, f"feed IN ({feeds}) OR author = 'a{key}'")
    assert index.residue == 0
    assert index.match({"feed": "urn:7:99", "author": "a8"}) == {7, 8}


def test_a_text_that_cannot_be_parsed_changes_nothing() -> None:
    index = SelectorIndex()
    index.add(1, "a = 1")
    with pytest.raises(SelectorError):
        index.add(1, "a = = 1")
    assert index.match({"a": 1}) == {1}


def test_removing_what_was_never_added_is_refused() -> None:
    with pytest.raises(UsageError, match="only what was added"):
        SelectorIndex().remove("nothing")


def test_values_that_no_attribute_can_hold_count_as_absent() -> None:
    index = SelectorIndex()
    index.add(1, "a IS NULL")
    index.add(2, "a > 0")
    assert index.match({"a": float("inf")}) == index.match({"a": 2**70}) == index.match({"a": [1]}) == {1}


@both_kinds
def test_intervals_between_the_largest_numbers_are_found(vectorised: bool) -> None:
    index, selectors = SelectorIndex(vectorised=vectorised), dict[int, Selector]()
    limits = ["-1.7976931348623157e308", "-9223372036854775808", "0", "1e300", "1.7976931348623157e308"]
    texts = [f"a {above} {low} AND a < {high}" for above in (">", ">=") for low in limits for high in limits]
    for key, text in enumerate(texts):
        selectors[key] = parse(text)
        index.add(key, selectors[key])
    for value in (-1.7976931348623157e308, -(2**63), 0, 1.5, 1e300, 1.7976931348623157e308):
        assert index.match({"a": value}) == matching(selectors, {"a": value})


def test_a_time_is_found_as_the_integer_it_is() -> None:
    index = SelectorIndex()
    index.add(1, "published BETWEEN 1000 AND 2000")
    index.add(2, "published = 1500")
    assert index.match({"published": Time(1500)}) == {1, 2}


def test_names_that_came_and_went_are_forgotten() -> None:
    index = SelectorIndex()
    index.add("both", "name1 = 'x' AND name2 = 'y'")
    for at in range(3_000):
        index.add(at, f"name{at} = 'x'")
    for at in range(3_000):
        index.remove(at)
    assert index.match({"name1": "x", "name2": "y"}) == {"both"}
