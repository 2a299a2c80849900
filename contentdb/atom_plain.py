"""Reads the plainest entries, which are most, in one step: exactly what our own writer makes of them.

Every entry that arrives is read, and a tree of elements takes longer than all the rest of taking it in. An
entry that fits the pattern to the last character is well-formed and has these elements in this order, with
nothing to unescape or to normalise, so its words are what an XML parser would find. Whatever does not fit, or
has a value that is wrong, is left to the parser: this refuses nothing, and a test holds that both agree.
"""

import re
from functools import lru_cache
from typing import Any

from contentdb.atom_markup import ATOM, OURS
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
from contentdb.model import AttributeValue, Category, Content, Enclosure, Entry, Person, Text
from contentdb.names import FeedId, Root, parse_feed_id

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
    rf'<entry xmlns="{re.escape(ATOM)}" xmlns:p="{re.escape(OURS)}"(?: xml:lang="([a-z]{{2,8}})")?>'
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
    except (UnicodeDecodeError, UsageError, KeyError):  # KeyError: a type of attributes that there is not
        return None


class _Draft(Entry):
    """An entry while it is filled in. A frozen dataclass takes five times as long to set its own fields."""

    __slots__ = ()
    # Python sets fields without a call only if both are the plain ones.
    __setattr__, __delattr__ = object.__setattr__, object.__delattr__


def _entry(groups: tuple[str | None, ...]) -> Entry:
    (
        language, id, title, updated, published, name, categories, summary, content, feed, author, expires,
        attributes, enclosures,
    ) = groups  # fmt: skip
    assert id is not None and title is not None and updated is not None and feed is not None
    draft: Any = object.__new__(_Draft)  # to the type checker, the fields of an entry are never set
    draft.id = entry_id(id)
    draft.title = Text(title)
    draft.updated = milliseconds(updated)
    draft.published = None if published is None else milliseconds(published)
    draft.authors = () if name is None else (person_named(name),)
    draft.categories = _categories(categories) if categories else ()
    draft.summary = None if summary is None else Text(summary)
    draft.content = None if content is None else Content("text", content)
    draft.language = language
    draft.feed = _feed_id(feed)
    draft.author = author
    draft.attributes = _attributes(attributes) if attributes else {}
    draft.expires = None if expires is None else milliseconds(expires)
    draft.enclosures = _enclosures(enclosures) if enclosures else ()
    draft.contributors = draft.links = draft.extensions = ()
    draft.rights = draft.source = None
    draft.retracted = False
    draft.__class__ = Entry
    draft.__post_init__()
    entry: Entry = draft
    return entry


def _categories(text: str) -> tuple[Category, ...]:
    return _known_categories(text) if len(text) <= MAX_CACHED_CATEGORIES else _new_categories(text)


def _new_categories(text: str) -> tuple[Category, ...]:
    return tuple(map(category_named, _categories_in(text)))


def _attributes(text: str) -> dict[str, AttributeValue]:
    pairs = _attributes_in(text)
    named = {name: VALUES[kind](words) for name, kind, words in pairs}
    if len(named) < len(pairs):
        raise UsageError("an attribute has two values")
    return named


def _enclosures(text: str) -> tuple[Enclosure, ...]:
    files = _enclosures_in(text)
    for _name, kind, _length, _root in files:
        if not is_media_type(kind):
            raise UsageError(f"expected a media type such as text/plain; got {kind[:80]!r}")
    return tuple(Enclosure(name, kind, count(length), Root(root)) for name, kind, length, root in files)


# The entries of a feed often have the same few categories.
MAX_CACHED_CATEGORIES = 256  # characters, with their tags
_known_categories = lru_cache(maxsize=1024)(_new_categories)


# Few feeds and names come again and again; at most 2,048 and 64 characters each.
@lru_cache(maxsize=256)
def _feed_id(text: str) -> FeedId:
    return parse_feed_id(checked_iri(text))


_known_person = lru_cache(maxsize=1024)(Person)


def person_named(name: str) -> Person:
    return _known_person(name) if len(name) <= MAX_CACHED_CHARACTERS else Person(name)
