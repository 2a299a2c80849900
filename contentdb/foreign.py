"""Feed documents from files: strictly if they are valid Atom, else leniently, saying what was repaired."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from contentdb.atom import AtomError, parse_feed
from contentdb.errors import UsageError
from contentdb.model import Entry, Feed, Link, Source

FIRST_PAGE = "feed.xml"
MAX_FEED_BYTES = 2**24
_DECLARATION = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_ENDS = {b"<!--": b"-->", b"<?": b"?>"}


@dataclass(frozen=True, slots=True)
class FeedFile:
    """One document: a feed, its entries, and the folder it lies in."""

    path: Path
    feed: Feed
    entries: Sequence[Entry]
    problems: Sequence[str] = field(default=())
    undated: frozenset[str] = frozenset()  # ids of entries whose date was made up

    @classmethod
    def read(cls, path: Path, at: int) -> "FeedFile":
        """Read at this time, which is the date of what has none."""
        return cls.of(read_document(path), path, at)

    @classmethod
    def of(cls, data: bytes, path: Path, at: int, address: str | None = None) -> "FeedFile":
        """The same from bytes; with the address they came from, if they did not come from a file."""
        try:
            return cls(path, *parse_feed(data))
        except AtomError as error:
            strict = str(error)
        name = address or path
        if declares(data):
            raise UsageError(
                f"{name} declares a DOCTYPE or entities, which passerby never reads; take them out"
            )
        from contentdb.apart import read_apart  # what valid Atom does not need

        found = read_apart(data, at, address)
        if found is None:
            raise UsageError(f"{name} is no feed: {strict}")
        what = f"not valid Atom ({strict})" if found.is_atom else f"an {found.kind} document"
        problems = (f"{what}; read leniently", *found.repairs)
        return cls(path, found.feed, found.entries, problems, frozenset(found.undated))

    def beside(self, href: str) -> Path | None:
        """The plain file a relative reference names, if it lies in our folder and nowhere else."""
        if not is_relative(href):
            return None
        folder = self.path.parent.resolve()
        try:
            path = (folder / unquote(urlsplit(href).path)).resolve()
            return path if path.is_relative_to(folder) and path.is_file() else None
        except (OSError, ValueError, RuntimeError):  # too long, a zero byte, links in a circle
            return None

    def next_link(self) -> Link | None:
        return next((link for link in self.feed.links if link.rel == "next"), None)


def first_page(path: Path) -> Path:
    """The document to begin with: the one named, or that of an exported folder."""
    return path / FIRST_PAGE if os.path.isdir(path) else path  # pathlib's is_dir fails for a name too long


def is_relative(href: str) -> bool:
    """Does this name a file beside the document, rather than something on the web or elsewhere on disk?"""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return bool(parts.path) and not (parts.scheme or parts.netloc or parts.query or parts.path[0] == "/")


def declares(data: bytes) -> bool:
    """Is there a DOCTYPE where XML has it? Inside the text of an article it is only text."""
    plain = data.replace(b"\0", b"")  # of UTF-16, the zero bytes hide it
    at = plain.find(b"<")
    while at >= 0:
        end = next((end for start, end in _ENDS.items() if plain.startswith(start, at)), None)
        if end is not None:
            at = plain.find(end, at)  # each byte is looked at once, also where the end is missing
            if at < 0:
                return False
        elif _DECLARATION.match(plain, at):
            return True
        elif plain[at + 1 : at + 2] not in (b"!", b"") and not plain[at + 1 : at + 2].isspace():
            return False  # the first element
        at = plain.find(b"<", at + 1)
    return False


def read_document(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a pipe would make us wait for its writer
            raise UsageError(f"{path} is not a plain file; name a feed document or an exported folder")
        with path.open("rb") as file:
            data = file.read(MAX_FEED_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {os.fspath(path)}: {reason}") from error
    if len(data) > MAX_FEED_BYTES:
        raise UsageError(f"{path} is larger than {MAX_FEED_BYTES} bytes; split the feed into pages")
    return data


def source_of(feed: Feed) -> Source:
    """What an entry taken from this feed says about where it came from."""
    return Source(
        id=feed.id, title=feed.title, updated=feed.updated, subtitle=feed.subtitle, authors=feed.authors,
        contributors=feed.contributors, categories=feed.categories, rights=feed.rights, icon=feed.icon,
        logo=feed.logo, links=tuple(link for link in feed.links if link.rel in ("self", "alternate")),
        generator=feed.generator, language=feed.language,
    )  # fmt: skip
