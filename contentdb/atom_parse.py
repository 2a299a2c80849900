"""Reads Atom from anywhere, strictly as RFC 4287 has it: feed and entry documents."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from contentdb import atom_constructs as read
from contentdb.atom_constructs import AtomError, Place, is_blank, name_of, wrong
from contentdb.atom_markup import ATOM, namespace_of
from contentdb.atom_values import ALTERNATE
from contentdb.errors import UsageError
from contentdb.model import Entry, Feed, Person, Source
from contentdb.names import FeedId
from contentdb.xmlguard import FEED, Element, Library, XmlError, parse_xml

Read: TypeAlias = Callable[[Element, Place], Any]
# A child's name to the field it fills and how it is read.
Table: TypeAlias = Mapping[str, tuple[str, Read]]

_A = f"{{{ATOM}}}"


def parse_feed(
    data: bytes, *, base: str | None = None, library: Library | None = None
) -> tuple[Feed, list[Entry]]:
    """The feed in a document and its entries, in their order; AtomError for what is not valid Atom.

    ``base`` is where the document came from, if that is known: what its relative references start from. An
    entry document is valid Atom too: its feed is then the entry's source, as much of it as is told, or
    bears the entry's own id and title. Feed and entries are unsigned; see ``signed_of`` for our exports.
    """
    root, place = _root(data, base, library)
    try:
        if root.tag == _A + "entry":
            entry = _entry(root, place, has_author=False)
            return _feed_around(entry), [entry]
        return _feed(root, place)
    except UsageError as error:
        raise wrong(root, str(error)) from None


def parse_entry(data: bytes, *, base: str | None = None, library: Library | None = None) -> Entry:
    """The entry of an entry document; AtomError for anything else."""
    root, place = _root(data, base, library)
    if root.tag != _A + "entry":
        raise wrong(root, "expected an entry document")
    try:
        return _entry(root, place, has_author=False)
    except UsageError as error:
        raise wrong(root, str(error)) from None


def _root(data: bytes, base: str | None, library: Library | None) -> tuple[Element, Place]:
    try:
        root = parse_xml(data, FEED, library=library)
    except XmlError as error:
        raise AtomError(str(error).partition(": ")[2], error.line) from None
    if root.tag not in (_A + "feed", _A + "entry"):
        found = f"{name_of(root)} in the namespace {namespace_of(root.tag)[:80]!r}"
        raise wrong(root, f"expected feed or entry in the namespace {ATOM}; got {found}")
    return root, Place(base)


def _feed(root: Element, outside: Place) -> tuple[Feed, list[Entry]]:
    place = outside.inside(root)
    children = list(root)
    entries = [child for child in children if child.tag == _A + "entry"]
    _check_order(children)
    fields = _fields([child for child in children if child.tag != _A + "entry"], place, _METADATA, _LISTS)
    _check_text(root)
    _require(root, fields, "id", "title", "updated")
    _check_alternates(root, fields)
    feed = Feed(**fields, language=place.language or None)
    return feed, [_entry(child, place, has_author=bool(feed.authors)) for child in entries]


def _check_order(children: list[Element]) -> None:
    seen = False
    for child in children:
        if child.tag == _A + "entry":
            seen = True
        elif seen and namespace_of(child.tag) == ATOM:
            raise wrong(child, "stands after an entry; what describes the feed comes before its entries")


def _entry(element: Element, outside: Place, *, has_author: bool) -> Entry:
    place = outside.inside(element)
    if place.language == "":  # an entry is kept by itself, and then there is nothing left to take back
        place = Place(place.base)
    fields = _fields(element, place, _ENTRY, _LISTS)
    _check_text(element)
    _require(element, fields, "id", "title", "updated")
    _check_alternates(element, fields)
    entry = Entry(**fields, language=place.language)
    if not (entry.authors or has_author or (entry.source is not None and entry.source.authors)):
        raise wrong(element, "has no author, and neither its source nor its feed has one")
    content = entry.content
    if content is None and not any(link.rel in ALTERNATE for link in entry.links):
        raise wrong(element, "needs content or a link with rel alternate")
    if entry.summary is None and read.needs_summary(content):
        raise wrong(element, "needs a summary, since its content is elsewhere or in base64")
    return entry


def _feed_around(entry: Entry) -> Feed:
    source = entry.source or Source()
    return Feed(
        id=FeedId(source.id or entry.id),
        title=source.title if source.title is not None else entry.title,
        updated=entry.updated if source.updated is None else source.updated,
        subtitle=source.subtitle,
        authors=source.authors or entry.authors,
        contributors=source.contributors,
        categories=source.categories,
        rights=source.rights,
        icon=source.icon,
        logo=source.logo,
        links=source.links,
        generator=source.generator,
        language=source.language or entry.language,
        extensions=source.extensions,
    )


def _source(element: Element, outside: Place) -> Source:
    place = outside.inside(element)
    # Two alternate links alike may stand here: the RFC forbids them in feeds and entries only.
    fields = _fields(element, place, _METADATA, _LISTS)
    _check_text(element)
    return Source(**fields, language=place.language)


def _person(element: Element, outside: Place) -> Person:
    place = outside.inside(element)
    fields = _fields(element, place, _PERSON, {}, outside=outside)
    _check_text(element)
    _require(element, fields, "name")
    named = next(child for child in element if child.tag == _A + "name")
    return Person(**fields, language=place.inside(named).language_within(outside))


def _fields(
    children: Element | list[Element],
    place: Place,
    once: Table,
    often: Table,
    *,
    outside: Place | None = None,
) -> dict[str, Any]:
    """What stands at this place. The model keeps the language of the place outside, if one is given."""
    fields: dict[str, Any] = {}
    lists: dict[str, list[Any]] = {}
    for child in children:
        tag = child.tag
        if (known := once.get(tag)) is not None:
            field, reader = known
            if field in fields:
                raise wrong(child, "stands here twice; once is allowed")
            fields[field] = reader(child, place)
        elif (known := often.get(tag)) is not None:
            field, reader = known
            lists.setdefault(field, []).append(reader(child, place))
        elif namespace_of(tag) == ATOM:
            raise wrong(child, "is not an element that Atom has here")
        else:
            lists.setdefault("extensions", []).append(read.extension(child, place, outside or place))
    for field, values in lists.items():
        fields[field] = tuple(values)
    return fields


def _check_text(element: Element) -> None:
    if not is_blank(element):
        raise wrong(element, "has words between its elements")


def _require(element: Element, fields: Mapping[str, object], *names: str) -> None:
    for name in names:
        if name not in fields:
            raise wrong(element, f"the element {name} is missing")


def _check_alternates(element: Element, fields: Mapping[str, Any]) -> None:
    seen: set[tuple[str | None, str | None]] = set()
    children = (child for child in element if child.tag == _A + "link")
    for child, link in zip(children, fields.get("links", ()), strict=True):
        if link.rel not in ALTERNATE:
            continue
        if (link.type, link.hreflang) in seen:
            raise wrong(child, "is a second alternate link of the same type and hreflang")
        seen.add((link.type, link.hreflang))


_PERSON: Table = {
    _A + "name": ("name", read.name),
    _A + "uri": ("uri", read.reference),
    _A + "email": ("email", read.email),
}
_METADATA: Table = {
    _A + "id": ("id", read.iri),
    _A + "title": ("title", read.text),
    _A + "updated": ("updated", read.time),
    _A + "subtitle": ("subtitle", read.text),
    _A + "rights": ("rights", read.text),
    _A + "icon": ("icon", read.reference),
    _A + "logo": ("logo", read.reference),
    _A + "generator": ("generator", read.generator),
}
_ENTRY: Table = {
    _A + "id": ("id", read.iri),
    _A + "title": ("title", read.text),
    _A + "updated": ("updated", read.time),
    _A + "published": ("published", read.time),
    _A + "summary": ("summary", read.text),
    _A + "content": ("content", read.content),
    _A + "rights": ("rights", read.text),
    _A + "source": ("source", _source),
}
_LISTS: Table = {
    _A + "author": ("authors", _person),
    _A + "contributor": ("contributors", _person),
    _A + "category": ("categories", read.category),
    _A + "link": ("links", read.link),
}
