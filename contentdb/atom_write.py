"""The deterministic writer: each construct of Atom, and the documents that authors sign.

The order of elements and attributes is fixed and nothing is put between them, so the same value always gives
the same bytes. docs/protocol/entry-v1.md says what they look like.
"""

from collections.abc import Iterable
from dataclasses import replace

from contentdb.atom_markup import (
    ATOM,
    DIV,
    NOT_IN_XML,
    OURS,
    canonical_element,
    canonical_inside,
    escape_value,
    namespace_of,
)
from contentdb.atom_markup import escape_text as escaped
from contentdb.atom_read import read_signed_descriptor, read_signed_entry
from contentdb.atom_values import format_time, is_xml_type
from contentdb.errors import RemoteError, UsageError
from contentdb.model import (
    MAX_SIGNED_BYTES,
    AttributeValue,
    Category,
    Content,
    Enclosure,
    Entry,
    Feed,
    Generator,
    Link,
    Person,
    Source,
    Text,
    Time,
)
from contentdb.xmlguard import FEED, XmlError, parse_xml

# Whatever parse_feed reads can be written again; what is signed is held to the smaller bounds as a whole.
MARKUP = replace(FEED, utf8_only=True, instructions=False)
NAMESPACES = f' xmlns="{ATOM}" xmlns:p="{OURS}"'


def write_entry(entry: Entry) -> bytes:
    """The bytes an author signs; UsageError, which says what to change, if Atom cannot say this entry."""
    return write_and_read_entry(entry)[0]


def write_and_read_entry(entry: Entry) -> tuple[bytes, Entry]:
    """The same, with the entry as others will read it from these bytes."""
    if entry.feed is None or entry.author is None:
        raise UsageError("an entry is signed for a feed and by an author; give it both before writing it")
    data = _encoded(f"<entry{NAMESPACES}{values(lang=entry.language)}>{_signed_parts(entry)}</entry>")
    try:
        return data, read_signed_entry(data)
    except RemoteError as error:
        raise UsageError(f"this entry cannot be published: {error}") from None


def write_descriptor(feed: Feed) -> bytes:
    """The bytes that describe a feed, for its signer to sign."""
    if feed.signer is None:
        raise UsageError("a feed's descriptor is signed; give the feed its signer before writing it")
    ours = element("p:signer", feed.signer) + element("p:sequence", str(feed.sequence))
    ours += "" if feed.listed else "<p:unlisted/>"
    ours += "".join(element("p:writer", writer) for writer in feed.writers)
    data = _encoded(f"<feed{NAMESPACES}{values(lang=feed.language)}>{metadata(feed)}{ours}</feed>")
    try:
        read_signed_descriptor(data)
    except RemoteError as error:
        raise UsageError(f"this feed cannot be described: {error}") from None
    return data


def _encoded(document: str) -> bytes:
    bad = NOT_IN_XML.search(document)
    if bad is not None:
        raise UsageError(f"the character U+{ord(bad[0]):04X} cannot stand in XML; leave it out")
    data = document.encode("utf-8")
    if len(data) > MAX_SIGNED_BYTES:
        raise UsageError(
            f"this would be {len(data)} bytes to sign; at most {MAX_SIGNED_BYTES} are allowed. "
            "Put long texts into a file and attach it"
        )
    return data


def _signed_parts(entry: Entry) -> str:
    attributes = sorted(entry.attributes.items())
    return "".join(
        (
            entry_parts(entry),
            element("p:feed", entry.feed),
            element("p:author", entry.author),
            element("p:expires", time(entry.expires)),
            *(_attribute(name, value) for name, value in attributes),
            *(_enclosure(enclosure) for enclosure in entry.enclosures),
            "<p:retracted/>" if entry.retracted else "",
        )
    )


def entry_parts(entry: Entry) -> str:
    """What RFC 4287 puts inside an entry, in our order."""
    return "".join(
        (
            element("id", entry.id),
            text("title", entry.title),
            element("updated", time(entry.updated)),
            element("published", time(entry.published)),
            *(person("author", author) for author in entry.authors),
            *(person("contributor", contributor) for contributor in entry.contributors),
            *(category(each) for each in entry.categories),
            text("summary", entry.summary),
            content(entry.content),
            *(link(each) for each in entry.links),
            text("rights", entry.rights),
            source(entry.source),
            extensions(entry.extensions),
        )
    )


def metadata(feed: Feed | Source) -> str:
    """What RFC 4287 puts inside a feed, apart from its entries, and inside a source."""
    return "".join(
        (
            element("id", feed.id),
            text("title", feed.title),
            element("updated", time(feed.updated)),
            text("subtitle", feed.subtitle),
            *(person("author", author) for author in feed.authors),
            *(person("contributor", contributor) for contributor in feed.contributors),
            *(category(each) for each in feed.categories),
            text("rights", feed.rights),
            element("icon", feed.icon),
            element("logo", feed.logo),
            *(link(each) for each in feed.links),
            generator(feed.generator),
            extensions(feed.extensions),
        )
    )


def element(name: str, inside: str | None) -> str:
    return "" if inside is None else f"<{name}>{escaped(inside)}</{name}>"


def values(*, lang: str | None = None, base: str | None = None, **others: str | None) -> str:
    """Attributes in the order given, those of XML first; None leaves one out."""
    written = "" if lang is None else f' xml:lang="{escape_value(lang)}"'
    if base is not None:
        written += f' xml:base="{escape_value(base)}"'
    for name, value in others.items():
        if value is not None:
            written += f' {name}="{escape_value(value)}"'
    return written


def time(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_time(at_ms)


def text(name: str, construct: Text | None) -> str:
    if construct is None:
        return ""
    kind = None if construct.type == "text" else construct.type
    head = f"<{name}{values(lang=construct.language, base=construct.base, type=kind)}>"
    inside = _div(str(construct)) if kind == "xhtml" else escaped(construct)
    return f"{head}{inside}</{name}>"


def _div(markup: str) -> str:
    written = canonical_element(markup, MARKUP)
    if parse_xml(written.encode(), MARKUP).tag != DIV:
        raise UsageError(f"xhtml is one div in XHTML's namespace; got {markup[:80]!r}")
    return written


def person(name: str, who: Person) -> str:
    inside = f"<name{values(lang=who.language)}>{escaped(who.name)}</name>"
    inside += element("uri", who.uri) + element("email", who.email)
    return f"<{name}>{inside}{extensions(who.extensions)}</{name}>"


def category(what: Category) -> str:
    head = values(lang=what.language, term=what.term, scheme=what.scheme, label=what.label)
    return f"<category{head}/>"


def link(to: Link) -> str:
    length = None if to.length is None else str(to.length)
    attributes = values(
        lang=to.language,
        href=to.href,
        rel=to.rel,
        type=to.type,
        hreflang=to.hreflang,
        title=to.title,
        length=length,
    )
    return f"<link{attributes}/>"


def content(what: Content | None) -> str:
    if what is None:
        return ""
    kind = None if what.type == "text" else what.type
    head = values(lang=what.language, base=what.base, type=kind, src=what.src)
    if what.src is not None:
        if what.text:
            raise UsageError("content either stands in the entry or is pointed at by src; give one of them")
        return f"<content{head}/>"
    if what.type == "xhtml":
        inside = _div(what.text)
    elif is_xml_type(what.type):
        inside = canonical_inside(what.text, MARKUP)
    else:
        inside = escaped(what.text)
    return f"<content{head}>{inside}</content>"


def generator(what: Generator | None) -> str:
    if what is None:
        return ""
    head = values(lang=what.language, uri=what.uri, version=what.version)
    return f"<generator{head}>{escaped(what.name)}</generator>"


def source(what: Source | None) -> str:
    return "" if what is None else f"<source{values(lang=what.language)}>{metadata(what)}</source>"


def extensions(markups: Iterable[str]) -> str:
    return "".join(_extension(markup) for markup in markups)


def _extension(markup: str) -> str:
    written = canonical_element(markup, MARKUP)
    try:
        namespace = namespace_of(parse_xml(written.encode(), MARKUP).tag)
    except XmlError as error:
        raise UsageError(f"an extension must be one element; {error}") from None
    if namespace in (ATOM, OURS):
        raise UsageError(f"an extension has a namespace of its own, not {namespace}; got {markup[:80]!r}")
    return written


def _attribute(name: str, value: AttributeValue) -> str:
    if isinstance(value, bool):
        kind, written = "boolean", "true" if value else "false"
    elif isinstance(value, Time):
        kind, written = "time", format_time(value)
    elif isinstance(value, int):
        kind, written = "integer", str(int(value))
    elif isinstance(value, float):
        kind, written = "decimal", repr(float(value))
    else:
        kind, written = "string", str(value)
    return f"<p:attribute{values(name=name, type=kind)}>{escaped(written)}</p:attribute>"


def _enclosure(file: Enclosure) -> str:
    attributes = values(name=file.name, type=file.type, length=str(file.length), root=file.root)
    return f"<p:enclosure{attributes}/>"
