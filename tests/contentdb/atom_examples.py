"""Hypothesis strategies for everything that the model can say and Atom can write."""

from hypothesis import strategies as st

from contentdb.atom_markup import canonical_element, canonical_inside, escape_text, escape_value
from contentdb.atom_values import is_absolute
from contentdb.attributes import BUILT_IN_IDENTIFIERS, MAX_TIME, MIN_TIME, RESERVED_WORDS
from contentdb.model import (
    MAX_INTEGER,
    MIN_INTEGER,
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
from contentdb.names import AuthorKey, EntryId, FeedId, Root, owned_feed_id

characters = st.characters(
    codec="utf-8", exclude_categories=["Cs"], include_characters="\t\n\r<>&\"']"
).filter(lambda one: one in "\t\n\r" or " " <= one <= "\ufffd" or one > "\uffff")
words = st.text(characters, max_size=30)
hex_digits = st.binary(min_size=32, max_size=32).map(bytes.hex)
author_keys = hex_digits.map(AuthorKey)
times = st.integers(MIN_TIME, MAX_TIME)
iris = st.builds(
    "{}{}".format,
    st.sampled_from(["urn:x:", "http://h.example/", "tag:example.org,2024:", "data:"]),
    st.text("abcz019/.-_~:@!$&'()*+,;=?åé中", min_size=1, max_size=20),
).filter(is_absolute)  # data:// and a colon make an authority that no IRI has
languages = st.sampled_from(["en", "de-AT", "zh-Hant-TW", "x-private"])
maybe_languages = st.none() | st.just("") | languages
media_types = st.sampled_from(["text/plain", "audio/ogg", "application/atom+xml;type=feed", 'a/b; c="d e"'])
emails = st.sampled_from(["a@example.org", "o'neil+x@b.example", '"quoted words"@example.org'])


def _element(name: str, value: str, inside: list[str], prefixed: bool) -> str:
    start = f'x:{name} xmlns:x="urn:example:{name}"' if prefixed else f'{name} xmlns="urn:example:plain"'
    end = start.split(" ")[0]
    return f'<{start} a="{escape_value(value)}">{"".join(inside)}</{end}>'


_names = st.sampled_from(["thing", "y", "z"])
_leaves = words.map(escape_text)
elements = st.recursive(
    st.builds(_element, _names, words, st.just([]), st.booleans()),
    lambda inner: st.builds(_element, _names, words, st.lists(inner | _leaves, max_size=3), st.booleans()),
    max_leaves=5,
)
extensions = st.lists(elements.map(canonical_element), max_size=2).map(tuple)
divs = st.lists(elements | _leaves, max_size=2).map(
    lambda inside: canonical_element(f'<div xmlns="http://www.w3.org/1999/xhtml">{"".join(inside)}</div>')
)
bases = st.none() | iris
texts = st.builds(
    Text, words, st.sampled_from(["text", "html"]), language=maybe_languages, base=bases
) | st.builds(Text, divs, st.just("xhtml"), language=maybe_languages, base=bases)
maybe_texts = st.none() | texts
persons = st.builds(Person, words, st.none() | iris, st.none() | emails, extensions, maybe_languages)
categories = st.builds(Category, words, st.none() | iris, st.none() | words, maybe_languages)
links = st.builds(
    Link,
    iris,
    st.sampled_from(["alternate", "related", "self", "http://example.org/rel"]),
    st.none() | media_types,
    st.none() | languages,
    st.none() | words,
    st.none() | st.integers(0, 2**62),
    maybe_languages,
)
contents = st.one_of(
    st.builds(
        Content, st.sampled_from(["text", "html", "text/plain"]), words, st.none(), maybe_languages, bases
    ),
    st.builds(Content, st.just("xhtml"), divs, st.none(), maybe_languages, bases),
    st.builds(
        Content,
        st.sampled_from(["application/xml", "image/svg+xml"]),
        elements.map(canonical_inside),
        st.none(),
        maybe_languages,
        bases,
    ),
    st.builds(Content, st.just("image/png"), st.sampled_from(["", "AAAA", "Zm9v", "Zg=="])),
    st.builds(Content, st.just("text") | media_types, st.just(""), iris, maybe_languages, bases),
)
generators = st.builds(Generator, words, st.none() | iris, st.none() | words, maybe_languages)


def _tuples(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=2).map(tuple)


_metadata = {
    "subtitle": maybe_texts,
    "authors": _tuples(persons),
    "contributors": _tuples(persons),
    "categories": _tuples(categories),
    "rights": maybe_texts,
    "icon": st.none() | iris,
    "logo": st.none() | iris,
    "links": _tuples(links),
    "generator": st.none() | generators,
    "language": maybe_languages,
    "extensions": extensions,
}
sources = st.builds(Source, id=st.none() | iris, title=maybe_texts, updated=st.none() | times, **_metadata)
enclosures = st.builds(
    Enclosure,
    st.text(characters, min_size=1, max_size=20),
    media_types,
    st.integers(0, 2**42),
    hex_digits.map(Root),
)
attribute_names = st.text("abcXYZ_09å", min_size=1, max_size=8).filter(
    lambda name: (
        name.isidentifier() and name.upper() not in RESERVED_WORDS and name not in BUILT_IN_IDENTIFIERS
    )
)
attribute_values = st.one_of(
    words,
    st.booleans(),
    st.integers(MIN_INTEGER, MAX_INTEGER),
    st.floats(allow_nan=False, allow_infinity=False),
    times.map(Time),
)
entries = st.builds(
    Entry,
    id=iris.map(EntryId),
    title=texts,
    updated=times,
    published=st.none() | times,
    authors=_tuples(persons),
    contributors=_tuples(persons),
    categories=_tuples(categories),
    summary=maybe_texts,
    content=st.none() | contents,
    links=_tuples(links),
    rights=maybe_texts,
    source=st.none() | sources,
    language=maybe_languages,
    extensions=extensions,
    feed=iris.map(FeedId),
    author=author_keys,
    attributes=st.dictionaries(attribute_names, attribute_values, max_size=4),
    expires=st.none() | times,
    enclosures=_tuples(enclosures),
    retracted=st.booleans(),
)
_open_feeds = st.builds(
    Feed,
    id=iris.map(FeedId),
    title=texts,
    updated=times,
    signer=author_keys,
    sequence=st.integers(0, MAX_INTEGER),
    listed=st.booleans(),
    **_metadata,
)
_owned_feeds = author_keys.flatmap(
    lambda owner: st.builds(
        Feed,
        id=st.just(owned_feed_id(owner, "label")),
        title=texts,
        updated=times,
        signer=st.just(owner),
        sequence=st.integers(0, MAX_INTEGER),
        writers=st.lists(author_keys, max_size=3).map(tuple),
    )
)
feeds = _open_feeds | _owned_feeds


def details(value: object) -> object:
    """A value in plain terms, in which texts differ if their type, language or base do, and True is not 1."""
    if isinstance(value, Text):
        return ("Text", str(value), value.type, value.language, value.base)
    if isinstance(value, tuple):
        return tuple(details(each) for each in value)
    if isinstance(value, Entry | Feed | Source):
        return {name: details(getattr(value, name)) for name in value.__slots__}
    if hasattr(value, "items"):
        return {name: (type(each).__name__, repr(each)) for name, each in value.items()}
    return value
