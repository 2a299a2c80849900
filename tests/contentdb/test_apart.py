"""Documents that keep a forgiving parser busy for hours keep nobody else busy."""

from pathlib import Path

import pytest

from contentdb.apart import SMALL_BYTES, read_apart
from contentdb.errors import UsageError
from contentdb.foreign import FeedFile, declares
from contentdb.lenient import read_leniently
from tests.contentdb.makers import NOW

RSS = b"""<rss version="2.0"><channel><title>Talks</title><link>https://talks.example/</link>
<item><guid>1</guid><title>&lt;b&gt;One</title><category>a</category><author>ada@example.org (Ada)</author>
<enclosure url="https://talks.example/1.mp3" type="audio/mpeg" length="9"/></item></channel></rss>"""
OPEN_COMMENTS = (
    b'<rss version="2.0"><channel><title>x</title><item><description><![CDATA['
    + b"<!--" * 1_000_000
    + b"]]></description></item></channel></rss>"
)


def test_what_is_read_apart_is_what_would_be_read_here() -> None:
    large, address = RSS + b" " * SMALL_BYTES, "https://talks.example/feed"
    for data in (RSS, large):
        assert read_apart(data, NOW) == read_leniently(data, NOW)
        assert read_apart(data, NOW, address) == read_leniently(data, NOW, address)
    assert read_apart(b"no feed", NOW) is read_apart(b"no feed" * SMALL_BYTES, NOW) is None


def test_a_document_that_takes_hours_is_given_up() -> None:
    with pytest.raises(UsageError, match="longer than 2 s"):
        read_apart(OPEN_COMMENTS, NOW, patience_s=2.0)


@pytest.mark.parametrize("part", [b"<!--", b"<?", b"<!", b"< ", b"<!-- --><!", b"<"])
def test_looking_for_declarations_ends_for_what_never_ends(part: bytes) -> None:
    """With a step back for each of them, this would not end within hours."""
    with pytest.raises(UsageError, match="DOCTYPE"):
        FeedFile.of(b"<!DOCTYPE x>" + part * 300_000, Path("x"), NOW)
    assert not declares(part * 300_000)


DECLARED = [
    b'<!DOCTYPE rss [<!ENTITY a "b">]><rss/>',
    b"<?xml version='1.0'?><!-- <rss> --><! doctype rss><rss/>",
    b"  \n<!-- > --><!-- <?x -->\n<!ENTITY a 'b'><rss/>",
    '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE rss><rss/>'.encode("utf-16"),
]


@pytest.mark.parametrize("data", DECLARED)
def test_declarations_are_found_where_xml_has_them(data: bytes) -> None:
    with pytest.raises(UsageError, match="DOCTYPE"):
        FeedFile.of(data, Path("x"), NOW)


def test_declarations_in_comments_and_texts_are_texts() -> None:
    quoted = RSS.replace(b"<item>", b"<!-- <!DOCTYPE x> --><item>").replace(
        b"One", b"<![CDATA[<!DOCTYPE html>]]>"
    )
    assert len(FeedFile.of(b"<!-- <!DOCTYPE x> -->" + quoted, Path("x"), NOW).entries) == 1
