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
from pathlib import Path
from urllib.parse import quote

from contentdb.atom import enclosure_urn, write_feed
from contentdb.errors import StoreError, UsageError
from contentdb.foreign import FIRST_PAGE
from contentdb.imports import Report as Report
from contentdb.imports import import_feed as import_feed
from contentdb.model import Enclosure, Link, Signed
from contentdb.names import FeedId, Root
from contentdb.store import Store
from contentdb.stored import stored_descriptor, stored_entry

FILES = "files"
# A page holds each entry twice, as Atom and signed, in base64; so it stays well below the 16 MiB we read.
PAGE_BYTES = 3 * 2**20
PAGE_ENTRIES = 5_000
_UNFINISHED = ".passerby-export-"


def export_feed(store: Store, feed_id: FeedId, folder: Path, at: int) -> Report:
    """Write the feed into a new or empty folder; its first page appears only when all else is there."""
    descriptor = store.feeds.descriptor(feed_id)
    if descriptor is None:
        raise UsageError(f"the description of feed {feed_id} has not arrived yet; there is nothing to export")
    try:
        report = _export(store, descriptor, folder.absolute(), at)
    except (OSError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"cannot write {folder}: {reason}; nothing was changed") from error
    report.document = folder / FIRST_PAGE
    return report


def _export(store: Store, descriptor: Signed, folder: Path, at: int) -> Report:
    is_there = folder.is_dir()
    if folder.exists() and not (is_there and _is_empty(folder)):
        raise UsageError(f"{folder} is there already; name a new or an empty folder")
    # Inside a folder that is there: it may be another disk, and what is above it may not be ours.
    parent = folder if is_there else folder.parent
    parent.mkdir(parents=True, exist_ok=True)
    unfinished = parent / (_UNFINISHED + secrets.token_hex(8))
    try:
        (unfinished / FILES).mkdir(parents=True)
        report = _write_pages(store, descriptor, unfinished, at)
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


def _write_pages(store: Store, descriptor: Signed, folder: Path, at: int) -> Report:
    feed = stored_descriptor(descriptor.data)
    report = Report(feed.id)
    # A link to a next page that stands in the description leads away from ours.
    own_links = tuple(link for link in feed.links if link.rel != "next")
    hrefs: dict[Root, str] = {}
    pages = _pages(store, feed.id, at)
    page: list[Signed] | None = next(pages, [])
    number = 1
    while page is not None:
        following = next(pages, None)
        entries = [stored_entry(signed.data) for signed in page]
        for enclosure in (enclosure for entry in entries for enclosure in entry.enclosures):
            _export_file(store, enclosure, folder / FILES, hrefs, report)
        links = () if following is None else (Link(_page_name(number + 1), "next"),)
        data = write_feed(
            replace(feed, links=own_links + links),
            entries,
            {entry.key: signed for entry, signed in zip(entries, page, strict=True)},
            descriptor=descriptor,
            href_of=lambda enclosure: hrefs[enclosure.root],
        )
        (folder / _page_name(number)).write_bytes(data)
        # A tombstone replaces the entry in other readers too, where it is an entry called "retracted".
        report.retractions += sum(entry.retracted for entry in entries)
        report.entries += sum(not entry.retracted for entry in entries)
        page, number = following, number + 1
    return report


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


def _export_file(
    store: Store, enclosure: Enclosure, folder: Path, hrefs: dict[Root, str], report: Report
) -> None:
    if enclosure.root in hrefs:
        return
    if store.blobs.is_complete(enclosure.root) and store.blobs.length(enclosure.root) == enclosure.length:
        path = store.blobs.copy_out(enclosure.root, folder, enclosure.name)
        hrefs[enclosure.root] = f"{FILES}/{quote(path.name)}"
        report.files += 1
    else:
        hrefs[enclosure.root] = enclosure_urn(enclosure)
        report.add_problem(
            f"file {enclosure.name!r} has not been received in full; the export goes without it"
        )
