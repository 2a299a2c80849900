"""What a gateway mirrors, and what it remembers between visits; kept as one JSON document.

A source is an address of the web or the path of a file. Its memory holds what makes the next visit cheap:
what the server said of the version we have, and which files have been taken over already.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar, get_type_hints

from contentdb.errors import UsageError
from contentdb.names import FeedId, Root, parse_feed_id, parse_root
from middleware.gateway.addresses import Origin, is_url, parse_url
from middleware.gateway.answers import DAY_S, MAX_RETRY_S

_Kept = TypeVar("_Kept")
VERSION = 1
# More than anybody reads; each costs one request in every round.
MAX_SOURCES = 1_000
MAX_ENTRIES = 1_000
DEFAULT_ENTRIES = 20
DEFAULT_FILE_BYTES = 100 * 2**20
FIRST_WAIT_S = 60
MAX_WAIT_S = DAY_S
# A file that failed so often is left out, and its entry is published with a link to it.
MAX_TRIES = 3


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file of the web that is in the store, as entries name it."""

    name: str
    type: str
    length: int
    root: Root


@dataclass(frozen=True, slots=True)
class Partial:
    """A file that came in part, and what its server must say again for the rest to fit."""

    url: str
    validator: str


@dataclass(frozen=True, slots=True)
class Memory:
    """All of it may be lost: then everything is fetched again, and nothing is published twice."""

    validated: str = ""  # the address that said what follows
    etag: str = ""
    modified: str = ""
    visited_at: int = 0
    changed_at: int = 0
    failures: int = 0
    wait_until: int = 0
    problem: str = ""
    title: str = ""
    dates: Mapping[str, int] = field(default_factory=dict)  # of entries that have none of their own
    files: Mapping[str, TakenFile] = field(default_factory=dict)
    tries: Mapping[str, int] = field(default_factory=dict)  # of files that failed
    partial: Partial | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What the owner asked for. `private` lets its own address, and no other, be on the local network."""

    address: str
    feed: str = ""
    title: str = ""
    max_entries: int = DEFAULT_ENTRIES
    max_file: int = DEFAULT_FILE_BYTES
    files: bool = True
    private: bool = False
    memory: Memory = field(default_factory=Memory)

    @property
    def is_file(self) -> bool:
        return not is_url(self.address)

    @property
    def feed_id(self) -> FeedId | None:
        """Where its entries go: the same for everybody who mirrors this address, unless the owner chose.

        None for a file, which says itself which feed it is.
        """
        return FeedId(self.feed) if self.feed else None if self.is_file else FeedId(self.address)

    @property
    def private_origin(self) -> Origin | None:
        return parse_url(self.address).origin if self.private and not self.is_file else None

    def visited(self, memory: Memory, at: int) -> "Source":
        """After a visit that went well."""
        return replace(self, memory=replace(memory, visited_at=at, failures=0, wait_until=0, problem=""))

    def failed(self, problem: str, at: int, retry_s: int | None = None) -> "Source":
        """Wait twice as long after each failure, or as long as the server asks for if that is longer."""
        failures = self.memory.failures + 1
        wait_s = max(min(FIRST_WAIT_S * 2 ** min(failures - 1, 20), MAX_WAIT_S), retry_s or 0)
        memory = replace(
            self.memory,
            visited_at=at,
            failures=failures,
            wait_until=at + wait_s * 1000,
            problem=problem[:500],
        )
        return replace(self, memory=memory)

    def due_at(self, every_s: float, at: int) -> int:
        """When the next visit is, in Unix milliseconds. What is past need not be waited for."""
        visited = self.memory.visited_at
        # A visit that is yet to come was noted by a clock that was wrong.
        regular = visited + int(every_s * 1000) if visited <= at else at
        return max(regular, self.memory.wait_until if self.is_resting(at) else 0)

    def is_resting(self, at: int) -> bool:
        """Must it be left alone? Not for longer than anything asks for, however far ahead the time is."""
        return at < self.memory.wait_until <= at + MAX_RETRY_S * 1000


def checked(source: Source) -> Source:
    """What the owner says, with the address in its one spelling; raises UsageError if it cannot be done."""
    if not source.is_file:
        source = replace(source, address=parse_url(source.address).url)
    if source.is_file and source.private:
        raise UsageError("--allow-private is for addresses of the web; a file is read as it is")
    if not 1 <= source.max_entries <= MAX_ENTRIES:
        raise UsageError(f"--max-entries is 1 to {MAX_ENTRIES}; got {source.max_entries}")
    if source.feed:
        parse_feed_id(source.feed)
    return source


def encode_sources(sources: Mapping[str, Source]) -> bytes:
    document = {"version": VERSION, "sources": [asdict(sources[address]) for address in sorted(sources)]}
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"


def decode_sources(data: bytes) -> dict[str, Source]:
    """Raises UsageError if this is not what we write."""
    try:
        document = json.loads(data.decode("utf-8", "surrogateescape"))
        if document["version"] != VERSION:
            raise UsageError("it was written by a newer passerby")
        sources = [_source(each) for each in document["sources"]]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        reason = error if isinstance(error, UsageError) else f"it is damaged ({type(error).__name__})"
        raise UsageError(str(reason)) from None
    if len(sources) > MAX_SOURCES:
        raise UsageError(f"it has more than {MAX_SOURCES} sources")
    return {source.address: source for source in sources}


def _source(document: Mapping[str, Any]) -> Source:
    memory = dict(document["memory"])
    memory["files"] = {str(href): _taken(file) for href, file in memory["files"].items()}
    memory["dates"] = {str(id): int(at) for id, at in memory["dates"].items()}
    memory["tries"] = {str(href): int(count) for href, count in memory["tries"].items()}
    partial = memory["partial"]
    memory["partial"] = None if partial is None else _typed(Partial, partial)
    source = _typed(Source, {**document, "memory": _typed(Memory, memory)})
    if not source.is_file:
        parse_url(source.address)
    return source


def _taken(document: Mapping[str, Any]) -> TakenFile:
    file = _typed(TakenFile, document)
    parse_root(file.root)
    return file


def _typed(kind: type[_Kept], values: Mapping[str, Any]) -> _Kept:
    hints = get_type_hints(kind)
    for name, hint in hints.items():
        if hint in (int, str, bool) and type(values[name]) is not hint:
            raise ValueError(name)
    return kind(**{name: values[name] for name in hints})
