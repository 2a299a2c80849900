"""Feed, entry, enclosure: frozen values that hold what Atom (RFC 4287) says and what passerby adds.

Times are integer Unix milliseconds. Text constructs are strings that also know their type, language
and base, so that callers who want words get words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from contentdb.attributes import BUILT_IN_IDENTIFIERS as BUILT_IN_IDENTIFIERS
from contentdb.attributes import MAX_INTEGER as MAX_INTEGER
from contentdb.attributes import MIN_INTEGER as MIN_INTEGER
from contentdb.attributes import AttributeValue as AttributeValue
from contentdb.attributes import Time as Time
from contentdb.attributes import check_attributes, check_time
from contentdb.errors import UsageError
from contentdb.names import AuthorKey, EntryId, EntryKey, FeedId, Root, owner_of

CHUNK_BYTES = 16_384
# One XML header and one reply carry many entries; longer texts belong into an enclosure.
MAX_SIGNED_BYTES = 131_072
SIGNATURE_BYTES = 64
MAX_ENCLOSURES = 32
# 4 TiB: more than any phone holds, and far from where chunk numbers would need other types.
MAX_ENCLOSURE_BYTES = 2**42
MAX_WRITERS = 1_000


class Text(str):
    """An Atom text construct: its characters, and how they are meant.

    Equal to the plain string with the same characters. For ``xhtml`` the characters are the serialised
    ``div``; for ``html`` they are markup. Neither is ever shown unescaped.
    """

    __slots__ = ("base", "language", "type")
    type: str
    language: str | None
    base: str | None

    def __new__(
        cls, value: str, type: str = "text", *, language: str | None = None, base: str | None = None
    ) -> Self:
        text = str.__new__(cls, value)  # a quarter faster than through super(), and every entry has some
        text.type, text.language, text.base = type, language, base
        return text


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    uri: str | None = None
    email: str | None = None
    extensions: tuple[str, ...] = ()
    language: str | None = None  # of the name; here and below None is that of what it stands in


@dataclass(frozen=True, slots=True)
class Category:
    term: str
    scheme: str | None = None
    label: str | None = None
    language: str | None = None  # of the label


@dataclass(frozen=True, slots=True)
class Link:
    href: str
    rel: str = "alternate"
    type: str | None = None
    hreflang: str | None = None
    title: str | None = None
    length: int | None = None
    language: str | None = None  # of the title


@dataclass(frozen=True, slots=True)
class Content:
    """``text`` holds what stands inside (serialised if it is markup); ``src`` points elsewhere instead."""

    type: str = "text"
    text: str = ""
    src: str | None = None
    language: str | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Generator:
    name: str
    uri: str | None = None
    version: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a copied entry came from: the metadata of its first feed, as much of it as was given."""

    id: str | None = None
    title: Text | None = None
    updated: int | None = None
    subtitle: Text | None = None
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    rights: Text | None = None
    icon: str | None = None
    logo: str | None = None
    links: tuple[Link, ...] = ()
    generator: Generator | None = None
    language: str | None = None
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enclosure:
    """One attached file. The name is for display only; the root and the length are what is signed."""

    name: str
    type: str
    length: int
    root: Root

    def __post_init__(self) -> None:
        if not 0 <= self.length <= MAX_ENCLOSURE_BYTES:
            raise UsageError(f"an enclosure has 0 to {MAX_ENCLOSURE_BYTES} bytes; got {self.length}")
        if not 1 <= len(self.name) <= 255:
            raise UsageError(f"an enclosure's name has 1 to 255 characters; got {len(self.name)}")

    @property
    def chunk_count(self) -> int:
        return -(-self.length // CHUNK_BYTES)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Up to 16 KiB of an enclosure, numbered from 1; only the last one may be shorter."""

    root: Root
    index: int
    data: bytes

    def __post_init__(self) -> None:
        if self.index < 1:
            raise UsageError(f"chunks are numbered from 1; got {self.index}")
        if not 1 <= len(self.data) <= CHUNK_BYTES:
            raise UsageError(f"a chunk has 1 to {CHUNK_BYTES} bytes; got {len(self.data)}")


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed as its descriptor tells it. ``updated`` is the descriptor's; the store computes the feed's."""

    id: FeedId
    title: Text
    updated: int
    subtitle: Text | None = None
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    rights: Text | None = None
    icon: str | None = None
    logo: str | None = None
    links: tuple[Link, ...] = ()
    generator: Generator | None = None
    language: str | None = None
    extensions: tuple[str, ...] = ()
    # What passerby adds. A foreign feed has no signer.
    signer: AuthorKey | None = None
    sequence: int = 0
    listed: bool = True
    writers: tuple[AuthorKey, ...] = ()

    def __post_init__(self) -> None:
        check_time("updated", self.updated)
        owner = owner_of(self.id)
        if owner is None and self.writers:
            raise UsageError("only an owned feed has a list of writers; an open feed accepts everybody")
        if owner is not None and self.signer not in (None, owner):
            raise UsageError("an owned feed's descriptor is signed by the key in its id and by nobody else")
        if len(self.writers) > MAX_WRITERS:
            raise UsageError(f"a feed has at most {MAX_WRITERS} writers; got {len(self.writers)}")
        if not 0 <= self.sequence <= MAX_INTEGER:
            raise UsageError(f"a descriptor's sequence is a 64-bit count; got {self.sequence}")

    @property
    def owner(self) -> AuthorKey | None:
        return owner_of(self.id)

    def may_write(self, author: AuthorKey) -> bool:
        owner = self.owner
        return owner is None or author == owner or author in self.writers

    def selectable(self, updated: int | None) -> dict[str, AttributeValue]:
        """What a selector over feeds sees. ``updated`` is that of the newest entry held, never our own."""
        seen: dict[str, AttributeValue | None] = {
            "id": str(self.id),
            "feed": str(self.id),
            "title": str(self.title),
            "summary": str(self.subtitle) if self.subtitle is not None else None,
            "author": self.signer,
            "author_name": self.authors[0].name if self.authors else None,
            "updated": updated,
            "language": self.language,
            "categories": joined_categories(self.categories),
        }
        return {name: value for name, value in seen.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Entry:
    id: EntryId
    title: Text
    updated: int
    published: int | None = None
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    summary: Text | None = None
    content: Content | None = None
    links: tuple[Link, ...] = ()
    rights: Text | None = None
    source: Source | None = None
    language: str | None = None
    extensions: tuple[str, ...] = ()
    # What passerby adds. A foreign entry has neither feed nor author key.
    feed: FeedId | None = None
    author: AuthorKey | None = None
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    expires: int | None = None
    enclosures: tuple[Enclosure, ...] = ()
    retracted: bool = False

    def __post_init__(self) -> None:
        if self.attributes:
            check_attributes(self.attributes)
        check_time("updated", self.updated)
        if self.published is not None:
            check_time("published", self.published)
        if self.expires is not None:
            check_time("expires", self.expires)
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        if len(self.enclosures) > MAX_ENCLOSURES:
            raise UsageError(f"an entry has at most {MAX_ENCLOSURES} enclosures; got {len(self.enclosures)}")

    @property
    def key(self) -> EntryKey:
        if self.feed is None or self.author is None:
            raise UsageError("an entry from foreign Atom has no key until somebody imports and signs it")
        return EntryKey(self.feed, self.author, self.id)

    def selectable(self) -> dict[str, AttributeValue]:
        """What a selector over entries sees: the built-in identifiers that exist here, and the attributes."""
        seen: dict[str, AttributeValue | None] = {
            "id": str(self.id),
            "feed": self.feed,
            "title": str(self.title),
            "summary": str(self.summary) if self.summary is not None else None,
            "author": self.author,
            "author_name": self.authors[0].name if self.authors else None,
            "updated": self.updated,
            "published": self.published,
            "expires": self.expires,
            "size": sum(enclosure.length for enclosure in self.enclosures),
            "enclosures": len(self.enclosures),
            "type": self.enclosures[0].type if self.enclosures else None,
            "language": self.language,
            "categories": joined_categories(self.categories),
        }
        present: dict[str, AttributeValue] = {n: v for n, v in seen.items() if v is not None}
        present.update(self.attributes)
        return present


def joined_categories(categories: tuple[Category, ...]) -> str | None:
    """``|music|jazz|``: one string, so that ``LIKE '%|jazz|%'`` finds a whole category."""
    return "|" + "|".join([category.term for category in categories]) + "|" if categories else None


@dataclass(frozen=True, slots=True)
class Signed:
    """An entry or descriptor as it travels: who vouches, the Ed25519 signature, exactly what was signed."""

    author: AuthorKey
    signature: bytes
    data: bytes

    def __post_init__(self) -> None:
        if len(self.signature) != SIGNATURE_BYTES:
            raise UsageError(f"a signature has {SIGNATURE_BYTES} bytes; got {len(self.signature)}")
        if not 1 <= len(self.data) <= MAX_SIGNED_BYTES:
            raise UsageError(f"signed bytes are 1 to {MAX_SIGNED_BYTES} long; got {len(self.data)}")
