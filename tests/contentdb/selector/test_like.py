"""LIKE, against a matcher that tries every position, and on values that regular expressions die of."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.selector.like import matcher, shape
from tests.contentdb.selector import reference

PATTERNS = st.text("ab%_", max_size=10) | st.text("aàb%_|\\!\n😀", max_size=8)
VALUES = st.text("ab", max_size=14) | st.text("aàb%_|\\!\n😀", max_size=10)


@settings(max_examples=2_000, deadline=None)
@given(VALUES, PATTERNS, st.none() | st.sampled_from("\\!a%_"))
def test_like_agrees_with_trying_every_position(value: str, pattern: str, escape: str | None) -> None:
    assert matcher(pattern, escape)(value) is reference.like(value, pattern, escape)


@settings(max_examples=500, deadline=None)
@given(VALUES, PATTERNS, st.none() | st.sampled_from("\\!a%_"))
def test_every_match_has_what_its_shape_promises(value: str, pattern: str, escape: str | None) -> None:
    if matcher(pattern, escape)(value):
        found = shape(pattern, escape)
        assert all(run in value for run in found.literal_runs())
        assert value.startswith(found.prefix())
        assert found.exact() in (None, value)


@pytest.mark.parametrize(
    ("value", "pattern", "escape", "expected"),
    [
        ("astring", "astring", None, True),
        ("ASTRING", "astring", None, False),
        ("astrings", "astring", None, False),
        ("a", "_", None, True),
        ("", "_", None, False),
        ("", "", None, True),
        ("", "%%", None, True),
        ("aa", "a%a", None, True),
        ("a", "a%a", None, False),
        ("line\nbreak", "line_break", None, True),
        ("line\nbreak", "%break", None, True),
        ("a.c", "a.c", None, True),
        ("abc", "a.c", None, False),
        ("[x]", "[x]", None, True),
        ("car🥕rot", "car_rot", None, True),
        ("e\u0301", "_", None, False),
        ("50%", "50!%", "!", True),
        ("501", "50!%", "!", False),
        ("a!b", "a!!b", "!", True),
        ("ab", "a!b", "!", True),
        ("_foo", "%_%", "%", True),
        ("foo", "%_%", "%", False),
        ("Xfoo_", "_foo__", "_", True),
        ("Xfoo%", "%foo%%", "%", True),
        ("Xfoo!", "%foo%%", "%", False),
        ("\0a", "_a", None, True),
    ],
)
def test_like_examples(value: str, pattern: str, escape: str | None, expected: bool) -> None:
    assert matcher(pattern, escape)(value) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "%a" * 1_000 + "b",
        "%a_a" * 1_000 + "%b%",
        "%_a_" * 900 + "b",
        "_%" * 2_000 + "b",
        "%" * 4_000 + "b",
        "%aab" * 900,
    ],
)
def test_no_pattern_takes_more_than_linear_time(pattern: str) -> None:
    # By backtracking, this would not end before the stars burn out.
    assert matcher(pattern, None)("a" * 100_000) is False
