"""RSS, broken Atom and old dialects, through feedparser; says what it had to make up."""

import calendar
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contentdb.atom_values import is_absolute, is_email, is_language, is_media_type, is_reference, resolve
from contentdb.model import Category, Content, Entry, Feed, Link, Person, Text
from contentdb.names import EntryId, FeedId, is_iri
from contentdb.xmlguard_encoding import XmlError, to_utf8

Parsed = Mapping[str, Any]
_TEXT_TYPES = {"text/plain": "text", "text/html": "html", "application/xhtml+xml": "html"}


@dataclass(slots=True)
class Found:
    """A feed that was read leniently. `repairs` are sentences about what was made up."""

    feed: Feed
    version: str  # feedparser's word for what it is: atom10, rss20, cdf ...
    entries: list[Entry] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    undated: list[str] = field(default_factory=list)  # ids of entries whose date was made up

    @property
    def is_atom(self) -> bool:
        return not self.version or self.version.startswith("atom")

    @property
    def kind(self) -> str:
        number = re.fullmatch(r"rss(\d)(\d+)[a-z]?", self.version)
        return f"RSS {number[1]}.{number[2]}" if number else self.version.upper()


def read_leniently(data: bytes, at: int, address: str | None = None) -> Found | None:
    """The feed in these bytes, read at this time from this address; None if there is no feed in them."""
    import feedparser

    # A file object: bytes that look like an address must not make feedparser fetch it.
    parsed = feedparser.parse(
        io.BytesIO(_decoded(data)),
        response_headers={} if address is None else {"content-location": address},
        sanitize_html=True,
        resolve_relative_uris=True,
    )
    if not parsed.get("version") and not parsed.entries:
        return None
    repairs: list[str] = []
    made_up = address or f"urn:passerby:imported:{hashlib.sha256(data).hexdigest()[:40]}"
    feed = _feed(parsed.feed, made_up, at, repairs)
    found = Found(feed, parsed.get("version") or "", repairs=repairs)
    has_date = _time(parsed.feed, "updated", "published") is not None
    entries: dict[EntryId, Entry] = {}
    for item in parsed.entries:
        entry = _entry(item, feed, repairs)
        if entry.id in entries:
            _add(repairs, "several entries have the same id; the first of them was taken")
            continue
        if _time(item, "updated", "published") is None:
            of = "of the feed" if has_date else "of this import"
            _add(repairs, f"some entries have no date; they got that {of}")
            found.undated.append(entry.id)
        entries[entry.id] = entry
    found.entries = list(entries.values())
    return found


def _decoded(data: bytes) -> bytes:
    """In UTF-8, if it says what it is in: feedparser does not know UTF-16 from a file."""
    try:
        return to_utf8(data, utf8_only=False)
    except XmlError:
        return data


def _feed(item: Parsed, made_up: str, at: int, repairs: list[str]) -> Feed:
    links = _links(item)
    identity = item.get("id") or item.get("link") or ""
    if not _is_iri(identity):
        identity = made_up
        made_from = "content" if made_up.startswith("urn:") else "address"
        _add(repairs, f"the feed has no id; one was made from its {made_from}")
    language = item.get("language") or None
    return Feed(
        id=FeedId(identity),
        title=_text(item, "title") or _made_up("Imported feed", "the feed has no title", repairs),
        updated=_time(item, "updated", "published") or at,
        subtitle=_text(item, "subtitle"),
        authors=_people(item),
        categories=_categories(item),
        rights=_text(item, "rights"),
        links=links,
        language=language if language and is_language(language) else None,
    )


def _entry(item: Parsed, feed: Feed, repairs: list[str]) -> Entry:
    published = _time(item, "published")
    updated = _time(item, "updated", "published")
    return Entry(
        id=_entry_id(item, feed, repairs),
        title=_text(item, "title") or _made_up("(untitled)", "some entries have no title", repairs),
        updated=feed.updated if updated is None else updated,
        published=published,
        authors=_people(item),
        categories=_categories(item),
        summary=_text(item, "summary"),
        content=_content(item),
        links=_links(item),
        rights=_text(item, "rights"),
        language=feed.language,
    )


def _entry_id(item: Parsed, feed: Feed, repairs: list[str]) -> EntryId:
    identity = item.get("id") or ""
    if _is_iri(identity):
        return EntryId(identity)
    # RSS has ids that are unique in their feed only; so the feed's id goes into ours.
    words = (
        identity or item.get("link") or repr((item.get("title"), item.get("summary"), item.get("published")))
    )
    _add(repairs, "some entries have no id that is unique in the world; ids were made from what they have")
    digest = hashlib.sha256(f"{feed.id}\n{words}".encode()).hexdigest()
    return EntryId(f"urn:passerby:imported:{digest[:40]}")


def _time(item: Parsed, *names: str) -> int | None:
    for name in names:
        # Asked for what is not there, feedparser answers with another date, and warns.
        moment = item.get(f"{name}_parsed") if f"{name}_parsed" in item else None
        if moment is not None and 1 <= moment.tm_year <= 9998:
            return calendar.timegm(moment) * 1000
    return None


def _text(item: Parsed, name: str) -> Text | None:
    detail = item.get(f"{name}_detail")
    value = (detail or {}).get("value") or item.get(name)
    if not isinstance(value, str) or not value.strip():
        return None
    return Text(_printable(value), _TEXT_TYPES.get((detail or {}).get("type") or "", "html"))


def _content(item: Parsed) -> Content | None:
    for found in item.get("content") or ():
        if found.get("value"):
            return Content(_TEXT_TYPES.get(found.get("type") or "", "html"), _printable(found["value"]))
    return None


def _people(item: Parsed) -> tuple[Person, ...]:
    people = []
    for found in item.get("authors") or ():
        email, uri = found.get("email"), found.get("href")
        name = found.get("name") or email or uri
        if name:
            people.append(
                Person(
                    _printable(name),
                    uri=uri if uri and _is_iri(uri) else None,
                    email=email if email and is_email(email) else None,
                )
            )
    return tuple(people)


def _categories(item: Parsed) -> tuple[Category, ...]:
    terms = (tag.get("term") or tag.get("label") for tag in item.get("tags") or ())
    return tuple(Category(_printable(term)) for term in dict.fromkeys(terms) if term)


def _links(item: Parsed) -> tuple[Link, ...]:
    base = item.get("link") or None
    links: Sequence[Parsed] = item.get("links") or ()
    return tuple(link for found in links if (link := _link(found, base)) is not None)


def _link(found: Parsed, base: str | None) -> Link | None:
    href = found.get("href") or ""
    # A relative reference to a file beside the document stays as it is; the importer looks for it there.
    if not href or not is_reference(href):
        return None
    rel, kind, length = found.get("rel") or "alternate", found.get("type"), str(found.get("length") or "")
    if rel != "enclosure" and base and _is_iri(base):
        href = resolve(base, href)
    if rel != "enclosure" and not _is_iri(href):
        return None
    return Link(
        href,
        rel if rel.isidentifier() or _is_iri(rel) else "related",
        kind if kind and is_media_type(kind) else None,
        length=int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None,
    )


def _is_iri(text: str) -> bool:
    """Both what we take for a name and what RFC 3987 takes for an IRI, or nobody could sign it."""
    return is_iri(text) and is_absolute(text)


def _printable(text: str) -> str:
    """Without the characters XML cannot carry."""
    return "".join(
        c
        for c in text
        if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff")
    )


def _made_up(words: str, problem: str, repairs: list[str]) -> Text:
    _add(repairs, f"{problem}; called {words!r}")
    return Text(words)


def _add(repairs: list[str], repair: str) -> None:
    if repair not in repairs:
        repairs.append(repair)
