"""True, false or unknown: the evaluator against tables and against the tests' own second opinion."""

import pytest
from hypothesis import given, settings

from contentdb.model import Text, Time
from contentdb.selector import parse
from contentdb.selector.evaluate import prepare
from contentdb.selector.nodes import Condition, Scalar
from tests.contentdb.selector import reference
from tests.contentdb.selector.strategies import attributes, trees

T, F, U = True, False, None
TRUTHS = {"t": True, "f": False}  # and u, which is absent


@settings(max_examples=800, deadline=None)
@given(trees(), attributes())
def test_the_evaluator_agrees_with_a_second_opinion(tree: Condition, entry: dict[str, Scalar]) -> None:
    assert prepare(tree)(entry) is reference.evaluate(tree, entry)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("t AND t", T), ("t AND f", F), ("t AND u", U), ("f AND t", F), ("f AND f", F), ("f AND u", F)),
        *(("u AND t", U), ("u AND f", F), ("u AND u", U)),
        *(("t OR t", T), ("t OR f", T), ("t OR u", T), ("f OR t", T), ("f OR f", F), ("f OR u", U)),
        *(("u OR t", T), ("u OR f", U), ("u OR u", U)),
        *(("NOT t", F), ("NOT f", T), ("NOT u", U)),
        *(("NOT (u AND f)", T), ("NOT (u OR t)", F), ("NOT (u AND t)", U), ("NOT (u OR f)", U)),
        *(("u = u", U), ("u <> u", U), ("NOT u = u", U), ("u = u OR NOT u = u", U)),
        *(("u IS NULL", T), ("t IS NULL", F), ("u IS NOT NULL", F), ("t IS NOT NULL", T)),
        *(("(u = 1) IS NULL", T), ("(t = f) IS NULL", F), ("(t AND u) IS NOT NULL", F), ("u + 1 IS NULL", T)),
        *(("(t = f) = FALSE", T), ("(u = 1) = TRUE", U), ("(f AND u) = f", T), ("TRUE", T), ("FALSE", F)),
    ],
)
def test_three_valued_logic(text: str, expected: bool | None) -> None:
    assert parse(text).evaluate(TRUTHS) is expected


PLAIN = {"i": 5, "d": 2.5, "s": "five", "b": True, "n": None, "zero": 0, "list": [1], "nan": float("nan")}
LIMITS = {"big": 2**53 + 1, "max": 2**63 - 1, "min": -(2**63), "wide": 2**63, "inf": float("inf")}
TYPED = {"when": Time(1_700_000_000_000), "title": Text("Blue"), "e": "", "two63": 2.0**63}
ENTRY: dict[str, object] = {**PLAIN, **LIMITS, **TYPED}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Like is compared with like.
        *(("i = 5", T), ("i = 5.0", T), ("d < 3", T), ("i <> 5", F), ("s = 'five'", T), ("s <> 'five'", F)),
        *(("b = TRUE", T), ("b <> TRUE", F), ("b = FALSE", F), ("s = 5", U), ("s <> 5", U), ("i = '5'", U)),
        *(("i <> '5'", U), ("b = 1", U), ("b <> 0", U), ("b = 'TRUE'", U), ("NOT i = '5'", U)),
        *(("i = TRUE", U), ("TRUE = 1", U), ("'a' = 'a'", T), ("1 = 1.0", T), ("0.0 = -0.0", T)),
        # Only numbers have an order.
        *(
            ("s < 'z'", U),
            ("s >= 'five'", U),
            ("b > FALSE", U),
            ("'a' < 'b'", U),
            ("s BETWEEN 'a' AND 'z'", U),
        ),
        # Conditions that are no booleans.
        *(("i", U), ("s", U), ("NOT i", U), ("i OR b", T), ("i AND FALSE", F), ("b", T)),
        # Absent, and what no attribute can hold.
        *(("missing = 1", U), ("missing <> 1", U), ("n IS NULL", T), ("n = 1", U), ("list IS NULL", T)),
        *(("nan = nan", U), ("nan IS NULL", T), ("inf > 1", U), ("wide IS NULL", T), ("wide > 1", U)),
        # BETWEEN.
        *(
            ("i BETWEEN 5 AND 5", T),
            ("i BETWEEN 1 AND 9.5", T),
            ("i BETWEEN 9 AND 1", F),
            ("i BETWEEN 6 AND 9", F),
        ),
        *(("i NOT BETWEEN 9 AND 1", T), ("i NOT BETWEEN 1 AND 9", F), ("i BETWEEN missing AND 9", U)),
        *(("i BETWEEN missing AND 1", F), ("i BETWEEN 6 AND missing", F), ("i NOT BETWEEN 6 AND missing", T)),
        *(("missing NOT BETWEEN 1 AND 2", U), ("s BETWEEN 1 AND 2", U), ("i BETWEEN 'a' AND 9", U)),
        *(("i BETWEEN d AND d * 3", T), ("3 BETWEEN -17 AND 98.5", T)),
        # IN.
        *(("s IN ('four', 'five')", T), ("s IN ('four')", F), ("s NOT IN ('four')", T), ("i IN (1, 5.0)", T)),
        *(("i IN (1, 2)", F), ("missing IN ('a')", U), ("missing NOT IN ('a')", U), ("i IN ('5')", U)),
        *(("i NOT IN ('5')", U), ("i IN ('5', 5)", T), ("i IN ('5', 6)", U), ("i NOT IN ('5', 6)", U)),
        *(("b IN (1, TRUE)", T), ("b IN (1)", U), ("s IN (missing, 'five')", T), ("s IN (missing, 'x')", U)),
        *(("s NOT IN (missing, 'x')", U), ("i IN (2 + 3)", T), ("max IN (9223372036854775807)", T)),
        # LIKE.
        *(("s LIKE 'f%'", T), ("s LIKE 'F%'", F), ("s NOT LIKE 'f%'", F), ("missing LIKE '%'", U)),
        *(("missing NOT LIKE '%'", U), ("i LIKE '5'", U), ("i NOT LIKE '5'", U), ("e LIKE ''", T)),
        *(("title LIKE 'B_ue'", T), ("'a_b' LIKE 'a!_b' ESCAPE '!'", T), ("b LIKE 'TRUE'", U)),
        # Arithmetic.
        *(("i + d = 7.5", T), ("i - 7 = -2", T), ("i * 2 = 10", T), ("i / 2 = 2.5", T), ("4 / 2 = 2", T)),
        *(("-i = -5", T), ("+i = 5", T), ("- -i = i", T), ("-(i - 9) = 4", T), ("i + missing = 5", U)),
        *(("s + 1 = 2", U), ("b + 1 = 2", U), ("-s = 1", U), ("17 / 4 = 4", F), ("1 + 1 * 10 = 11", T)),
        *(("i / zero = 0", U), ("i / 0 = 0", U), ("i / 0.0 > 0", U), ("0 / 0 = 0", U), ("NOT 1 / 0 = 1", U)),
        # 64 bits, exactly.
        *(("big = 9007199254740993", T), ("big = 9007199254740992", F), ("big > 9007199254740992", T)),
        *(
            ("big = 9007199254740992.0", F),
            ("9007199254740993 = 9007199254740992.0", F),
            ("big - 1 = 9007199254740992", T),
        ),
        *(("max + 1 > 0", U), ("max + 1 = 9223372036854775807", U), ("max = 9223372036854775807", T)),
        *(("min - 1 < 0", U), ("-min > 0", U), ("min = -9223372036854775808", T), ("max * 2 > 0", U)),
        *(("max < two63", T), ("max = two63", F), ("max + 0.0 = two63", T), ("two63 * 1e300 > 0", U)),
        # Subclasses of plain types are what they look like.
        *(("when > 1699999999999", T), ("title = 'Blue'", T)),
        *(("1e308 * 10 > 0", U), ("1e308 * 10 IS NULL", T)),
    ],
)
def test_values(text: str, expected: bool | None) -> None:
    assert parse(text).evaluate(ENTRY) is expected


def test_names_are_case_sensitive_and_keywords_are_not() -> None:
    selector = parse("Genre = 'jazz' aNd nOt genre = 'jazz'")
    assert selector.evaluate({"Genre": "jazz", "genre": "rock"}) is True
    assert selector.evaluate({"Genre": "jazz"}) is None


def test_a_selector_keeps_nothing_of_what_it_saw() -> None:
    selector = parse("color = 'red'")
    assert selector.evaluate({"color": "red"}) is True
    assert selector.evaluate({}) is None


def test_attributes_that_are_not_mentioned_do_not_matter() -> None:
    assert parse("genre = 'jazz'").evaluate({"genre": "jazz", "other": [object()]}) is True


class Counted(dict[str, object]):
    """Attributes that know how often they were asked for."""

    asked = 0

    def get(self, name: str, default: object = None) -> object:
        self.asked += 1
        return super().get(name, default)


def test_lists_inside_lists_ask_for_each_name_once() -> None:
    text = "p"
    for _ in range(12):
        text = f"({text} IN (a, b, c))"
    entry = Counted(p=True, a=False, b=False, c=True)
    assert parse(text).evaluate(entry) is True
    assert entry.asked <= 1 + 12 * 3


def test_the_left_side_of_a_long_list_is_computed_once() -> None:
    entry = Counted(a=1, b=2)
    assert parse("+".join("a" * 40) + f" IN ({','.join('b' * 400)})").evaluate(entry) is False
    assert entry.asked <= 40 + 400


def test_a_list_may_hold_names_and_computed_values() -> None:
    cases = [("i IN (d, d * 2)", T), ("i IN (d, s)", U), ("i IN (d, zero)", F), ("missing IN (i)", U)]
    cases += [("i NOT IN (d, zero)", T), ("i NOT IN (d, s)", U), ("(i = 5) IN (b, s)", T)]
    for text, expected in cases:
        assert parse(text).evaluate(ENTRY) is expected


class DoubleWithTruthsOfItsOwn(float):
    """As numpy's doubles are: floats whose comparisons give no bool."""

    def __gt__(self, other: object) -> int:  # type: ignore[override]
        return 1

    __eq__ = __ge__ = __le__ = __gt__  # type: ignore[assignment]


def test_a_subclass_of_float_gives_plain_truths() -> None:
    for text in ("a > 1", "a = 5", "a BETWEEN 1 AND 9", "a + 1 >= 6", "a IN (5, b)"):
        assert parse(text).evaluate({"a": DoubleWithTruthsOfItsOwn(5)}) is True
