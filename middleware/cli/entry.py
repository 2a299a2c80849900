"""Commands about entries and their files."""

import argparse
import os
from typing import Any

from contentdb.attributes import MAX_TIME, AttributeValue, Time
from contentdb.errors import UsageError
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
    attributes = dict(parse_attribute(text) for text in options.attr)
    if len(attributes) < len(options.attr):
        raise UsageError("an attribute is given twice; each name has one value")
    entry = desk.call(
        "publish",
        feed=options.feed,
        title=options.title,
        id=options.id,
        summary=options.summary,
        categories=options.category,
        language=options.language,
        attributes={name: _in_json(value) for name, value in attributes.items()},
        files=[_file(desk, name) for name in options.file],
        expires=_parse_expiry(options.expires, desk.now()),
    )
    files = f" with {show_number(len(entry['enclosures']), 'file')}" if entry["enclosures"] else ""
    desk.say(f"published {shorten(entry['title'])}{files}")
    return desk.show(entry, [entry["id"]])


def _in_json(value: AttributeValue) -> object:
    return {"time": int(value)} if isinstance(value, Time) else value


def _file(desk: Desk, name: str) -> str:
    if not name:
        raise UsageError("--file needs the path of a file; got nothing")
    if os.path.isdir(name):
        raise UsageError(f"{name} is a folder; an entry carries files: give --file for each of them")
    return desk.path(name)


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
    tombstone = desk.call("retract", **_named(options))
    desk.say(f"retracted {shorten(tombstone['title'])}; it disappears wherever this news arrives")
    return desk.show(tombstone, [tombstone["id"]])


def _named(options: argparse.Namespace) -> dict[str, Any]:
    return {"entry": options.entry, "feed": options.feed, "author": options.author}


def listing(desk: Desk, options: argparse.Namespace) -> int:
    desk.hint_at_dates(options.where)
    found = desk.call("entries", feed=options.feed, where=options.where, limit=options.limit)
    entries = found["entries"]
    if not entries:
        desk.say("no entry matches" if options.where else "no entries")
    elif found["more"]:
        desk.say(f"these are the newest {len(entries)}; --limit shows more")
    if found["hidden"]:
        desk.say(f"not shown: {show_number(found['hidden'], 'entry', 'entries')} of keys you block")
    rows = [
        (show_time(each["updated"]), writer(each), _files(each), shorten(each["title"]), each["id"])
        for each in entries
    ]
    titles = ("UPDATED", "BY", "FILES", "TITLE", "ID")
    return desk.show(entries, table(titles, rows, width=desk.width) if rows else ())


def _files(entry: dict[str, Any]) -> str:
    enclosures = entry["enclosures"]
    if not enclosures:
        return "-"
    size = sum(enclosure["length"] for enclosure in enclosures)
    received = sum(enclosure["received"] for enclosure in enclosures)
    here = "" if entry["complete"] else f"{show_size(received)} of "
    return f"{len(enclosures)} ({here}{show_size(size)})"


def get(desk: Desk, options: argparse.Namespace) -> int:
    into = None if options.into is None else desk.path(options.into)
    entry = desk.call("entry", **_named(options), into=into)
    desk.show(entry, details(entry, desk.now()))
    missing = [each["name"] for each in entry["enclosures"] if into is not None and each["path"] is None]
    if missing and entry["own"]:
        raise UsageError(f"not here any more; publish the entry again with it: {', '.join(missing)}")
    if missing:
        raise UsageError(f"not received in full yet, so not copied: {', '.join(missing)}")
    return 0


def pin(desk: Desk, options: argparse.Namespace) -> int:
    """An entry if one is meant by the text, else a feed."""
    pinned = not options.undo
    found = desk.call("pin", what=options.entry, feed=options.feed, author=options.author, pinned=pinned)
    verb = "pinned; it is never evicted, and not deleted when it expires" if pinned else "unpinned"
    desk.say(f"{shorten(found['title'])}: {verb}")
    return desk.show(found, [found["id"]])


def why(desk: Desk, options: argparse.Namespace) -> int:
    told = desk.call("why", **_named(options))
    return desk.show(told, told["lines"])
