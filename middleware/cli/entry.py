"""Commands about entries and their files."""

import argparse
from pathlib import Path

from contentdb.attributes import MAX_TIME
from contentdb.errors import UsageError
from contentdb.identity import fingerprint
from contentdb.library import Draft
from contentdb.query import EntryRow, Selection
from contentdb.selector import parse
from middleware.cli.desk import Desk
from middleware.cli.documents import Document, entries_named, entry_document, find_entry, find_feed
from middleware.cli.words import (
    aligned,
    parse_attribute,
    parse_when,
    shorten,
    show_attribute,
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
    draft = Draft(
        options.title,
        id=options.id,
        summary=options.summary,
        categories=tuple(options.category),
        language=options.language,
        attributes=attributes,
        files=tuple(Path(name) for name in options.file),
        expires=_parse_expiry(options.expires, now),
    )
    feed = find_feed(desk.store, options.feed)
    entry = desk.library.publish(feed.id, draft, now, progress=desk.progress("reading files"))
    files = f" with {show_number(len(entry.enclosures), 'file')}" if entry.enclosures else ""
    desk.say(f"published {entry.title}{files}")
    row = desk.store.entries.by_key(entry.key)
    return desk.show(entry_document(desk.store, row) if row else {"id": entry.id}, [entry.id])


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
    found = entries_named(desk.store, options.entry, desk.now(), feed=options.feed, author=options.author)
    is_own = any(row.author == desk.author.key for row in found)
    # Under one id there may be entries of several authors; of these only our own can be meant.
    author = desk.author.key if is_own else options.author
    row = find_entry(desk.store, options.entry, desk.now(), feed=options.feed, author=author)
    tombstone = desk.library.retract(row.entry_key, desk.now())
    desk.say(f"retracted {row.title}; it disappears wherever this news arrives")
    return desk.show(
        {"id": tombstone.id, "feed": tombstone.feed, "updated": tombstone.updated}, [tombstone.id]
    )


def listing(desk: Desk, options: argparse.Namespace) -> int:
    feed = find_feed(desk.store, options.feed).id if options.feed else None
    wanted = Selection(desk.now(), feed, parse(options.where), limit=options.limit)
    rows = desk.store.entries.select(wanted)
    if not rows:
        desk.say("no entry matches" if options.where else "no entries")
    elif len(rows) == options.limit:
        desk.say(f"these are the newest {options.limit}; --limit shows more")
    documents = [entry_document(desk.store, row) for row in rows]
    lines = table(
        ("UPDATED", "BY", "FILES", "TITLE", "ID"),
        [(show_time(row.updated), _writer(row), _files(row), shorten(row.title), row.id) for row in rows],
    )
    return desk.show(documents, lines if rows else ())


def _writer(row: EntryRow) -> str:
    """Anybody may call himself anything; the fingerprint beside the name tells who it is."""
    beginning = fingerprint(row.author)[:9]
    return beginning if row.author_name in (None, beginning) else f"{shorten(row.author_name)} {beginning}"


def _files(row: EntryRow) -> str:
    return f"{row.enclosures} ({show_size(row.size)})" if row.enclosures else "-"


def get(desk: Desk, options: argparse.Namespace) -> int:
    row = find_entry(desk.store, options.entry, desk.now(), feed=options.feed, author=options.author)
    document = entry_document(desk.store, row)
    missing = _copy_files(desk, row, document, Path(options.into)) if options.into is not None else []
    desk.show(document, _details(desk, row, document))
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


def _details(desk: Desk, row: EntryRow, document: Document) -> list[str]:
    author = f"{row.author_name or '(no name)'}, {fingerprint(row.author)}"
    lines = [
        ("title", row.title),
        ("id", row.id),
        ("feed", row.feed),
        ("author", author),
        ("key", row.author),
    ]
    for name, at in (("published", row.published), ("updated", row.updated), ("expires", row.expires)):
        lines += [(name, show_time(at))] if at is not None else []
    lines += [("categories", ", ".join(document["categories"]))] if row.categories else []
    lines += [("summary", row.summary)] if row.summary else []
    attributes = desk.store.entry_of_row(row.key).attributes
    lines += [(name, show_attribute(value)) for name, value in attributes.items()]
    for enclosure in document["enclosures"]:
        state = enclosure["path"] or f"{show_size(enclosure['received'])} received so far"
        lines.append(("file", f"{enclosure['name']}, {show_size(enclosure['length'])}: {state}"))
    return aligned(lines)


def pin(desk: Desk, options: argparse.Namespace) -> int:
    """An entry if one is meant by the text, else a feed."""
    pinned = not options.undo
    if desk.store.entries.find(options.entry, desk.now()):
        row = find_entry(desk.store, options.entry, desk.now(), feed=options.feed, author=options.author)
        desk.store.pin(row.entry_key, pinned=pinned)
        name, identity = row.title, str(row.id)
    else:
        feed = find_feed(desk.store, options.entry)
        desk.store.pin_feed(feed.id, pinned=pinned)
        name, identity = str(feed.feed.title) if feed.feed else str(feed.id), str(feed.id)
    verb = "pinned; it is kept whatever happens to space and time" if pinned else "unpinned"
    desk.say(f"{name}: {verb}")
    return desk.show({"id": identity, "pinned": pinned}, [identity])


def why(desk: Desk, options: argparse.Namespace) -> int:
    found = {
        row.id
        for row in entries_named(
            desk.store, options.entry, desk.now(), feed=options.feed, author=options.author
        )
    }
    # The ledger goes by id alone, so several entries of the same id are told of together.
    entry_id = found.pop() if len(found) == 1 else options.entry
    if len(found) > 1:
        find_entry(desk.store, options.entry, desk.now(), feed=options.feed, author=options.author)
    happenings = desk.store.ledger.of(entry_id)
    if not happenings:
        raise UsageError(f"nothing is known about {options.entry!r}; `passerby entries` lists what is here")
    lines = [f"{show_time(h.at)}  {h.event.value:10}  {h.detail}".rstrip() for h in happenings]
    document = [{"at": h.at, "event": h.event.value, "detail": h.detail} for h in happenings]
    return desk.show({"id": entry_id, "events": document}, lines)
