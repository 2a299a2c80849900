"""The small grammars under Atom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.atom_values import (
    format_time,
    is_absolute,
    is_base64_type,
    is_email,
    is_language,
    is_media_type,
    is_reference,
    is_relation,
    is_xml_type,
    parse_time,
    resolve,
)
from contentdb.attributes import MAX_TIME, MIN_TIME

BASE = "http://a/b/c/d;p?q"


@given(st.integers(MIN_TIME, MAX_TIME))
def test_a_time_is_read_as_it_was_written(at: int) -> None:
    assert parse_time(format_time(at)) == at


@pytest.mark.parametrize("at", [MIN_TIME - 1, MAX_TIME + 1])
def test_a_time_outside_the_calendar_cannot_be_written(at: int) -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        format_time(at)


def test_offsets_and_fractions_are_understood() -> None:
    assert parse_time("1970-01-01T01:00:00.0019+01:00") == 1
    assert parse_time("1969-12-31T23:59:60Z") == 0


def test_a_leap_second_ends_a_month_in_utc() -> None:
    assert parse_time("2005-12-31T18:59:60-05:00") == parse_time("2006-01-01T00:00:00Z")
    for time in ("2005-03-15T23:59:60Z", "2005-12-31T23:59:60+01:00", "2005-12-31T22:59:60Z"):
        with pytest.raises(ValueError, match="month"):
            parse_time(time)


# RFC 3986, sections 5.4.1 and 5.4.2.
@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("http:g", "http:g"),
    ],
)
def test_references_resolve_as_the_rfc_says(reference: str, target: str) -> None:
    assert resolve(BASE, reference) == target


@given(st.text(), st.text())
def test_resolving_never_fails(base: str, reference: str) -> None:
    assert isinstance(resolve(base, reference), str)


def test_a_relative_base_resolves_as_far_as_it_goes() -> None:
    assert resolve("a/b/", "../c") == "a/c"
    assert resolve("../a/", "../../b") == "../../b"
    assert resolve(None, "../x") == "../x"


def test_a_path_is_never_mistaken_for_a_scheme_or_a_host() -> None:
    assert resolve("", "./a:b") == "./a:b"
    assert resolve("x/", "../y:z") == "./y:z"
    assert resolve("/x", "..//h/p") == "/.//h/p"
    assert resolve("file:/a", "/.//b") == "file:/.//b"


@pytest.mark.parametrize(
    "text",
    [
        *("a:b", "http://[::1]:80/", "urn:isbn:1", "tag:a@b.org,2004-01-02:", "mailto:a@b", "x:"),
        *("TAG:a.b,2005:x", "http://[v1.a+b]/", "a:b?\ue000", "a://u:p@[1::2.3.4.5]:80/"),
    ],
)
def test_absolute_iris(text: str) -> None:
    assert is_absolute(text) and is_reference(text)


@pytest.mark.parametrize(
    "text",
    [
        *("1:b", "http://", "http:///x", "urn:isbn", "tag:a", "a:b c", "a:%", "http://[x", ":", "::"),
        *("http://[1:2:3]/", "http://[::::]/", "http://[::1%25a]/", "a:\ue000", "a:b#\ue000"),
        *("a:\U0001fffe", "a:\U000e0001", "urn:\u212a:x"),
    ],
)
def test_what_is_no_absolute_iri(text: str) -> None:
    assert not is_absolute(text)


@pytest.mark.parametrize("text", ["", "x", "../x", "?a:b", "#f", "//h/x", "é"])
def test_references_that_are_not_absolute(text: str) -> None:
    assert is_reference(text) and not is_absolute(text)


def test_a_first_segment_has_no_colon() -> None:
    assert not any(map(is_reference, [":a", ":", "::"])) and all(map(is_reference, ["./:a", "a/:b", "/:"]))


def test_relations_are_words_or_absolute_iris() -> None:
    assert all(map(is_relation, ["self", "é", "a.b", "http://e.org/x"]))
    assert not any(map(is_relation, ["", "a/b", "a b", "?x", "\ue000", "%zz"]))


def test_languages() -> None:
    assert all(map(is_language, ["en", "de-AT", "zh-Hant-TW", "x-y", "i-klingon"]))
    assert not any(map(is_language, ["", "en_GB", "e n", "-", "en-", "toolonglanguage", "é"]))


def test_media_types() -> None:
    assert all(
        map(is_media_type, ["a/b", "text/html; charset=utf-8", 'a/b;c="d;e"', "application/x.y-z+xml"])
    )
    assert not any(map(is_media_type, ["", "a", "a/", "/b", "a/b/c", "a b/c", "a/b; c", "*"]))
    assert not any(
        map(is_media_type, ["*/*", "a/*", "a/b;", "a/b ", "a/b;\xa0c=d", "a/b; c =d", "a" * 128 + "/b"])
    )
    assert is_xml_type("image/svg+xml; charset=utf-8") and is_xml_type("Text/XML")
    assert is_base64_type("image/png") and not is_base64_type("TEXT/css") and not is_base64_type("a/b+xml")


def test_addresses() -> None:
    assert all(map(is_email, ["a@b", "a.b+c@d-e.org", '"a b"@c', "a@[192.0.2.1]", "ü@ü.de", "a@b_c", '""@b']))
    assert not any(map(is_email, ["", "a", "@b", "a@", "a b@c", "a@b c", "a@b.", ".a@b", "A <a@b>", "a@b@c"]))
