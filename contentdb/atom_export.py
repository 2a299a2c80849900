"""Writes feeds that any feed reader opens, with the signed bytes inside for whoever knows passerby.

The signed bytes travel as base64 in an extension element of ours. A reader that does not know it passes over
it, as RFC 4287 wants; an import takes them out again, verifies them, and believes nothing else.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from contentdb.atom_constructs import needs_summary
from contentdb.atom_markup import NOT_IN_XML, OURS, namespace_of
from contentdb.atom_values import ALTERNATE, is_reference
from contentdb.atom_write import NAMESPACES, entry_parts, metadata, values
from contentdb.errors import RemoteError, UsageError
from contentdb.model import (
    MAX_SIGNED_BYTES,
    Content,
    Enclosure,
    Entry,
    Feed,
    Link,
    Person,
    Signed,
    Source,
    Text,
)
from contentdb.names import EntryKey, parse_author_key
from contentdb.xmlguard import FEED, Element, Limits, XmlError, parse_xml

_Described = TypeVar("_Described", Feed, Entry, Source)

ENCLOSURE_PREFIX = "urn:passerby:enclosure:"
_SIGNED = f"{{{OURS}}}signed"
# Base64 of the longest signed bytes in a single element.
_CARRIER = Limits(size_bytes=2 * MAX_SIGNED_BYTES, token_characters=2 * MAX_SIGNED_BYTES)


def enclosure_urn(enclosure: Enclosure) -> str:
    """A name for an enclosure that is nowhere on the web: who has passerby can ask for it by its root."""
    return f"{ENCLOSURE_PREFIX}{enclosure.root}"


def write_feed(
    feed: Feed,
    entries: Sequence[Entry],
    signed: Mapping[EntryKey, Signed] | None = None,
    *,
    descriptor: Signed | None = None,
    href_of: Callable[[Enclosure], str] = enclosure_urn,
) -> bytes:
    """A feed document in valid Atom, with the signed bytes of descriptor and entries, where there are any.

        data = write_feed(feed, entries, {e.key: store.signed(e.key) for e in entries}, descriptor=signed)
        feed, entries = parse_feed(data)
        signed_of(feed), [signed_of(entry) for entry in entries]

    Enclosures become links to ``href_of(enclosure)``, an IRI or a reference relative to where the document
    will be. ``updated`` is the latest of all that is inside. What Atom demands and an entry lacks is filled
    in: its author's key for a name, empty content, its title for a summary. What was parsed from an export
    may be written again: signed bytes that it carries go along.
    """
    descriptor = descriptor or _carried(feed)
    feed = without_ours(feed)
    latest = max([feed.updated, *(entry.updated for entry in entries)])
    head = metadata(replace(feed, updated=latest, links=_distinct(feed.links)))
    pieces = [f'<?xml version="1.0" encoding="utf-8"?>\n<feed{NAMESPACES}{values(lang=feed.language)}>{head}']
    pieces.append(_carrier(descriptor))
    for entry in entries:
        known = signed.get(entry.key) if signed and entry.feed and entry.author else None
        inside = _parts(without_ours(entry), feed, href_of) + _carrier(known or _carried(entry))
        # An entry of no known language must not inherit the feed's.
        language = entry.language if entry.language is not None or feed.language is None else ""
        pieces.append(f"\n<entry{values(lang=language)}>{inside}</entry>")
    pieces.append("\n</feed>\n")
    document = "".join(pieces)
    bad = NOT_IN_XML.search(document)
    if bad is not None:
        raise UsageError(f"the character U+{ord(bad[0]):04X} cannot stand in XML; leave it out")
    data = document.encode("utf-8")
    if len(data) > FEED.size_bytes:
        raise UsageError(f"this feed would have {len(data)} bytes; at most {FEED.size_bytes} are read again")
    return data


def signed_of(exported: Feed | Entry) -> Signed | None:
    """The signed bytes a parsed feed or entry carries, not yet verified; None if there are none.

    Raises RemoteError if there are some that cannot be signed bytes.
    """
    found = [carrier for markup in exported.extensions if (carrier := _ours(markup)) is not None]
    carriers = [carrier for carrier in found if carrier.tag == _SIGNED]
    if not carriers:
        return None
    if len(carriers) > 1:
        raise RemoteError("signed bytes stand here twice; nobody can say which are meant")
    try:
        author = parse_author_key(carriers[0].get("author") or "")
        signature = base64.b64decode(carriers[0].get("signature") or "", validate=True)
        return Signed(author, signature, base64.b64decode(carriers[0].text or "", validate=True))
    except (binascii.Error, ValueError) as error:
        raise RemoteError(f"signed bytes cannot be read: {error}") from None


def without_ours(exported: _Described) -> _Described:
    """The same as foreign Atom: without our extension elements, so that an importer can sign it anew."""
    plain = replace(
        exported,
        extensions=_foreign(exported.extensions),
        authors=tuple(map(_foreign_person, exported.authors)),
        contributors=tuple(map(_foreign_person, exported.contributors)),
    )
    if isinstance(plain, Entry) and plain.source is not None:
        return replace(plain, source=without_ours(plain.source))
    return plain


def _foreign(extensions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(markup for markup in extensions if _ours(markup) is None)


def _foreign_person(person: Person) -> Person:
    return replace(person, extensions=_foreign(person.extensions)) if person.extensions else person


def _carried(exported: Feed | Entry) -> Signed | None:
    try:
        return signed_of(exported)
    except RemoteError:  # whatever this is, nobody could verify it
        return None


def _ours(markup: str) -> Element | None:
    if OURS not in markup:
        return None
    try:
        element = parse_xml(markup.encode("utf-8"), _CARRIER)
    except XmlError:
        return None
    return element if namespace_of(element.tag) == OURS else None


def _carrier(signed: Signed | None) -> str:
    if signed is None:
        return ""
    head = values(author=signed.author, signature=base64.b64encode(signed.signature).decode("ascii"))
    return f"<p:signed{head}>{base64.b64encode(signed.data).decode('ascii')}</p:signed>"


def _parts(entry: Entry, feed: Feed, href_of: Callable[[Enclosure], str]) -> str:
    links = _distinct(entry.links) + tuple(_link(enclosure, href_of) for enclosure in entry.enclosures)
    content, summary = entry.content, entry.summary
    if content is None and not any(link.rel in ALTERNATE for link in links):
        content = Content()
    if summary is None and needs_summary(content):
        summary = Text(entry.title, entry.title.type, language=entry.title.language, base=entry.title.base)
    filled = replace(entry, links=links, content=content, summary=summary, authors=_authors(entry, feed))
    return entry_parts(filled)


def _authors(entry: Entry, feed: Feed) -> tuple[Person, ...]:
    if entry.authors or (entry.source is not None and entry.source.authors):
        return entry.authors
    if entry.author is not None:  # or the feed's author would seem to have written what others signed
        return (Person(entry.author),)
    return () if feed.authors else (Person("unknown"),)


def _link(enclosure: Enclosure, href_of: Callable[[Enclosure], str]) -> Link:
    href = href_of(enclosure)
    if not is_reference(href):
        raise UsageError(f"an enclosure's href must be an IRI or a relative reference; got {href[:80]!r}")
    return Link(href, "enclosure", enclosure.type, title=enclosure.name, length=enclosure.length)


def _distinct(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Atom has at most one alternate link for each type and language; the first one stays."""
    kept: dict[object, Link] = {}
    for number, link in enumerate(links):
        kept.setdefault((link.type, link.hreflang) if link.rel in ALTERNATE else number, link)
    return tuple(kept.values())
