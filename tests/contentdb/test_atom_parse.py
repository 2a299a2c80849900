"""parse_feed: every valid construct is kept, and what RFC 4287 forbids is refused by name and line."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.atom import AtomError, parse_entry, parse_feed
from contentdb.attributes import MAX_TIME, MIN_TIME
from contentdb.model import Category, Content, Entry, Feed, Generator, Link, Person
from contentdb.xmlguard import FEED, Library
from tests.contentdb.atom_examples import details

LIBRARIES: tuple[Library, ...] = ("lxml", "etree")
ATOM = "http://www.w3.org/2005/Atom"
XHTML = "http://www.w3.org/1999/xhtml"
HEAD = "<title>Robots</title><updated>2003-12-13T18:30:02Z</updated><id>urn:uuid:60a76c80</id>"
AUTHOR = "<author><name>John Doe</name></author>"
LINK = '<link href="http://example.org/1"/>'
BODY = f"<title>Run</title><id>urn:uuid:1225c695</id><updated>2003-12-13T18:30:02Z</updated>{LINK}"


def document(head: str = "", body: str = "", *, attributes: str = "", author: str = AUTHOR) -> bytes:
    entry = f"<entry>{BODY}{body}</entry>"
    return f'<feed xmlns="{ATOM}" {attributes}>\n{HEAD}{author}{head}\n{entry}\n</feed>'.encode()


def feed_of(head: str = "", **others: str) -> Feed:
    return both(document(head, **others))[0]


def entry_of(body: str = "", **others: str) -> Entry:
    return both(document(body=body, **others))[1][0]


def both(data: bytes) -> tuple[Feed, list[Entry]]:
    """What lxml reads, after a look at what xml.etree reads: it must be the same."""
    feed, entries = parse_feed(data, library="lxml")
    again, others = parse_feed(data, library="etree")
    assert details(feed) == details(again)
    assert [details(entry) for entry in entries] == [details(entry) for entry in others]
    return feed, entries


def refused(data: bytes) -> str:
    messages = []
    for library in LIBRARIES:
        with pytest.raises(AtomError) as caught:
            parse_feed(data, library=library)
        assert isinstance(caught.value, ValueError) and caught.value.line >= 1
        messages.append(str(caught.value))
    return messages[0]


def test_a_brief_feed_is_read() -> None:
    feed, (entry,) = both(document())
    assert (feed.id, feed.title, feed.updated) == ("urn:uuid:60a76c80", "Robots", 1_071_340_202_000)
    assert feed.authors == (Person("John Doe"),)
    assert (entry.id, entry.title, entry.links) == (
        "urn:uuid:1225c695",
        "Run",
        (Link("http://example.org/1"),),
    )
    assert (feed.signer, entry.author, entry.feed) == (None, None, None)


def test_all_that_describes_a_feed_is_kept() -> None:
    feed = feed_of(
        '<subtitle type="html">A &lt;em&gt;lot&lt;/em&gt;</subtitle><rights>Copyright</rights>'
        '<generator uri="/gen" version="1.0">Toolkit</generator><icon>i.png</icon><logo>l.png</logo>'
        '<category term="t" scheme="http://s.org/" label="T"/><contributor><name>Sam</name></contributor>'
        '<link rel="self" type="application/atom+xml" href="feed.atom"/>',
        attributes='xml:base="http://example.org/a/" xml:lang="en"',
    )
    assert (feed.subtitle, feed.subtitle and feed.subtitle.type) == ("A <em>lot</em>", "html")
    assert feed.generator == Generator("Toolkit", "http://example.org/gen", "1.0")
    assert (feed.icon, feed.logo) == ("http://example.org/a/i.png", "http://example.org/a/l.png")
    assert feed.categories == (Category("t", "http://s.org/", "T"),)
    assert feed.contributors == (Person("Sam"),)
    assert feed.links == (Link("http://example.org/a/feed.atom", "self", "application/atom+xml"),)
    assert (feed.rights, feed.language) == ("Copyright", "en")


def test_bases_and_languages_are_inherited_and_overridden() -> None:
    entry = entry_of(
        '<link rel="related" href="x" xml:base="deep/"/><summary type="html" xml:lang="">y</summary>'
        '<content type="xhtml" xml:base="../c/" xml:lang="fr">'
        f'<div xmlns="{XHTML}"><a href="z">z</a></div></content>',
        attributes='xml:base="http://example.org/a/b/" xml:lang="en"',
    )
    assert entry.language == "en" and entry.title.language == "en"
    assert entry.links[1].href == "http://example.org/a/b/deep/x"
    assert entry.summary is not None and entry.summary.language == ""
    assert entry.summary.base == "http://example.org/a/b/"
    assert entry.content is not None
    assert (entry.content.base, entry.content.language) == ("http://example.org/a/c/", "fr")


def test_every_reference_is_resolved_where_it_stands() -> None:
    feed, (entry,) = both(
        document(
            '<icon xml:base="i/">x</icon><logo xml:base="/l/">x</logo>',
            '<summary/><content src="x" xml:base="c/"/>'
            '<author xml:base="p/"><name>N</name><uri xml:base="q/">x</uri></author>',
            attributes='xml:base="http://example.org/a/"',
        )
    )
    assert (feed.icon, feed.logo) == ("http://example.org/a/i/x", "http://example.org/l/x")
    assert entry.content is not None and entry.content.src == "http://example.org/a/c/x"
    assert entry.authors[0].uri == "http://example.org/a/p/q/x"


def test_the_place_of_the_document_is_the_first_base() -> None:
    feed, _ = parse_feed(document("<icon>/i.png</icon>"), base="http://example.org/feed.atom")
    assert feed.icon == "http://example.org/i.png"


def test_relative_references_stay_as_they_are_when_nobody_knows_a_base() -> None:
    assert feed_of("<icon>i.png</icon>").icon == "i.png"


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("<content>a &lt; b</content>", Content("text", "a < b")),
        ('<content type="html">&lt;b/></content>', Content("html", "<b/>")),
        ('<content type="html"><![CDATA[<b/>]]></content>', Content("html", "<b/>")),
        ('<content type="text/x-log">a\nb</content>', Content("text/x-log", "a\nb")),
        ('<summary/><content type="image/png"> Zm9v\nZg== </content>', Content("image/png", "Zm9vZg==")),
        (
            '<summary/><content src="http://e.org/v" type="video/mp4"/>',
            Content("video/mp4", "", "http://e.org/v"),
        ),
        ('<summary/><content src="http://e.org/v"/>', Content("text", "", "http://e.org/v")),
        (
            '<content type="image/svg+xml">\n <svg xmlns="urn:svg"><x:g xmlns:x="urn:x"/></svg>\n</content>',
            Content("image/svg+xml", '<svg xmlns="urn:svg"><x:g xmlns:x="urn:x"/></svg>'),
        ),
        (
            f'<content type="xhtml"> <h:div xmlns:h="{XHTML}">A <h:b>b</h:b></h:div> </content>',
            Content("xhtml", f'<h:div xmlns:h="{XHTML}">A <h:b>b</h:b></h:div>'),
        ),
    ],
)
def test_every_kind_of_content_is_kept(body: str, content: Content) -> None:
    assert entry_of(body).content == content


def test_a_source_is_kept() -> None:
    source = entry_of(
        f"<source>{HEAD}{AUTHOR}<subtitle>S</subtitle><link href='http://o.org/'/><x xmlns='urn:x'/></source>"
    ).source
    assert source is not None
    assert (source.id, source.title, source.authors) == ("urn:uuid:60a76c80", "Robots", (Person("John Doe"),))
    assert source.extensions == ('<x xmlns="urn:x"/>',)


def test_a_source_may_say_little() -> None:
    assert entry_of("<source/>").source is not None


def test_enclosures_and_other_links_are_kept() -> None:
    entry = entry_of(
        '<link rel="enclosure" type="audio/mpeg" length="1337" title="T" hreflang="en" href="a:b"/>'
    )
    assert entry.links[1] == Link("a:b", "enclosure", "audio/mpeg", "en", "T", 1337)


def test_foreign_markup_is_kept_and_stands_alone() -> None:
    attributes = 'xmlns:d="urn:d" xmlns:unused="urn:u" version="1" d:x="y"'
    feed = feed_of('<d:e f="d:g"><h xmlns="urn:h"/></d:e>', attributes=attributes)
    assert feed.extensions == ('<d:e xmlns:d="urn:d" f="d:g"><h xmlns="urn:h"/></d:e>',)
    person = feed_of("<contributor d:k='1'><name>N</name><d:m/></contributor>", attributes=attributes)
    assert person.contributors[0].extensions == ('<d:m xmlns:d="urn:d"/>',)


VALID_BODIES = {
    "same id twice": f"</entry><entry>{BODY}",
    "related links alike": '<link rel="related" href="a:b"/><link rel="related" href="a:c"/>',
    "alternates of other types": '<link type="a/b" href="a:b"/><link type="a/b" hreflang="de" href="a:b"/>',
    "an unregistered relation": '<link rel="foo" href="a:b"/><link rel="http://e.org/x" href="a:b"/>',
    "an empty reference": '<link rel="related" href=""/>',
    "a link with foreign content": "<link rel='related' href='a:b'>words<x xmlns='urn:x'/></link>",
    "an undefined attribute": '<link rel="related" href="a:b" foo="bar"/>',
    "a blank name": "<author><name/></author>",
    "a blank term": '<category term=""/>',
    "a name with markup in it": "<author><name>&lt;b>N&lt;/b></name></author>",
    "an address with a plus": "<author><name>N</name><email>a+b@example.org</email></author>",
    "an IRI with a comma": "<author><name>N</name><uri>http://e.org/a,b</uri></author>",
    "an IRI beyond ASCII": "<author><name>N</name><uri>http://例え.jp/ü</uri></author>",
    "a reference without scheme": '<link rel="related" href="//example.org/x"/>',
    "a colon in a query": '<link rel="related" href="?foo=1:2"/>',
    "a fraction of a second": "<published>2003-12-13T18:30:02.25Z</published>",
    "an offset": "<published>2003-12-13T18:30:02.25+01:00</published>",
    "a leap second": "<published>1998-12-31T23:59:60Z</published>",
    "scripts in content": "<content type='html'>&lt;script>1&lt;/script></content>",
    "SVG within XHTML": f"<content type='xhtml'><div xmlns='{XHTML}'><svg xmlns='urn:svg'/></div></content>",
    "a comment": "<!-- nothing -->",
    "an instruction": "<?php nothing ?>",
    "an empty title": "</entry><entry>" + BODY.replace("Run", ""),
    "words beside XML": '<content type="image/svg+xml">x<svg xmlns="urn:svg"/></content>',
    "a length that is no number": '<link rel="related" length="many" href="a:b"/>',
    "blanks in content elsewhere": '<summary/><content src="a:b"> </content>',
    "like alternates in a source": f"<source>{LINK}{LINK}</source>",
    "empty CDATA between elements": "<rights/><![CDATA[]]><summary/>",
    "blanks around an address": "<author><name>N</name><email> a@b\n</email></author>",
    "ids that are no ids": "<x xmlns='urn:x' xml:id='1 2'><y xml:id='é'/><y xml:id='é'/></x>",
    "namespaces of many kinds": "".join(
        f"<x xmlns='{uri}'/>" for uri in ("file:///ns", "http://u@h/ns", "http://[::1]:80/ns", "//h/ns")
    ),
}


@pytest.mark.parametrize("what", VALID_BODIES)
def test_what_is_valid_is_accepted(what: str) -> None:
    assert both(document(body=VALID_BODIES[what]))[1]


INVALID_BODIES = {
    "a second title": "<title>x</title>",
    "a second id": "<id>urn:x:y</id>",
    "a second updated": "<updated>2003-12-13T18:30:02Z</updated>",
    "two published": "<published>2003-12-13T18:30:02Z</published>" * 2,
    "two summaries": "<summary/><summary/>",
    "two contents": "<content/><content/>",
    "two rights": "<rights/><rights/>",
    "two sources": "<source/><source/>",
    "an alternate twice": LINK,
    "an alternate twice, once by its IRI": LINK.replace(
        "href", 'rel="http://www.iana.org/assignments/relation/alternate" href'
    ),
    "an unknown Atom element": "<modified>2003-12-13T18:30:02Z</modified>",
    "words between elements": "words",
    "an entry in an entry": f"<entry>{BODY}</entry>",
    "an entry in a source": f"<source><entry>{BODY}</entry></source>",
    "two ids in a source": "<source><id>a:b</id><id>a:b</id></source>",
    "an unknown element in a person": "<author><name>N</name><foo/></author>",
    "a person without a name": "<author><email>a@example.org</email></author>",
    "a person with two names": "<author><name>N</name><name>N</name></author>",
    "a bad address": "<author><name>N</name><email>a at example.org</email></author>",
    "a bad IRI": "<author><name>N</name><uri>http://e.org/ x</uri></author>",
    "a category without term": '<category label="x"/>',
    "a scheme that is no IRI": '<category term="x" scheme="y"/>',
    "a link without href": '<link rel="related"/>',
    "a link to no IRI": '<link rel="related" href="http://"/>',
    "a link with an empty relation": '<link rel="" href="a:b"/>',
    "a link with a bad type": '<link rel="related" type="audio" href="a:b"/>',
    "a link with a bad language": '<link rel="related" hreflang="12 34" href="a:b"/>',
    "an unknown type of text": '<summary type="text/plain">x</summary>',
    "markup in plain text": f'<summary><b xmlns="{XHTML}">x</b></summary>',
    "markup in html": f'<summary type="html"><b xmlns="{XHTML}">x</b></summary>',
    "xhtml without div": f'<summary type="xhtml"><b xmlns="{XHTML}">x</b></summary>',
    "xhtml with two divs": f'<summary type="xhtml"><div xmlns="{XHTML}"/><div xmlns="{XHTML}"/></summary>',
    "xhtml with words beside": f'<summary type="xhtml">x<div xmlns="{XHTML}"/></summary>',
    "a div of another namespace": '<summary type="xhtml"><div>x</div></summary>',
    "no namespace within xhtml": f'<summary type="xhtml"><div xmlns="{XHTML}"><b xmlns=""/></div></summary>',
    "content that is no base64": '<summary/><content type="image/png">insert image</content>',
    "base64 without summary": '<content type="image/png">Zm9v</content>',
    "content elsewhere without summary": '<content type="image/png" src="a:b"/>',
    "content elsewhere and here": '<summary/><content type="text/plain" src="a:b">x</content>',
    "content elsewhere of type html": '<summary/><content type="html" src="a:b"/>',
    "content of a composite type": '<content type="multipart/alternative">x</content>',
    "content of a composite type in capitals": '<summary/><content type="MESSAGE/rfc822">Zm9v</content>',
    "content of no media type": '<content type="foo">x</content>',
    "elements in content of type text/plain": '<content type="text/plain"><b/></content>',
    "base64 of other characters": '<summary/><content type="image/png">é</content>',
    "base64 with too many signs at its end": '<summary/><content type="image/png">aGFs====</content>',
    "base64 with a no-break space": '<summary/><content type="image/png">aGFs&#160;bG8=</content>',
    "content at an empty reference without summary": '<content src=""/>',
    "a no-break space between elements": "<rights/>&#160;<summary/>",
    "a no-break space beside a div": f'<summary type="xhtml">&#160;<div xmlns="{XHTML}"/></summary>',
    "a reference that its base cannot resolve": '<link rel="related" href="a" xml:base="urn:x:y"/>',
    "a base that its base cannot resolve": '<source xml:base="urn:x:y"><title xml:base="a"/></source>',
    "a bad language": '<summary xml:lang="no language">x</summary>',
    "a bad base": '<summary xml:base="not an iri">x</summary>',
    "an entity": "<summary>&nbsp;</summary>",
}


@pytest.mark.parametrize("what", INVALID_BODIES)
def test_what_is_invalid_in_an_entry_is_refused(what: str) -> None:
    refused(document(body=INVALID_BODIES[what]))


@pytest.mark.parametrize(
    "time",
    [
        *(
            "",
            "2003",
            "2003-12",
            "2003-12-13",
            "2003-12-13T18:30Z",
            "2003-12-13T18:30:02",
            "03-12-13T18:30:02Z",
        ),
        *(
            " 2003-12-13T18:30:02Z",
            "2003-12-13T18:30:02Z\n",
            "2003-12-13 T 18:30:02Z",
            "2003-12-13 18:30:02Z",
        ),
        *("2003-12-13t18:30:02z", "20031213T183002Z", "2003-12-13T18:30:02+0100", "2003-12-13T18:30:02.Z"),
        *("2003-02-29T18:30:02Z", "2003-13-01T18:30:02Z", "2003-00-01T18:30:02Z", "2003-11-31T18:30:02Z"),
        *("2003-12-13T24:30:02Z", "2003-12-13T18:60:02Z", "2003-12-13T18:30:61Z", "2003-12-13T18:30:60Z"),
        *("Sat, 13 Dec 2003 18:30:02 GMT", "0000-02-30T18:30:02Z", "2003-12-13T23:59:60Z"),
        *("2003-12-13T18:30:02+25:00", "２003-12-13T18:30:02Z"),
    ],
)
def test_a_malformed_time_is_refused(time: str) -> None:
    assert "published" in refused(document(body=f"<published>{time}</published>"))


@pytest.mark.parametrize(
    "iri",
    [
        "",
        "relative",
        "/path",
        " a:b",
        "a:b\n",
        "http:",
        "http:x",
        "urn:x",
        "tag:x",
        "a b:c",
        "http://e.org/%zz",
    ],
)
def test_an_id_must_be_an_absolute_iri(iri: str) -> None:
    assert "id: must be" in refused(document().replace(b"urn:uuid:1225c695", iri.encode()))


@pytest.mark.parametrize("name", ["id", "title", "updated"])
def test_required_elements_are_missed(name: str) -> None:
    whole = document().decode()
    for start in (0, whole.index("<entry>")):
        kept = whole[:start] + re.sub(f"<{name}>.*?</{name}>", "", whole[start:], count=1)
        assert f"the element {name} is missing" in refused(kept.encode())


@pytest.mark.parametrize(
    "name", ["title", "subtitle", "generator", "rights", "icon", "logo", "id", "updated"]
)
def test_a_feed_has_its_metadata_once(name: str) -> None:
    inside = {"updated": "2003-12-13T18:30:02Z"}.get(name, "a:b")
    assert "twice" in refused(document(f"<{name}>{inside}</{name}>" * 2))


def test_metadata_comes_before_the_entries() -> None:
    assert "after an entry" in refused(document().replace(b"</feed>", b"<subtitle/></feed>"))
    assert both(document().replace(b"</feed>", b"<x xmlns='urn:x'/></feed>"))[0].extensions


def test_the_author_may_stand_in_the_feed_the_entry_or_the_source() -> None:
    assert both(document())
    assert both(document(body=AUTHOR, author=""))
    assert both(document(body=f"<source>{AUTHOR}</source>", author=""))
    assert "no author" in refused(document(author=""))
    assert parse_feed(f'<feed xmlns="{ATOM}">{HEAD}</feed>'.encode())[1] == []


def test_an_entry_needs_content_or_an_alternate_link() -> None:
    without = document().decode().replace(LINK, "")
    assert "content or a link" in refused(without.encode())
    assert both(without.replace("</entry>", "<content>x</content></entry>").encode())
    assert both(without.replace("</entry>", '<link rel="alternate" href="a:b"/></entry>').encode())
    assert refused(without.replace("</entry>", '<link rel="self" href="a:b"/></entry>').encode())


def test_a_refusal_names_the_element_and_its_line() -> None:
    message = refused(document(body="\n\n<published>yesterday</published>"))
    assert message.startswith("line 5: published: ") and "yesterday" in message


def test_a_second_alternate_link_is_named_with_its_line() -> None:
    assert refused(document(body=f"\n{LINK}")).startswith("line 4: link: ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    head = '<?xml version="1.0"\n encoding="iso-8859-1"\n?>\n'
    text = (head + document(body="\n<published/>").decode()).replace("\n", end)
    assert refused(text.encode("iso-8859-1")).startswith("line 7: published: ")


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("0000-01-01T00:00:00Z", MIN_TIME),
        ("0000-02-29T00:00:00Z", MIN_TIME),
        ("0001-01-01T00:00:00+00:01", MIN_TIME),
        ("0000-12-31T23:59:00-00:02", MIN_TIME + 60_000),
        ("9999-12-31T23:59:59-00:01", MAX_TIME),
        ("9999-12-31T23:59:60Z", MAX_TIME),
    ],
)
def test_a_time_outside_our_calendar_becomes_the_nearest_within(time: str, at: int) -> None:
    entry = entry_of(f"<published>{time}</published><source><updated>{time}</updated></source>")
    assert entry.published == at and entry.source is not None and entry.source.updated == at


def test_words_and_elements_mix_in_xml_content() -> None:
    entry = entry_of('<content type="text/xml">&#160;a <b xmlns="">c</b> </content>')
    assert entry.content == Content("text/xml", '\xa0a <b xmlns="">c</b> ')


def test_a_long_word_before_a_colon_is_looked_at_once() -> None:
    feed = feed_of(f'<x xmlns="urn:x">{"a" * 3_000_000} :</x>')
    assert len(feed.extensions[0]) > 3_000_000


def test_languages_of_names_labels_titles_and_generators_are_kept() -> None:
    french = 'xml:lang="fr"'
    feed = feed_of(
        f"<contributor {french}><name>Zoé</name><d:e a='b'>é</d:e></contributor>"
        f"<contributor {french}><name xml:lang='en'>Zoe</name></contributor>"
        f"<category term='t' label='Été' {french}/><link rel='self' href='a:b' {french}/>"
        f"<generator xml:lang=''>G</generator><category term='u' xml:lang='en'/>",
        attributes='xml:lang="en" xmlns:d="urn:d"',
    )
    assert [person.language for person in feed.contributors] == ["fr", None]
    assert feed.contributors[0].extensions == ('<d:e xmlns:d="urn:d" a="b" xml:lang="fr">é</d:e>',)
    assert [category.language for category in feed.categories] == ["fr", None]
    assert feed.links[0].language == "fr" and feed.generator == Generator("G", language="")


def test_an_extension_keeps_the_base_that_it_inherits() -> None:
    attributes = 'xml:base="http://b.org/c/" xmlns:d="urn:d"'
    feed = feed_of('<d:e r="x"/><d:e xml:base="f/"/><d:e>words</d:e>', attributes=attributes)
    assert feed.extensions == (
        '<d:e xmlns:d="urn:d" r="x" xml:base="http://b.org/c/"/>',
        '<d:e xmlns:d="urn:d" xml:base="http://b.org/c/f/"/>',
        '<d:e xmlns:d="urn:d">words</d:e>',
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b"<feed/>",
        b'<rss version="2.0"><channel/></rss>',
        b'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>x</title></feed>',
        b'<feed xmlns="http://www.w3.org/2005/atom"/>',
        b"<!DOCTYPE feed>" + document(),
        document()[:-3],
        document() + b"<feed/>",
        b" " * (FEED.size_bytes + 1),
    ],
)
def test_what_is_no_atom_document_is_refused(data: bytes) -> None:
    refused(data)


def test_an_entry_document_is_atom_too() -> None:
    data = f'<entry xmlns="{ATOM}">{BODY}{AUTHOR}<source>{HEAD}</source></entry>'.encode()
    feed, (entry,) = both(data)
    assert (feed.id, feed.title, entry.id) == ("urn:uuid:60a76c80", "Robots", "urn:uuid:1225c695")
    assert details(parse_entry(data)) == details(entry)
    assert both(data.replace(f"<source>{HEAD}</source>".encode(), b""))[0].id == "urn:uuid:1225c695"
    with pytest.raises(AtomError, match="expected an entry"):
        parse_entry(document())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_feeds_are_read_in_their_encoding(encoding: str) -> None:
    text = document("<subtitle>Ærø</subtitle>").decode()
    declared = encoding.removesuffix("-sig")
    data = f'<?xml version="1.0" encoding="{declared}"?>{text}'.encode(encoding)
    assert both(data)[0].subtitle == "Ærø"


@settings(max_examples=200)
@given(st.data())
def test_damaged_feeds_are_read_alike_or_refused_by_both(data: st.DataObject) -> None:
    whole = document("<subtitle type='html'>x</subtitle>", "<content type='text/x'>y</content>")
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 12)))
    damaged = whole[:start] + data.draw(st.binary(max_size=4)) + whole[end:]
    try:
        parse_feed(damaged)
    except AtomError:
        refused(damaged)
    else:
        both(damaged)
