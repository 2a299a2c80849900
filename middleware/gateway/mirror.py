"""The core of a visit: what of a foreign document is taken over, which files it takes, and in which form.

    mirror = Mirror(source, FeedFile.of(data, path, at, address), at)
    for batch in mirror.batches():
        for href in batch.wanted:  # fetched by the shell
            mirror.file_taken(href, TakenFile(...), "files/1")  or  mirror.file_failed(href, error)
        document = mirror.document(batch)  # Atom for `import_feed`, beside the files; None: not this time

What is published is published with its files: a second version, once they are there, would reach every reader
twice. So an entry waits for its files, some visits long if need be, and others do not wait for it.
"""

import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from contentdb.absolute import Resolver
from contentdb.atom import enclosure_urn, write_feed
from contentdb.blobs import safe_name
from contentdb.foreign import FeedFile, is_relative, source_of
from contentdb.model import MAX_ENCLOSURES, Enclosure, Entry, Feed, Link, Text
from middleware.gateway.addresses import is_url
from middleware.gateway.answers import FetchError
from middleware.gateway.sources import MAX_TRIES, Memory, Source, TakenFile

_Kept = TypeVar("_Kept")
# So many files in one visit; what is left comes in the next one.
MAX_FILES_PER_VISIT = 100
# Signed bytes have room for little more; whoever wants to read longer texts follows the link.
MAX_TEXT_BYTES = 96 * 1024
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that are published together, and the files that they wait for."""

    entries: tuple[Entry, ...]
    wanted: tuple[str, ...] = ()


class Mirror:
    def __init__(self, source: Source, file: FeedFile, at: int, base: str | None = None) -> None:
        self._source, self._at, self._memory = source, at, source.memory
        self._is_local = source.is_file
        self._resolver = Resolver(file.feed, base)
        self._origin = self._resolver.source(source_of(file.feed))
        self._undated = file.undated
        self.problems = list(file.problems[1:])  # the first says what kind of document it is
        self.is_finished = True
        self._files = dict(source.memory.files)
        self._tries = dict(source.memory.tries)
        self._dates = dict(source.memory.dates)
        self._staged: dict[str, tuple[str, TakenFile]] = {}
        self._fetches = 0
        newest = sorted(file.entries, key=lambda entry: entry.updated, reverse=True)
        self._entries = [self._prepared(entry) for entry in newest[: source.max_entries]]
        self._feed = self._described(file.feed)

    # -- the document's own words

    def _described(self, feed: Feed) -> Feed:
        ours = self._resolver.feed(feed)
        links = tuple(link for link in ours.links if link.rel != "next")
        title = Text(self._source.title) if self._source.title else ours.title
        return replace(ours, id=self._source.feed_id or ours.id, title=title, links=links)

    def _prepared(self, entry: Entry) -> Entry:
        """The entry with absolute references and its source; only links to its files are as they were."""
        files = tuple(link for link in entry.links if link.rel == "enclosure")
        plain = self._resolver.entry(
            replace(entry, links=tuple(link for link in entry.links if link.rel != "enclosure"))
        )
        source = plain.source or self._origin
        if plain.content is not None and len(plain.content.text.encode()) > MAX_TEXT_BYTES:
            plain = replace(plain, content=None)
            self._tell("some texts are too long for an entry; they were left out, and the links to them kept")
        return replace(
            plain,
            updated=self._date(entry),
            links=plain.links + self._resolved(files[:MAX_ENCLOSURES]),
            source=replace(source, id=source.id or self._origin.id),
        )

    def _date(self, entry: Entry) -> int:
        """What has no date keeps the one it got when it was first seen."""
        if entry.id not in self._undated:
            return entry.updated
        return self._dates.setdefault(entry.id, min(entry.updated, self._at))

    def _resolved(self, links: tuple[Link, ...]) -> tuple[Link, ...]:
        """With whole addresses, but for files beside a file."""
        beside = tuple(link for link in links if self._is_local and is_relative(link.href))
        return beside + self._resolver.links(tuple(link for link in links if link not in beside))

    # -- batches

    def batches(self) -> Iterator[Batch]:
        """First all that waits for nothing, then what waits for files, the newest first."""
        waiting = [entry for entry in self._entries if self._wanted(entry)]
        ready = tuple(entry for entry in self._entries if not self._wanted(entry))
        yield Batch(ready)
        for entry in waiting:
            wanted = self._wanted(entry)
            self._fetches += len(wanted)
            if self._fetches > MAX_FILES_PER_VISIT:
                self.is_finished = False
                return
            yield Batch((entry,), wanted)

    def _wanted(self, entry: Entry) -> tuple[str, ...]:
        return tuple(dict.fromkeys(link.href for link in entry.links if self._is_wanted(link)))

    def _is_wanted(self, link: Link) -> bool:
        if link.rel != "enclosure" or not self._source.files or (link.length or 0) > self._source.max_file:
            return False
        can_be = is_url(link.href) or (self._is_local and is_relative(link.href))
        is_done = link.href in self._files or link.href in self._staged
        return can_be and not is_done and self._tries.get(link.href, 0) < MAX_TRIES

    def name_of(self, batch: Batch, href: str) -> tuple[str, str]:
        """The name and media type a file gets: from what the entry says, or how its address ends."""
        links = (link for entry in batch.entries for link in entry.links if link.href == href)
        link = next(links)
        name = safe_name(link.title or unquote(urlsplit(href).path.rpartition("/")[2]) or "file")
        return name, link.type or mimetypes.guess_type(name)[0] or "application/octet-stream"

    def file_taken(self, href: str, file: TakenFile, staged: str) -> None:
        """The shell has the file and will put it under this name beside the document."""
        if not is_relative(href):  # a file beside a file may change any time, and costs nothing to read again
            self._files[href] = file
        self._staged[href] = (staged, file)
        self._tries.pop(href, None)

    def file_failed(self, href: str, error: FetchError, *, is_coming: bool = False) -> None:
        """It did not come, or not all of it. What `is_coming` piece by piece is waited for."""
        if error.is_final or not is_coming:
            self._tries[href] = MAX_TRIES if error.is_final else self._tries.get(href, 0) + 1
        self._tell(f"{error}; the entry keeps a link to it" if error.is_final else str(error))

    # -- what goes to the importer

    def document(self, batch: Batch) -> bytes | None:
        """Atom with references to files as they lie beside it; None if some of them must be waited for."""
        entries = [entry for entry in batch.entries if not self._wanted(entry)]
        if len(entries) < len(batch.entries):
            self.is_finished = False
        if not entries:
            return None
        return write_feed(self._feed, [self._with_files(entry) for entry in entries])

    def _with_files(self, entry: Entry) -> Entry:
        return replace(
            entry, links=tuple(self._file_link(link) for link in entry.links if self._is_kept(link))
        )

    def _is_kept(self, link: Link) -> bool:
        """A file beside a file that is not taken over leaves no link, which would lead nowhere elsewhere."""
        return link.rel != "enclosure" or not is_relative(link.href) or link.href in self._staged

    def _file_link(self, link: Link) -> Link:
        if link.rel != "enclosure":
            return link
        staged, file = self._staged.get(link.href, ("", self._files.get(link.href)))
        if file is None:
            return link
        # What was published before is named by its root: its bytes need not be here a second time.
        known = enclosure_urn(Enclosure(file.name, file.type, file.length, file.root))
        return Link(staged or known, "enclosure", file.type, title=file.name, length=file.length)

    def published(self) -> None:
        """What was staged is in the store now."""
        self._staged.clear()

    @property
    def memory(self) -> Memory:
        """What to remember, without what belongs to entries that are no longer in the document."""
        named = {link.href for entry in self._entries for link in entry.links if link.rel == "enclosure"}
        ids = {str(entry.id) for entry in self._entries}
        return replace(
            self._memory,
            title=str(self._feed.title)[:200],
            files=_only(self._files, named),
            tries=_only(self._tries, named),
            dates=_only(self._dates, ids),
        )

    def _tell(self, problem: str) -> None:
        if problem not in self.problems and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def _only(kept: Mapping[str, _Kept], names: set[str]) -> dict[str, _Kept]:
    return {name: value for name, value in kept.items() if name in names}
