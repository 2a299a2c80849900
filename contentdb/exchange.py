"""A feed as a folder: valid Atom pages that any feed reader opens, with the files beside them.

    export_feed(store, feed.id, Path("street-music"), at=now_ms)
    import_feed(library, Path("street-music"), at=now_ms)

Signed bytes travel inside and survive exactly. What carries none is signed by whoever imports it, under its
own id and with its source kept. A large feed takes several pages, linked by "next" as RFC 5005 has it.
"""

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from contentdb.atom import enclosure_urn, write_feed
from contentdb.blobs import Blobs
from contentdb.errors import StoreError, UsageError
from contentdb.foreign import FIRST_PAGE
from contentdb.imports import Report as Report
from contentdb.imports import import_feed as import_feed
from contentdb.imports import import_steps as import_steps
from contentdb.model import Enclosure, Feed, Link, Signed
from contentdb.names import FeedId, Root
from contentdb.steps import Steps, run_steps
from contentdb.store import Store
from contentdb.stored import stored_descriptor, stored_entry

FILES = "files"
# A page holds each entry twice, as Atom and signed, in base64; so it stays well below the 16 MiB we read.
PAGE_BYTES = 3 * 2**20
PAGE_ENTRIES = 5_000
_UNFINISHED = ".passerby-export-"


def export_feed(store: Store, feed_id: FeedId, folder: Path, at: int) -> Report:
    """Write the feed into a new or empty folder; its first page appears only when all else is there."""
    return run_steps(export_steps(store, feed_id, folder, at))


def export_steps(store: Store, feed_id: FeedId, folder: Path, at: int) -> Steps[Report]:
    """The same in steps, of which any thread may do those that copy and write."""
    descriptor = store.feeds.descriptor(feed_id)
    if descriptor is None:
        raise UsageError(f"the description of feed {feed_id} has not arrived yet; there is nothing to export")
    try:
        report = yield from _export(store, descriptor, folder.absolute(), at)
    except (OSError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"cannot write {folder}: {reason}; nothing was changed") from error
    report.document = folder / FIRST_PAGE
    return report


def _export(store: Store, descriptor: Signed, folder: Path, at: int) -> Steps[Report]:
    is_there = folder.is_dir()
    if folder.exists() and not (is_there and _is_empty(folder)):
        raise UsageError(f"{folder} is there already; name a new or an empty folder")
    # Inside a folder that is there: it may be another disk, and what is above it may not be ours.
    parent = folder if is_there else folder.parent
    parent.mkdir(parents=True, exist_ok=True)
    unfinished = parent / (_UNFINISHED + secrets.token_hex(8))
    try:
        (unfinished / FILES).mkdir(parents=True)
        report = yield from _write_pages(store, descriptor, unfinished, at)
        if not is_there:
            unfinished.rename(folder)
            return report
        for path in sorted(unfinished.iterdir(), key=lambda path: path.name == FIRST_PAGE):
            path.rename(folder / path.name)
        return report
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _is_empty(folder: Path) -> bool:
    """But for what an export left that was killed."""
    return all(path.name.startswith(_UNFINISHED) for path in folder.iterdir())


def _write_pages(store: Store, descriptor: Signed, folder: Path, at: int) -> Steps[Report]:
    feed = stored_descriptor(descriptor.data)
    writer = _Pages(store.blobs, feed, descriptor, folder)
    pages = _pages(store, feed.id, at)
    page: list[Signed] | None = next(pages, [])
    while page is not None:
        following = next(pages, None)
        yield partial(writer.write, page, is_last=following is None)
        page = following
    return writer.report


class _Pages:
    """Writes page after page, with the files that they name; it asks the blobs and no store."""

    def __init__(self, blobs: Blobs, feed: Feed, descriptor: Signed, folder: Path) -> None:
        self._blobs, self._descriptor, self._folder = blobs, descriptor, folder
        # A link to a next page that stands in the description leads away from ours.
        own_links = tuple(link for link in feed.links if link.rel != "next")
        self._feed = replace(feed, links=own_links)
        self._hrefs: dict[Root, str] = {}
        self._number = 0
        self.report = Report(feed.id)

    def write(self, page: list[Signed], *, is_last: bool) -> None:
        self._number += 1
        entries = [stored_entry(signed.data) for signed in page]
        for enclosure in (enclosure for entry in entries for enclosure in entry.enclosures):
            self._export_file(enclosure)
        links = () if is_last else (Link(_page_name(self._number + 1), "next"),)
        data = write_feed(
            replace(self._feed, links=self._feed.links + links),
            entries,
            {entry.key: signed for entry, signed in zip(entries, page, strict=True)},
            descriptor=self._descriptor,
            href_of=lambda enclosure: self._hrefs[enclosure.root],
        )
        (self._folder / _page_name(self._number)).write_bytes(data)
        # A tombstone replaces the entry in other readers too, where it is an entry called "retracted".
        self.report.retractions += sum(entry.retracted for entry in entries)
        self.report.entries += sum(not entry.retracted for entry in entries)

    def _export_file(self, file: Enclosure) -> None:
        if file.root in self._hrefs:
            return
        if self._blobs.is_complete(file.root) and self._blobs.length(file.root) == file.length:
            path = self._blobs.copy_out(file.root, self._folder / FILES, file.name)
            self._hrefs[file.root] = f"{FILES}/{quote(path.name)}"
            self.report.files += 1
        else:
            self._hrefs[file.root] = enclosure_urn(file)
            self.report.add_problem(
                f"file {file.name!r} has not been received in full; the export goes without it"
            )


def _page_name(number: int) -> str:
    return FIRST_PAGE if number == 1 else f"feed-{number}.xml"


def _pages(store: Store, feed_id: FeedId, at: int) -> Iterator[list[Signed]]:
    page: list[Signed] = []
    size = 0
    for _key, signed in store.entries.signed(store.entries.keys(feed_id, at, tombstones=True)):
        if page and (size + len(signed.data) > PAGE_BYTES or len(page) >= PAGE_ENTRIES):
            yield page
            page, size = [], 0
        page.append(signed)
        size += len(signed.data)
    if page:
        yield page
