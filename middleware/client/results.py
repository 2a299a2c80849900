"""What a node tells, as values: each knows the keys of its JSON document, and passes over others."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")


def _from(kind: type[Value], document: Mapping[str, Any], **instead: Any) -> Value:
    known = {each.name: document[each.name] for each in fields(kind) if each.name in document}  # type: ignore[arg-type]
    return kind(**(known | instead))


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed as the node knows it; `updated` is the time of its newest entry, in Unix milliseconds."""

    id: str
    title: str | None = None
    updated: int | None = None
    categories: list[str] = field(default_factory=list)
    entries: int = 0
    subscribed: bool = False
    owned: bool = False
    listed: bool = True
    seen_at: str | None = None  # of one that was discovered: the neighbour that has it

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Feed":
        return _from(cls, document)


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file of an entry. `path` is where its bytes are, to be read; None while they are not all here."""

    name: str
    type: str
    length: int
    root: str
    received: int = 0
    path: Path | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Enclosure":
        path = document.get("path")
        return _from(cls, document, path=None if path is None else Path(path))


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it was signed by `author`; `author_name` is what they call themselves. Times in ms."""

    id: str
    feed: str
    title: str
    updated: int
    author: str
    published: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    enclosures: list[Enclosure] = field(default_factory=list)
    complete: bool = True
    summary: str | None = None
    categories: list[str] = field(default_factory=list)
    expires: int | None = None
    own: bool = False
    pinned: bool = False
    author_name: str | None = None
    source: dict[str, Any] | None = None
    content: dict[str, Any] | None = None
    links: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Entry":
        return _from(cls, document, enclosures=[Enclosure.of(each) for each in document["enclosures"]])

    @property
    def progress(self) -> float:
        """How much of its files is here, from 0 to 1."""
        length = sum(enclosure.length for enclosure in self.enclosures)
        return 1.0 if not length else sum(each.received for each in self.enclosures) / length


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node in range. Until `proved`, its id is what it claims."""

    node_id: str
    address: str | None = None
    revision: int = 0
    since: int = 0
    last_seen: int = 0
    proved: bool = False
    sources: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Neighbour":
        return _from(cls, document)


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with a neighbour that is going on, with the bytes that went either way."""

    id: int
    node_id: str | None = None
    address: str | None = None
    role: str = "client"
    seconds: float = 0.0
    received: int = 0
    sent: int = 0
    entries: int = 0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Session":
        return _from(cls, document)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A file on its way; `rate` in bytes a second, where somebody watches."""

    root: str
    name: str | None = None
    length: int = 0
    received: int = 0
    rate: int = 0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Transfer":
        return _from(cls, document)


@dataclass(frozen=True, slots=True)
class Status:
    node_id: str
    epoch: str
    revision: int
    feeds: int
    entries: int
    neighbours: int
    sessions: int
    storage: dict[str, int]
    dashboard: str | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Status":
        return _from(cls, document)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an entry: published, received, delivered, refused, expired ..."""

    at: int
    event: str
    detail: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Event":
        return _from(cls, document)
