"""What is a selector, how it is read, and what is said about what is none."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.attributes import RESERVED_WORDS, check_attributes
from contentdb.errors import UsageError
from contentdb.selector import MAX_CHARACTERS, MAX_DEPTH, MAX_TERMS, SelectorError, parse
from contentdb.selector.deciding import written
from contentdb.selector.lexer import KEYWORDS
from contentdb.selector.nodes import Condition, Identifier, In, Literal
from tests.contentdb.selector.strategies import trees

VALUE = "a name, a literal or ("
AFTER = "AND, OR, an operator or the end"
AFTER_COMPARISON = "AND, OR or the end"
WRONG = [
    ("a = 1 AMD b = 2", 7, AFTER_COMPARISON),
    ("= 'x'", 1, VALUE),
    ("a = b c", 7, AFTER_COMPARISON),
    ("a b", 3, AFTER),
    ("a AND b c", 9, AFTER),
    ("(a = 1) b", 9, AFTER),
    ("a = 1 )", 7, AFTER_COMPARISON),
    ("a = b = c", 7, AFTER_COMPARISON),
    ("NOT a IN (1) = b", 14, AFTER_COMPARISON),
    ("(a) + 1 < b - 1 IS NULL", 17, AFTER_COMPARISON),
    ("a IS NULL + 1", 11, AFTER_COMPARISON),
    ("a IS NULL NOT", 11, AFTER_COMPARISON),
    ("a IS NULL OR NOT", 17, VALUE),
    ("NOT", 4, VALUE),
    ("AND NOT", 1, VALUE),
    ("in = 'x'", 1, VALUE),
    ("a IN ()", 7, VALUE),
    ("a IN (1,", 9, VALUE),
    ("a IN (1 2)", 9, ", or ) after a value of the list"),
    ("a IN 1", 6, "( and a list of values"),
    ("a BETWEEN AND 3", 11, VALUE),
    ("a BETWEEN 3 OR 4", 13, "AND and the upper bound of BETWEEN"),
    ("a NOT = 3", 7, "BETWEEN, IN or LIKE after NOT"),
    ("a NOT 3", 7, "BETWEEN, IN or LIKE after NOT"),
    ("a IS 5", 6, "NULL or NOT NULL"),
    ("a IS NOT 5", 10, "NULL"),
    ("a = NULL", 5, "IS NULL"),
    ("a <> NULL", 6, "IS NOT NULL"),
    ("a < NULL", 5, VALUE),
    ("NULL = a", 1, VALUE),
    ("a IN (1, NULL)", 10, VALUE),
    ("a BETWEEN NULL AND 2", 11, VALUE),
    ("NOT NULL", 5, VALUE),
    ("(a", 3, "an operator or the ) that closes column 1"),
    ("a = 1 AND (b = 2", 17, "AND, OR or the ) that closes column 11"),
    ("a LIKE 234", 8, "a pattern in single quotes"),
    ("a LIKE b", 8, "a pattern in single quotes"),
    ("a LIKE 'x' ESCAPE 'long'", 19, "one character in single quotes"),
    ("a LIKE 'x' ESCAPE ''", 19, "one character in single quotes"),
    ("a LIKE 'x' ESCAPE b", 19, "one character in single quotes"),
    ("a LIKE 'x!' ESCAPE '!'", 8, "a character behind the last escape"),
    ("a = 'red", 9, "the quote that closes column 5"),
    ("a = 'it''s", 11, "the quote that closes column 5"),
    ('a = "x"', 5, "a string in single quotes"),
    ("a != 1", 3, "<> for unequal"),
    ("a # b", 3, "a name, a literal or an operator"),
    ("a = 1;", 6, "a name, a literal or an operator"),
    ("a. = 1", 3, "a name behind the dot"),
    ("a.b.", 5, "a name behind the dot"),
    (". = 1", 1, "a number"),
    ("019 = a", 1, "octal digits, or no leading zero"),
    ("a = '\ud800'", 6, "a whole character"),
    ("a IN ('x', 'y') OR b LIKE '%\udfff'", 29, "a whole character"),
    ("genre == 'x' AND title = \"y\"", 8, VALUE),
    ("a b '", 3, AFTER),
    ("a = 9223372036854775808", 5, "an integer of at most 64 bits"),
    ("a = -9223372036854775809", 6, "an integer of at most 64 bits"),
    ("a = " + "9" * 4000, 5, "an integer of at most 64 bits"),
    ("a = 0x10000000000000000", 5, "an integer of at most 64 bits"),
    ("a = 1e999", 5, "a number that a double can hold"),
    ("3", 1, "a condition"),
    ("3+5", 1, "a condition"),
    ("'text'", 1, "a condition"),
    ("-a", 1, "a condition"),
    ("TRUE AND 3+5", 10, "a condition"),
    ("NOT 'x'", 5, "a condition"),
    ("a + 'x' = 'yx'", 5, "a number"),
    ("-TRUE = 1", 2, "a number"),
    ("a + (b = 1) = 2", 5, "a number"),
]


@pytest.mark.parametrize(("text", "column", "expected"), WRONG)
def test_an_error_points_at_the_column_and_says_what_fits_there(
    text: str, column: int, expected: str
) -> None:
    with pytest.raises(SelectorError) as error:
        parse(text)
    assert (error.value.column, error.value.expected) == (column, expected)
    assert str(error.value).startswith(f"column {column} of the selector: expected {expected}, found ")


def test_a_selector_error_can_be_copied_and_sent_to_another_process() -> None:
    with pytest.raises(SelectorError) as error:
        parse("a = = 1")
    for again in (copy.copy(error.value), pickle.loads(pickle.dumps(error.value))):
        assert (str(again), again.column, again.expected) == (str(error.value), 5, VALUE)


def test_a_selector_error_is_the_callers_mistake() -> None:
    assert issubclass(SelectorError, UsageError)
    assert issubclass(SelectorError, ValueError)


@settings(max_examples=300, deadline=None)
@given(trees())
def test_a_tree_is_read_back_from_its_text(tree: Condition) -> None:
    assert parse(written(tree)).tree == tree


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab1.'%_ ()<>=+-*/,eExXL\n\0😀\ud800$"), max_size=30) | st.text(max_size=30))
def test_rubbish_is_refused_with_a_column_inside_the_text(text: str) -> None:
    try:
        parse(text)
        text.encode()  # what is read can also be stored and sent
    except SelectorError as error:
        assert 1 <= error.column <= len(text) + 1


TOKENS = "a b 1 2.5 'x' ( ) AND OR NOT = < + - * IN LIKE IS NULL BETWEEN ESCAPE , TRUE"
WORDS = st.sampled_from(TOKENS.split())


@settings(max_examples=500, deadline=None)
@given(st.lists(WORDS, max_size=14).map(" ".join))
def test_words_in_any_order_are_read_or_refused(text: str) -> None:
    try:
        parse(text).evaluate({"a": 1, "b": "x"})
    except SelectorError as error:
        assert 1 <= error.column <= len(text) + 1


def test_a_truncated_selector_is_refused_or_means_what_it_says() -> None:
    text = "(a = 'it''s' OR b BETWEEN 1 AND -2.5e3) AND NOT c LIKE 'a!%%' ESCAPE '!' OR d IN (1, 2)"
    for end in range(len(text)):
        try:
            parse(text[:end]).evaluate({})
        except SelectorError as error:
            assert 1 <= error.column <= end + 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a = 1 OR b = 2 AND c = 3", "a = 1 OR (b = 2 AND c = 3)"),
        ("NOT a = 1 AND b = 2", "(NOT (a = 1)) AND b = 2"),
        ("NOT a IS NULL", "NOT (a IS NULL)"),
        ("NOT a BETWEEN 1 AND 2 OR b", "(NOT (a BETWEEN 1 AND 2)) OR b"),
        ("NOT NOT a", "NOT (NOT a)"),
        ("a + b * c = d", "(a + (b * c)) = d"),
        ("a - b - c = d", "((a - b) - c) = d"),
        ("a / b / c = d", "((a / b) / c) = d"),
        ("-a + b = c", "((-a) + b) = c"),
        ("- -a = c", "(-(-a)) = c"),
        ("--a = c", "(-(-a)) = c"),
        ("a * -b < c", "(a * (-b)) < c"),
        ("a BETWEEN b + 1 AND c AND d", "(a BETWEEN (b + 1) AND c) AND d"),
        ("a = b AND c LIKE 'x' OR d IN (1)", "((a = b) AND (c LIKE 'x')) OR (d IN (1))"),
        ("a='x'AND b=1", "a = 'x' AND b = 1"),
        ("a BETWEEN.5 AND.7", "a BETWEEN 0.5 AND 0.7"),
        ("a\t=\n'x'\r\fand\fb", "a = 'x' AND b"),
        ("a in (1) Or a iS nOt nUlL", "a IN (1) OR a IS NOT NULL"),
        ("(((a)))", "a"),
        ("a in(b,-2)", "a IN (b, (-2))"),
    ],
)
def test_precedence_and_spelling(written: str, meant: str) -> None:
    assert parse(written) == parse(meant)
    assert hash(parse(written)) == hash(parse(meant))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("42", 42),
        ("42L", 42),
        ("0x2A", 42),
        ("0XfFl", 255),
        ("052", 42),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-0x10", -16),
        ("+7", 7),
        ("1.", 1.0),
        (".5", 0.5),
        ("1.25", 1.25),
        ("1e3", 1000.0),
        ("1.E-2", 0.01),
        (".5E+1", 5.0),
        ("7d", 7.0),
        ("7.5F", 7.5),
        ("1e3D", 1000.0),
        ("-2.5", -2.5),
        ("1e-999", 0.0),
        ("''", ""),
        ("'it''s'", "it's"),
        ("''''", "'"),
        ("'a\nb\0'", "a\nb\0"),
        ("TRUE", True),
        ("fAlse", False),
    ],
)
def test_literals_are_java_literals_in_sql_quotes(text: str, value: object) -> None:
    tree = parse(f"a IN ({text})").tree
    assert isinstance(tree, In)
    (read,) = tree.constants() or ()
    assert read == value
    assert type(read) is type(value)


NAMES = "a _ $ _a $b a1 with$dollar JMSXGroupID grüße 名前 Ändern €uro order nulls id.with.dots a.b_c.$d"


@pytest.mark.parametrize("name", NAMES.split())
def test_names_are_java_identifiers_and_may_have_dots(name: str) -> None:
    assert parse(name).tree == Identifier(name)
    assert parse(f"{name} = 1").evaluate({name: 1}) is True


def test_what_only_looks_like_a_word_of_the_language_in_capitals_is_a_name() -> None:
    for name in ("ın", "falſe"):
        check_attributes({name: 1})
        assert parse(f"{name} = 1").evaluate({name: 1}) is True


def test_a_name_that_is_no_text_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="got 5, which is of type int"):
        check_attributes({5: 1})  # type: ignore[dict-item]


def test_the_words_of_the_language_are_no_names() -> None:
    assert KEYWORDS == RESERVED_WORDS
    for word in sorted(KEYWORDS - {"TRUE", "FALSE"}):
        with pytest.raises(SelectorError):
            parse(f"{word.lower()} = 1")


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_the_empty_selector_matches_everything(text: str) -> None:
    assert parse(text).tree is None
    assert parse(text).evaluate({}) is True


def test_true_and_one_are_different_selectors() -> None:
    assert parse("a = TRUE") != parse("a = 1")
    assert parse("a IN (TRUE)") != parse("a IN (1)")
    assert Literal(True) != Literal(1)


def test_an_integer_and_a_decimal_are_different_selectors() -> None:
    whole, decimal = parse("a + 1 > 0"), parse("a + 1.0 > 0")
    assert whole.evaluate({"a": 2**63 - 1}) is None and decimal.evaluate({"a": 2**63 - 1}) is True
    assert whole != decimal
    assert parse("a IN (1)") != parse("a IN (1.0)")


def test_length_is_bounded() -> None:
    longest = "a" * (MAX_CHARACTERS - len(" IS NULL")) + " IS NULL"
    assert parse(longest).evaluate({}) is True
    with pytest.raises(SelectorError, match=f"at most {MAX_CHARACTERS} characters"):
        parse(" " + longest)


def test_terms_are_bounded() -> None:
    assert parse("a IN (" + ",".join("1" * (MAX_TERMS - 1)) + ")").evaluate({"a": 1}) is True
    with pytest.raises(SelectorError, match=f"at most {MAX_TERMS} names and literals"):
        parse("a IN (" + ",".join("1" * MAX_TERMS) + ")")


@pytest.mark.parametrize(
    "nested",
    [
        lambda depth: "(" * depth + "a" + ")" * depth,
        lambda depth: "NOT " * depth + "a",
        lambda depth: "- " * depth + "b = 1",
        lambda depth: "1 = " + "(1 + " * depth + "b" + ")" * depth,
        lambda depth: "(a AND (a OR " * (depth // 2) + "a" + "))" * (depth // 2),
        lambda depth: "b" + " + 1" * depth + " = 2",
        lambda depth: "(" * depth + "a" + " = a)" * depth,
        lambda depth: "(" * depth + "a" + " IS NULL)" * depth,
    ],
)
def test_depth_is_bounded_before_pythons_stack_is(nested: object) -> None:
    assert callable(nested)
    parse(nested(MAX_DEPTH // 2 - 2)).evaluate({"a": True, "b": 1})
    for depth in (MAX_DEPTH + 1, 400):
        with pytest.raises(SelectorError, match=f"nesting of at most {MAX_DEPTH}"):
            parse(nested(depth))


def test_each_pair_of_parentheses_and_each_operand_of_a_sum_is_a_level() -> None:
    within = MAX_DEPTH - 1
    parse("(" * within + "a" + ")" * within)
    parse("+".join("a" * within) + " = 1")
    for text in ("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH, "+".join("a" * MAX_DEPTH) + " = 1"):
        with pytest.raises(SelectorError, match=f"nesting of at most {MAX_DEPTH}"):
            parse(text)


def test_a_long_row_of_conditions_is_not_deep() -> None:
    assert parse(" OR ".join(["a"] * 500) + " OR b").evaluate({"b": True}) is True


def test_a_list_inside_a_list_is_as_large_as_its_text() -> None:
    text = "p"
    for _ in range(12):
        text = f"({text} IN (a, b, c))"
    assert len(repr(parse(text).tree)) < 50 * len(text)
    assert parse(text) == parse(text)
