"""Commands about entries and their files."""

import argparse
from pathlib import Path

from contentdb.attributes import MAX_TIME
from contentdb.errors import UsageError
from contentdb.feeds import FeedRow
from contentdb.ledger import Event, Happening
from contentdb.library import Draft
from contentdb.query import EntryRow, Selection
from contentdb.selector import parse
from middleware.api.documents import (
    Document,
    check_category,
    entries_named,
    entry_document,
    feeds_named,
    find_entry,
    find_feed,
    full_document,
    unblocked,
)
from middleware.cli.desk import Desk
from middleware.cli.details import details, writer
from middleware.cli.words import (
    parse_attribute,
    parse_when,
    shorten,
    show_number,
    show_size,
    show_time,
    table,
)


def publish(desk: Desk, options: argparse.Namespace) -> int:
    now = desk.now()
    attributes = dict(parse_attribute(text) for text in options.attr)
    if len(attributes) < len(options.attr):
        raise UsageError("an attribute is given twice; each name has one value")
    for category in options.category:
        check_category(category)
    draft = Draft(
        options.title,
        id=options.id,
        summary=options.summary,
        categories=tuple(options.category),
        language=options.language,
        attributes=attributes,
        files=tuple(_file(name) for name in options.file),
        expires=_parse_expiry(options.expires, now),
    )
    feed = find_feed(desk.store, options.feed)
    entry = desk.library.publish(feed.id, draft, now, progress=desk.progress("reading files"))
    files = f" with {show_number(len(entry.enclosures), 'file')}" if entry.enclosures else ""
    desk.say(f"published {shorten(entry.title)}{files}")
    row = desk.store.entries.by_key(entry.key)
    return desk.show(entry_document(desk.store, row) if row else {"id": entry.id}, [entry.id])


def _file(name: str) -> Path:
    if not name:
        raise UsageError("--file needs the path of a file; got nothing")
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder; an entry carries files: give --file for each of them")
    return path


def _parse_expiry(text: str | None, now: int) -> int | None:
    if text is None:
        return None
    expires = parse_when(text, now)
    if expires <= now:
        raise UsageError(f"--expires {text} is over already; give a time to come, or use `passerby retract`")
    if expires > MAX_TIME:
        raise UsageError(f"--expires {text} is beyond the year 9999; leave it out to keep the entry for good")
    return expires


def retract(desk: Desk, options: argparse.Namespace) -> int:
    found = entries_named(desk.store, options.entry, feed=options.feed, author=options.author)
    is_own = any(row.author == desk.author.key for row in found)
    # Under one id there may be entries of several authors; of these only our own can be meant.
    author = desk.author.key if is_own else options.author
    row = find_entry(desk.store, options.entry, feed=options.feed, author=author)
    tombstone = desk.library.retract(row.entry_key, desk.now())
    desk.say(f"retracted {shorten(row.title)}; it disappears wherever this news arrives")
    return desk.show(
        {"id": tombstone.id, "feed": tombstone.feed, "updated": tombstone.updated}, [tombstone.id]
    )


def listing(desk: Desk, options: argparse.Namespace) -> int:
    desk.hint_at_dates(options.where)
    feed = find_feed(desk.store, options.feed).id if options.feed else None
    # One more than is shown, to know whether there is more.
    wanted = Selection(desk.now(), feed, parse(options.where), limit=options.limit + 1)
    found, hidden = unblocked(desk.store, wanted, set(desk.store.feeds.blocked()))
    rows = found[: options.limit]
    if not rows:
        desk.say("no entry matches" if options.where else "no entries")
    elif len(found) > len(rows):
        desk.say(f"these are the newest {options.limit}; --limit shows more")
    if hidden:
        desk.say(f"not shown: {show_number(hidden, 'entry', 'entries')} of keys you block")
    documents = [entry_document(desk.store, row) for row in rows]
    lines = table(
        ("UPDATED", "BY", "FILES", "TITLE", "ID"),
        [
            (show_time(row.updated), writer(document), _files(document), shorten(row.title), row.id)
            for row, document in zip(rows, documents, strict=True)
        ],
        width=desk.width,
    )
    return desk.show(documents, lines if rows else ())


def _files(document: Document) -> str:
    enclosures = document["enclosures"]
    if not enclosures:
        return "-"
    size = sum(enclosure["length"] for enclosure in enclosures)
    received = sum(enclosure["received"] for enclosure in enclosures)
    here = "" if document["complete"] else f"{show_size(received)} of "
    return f"{len(enclosures)} ({here}{show_size(size)})"


def get(desk: Desk, options: argparse.Namespace) -> int:
    row = find_entry(desk.store, options.entry, feed=options.feed, author=options.author)
    entry = desk.store.entry_of_row(row.key)
    document = full_document(desk.store, row, entry)
    missing = _copy_files(desk, row, document, Path(options.into)) if options.into is not None else []
    desk.show(document, details(desk, row, entry, document))
    if missing and row.own:
        raise UsageError(f"not here any more; publish the entry again with it: {', '.join(missing)}")
    if missing:
        raise UsageError(f"not received in full yet, so not copied: {', '.join(missing)}")
    return 0


def _copy_files(desk: Desk, row: EntryRow, document: Document, folder: Path) -> list[str]:
    """Copies what is complete, and says where to in the document; returns the names of the rest."""
    missing = []
    enclosures = desk.store.enclosures(row.key)
    if enclosures:
        folder.mkdir(parents=True, exist_ok=True)
    for described, enclosure in zip(document["enclosures"], enclosures, strict=True):
        if described["path"] is None:
            missing.append(enclosure.name)
        else:
            described["path"] = str(desk.store.blobs.copy_out(enclosure.root, folder, enclosure.name))
    return missing


def pin(desk: Desk, options: argparse.Namespace) -> int:
    """An entry if one is meant by the text, else a feed."""
    pinned = not options.undo
    if desk.store.entries.find(options.entry):
        row = find_entry(desk.store, options.entry, feed=options.feed, author=options.author)
        desk.store.pin(row.entry_key, pinned=pinned)
        name, identity = row.title, str(row.id)
    else:
        feed = _find_feed_to_pin(desk, options.entry)
        desk.store.pin_feed(feed.id, pinned=pinned)
        name, identity = str(feed.feed.title) if feed.feed else str(feed.id), str(feed.id)
    verb = "pinned; it is never evicted, and not deleted when it expires" if pinned else "unpinned"
    desk.say(f"{shorten(name)}: {verb}")
    return desk.show({"id": identity, "pinned": pinned}, [identity])


def _find_feed_to_pin(desk: Desk, text: str) -> FeedRow:
    if not feeds_named(desk.store, text):
        raise UsageError(
            f"there is no entry and no feed {text!r} here; `passerby entries` and `passerby feeds` list them"
        )
    return find_feed(desk.store, text)


def why(desk: Desk, options: argparse.Namespace) -> int:
    found = entries_named(desk.store, options.entry, feed=options.feed, author=options.author)
    ids = {row.id for row in found}
    if len(ids) > 1:
        find_entry(desk.store, options.entry, feed=options.feed, author=options.author)
    # The ledger goes by id alone, so several entries of the same id are told of together.
    entry_id = ids.pop() if ids else options.entry
    happenings = [*desk.store.ledger.of(entry_id), *_expiries(found, desk.now())]
    if not happenings:
        raise UsageError(f"nothing is known about {options.entry!r}; `passerby entries` lists what is here")
    lines = [f"{show_time(h.at)}  {h.event.value:10}  {h.detail}".rstrip() for h in happenings]
    document = [{"at": h.at, "event": h.event.value, "detail": h.detail} for h in happenings]
    return desk.show({"id": entry_id, "events": document}, lines)


def _expiries(rows: list[EntryRow], now: int) -> list[Happening]:
    """Expiry hides by itself; the ledger learns of it only when the entry is deleted."""
    return [
        Happening(row.id, row.expires, Event.EXPIRED, "hidden since then, and not deleted yet")
        for row in rows
        if row.expires is not None and row.expires <= now
    ]
