"""The shell of a visit: fetches the document and its files into a folder, and hands that to the importer."""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from contentdb.blobs_files import disk, hash_source, make_folder
from contentdb.errors import StoreError, UsageError
from contentdb.foreign import FIRST_PAGE, MAX_FEED_BYTES, FeedFile, first_page, read_document
from contentdb.imports import Report
from middleware.gateway.addresses import parse_url
from middleware.gateway.answers import FetchError, parse_range, validator
from middleware.gateway.fetch import Fetcher, Reply, Request
from middleware.gateway.mirror import Batch, Mirror
from middleware.gateway.sources import Memory, Partial, Source, TakenFile

DOCUMENT_S = 60.0
# At 100 kB/s this is 90 MB; what takes longer goes on in the next visit.
FILE_S = 900.0
# One slow server must not keep the others waiting: what a visit has not begun by then waits for the next.
VISIT_S = 1_800.0
# A download that stopped after so much more is on its way; one that brings less has failed.
PROGRESS_BYTES = 2**20
STAGING, PARTIAL, FILES = "staging", "partial", "files"
ACCEPT = "application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1"


@dataclass(slots=True)
class Visit:
    """What came of it, for the owner."""

    source: Source
    is_unchanged: bool = False
    entries: int = 0
    files: int = 0
    known: int = 0
    refused: int = 0
    feed: str = ""
    problem: str = ""
    problems: list[str] = field(default_factory=list)

    def count(self, report: Report) -> None:
        self.feed = report.feed
        self.entries += report.entries
        self.files += report.files
        self.known += report.known
        self.refused += report.refused
        self.problems += [problem for problem in report.problems if problem not in self.problems]


class Visitor:
    """Visits sources, one after the other. `take_in` imports a folder and is durable when it returns."""

    def __init__(
        self,
        folder: Path,
        fetcher: Fetcher,
        take_in: Callable[[Path], Report],
        keep: Callable[[Source], None],
    ) -> None:
        self._folder, self._fetcher, self._take_in, self._keep = folder, fetcher, take_in, keep

    def visit(self, source: Source, at: int) -> Visit:
        """Never fails for what a server, a feed or a full store does: that is said, and waited for."""
        visit = Visit(source)
        try:
            found = self._document(source, at)
            if found is None:
                visit.is_unchanged = True
                visit.source = source.visited(source.memory, at)
            else:
                file, memory, base = found
                self._take_over(visit, replace(source, memory=memory), file, at=at, base=base)
        except FetchError as error:
            visit.problem = str(error)
            visit.source = visit.source.failed(visit.problem, at, error.retry_s)
        except (UsageError, StoreError) as error:
            visit.problem = str(error)
            visit.source = visit.source.failed(visit.problem, at)
        self._keep(visit.source)
        return visit

    # -- the document

    def _document(self, source: Source, at: int) -> tuple[FeedFile, Memory, str | None] | None:
        """The document, what its server said of this version, and where it was; None if it is the old one."""
        return self._local(source, at) if source.is_file else self._remote(source, at)

    def _local(self, source: Source, at: int) -> tuple[FeedFile, Memory, None] | None:
        path = first_page(Path(source.address))
        data = read_document(path)
        mark = hashlib.sha256(data).hexdigest()
        if source.memory.validated == source.address and source.memory.etag == mark:
            return None
        memory = replace(source.memory, validated=source.address, etag=mark)
        return FeedFile.of(data, path, at), memory, None

    def _remote(self, source: Source, at: int) -> tuple[FeedFile, Memory, str] | None:
        known = source.memory
        said = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
        request = Request(
            parse_url(source.address), MAX_FEED_BYTES, DOCUMENT_S, at,
            headers={"Accept": ACCEPT, "Accept-Encoding": "gzip"},
            validators={name: value for name, value in said.items() if value},
            validated=known.validated,
            private=source.private_origin,
        )  # fmt: skip
        with self._fetcher.open(request) as reply:
            if reply.status == 304 and known.validated:
                return None
            if reply.status != 200:
                raise FetchError(f"{reply.place.url} was answered with status {reply.status}")
            data, address = b"".join(reply.pieces), reply.place.url
        memory = replace(
            known,
            validated=address,
            etag=validator(reply.headers.get("etag")) or "",
            modified=validator(reply.headers.get("last-modified")) or "",
        )
        return FeedFile.of(data, Path(FIRST_PAGE), at, address), memory, address

    # -- what is in it

    def _take_over(self, visit: Visit, source: Source, file: FeedFile, *, at: int, base: str | None) -> None:
        mirror = Mirror(source, file, at, base)
        give_up_at = time.monotonic() + VISIT_S
        for batch in mirror.batches():
            if batch.wanted and time.monotonic() > give_up_at:
                mirror.is_finished = False
                break
            staging = self._fresh_staging()
            for number, href in enumerate(batch.wanted, 1):
                self._stage(mirror, batch, href, staging / FILES / str(number), visit, file, at)
            document = mirror.document(batch)
            if document is not None:
                with disk(f"write in {staging}"):
                    (staging / FIRST_PAGE).write_bytes(document)
                visit.count(self._take_in(staging / FIRST_PAGE))
                mirror.published()
                # The version counts as seen only at the end; what was taken over counts from now on.
                visit.source = replace(source, memory=_unseen(mirror.memory, visit.source.memory.partial))
                self._keep(visit.source)
        shutil.rmtree(self._folder / STAGING, ignore_errors=True)
        partial = visit.source.memory.partial
        memory = replace(mirror.memory, partial=partial)
        memory = memory if mirror.is_finished else _unseen(memory, partial)
        if visit.entries:
            memory = replace(memory, changed_at=at)
        visit.source = source.visited(memory, at)
        visit.problems += [problem for problem in mirror.problems if problem not in visit.problems]

    def _fresh_staging(self) -> Path:
        staging = self._folder / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        make_folder(staging / FILES)
        return staging

    # -- files

    def _partial(self, source: Source) -> Path:
        """Where a file that comes in part waits for the rest: one for each source."""
        make_folder(self._folder / PARTIAL)
        return self._folder / PARTIAL / hashlib.sha256(os.fsencode(source.address)).hexdigest()[:32]

    def _stage(
        self, mirror: Mirror, batch: Batch, href: str, path: Path, visit: Visit, file: FeedFile, at: int
    ) -> None:
        before = self._received(visit.source, href)
        try:
            self._fetch_file(visit, href, path, file, at)
            hasher = hash_source(path, lambda piece: None, None)
            if not hasher.length:
                raise FetchError(f"{href} is empty", is_final=True)
        except FetchError as error:
            is_coming = self._received(visit.source, href) >= before + PROGRESS_BYTES
            mirror.file_failed(href, error, is_coming=is_coming)
            return
        name, kind = mirror.name_of(batch, href)
        mirror.file_taken(href, TakenFile(name, kind, hasher.length, hasher.root()), f"{FILES}/{path.name}")

    def _received(self, source: Source, href: str) -> int:
        """How much of this file is here and can be gone on with."""
        left, partial = source.memory.partial, self._partial(source)
        return partial.stat().st_size if left is not None and left.url == href and partial.exists() else 0

    def forget(self, source: Source) -> None:
        self._partial(source).unlink(missing_ok=True)

    def _fetch_file(self, visit: Visit, href: str, path: Path, file: FeedFile, at: int) -> None:
        source = visit.source
        if not href.lower().startswith(("http:", "https:")):
            _copy_beside(file, href, path, source.max_file)
            return
        try:
            place = parse_url(href)
        except UsageError as error:
            raise FetchError(str(error), is_final=True) from None
        partial = self._partial(source)
        left, size = source.memory.partial, self._received(source, href)
        headers = {"Accept-Encoding": "identity"}
        if size and left is not None:
            headers |= {"Range": f"bytes={size}-", "If-Range": left.validator}
        request = Request(place, source.max_file, FILE_S, at, headers=headers, private=source.private_origin)
        with self._fetcher.open(request) as reply:
            visit.source = self._begin(visit.source, href, reply, partial)
            self._receive(reply, partial, size, source.max_file)
        with disk(f"write {path}"):
            partial.replace(path)
        visit.source = _with_partial(visit.source, None)

    def _begin(self, source: Source, href: str, reply: Reply, partial: Path) -> Source:
        """Remember, durably, what the bytes that come now belong to, and never others."""
        if reply.status != 206:
            partial.unlink(missing_ok=True)
        etag = validator(reply.headers.get("etag")) or ""
        strong = "" if etag.startswith("W/") else etag
        said = strong or validator(reply.headers.get("last-modified")) or ""
        source = _with_partial(source, Partial(href, said) if said else None)
        self._keep(source)
        return source

    def _receive(self, reply: Reply, partial: Path, size: int, limit: int) -> None:
        start = 0
        if reply.status == 206:
            found = parse_range(reply.headers.get("content-range"))
            if found is None or found[0] != size or (found[1] or 0) > limit:
                partial.unlink(missing_ok=True)
                raise FetchError(f"{reply.place.url} sent another part than was asked for")
            start = size
        elif reply.status != 200:
            partial.unlink(missing_ok=True)
            raise FetchError(f"{reply.place.url} was answered with status {reply.status}")
        with disk(f"write {partial}"):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | (0 if start else os.O_TRUNC), 0o600)
        with open(descriptor, "wb") as file:
            file.seek(start)
            file.truncate()
            for piece in reply.pieces:
                start += len(piece)
                if start > limit:
                    raise FetchError(f"{reply.place.url} is larger than {limit} bytes", is_final=True)
                with disk(f"write {partial}"):
                    file.write(piece)


def _copy_beside(file: FeedFile, href: str, path: Path, limit: int) -> None:
    beside = file.beside(href)
    if beside is None:
        raise FetchError(f"file {href!r} is not beside the feed", is_final=True)
    if beside.stat().st_size > limit:
        raise FetchError(f"file {href!r} is larger than {limit} bytes", is_final=True)
    with disk(f"copy {beside}"):
        shutil.copyfile(beside, path)


def _with_partial(source: Source, partial: Partial | None) -> Source:
    return replace(source, memory=replace(source.memory, partial=partial))


def _unseen(memory: Memory, partial: Partial | None) -> Memory:
    """Without what the server said of this version: so the next visit gets the whole document again."""
    return replace(memory, validated="", partial=partial)
