"""Calls about entries and their files."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from contentdb.attributes import MAX_TIME
from contentdb.blobs import Blobs
from contentdb.errors import UsageError
from contentdb.feeds import FeedRow
from contentdb.ledger import Event, Happening
from contentdb.library import Draft, OpenFile, Published
from contentdb.model import Content, Enclosure
from contentdb.names import FeedId
from contentdb.query import EntryRow, Selection
from contentdb.selector import parse
from contentdb.steps import Steps
from middleware.api.documents import (
    Document,
    check_category,
    entries_named,
    entry_document,
    feeds_named,
    find_entry,
    find_feed,
    full_document,
    published_document,
    unblocked,
)
from middleware.api.home import Home
from middleware.api.parameters import Attributes, Files, Passed
from middleware.ledger import hints, sentences

# A page of these fits into one answer, whatever the entries are; `more` tells that there is another.
MAX_ENTRIES = 100_000
MAX_LISTED_BYTES = 32 << 20
MAX_NAMED_CHARACTERS = 200


def draft_of(
    home: Home,
    app: str,
    *,
    feed: str,
    title: str,
    id: str | None = None,
    summary: str | None = None,
    content: str | None = None,
    categories: list[str] | None = None,
    attributes: Attributes | None = None,
    files: Files | None = None,
    language: str | None = None,
    expires: int | None = None,
) -> tuple[FeedId, Draft]:
    """What is to be published, checked as far as it can be without its files."""
    at = home.at()
    for category in categories or ():
        check_category(category)
    if expires is not None and not at < expires <= MAX_TIME:
        raise UsageError(f"expires is in Unix milliseconds and a time to come; got {expires}")
    draft = Draft(
        title,
        id=id,
        summary=summary,
        content=None if content is None else Content(text=content),
        categories=tuple(categories or ()),
        language=language,
        attributes=attributes or {},
        files=tuple(_files(files or [])),
        expires=expires,
    )
    # By id nearly always; its descriptor need not be read for that.
    is_id = home.store.feeds.gate(FeedId(feed)).is_described
    feed_id = FeedId(feed) if is_id else find_feed(home.store, feed).id
    home.library.check(feed_id, draft, at)
    return feed_id, draft


def _files(files: Files) -> Iterator[Path | OpenFile]:
    for file in files:
        if isinstance(file, Passed):
            raise UsageError("open files are handed over to a running node, through its socket: give paths")
        if isinstance(file, Path) and file.is_dir():
            raise UsageError(f"{file} is a folder; an entry carries files: name each of them")
        yield file


def publish(home: Home, app: str, **given: Any) -> Document:
    """Without a node: at once, files and all. A node does the same in steps (`api.publications`)."""
    feed_id, draft = draft_of(home, app, **given)
    entry = home.library.publish(feed_id, draft, home.at(), progress=home.progress)
    row = home.store.entries.by_key(entry.key)
    return published_document(entry) if row is None else entry_document(home.store, row)


def document_of(home: Home, published: Published) -> Document:
    if published.is_new and not published.entry.enclosures:
        return published_document(published.entry)
    row = home.store.entries.row(published.key)
    return published_document(published.entry) if row is None else entry_document(home.store, row)


def retract(
    home: Home, app: str, *, entry: str, feed: str | None = None, author: str | None = None
) -> Document:
    own = home.library.key
    found = entries_named(home.store, entry, feed=feed, author=author)
    # Under one id there may be entries of several authors; of these only our own can be meant.
    chosen = own if any(row.author == own for row in found) else author
    row = find_entry(home.store, entry, feed=feed, author=chosen)
    tombstone = home.library.retract(row.entry_key, home.at())
    home.published({row.key: tombstone})
    return {
        "id": tombstone.id, "feed": tombstone.feed, "updated": tombstone.updated, "title": row.title
    }  # fmt: skip


def entries(home: Home, app: str, *, feed: str | None = None, where: str = "", limit: int = 100) -> Document:
    if not 1 <= limit <= MAX_ENTRIES:
        raise UsageError(f"limit is 1 to {MAX_ENTRIES}; got {limit}")
    feed_id = None if feed is None else find_feed(home.store, feed).id
    # One more than is shown, to know whether there is more.
    wanted = Selection(home.at(), feed_id, parse(where), limit=limit + 1)
    found, hidden = unblocked(home.store, wanted, set(home.store.feeds.blocked()))
    listed, size = [], 0
    for row in found[:limit]:
        size += 1_000 + len(row.summary or "") + len(row.attributes or "")
        if size > MAX_LISTED_BYTES:
            break
        listed.append(entry_document(home.store, row))
    return {"entries": listed, "more": len(found) > len(listed), "hidden": hidden}


def entry(
    home: Home,
    app: str,
    *,
    entry: str,
    feed: str | None = None,
    author: str | None = None,
    into: Path | None = None,
) -> Document | Steps[Document]:
    """One entry in full; with `into`, copies of its files, whose paths then stand in the result."""
    row = find_entry(home.store, entry, feed=feed, author=author)
    document = full_document(home.store, row, home.store.entry_of_row(row.key))
    return document if into is None else _copied_out(home, row, document, into)


def _copied_out(home: Home, row: EntryRow, document: Document, folder: Path) -> Steps[Document]:
    """Copies what is complete, and says where to in the document."""
    named = zip(document["enclosures"], home.store.enclosures(row.key), strict=True)
    complete = [(described, file) for described, file in named if described["path"] is not None]
    paths = yield partial(_copy_out, home.store.blobs, folder, [file for _, file in complete])
    for (described, _), path in zip(complete, paths, strict=True):
        described["path"] = str(path)
    return document


def _copy_out(blobs: Blobs, folder: Path, files: list[Enclosure]) -> list[Path]:
    if files:
        folder.mkdir(parents=True, exist_ok=True)
    return [blobs.copy_out(file.root, folder, file.name) for file in files]


def pin(
    home: Home,
    app: str,
    *,
    what: str,
    feed: str | None = None,
    author: str | None = None,
    pinned: bool = True,
) -> Document:
    """An entry if one is meant by the text, else a feed."""
    if home.store.entries.find(what):
        row = find_entry(home.store, what, feed=feed, author=author)
        home.store.pin(row.entry_key, pinned=pinned)
        return {"id": str(row.id), "title": row.title, "pinned": pinned}
    found = _find_feed_to_pin(home, what)
    home.store.pin_feed(found.id, pinned=pinned)
    title = str(found.feed.title) if found.feed else str(found.id)
    return {"id": str(found.id), "title": title, "pinned": pinned}


def _find_feed_to_pin(home: Home, text: str) -> FeedRow:
    if not feeds_named(home.store, text):
        raise UsageError(
            f"there is no entry and no feed {text!r} here; `passerby entries` and `passerby feeds` list them"
        )
    return find_feed(home.store, text)


def why(home: Home, app: str, *, entry: str, feed: str | None = None, author: str | None = None) -> Document:
    """What happened to an entry, oldest first, and how it stands with it, in words."""
    found = entries_named(home.store, entry, feed=feed, author=author)
    ids = {row.id for row in found}
    if len(ids) > 1:
        find_entry(home.store, entry, feed=feed, author=author)
    # The ledger goes by id alone, so several entries of the same id are told of together.
    entry_id = ids.pop() if ids else entry
    happenings = [*home.store.ledger.of(entry_id), *_expiries(found, home.at())]
    if not happenings:
        kept_away = "; ".join(hints(home.store))
        raise UsageError(f"nothing is known about {entry[:MAX_NAMED_CHARACTERS]!r}: {kept_away}")
    events = [{"at": h.at, "event": h.event.value, "detail": h.detail} for h in happenings]
    return {
        "id": entry_id, "lines": sentences(home.store, found, happenings, home.at()), "events": events
    }  # fmt: skip


def _expiries(rows: list[EntryRow], now: int) -> list[Happening]:
    """Expiry hides by itself; the ledger learns of it only when the entry is deleted."""
    return [
        Happening(row.id, row.expires, Event.EXPIRED, "hidden since then, and not deleted yet")
        for row in rows
        if row.expires is not None and row.expires <= now
    ]
