"""Exports: valid Atom for everybody, and signatures that survive for who knows passerby."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.atom import (
    parse_feed,
    read_signed_descriptor,
    read_signed_entry,
    signed_of,
    without_ours,
    write_descriptor,
    write_entry,
    write_feed,
)
from contentdb.errors import RemoteError, UsageError
from contentdb.identity import AuthorSecret, verify_descriptor, verify_entry
from contentdb.model import (
    MAX_SIGNED_BYTES,
    Content,
    Enclosure,
    Entry,
    Feed,
    Link,
    Person,
    Source,
    Text,
)
from contentdb.names import EntryId, FeedId, Root
from tests.contentdb.atom_examples import details, entries, feeds

ALICE = AuthorSecret.from_bytes(bytes(range(32)))
FEED = Feed(FeedId("urn:uuid:2"), Text("Street music"), 1_000, signer=ALICE.key, language="en")
ENTRY = Entry(
    id=EntryId("urn:uuid:1"),
    title=Text("Corner of 5th"),
    updated=5_000,
    feed=FEED.id,
    author=ALICE.key,
    enclosures=(Enclosure("take 1.ogg", "audio/ogg", 5, Root("cd" * 32)),),
)
SIGNED_FEED = ALICE.sign_descriptor(write_descriptor(FEED))
SIGNED_ENTRY = ALICE.sign_entry(write_entry(ENTRY))


def exported() -> bytes:
    return write_feed(FEED, [ENTRY], {ENTRY.key: SIGNED_ENTRY}, descriptor=SIGNED_FEED)


def test_an_export_is_valid_atom_and_its_signatures_still_verify() -> None:
    feed, (entry,) = parse_feed(exported())
    descriptor, signed = signed_of(feed), signed_of(entry)
    assert (descriptor, signed) == (SIGNED_FEED, SIGNED_ENTRY)
    assert descriptor is not None and signed is not None
    verify_descriptor(descriptor)
    verify_entry(signed)
    assert details(read_signed_descriptor(descriptor.data)) == details(FEED)
    assert details(read_signed_entry(signed.data)) == details(ENTRY)


def test_a_reader_that_knows_nothing_of_us_sees_links_and_an_author() -> None:
    feed, (entry,) = parse_feed(exported())
    assert feed.updated == 5_000
    assert entry.authors == (Person(ALICE.key),)
    assert entry.links == (
        Link("urn:passerby:enclosure:" + "cd" * 32, "enclosure", "audio/ogg", None, "take 1.ogg", 5),
    )
    assert entry.language is None


def test_the_caller_says_where_enclosures_are() -> None:
    data = write_feed(FEED, [ENTRY], href_of=lambda enclosure: f"files/{enclosure.root[:4]}")
    assert parse_feed(data, base="http://e.org/f/")[1][0].links[0].href == "http://e.org/f/files/cdcd"
    with pytest.raises(UsageError, match="href"):
        write_feed(FEED, [ENTRY], href_of=lambda enclosure: enclosure.name)


def test_without_signed_bytes_there_is_nothing_to_take_out() -> None:
    feed, (entry,) = parse_feed(write_feed(FEED, [ENTRY]))
    assert signed_of(feed) is None and signed_of(entry) is None


def test_an_import_can_sign_an_entry_anew() -> None:
    entry = without_ours(parse_feed(exported())[1][0])
    assert entry.extensions == ()
    write_entry(replace(entry, feed=FEED.id, author=ALICE.key))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('signature="', 'signature="AA'),
        ('author="', 'author="z'),
        ("<p:signed ", '<p:signed author="" signature="">%</p:signed><p:signed '),
        ("</p:signed>", "&#233;</p:signed>"),
    ],
)
def test_signed_bytes_that_cannot_be_are_refused(old: str, new: str) -> None:
    feed, _ = parse_feed(exported().decode().replace(old, new, 1).encode())
    with pytest.raises(RemoteError):
        signed_of(feed)


def test_what_atom_demands_is_filled_in() -> None:
    bare = replace(ENTRY, enclosures=())
    binary = replace(bare, content=Content("image/png", "Zm9v"))
    elsewhere = replace(bare, content=Content("video/mp4", "", "http://e.org/v"))
    twice = replace(bare, links=(Link("a:b"), Link("a:c"), Link("a:d", "related"), Link("a:d", "related")))
    _, (first, second, third, fourth) = parse_feed(write_feed(FEED, [bare, binary, elsewhere, twice]))
    assert first.content == Content()
    assert (second.summary, third.summary) == ("Corner of 5th", "Corner of 5th")
    assert [link.href for link in fourth.links] == ["a:b", "a:d", "a:d"]


def foreign(inside: str = "", body: str = "", attributes: str = "") -> bytes:
    once = "<id>urn:x:1</id><title>T</title><updated>2003-12-13T18:30:02.000Z</updated>"
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom" {attributes}>{once}{inside}'
    return f"{feed}<entry>{once}{body}</entry></feed>".encode()


ANN, TEXT = "<author><name>Ann</name></author>", "<content>c</content>"
ALTERNATE = '<link rel="http://www.iana.org/assignments/relation/alternate" href="a:b"/>'
XML = '<content type="text/xml">'
WRITTEN_AGAIN = {
    "an author of the feed": foreign(ANN, TEXT),
    "an author of the source": foreign("", f"{TEXT}<source>{ANN}</source>"),
    "a relation by its IRI": foreign(ANN, ALTERNATE),
    "content at an empty reference": foreign(ANN, '<summary/><content src=""/>'),
    "long content": foreign(ANN, f'{XML}<a xmlns="">{"x" * MAX_SIGNED_BYTES}</a></content>'),
    "deep content": foreign(ANN, f'{XML}<a xmlns="">{"<b>" * 150}{"</b>" * 150}</a></content>'),
    "many elements": foreign(ANN, f'{XML}<a xmlns="">{"<b/>" * 10_001}</a></content>'),
    "many attributes": foreign(
        ANN + "<e xmlns='urn:e' " + " ".join(f"a{n}=''" for n in range(70)) + "/>", TEXT
    ),
    "languages": foreign(
        '<author xml:lang="fr"><name>Zoé</name><x a="b" xmlns="urn:x"/></author>'
        '<category term="t" label="Été" xml:lang="fr"/><link href="a:b" title="Été" xml:lang="fr"/>'
        '<generator xml:lang="">G</generator>',
        TEXT + '<category xml:lang="fr" term=""/>',
        'xml:lang="en"',
    ),
    "a base of extensions": foreign(ANN, TEXT + '<x r="y" xmlns="urn:x"/>', 'xml:base="http://b.org/"'),
    "a path like a scheme": foreign(ANN, TEXT + '<link href="./a:b" rel="self" xml:base="x"/>'),
    "a late time": foreign(ANN, f"{TEXT}<source><updated>9999-12-31T23:59:59-01:00</updated></source>"),
}


@pytest.mark.parametrize("what", WRITTEN_AGAIN)
def test_what_was_parsed_is_written_and_parsed_again_the_same(what: str) -> None:
    feed, (entry,) = parse_feed(WRITTEN_AGAIN[what])
    again, (other,) = parse_feed(write_feed(feed, [entry]))
    assert (details(again), details(other)) == (details(feed), details(entry))


def test_an_entry_document_is_written_again_without_a_made_up_author() -> None:
    _, _, inside = foreign("", f"{TEXT}<source>{ANN}</source>").decode().partition("<entry>")
    document = '<entry xmlns="http://www.w3.org/2005/Atom">' + inside.removesuffix("</feed>")
    feed, (entry,) = parse_feed(document.encode())
    assert parse_feed(write_feed(feed, [entry]))[1][0].authors == ()


def test_who_signed_an_entry_is_named_even_beside_the_author_of_the_feed() -> None:
    feed = replace(FEED, authors=(Person("Ann"),))
    assert parse_feed(write_feed(feed, [ENTRY]))[1][0].authors == (Person(ALICE.key),)


def test_an_export_that_was_parsed_is_written_again_with_its_signed_bytes() -> None:
    feed, (entry,) = parse_feed(write_feed(*parse_feed(exported())))
    assert (signed_of(feed), signed_of(entry)) == (SIGNED_FEED, SIGNED_ENTRY)


def test_other_elements_in_our_namespace_are_left_out_wherever_they_stand() -> None:
    ours = '<x xmlns="urn:passerby:1"/><signed xmlns="urn:passerby:1">?</signed>'
    author = f"<author><name>Ann</name>{ours}</author>"
    data = write_feed(*parse_feed(foreign(author + ours, f"{TEXT}{ours}<source>{author}{ours}</source>")))
    feed, (entry,) = parse_feed(data)
    assert feed.extensions == entry.extensions == ()
    assert entry.source == Source(authors=(Person("Ann"),)) and feed.authors == (Person("Ann"),)


def test_what_xml_cannot_carry_is_not_exported() -> None:
    with pytest.raises(UsageError, match="U\\+0000"):
        write_feed(replace(FEED, title=Text("\0")), [])


@settings(max_examples=60)
@given(feeds, st.lists(entries, max_size=2))
def test_every_feed_exports_to_valid_atom(feed: Feed, listed: list[Entry]) -> None:
    read, others = parse_feed(write_feed(feed, listed))
    assert (read.id, read.title) == (feed.id, feed.title)
    assert [entry.title for entry in others] == [entry.title for entry in listed]
