"""Signed bytes: what is written is read, and what is not ours to accept is refused."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.atom import read_signed_descriptor, read_signed_entry, write_descriptor, write_entry
from contentdb.errors import RemoteError, UsageError
from contentdb.model import (
    MAX_SIGNED_BYTES,
    Category,
    Content,
    Enclosure,
    Entry,
    Feed,
    Link,
    Person,
    Text,
    Time,
)
from contentdb.names import AuthorKey, EntryId, FeedId, Root
from contentdb.xmlguard import Library
from tests.contentdb.atom_examples import details, entries, feeds

ALICE = AuthorKey("ab" * 32)
LIBRARIES: tuple[Library, ...] = ("lxml", "etree")
ENTRY = Entry(
    id=EntryId("urn:uuid:1"),
    title=Text("Corner of 5th"),
    updated=1_700_000_000_123,
    feed=FeedId("urn:uuid:2"),
    author=ALICE,
    attributes={"genre": "jazz", "n": 3, "lat": 59.5, "live": True, "at": Time(0)},
    enclosures=(Enclosure("a.ogg", "audio/ogg", 5, Root("cd" * 32)),),
)
FEED = Feed(FeedId("urn:uuid:2"), Text("Street music"), 1_700_000_000_000, signer=ALICE, sequence=4)


@settings(max_examples=150)
@given(entries)
def test_an_entry_is_read_as_it_was_written_by_both_libraries(entry: Entry) -> None:
    data = write_entry(entry)
    for library in LIBRARIES:
        read = read_signed_entry(data, library=library)
        assert read == entry
        assert details(read) == details(entry)
    assert write_entry(read) == data


@settings(max_examples=80)
@given(feeds)
def test_a_descriptor_is_read_as_it_was_written_by_both_libraries(feed: Feed) -> None:
    data = write_descriptor(feed)
    for library in LIBRARIES:
        assert details(read_signed_descriptor(data, library=library)) == details(feed)
    assert write_descriptor(feed) == data


def test_attributes_are_written_in_the_order_of_their_names() -> None:
    backwards = replace(ENTRY, attributes=dict(reversed(list(ENTRY.attributes.items()))))
    assert write_entry(backwards) == write_entry(ENTRY)


@pytest.mark.parametrize("library", LIBRARIES)
@given(st.data())
@settings(max_examples=100)
def test_damaged_bytes_are_refused_or_read_but_never_crash(library: Library, data: st.DataObject) -> None:
    whole = write_entry(ENTRY)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 20)))
    damaged = whole[:start] + data.draw(st.binary(max_size=6)) + whole[end:]
    try:
        read_signed_entry(damaged, library=library)
    except RemoteError as error:
        assert str(error)


@pytest.mark.parametrize("library", LIBRARIES)
@given(rubbish=st.binary(max_size=200))
def test_rubbish_is_refused(library: Library, rubbish: bytes) -> None:
    with pytest.raises(RemoteError):
        read_signed_entry(rubbish, library=library)
    with pytest.raises(RemoteError):
        read_signed_descriptor(rubbish, library=library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_truncation_is_refused(library: Library) -> None:
    whole = write_entry(ENTRY)
    for length in range(len(whole)):
        with pytest.raises(RemoteError):
            read_signed_entry(whole[:length], library=library)


def test_an_entry_is_no_descriptor_and_the_other_way_round() -> None:
    with pytest.raises(RemoteError, match="expected the element"):
        read_signed_descriptor(write_entry(ENTRY))
    with pytest.raises(RemoteError, match="expected the element"):
        read_signed_entry(write_descriptor(FEED))


REFUSED = {
    "a missing feed": ("<p:feed>urn:uuid:2</p:feed>", ""),
    "a second title": ("<title>", "<title>x</title><title>"),
    "a second author key": ("<p:author>", f"<p:author>{ALICE}</p:author><p:author>"),
    "a key in capitals": (ALICE, ALICE.upper()),
    "a relative id": ("urn:uuid:1", "uuid-1"),
    "a time in another zone": ("20.123Z", "20.123+00:00"),
    "a time without milliseconds": ("20.123Z", "20Z"),
    "a day that does not exist": ("2023-11-14", "2023-11-31"),
    "an hour that does not exist": ("T22:13:20.123Z", "T24:00:00.000Z"),
    "elements inside an attribute": (">3<", "><b xmlns=''/>3<"),
    "elements inside a title": ("Corner", "<b/>Corner"),
    "an unknown Atom element": ("</entry>", "<foo/></entry>"),
    "an unknown text type": ("<title>", '<title type="text/html">'),
    "an integer beyond 64 bits": (">3<", ">9223372036854775808<"),
    "an integer with a plus": (">3<", ">+3<"),
    "an integer in other digits": (">3<", ">\u0663<"),
    "a decimal that is infinite": ("59.5", "1e999"),
    "a decimal that is no number": ("59.5", "nan"),
    "a decimal with an underscore": ("59.5", "5_9.5"),
    "a decimal with a blank": ("59.5", " 59.5"),
    "a boolean in capitals": (">true<", ">True<"),
    "an unknown attribute type": ('type="integer"', 'type="number"'),
    "an attribute named twice": ('name="n"', 'name="lat"'),
    "an attribute with a built-in name": ('name="n"', 'name="title"'),
    "a negative length": ('length="5"', 'length="-5"'),
    "a root that is too short": ("cd" * 32, "cd" * 31),
    "a media type without a slash": ("audio/ogg", "audio"),
    "a comment with two hyphens": ("<title>", "<!-- -- --><title>"),
    "a processing instruction": ("<title>", "<?php?><title>"),
    "a retraction that says something": ("</entry>", "<p:retracted>no</p:retracted></entry>"),
    "words beside a div": (
        "</entry>",
        '<rights type="xhtml">x<div xmlns="http://www.w3.org/1999/xhtml"/></rights></entry>',
    ),
    "a no-break space beside a div": (
        "</entry>",
        '<rights type="xhtml">&#160;<div xmlns="http://www.w3.org/1999/xhtml"/></rights></entry>',
    ),
    "a bad language": ("<title>", '<title xml:lang="not a language">'),
    "a bad language of a name": ("</entry>", '<author><name xml:lang="?">A</name></author></entry>'),
    "a bad language of a label": ("</entry>", '<category xml:lang="?" term="a"/></entry>'),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_breaks_the_form_is_refused(what: str, library: Library) -> None:
    old, new = REFUSED[what]
    text = write_entry(ENTRY).decode()
    assert old in text
    with pytest.raises(RemoteError):
        read_signed_entry(text.replace(old, new, 1).encode(), library=library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_elements_of_ours_from_a_later_version_are_passed_over(library: Library) -> None:
    data = write_entry(ENTRY).replace(b"</entry>", b'<p:mood level="3">good</p:mood></entry>')
    assert read_signed_entry(data, library=library) == ENTRY


def test_a_doctype_is_refused() -> None:
    with pytest.raises(RemoteError, match="DOCTYPE"):
        read_signed_entry(b'<!DOCTYPE entry [<!ENTITY a "b">]>' + write_entry(ENTRY))


@pytest.mark.parametrize(
    "entry",
    [
        replace(ENTRY, title=Text("nul \0")),
        replace(ENTRY, title=Text("lone \ud800")),
        replace(ENTRY, title=Text("<b>no div</b>", "xhtml")),
        replace(ENTRY, title=Text("<div>not XHTML</div>", "xhtml")),
        replace(ENTRY, title=Text("x", "markdown")),
        replace(ENTRY, links=(Link("relative.html"),)),
        replace(ENTRY, categories=(Category("x", scheme="no scheme"),)),
        replace(ENTRY, authors=(Person("x", email="nobody"),)),
        replace(ENTRY, language="not a language"),
        replace(ENTRY, content=Content("image/png", "not base64!")),
        replace(ENTRY, content=Content("text", "both", "http://example.org/")),
        replace(ENTRY, content=Content("html", "", "http://example.org/")),
        replace(ENTRY, extensions=("<a/><b/>",)),
        replace(ENTRY, extensions=("<title xmlns='http://www.w3.org/2005/Atom'>x</title>",)),
        replace(ENTRY, extensions=("</entry><entry>",)),
        replace(ENTRY, extensions=("<a>" * 64 + "</a>" * 64,)),
        replace(ENTRY, summary=Text("x" * MAX_SIGNED_BYTES)),
        replace(ENTRY, feed=None),
        replace(ENTRY, author=None),
        replace(ENTRY, id=EntryId("not absolute")),
    ],
)
def test_what_cannot_be_written_is_a_usage_error_with_advice(entry: Entry) -> None:
    with pytest.raises(UsageError):
        write_entry(entry)


def test_a_descriptor_needs_its_signer() -> None:
    with pytest.raises(UsageError, match="signer"):
        write_descriptor(replace(FEED, signer=None))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_long_word_before_a_colon_is_looked_at_once(library: Library) -> None:
    extension = f'<x xmlns="urn:x">{"a" * (MAX_SIGNED_BYTES - 2_000)} :</x></entry>'
    data = write_entry(ENTRY).replace(b"</entry>", extension.encode())
    assert len(read_signed_entry(data, library=library).extensions) == 1


def test_prefixes_inside_values_of_an_extension_keep_their_meaning() -> None:
    markup = '<v xmlns="urn:v" xmlns:xs="urn:xs" xmlns:i="urn:i" i:type="xs:date" unused="1"/>'
    read = read_signed_entry(write_entry(replace(ENTRY, extensions=(markup,))))
    assert read.extensions == (
        '<v xmlns="urn:v" xmlns:i="urn:i" xmlns:xs="urn:xs" i:type="xs:date" unused="1"/>',
    )
