"""Reads signed bytes: one pass over a small tree, since many entries that arrive go through here.

Nothing is inherited, resolved or repaired: what is signed says everything itself. Whatever does not have the
form of docs/protocol/entry-v1.md is refused with RemoteError.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from contentdb.atom_markup import ATOM, OURS, write_element
from contentdb.atom_parts import (
    MAX_CACHED_CHARACTERS,
    VALUES,
    attribute_error,
    category_of,
    checked_iri,
    content_of,
    count,
    enclosure_of,
    entry_id,
    flag_of,
    generator_of,
    language_of,
    link_of,
    milliseconds,
    text_construct,
    words_of,
)
from contentdb.atom_plain import read_plain_entry
from contentdb.atom_values import is_email
from contentdb.errors import RemoteError, UsageError
from contentdb.model import AttributeValue, Entry, Feed, Person, Source
from contentdb.names import parse_author_key, parse_feed_id
from contentdb.xmlguard import PROTOCOL, Element, Library, XmlError, parse_xml

# An element's name to the field it fills and how it is read: as an element that may stand once or often, as
# its words or as a named value, which spares most elements of most entries a call.
WORDS, ONCE, OFTEN, NAMED = range(4)
Table: TypeAlias = Mapping[str, tuple[str, int, Callable[[Any], Any]]]

_A, _P = f"{{{ATOM}}}", f"{{{OURS}}}"
_NAME = _A + "name"


def read_signed_entry(data: bytes, *, library: Library | None = None) -> Entry:
    """The entry in these bytes, whose signature somebody else has verified; RemoteError if there is none.

    A library is named by tests that compare; without one, the plainest entries need no XML parser at all.
    """
    if library is None and (plain := read_plain_entry(data)) is not None:
        return plain
    try:
        return _entry(_root(data, library, _A + "entry"))
    except (XmlError, UsageError) as error:
        raise RemoteError(str(error)) from None


def read_signed_descriptor(data: bytes, *, library: Library | None = None) -> Feed:
    """The feed that these bytes describe; RemoteError if they do not describe one."""
    try:
        return _feed(_root(data, library, _A + "feed"))
    except (XmlError, UsageError) as error:
        raise RemoteError(str(error)) from None


def _root(data: bytes, library: Library | None, tag: str) -> Element:
    root = parse_xml(data, PROTOCOL, library=library)
    if root.tag != tag:
        raise UsageError(f"expected the element {tag}; got {root.tag[:80]}")
    return root


def _entry(root: Element) -> Entry:
    fields = _children(root, _ENTRY)
    _require(fields, _IN_ENTRY)
    return Entry(language=language_of(root), **fields)


def _feed(root: Element) -> Feed:
    fields = _children(root, _FEED)
    _require(fields, _IN_FEED)
    return Feed(language=language_of(root), **fields)


def _source(element: Element) -> Source:
    return Source(language=language_of(element), **_children(element, _SOURCE))


def _children(parent: Element, table: Table) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    lists: dict[str, list[Any]] = {}
    named: dict[str, AttributeValue] = {}
    for child in parent:
        tag = child.tag
        known = table.get(tag)
        if known is None:
            if tag.startswith(_A):
                raise UsageError(f"{tag[:80]} is out of place on line {child.sourceline}")
            if not tag.startswith(_P):  # later versions may add elements of ours; we pass over them
                lists.setdefault("extensions", []).append(write_element(child))
            continue
        name, form, read = known
        if form == NAMED:
            key, kind = child.get("name"), child.get("type")
            value_of = VALUES.get(kind or "")
            if key is None or value_of is None or key in named or len(child):
                raise attribute_error(child, named)
            named[key] = value_of(child.text or "")
        elif form == OFTEN:
            if name in lists:
                lists[name].append(read(child))
            else:
                lists[name] = [read(child)]
        elif name in fields:
            raise UsageError(f"a second {tag} on line {child.sourceline}")
        elif form == ONCE:
            fields[name] = read(child)
        elif len(child):
            raise UsageError(f"{tag} holds elements; expected words on line {child.sourceline}")
        else:
            fields[name] = read(child.text or "")
    for name, values in lists.items():
        fields[name] = tuple(values)
    if named:
        fields["attributes"] = named
    return fields


def _require(fields: dict[str, object], names: frozenset[str]) -> None:
    if not names <= fields.keys():
        raise UsageError(f"{min(names - fields.keys())} is missing")


def _person(element: Element) -> Person:
    if len(element) == 1:
        (only,) = element
        if only.tag == _NAME and not len(only):
            words = only.text or ""
            if not only.keys() and len(words) <= MAX_CACHED_CHARACTERS:
                return _known_person(words)
            return Person(words, language=language_of(only))
    fields = _children(element, _PERSON)
    _require(fields, _IN_PERSON)
    fields["name"], fields["language"] = fields["name"]
    email = fields.get("email")
    if email is not None and not is_email(email):
        raise UsageError(f"expected an e-mail address; got {email[:80]!r}")
    return Person(**fields)


_IN_ENTRY = frozenset(("id", "title", "updated", "feed", "author"))
_IN_FEED = frozenset(("id", "title", "updated", "signer", "sequence"))
_IN_PERSON = frozenset(("name",))

# The same few feeds and authors come again and again; at most 2,048 characters each.
_known_person = lru_cache(maxsize=1024)(Person)
_feed_id = lru_cache(maxsize=256)(lambda text: parse_feed_id(checked_iri(text)))
_author_key = lru_cache(maxsize=1024)(parse_author_key)

_PERSON: Table = {
    _NAME: ("name", ONCE, lambda element: (words_of(element), language_of(element))),
    _A + "uri": ("uri", WORDS, checked_iri),
    _A + "email": ("email", WORDS, str),
}
_SOURCE: Table = {
    _A + "id": ("id", WORDS, checked_iri),
    _A + "title": ("title", ONCE, text_construct),
    _A + "updated": ("updated", WORDS, milliseconds),
    _A + "subtitle": ("subtitle", ONCE, text_construct),
    _A + "rights": ("rights", ONCE, text_construct),
    _A + "icon": ("icon", WORDS, checked_iri),
    _A + "logo": ("logo", WORDS, checked_iri),
    _A + "generator": ("generator", ONCE, generator_of),
    _A + "author": ("authors", OFTEN, _person),
    _A + "contributor": ("contributors", OFTEN, _person),
    _A + "category": ("categories", OFTEN, category_of),
    _A + "link": ("links", OFTEN, link_of),
}
_FEED: Table = {
    **_SOURCE,
    _A + "id": ("id", WORDS, _feed_id),
    _P + "signer": ("signer", WORDS, _author_key),
    _P + "sequence": ("sequence", WORDS, count),
    _P + "unlisted": ("listed", ONCE, lambda element: not flag_of(element)),
    _P + "writer": ("writers", OFTEN, lambda element: _author_key(words_of(element))),
}
_ENTRY: Table = {
    _A + "id": ("id", WORDS, entry_id),
    _A + "title": ("title", ONCE, text_construct),
    _A + "updated": ("updated", WORDS, milliseconds),
    _A + "published": ("published", WORDS, milliseconds),
    _A + "author": ("authors", OFTEN, _person),
    _A + "contributor": ("contributors", OFTEN, _person),
    _A + "category": ("categories", OFTEN, category_of),
    _A + "summary": ("summary", ONCE, text_construct),
    _A + "content": ("content", ONCE, content_of),
    _A + "link": ("links", OFTEN, link_of),
    _A + "rights": ("rights", ONCE, text_construct),
    _A + "source": ("source", ONCE, _source),
    _P + "feed": ("feed", WORDS, _feed_id),
    _P + "author": ("author", WORDS, _author_key),
    _P + "expires": ("expires", WORDS, milliseconds),
    _P + "attribute": ("attributes", NAMED, str),
    _P + "enclosure": ("enclosures", OFTEN, enclosure_of),
    _P + "retracted": ("retracted", ONCE, flag_of),
}
