"""Reads the plainest entries, which are most, in one step: exactly what our own writer makes of them.

Every entry that arrives is read, and a tree of elements takes longer than all the rest of taking it in. An
entry that fits the pattern to the last character is well-formed and has these elements in this order, with
nothing to unescape or to normalise, so its words are what an XML parser would find. Whatever does not fit, or
has a value that is wrong, is left to the parser: this refuses nothing, and a test holds that both agree.
"""

import re
from functools import lru_cache

from contentdb.atom_parts import (
    MAX_CACHED_CHARACTERS,
    VALUES,
    category_named,
    checked_iri,
    count,
    entry_id,
    milliseconds,
)
from contentdb.atom_values import is_media_type
from contentdb.errors import UsageError
from contentdb.model import AttributeValue, Content, Enclosure, Entry, Person, Text
from contentdb.names import AuthorKey, FeedId, Root, parse_feed_id

# Characters that stand for themselves: no markup, no control characters, no line ends that XML would change.
_WORDS = r"[^<>&\x00-\x08\x0b-\x1f\ufffe\uffff]*"
# In an attribute also no quote, and no white space that XML would turn into a space.
_VALUE = r'[^<>&"\x00-\x1f\ufffe\uffff]*'
_SHORT = r"[A-Za-z0-9:._~/-]+"
_TIME = r"[0-9TZ:.-]{24}"
_CATEGORY = f'<category term="({_VALUE})"/>'
_ATTRIBUTE = f'<p:attribute name="({_SHORT})" type="([a-z]+)">({_WORDS})</p:attribute>'
_ENCLOSURE = f'<p:enclosure name="({_VALUE})" type="({_VALUE})" length="([0-9]+)" root="([0-9a-f]{{64}})"/>'


def _repeated(pattern: str) -> str:
    return "((?:" + re.sub(r"\((?!\?)", "(?:", pattern) + ")*)"


_ENTRY = re.compile(
    '<entry xmlns="http://www.w3.org/2005/Atom" xmlns:p="urn:passerby:1"(?: xml:lang="([a-z]{2,8})")?>'
    f"<id>({_SHORT})</id><title>({_WORDS})</title><updated>({_TIME})</updated>"
    f"(?:<published>({_TIME})</published>)?(?:<author><name>({_WORDS})</name></author>)?"
    f"{_repeated(_CATEGORY)}(?:<summary>({_WORDS})</summary>)?(?:<content>({_WORDS})</content>)?"
    f"<p:feed>({_SHORT})</p:feed><p:author>([0-9a-f]{{64}})</p:author>(?:<p:expires>({_TIME})</p:expires>)?"
    f"{_repeated(_ATTRIBUTE)}{_repeated(_ENCLOSURE)}</entry>"
)
_categories_in = re.compile(_CATEGORY).findall
_attributes_in = re.compile(_ATTRIBUTE).findall
_enclosures_in = re.compile(_ENCLOSURE).findall


def read_plain_entry(data: bytes) -> Entry | None:
    """The entry in these bytes if it is one of the plainest; None to have it parsed."""
    try:
        found = _ENTRY.fullmatch(data.decode())
        return None if found is None else _entry(found.groups())
    except (UnicodeDecodeError, UsageError):
        return None


def _entry(groups: tuple[str | None, ...]) -> Entry | None:
    (
        language, id, title, updated, published, name, categories, summary, content, feed, author, expires,
        attributes, enclosures,
    ) = groups  # fmt: skip
    assert id is not None and title is not None and updated is not None and feed is not None
    named = _attributes(attributes) if attributes else {}
    if named is None:
        return None
    return Entry(
        id=entry_id(id),
        title=Text(title),
        updated=milliseconds(updated),
        published=None if published is None else milliseconds(published),
        authors=()
        if name is None
        else (_person(name) if len(name) <= MAX_CACHED_CHARACTERS else Person(name),),
        categories=tuple(map(category_named, _categories_in(categories))) if categories else (),
        summary=None if summary is None else Text(summary),
        content=None if content is None else Content("text", content),
        language=language,
        feed=_feed_id(feed),
        author=AuthorKey(author or ""),
        attributes=named,
        expires=None if expires is None else milliseconds(expires),
        enclosures=_enclosures(enclosures) if enclosures else (),
    )


def _attributes(text: str) -> dict[str, AttributeValue] | None:
    pairs = _attributes_in(text)
    named = {name: VALUES[kind](words) for name, kind, words in pairs if kind in VALUES}
    return named if len(named) == len(pairs) else None


def _enclosures(text: str) -> tuple[Enclosure, ...]:
    files = _enclosures_in(text)
    for _name, kind, _length, _root in files:
        if not is_media_type(kind):
            raise UsageError(f"expected a media type such as text/plain; got {kind[:80]!r}")
    return tuple(Enclosure(name, kind, count(length), Root(root)) for name, kind, length, root in files)


# Few feeds and names come again and again; at most 2,048 and 64 characters each.
@lru_cache(maxsize=256)
def _feed_id(text: str) -> FeedId:
    return parse_feed_id(checked_iri(text))


_person = lru_cache(maxsize=1024)(Person)
