"""Commands of a gateway: which feeds of the web are mirrored, and the visits themselves."""

import argparse
import os
import time
from pathlib import Path

from contentdb.errors import UsageError
from contentdb.imports import Report
from contentdb.names import parse_feed_id
from middleware.api.documents import Document
from middleware.cli.desk import Desk
from middleware.cli.words import parse_size, shorten, show_number, show_time, table
from middleware.client.reach import reach
from middleware.gateway.addresses import is_url
from middleware.gateway.fetch import Fetcher
from middleware.gateway.keeping import Shelf
from middleware.gateway.sources import DEFAULT_ENTRIES, DEFAULT_FILE_BYTES, Source, checked
from middleware.gateway.visiting import Visit, Visitor

GATEWAY_APP = "gateway"
# A source that is added while a gateway runs is visited within this time.
LOOK_AGAIN_S = 30.0


def add(desk: Desk, options: argparse.Namespace) -> int:
    source = checked(
        Source(
            _address(options.source),
            feed=_feed(desk, options.feed) if options.feed else "",
            title=options.title or "",
            max_entries=options.max_entries or DEFAULT_ENTRIES,
            max_file=parse_size(options.max_file) if options.max_file else DEFAULT_FILE_BYTES,
            files=not options.no_files,
            private=options.allow_private,
        )
    )
    if source.is_file and not os.path.exists(source.address):
        raise UsageError(f"there is no file {source.address}; an address of the web begins with https://")
    is_new = Shelf(desk.home).add(source)
    kept = "mirrors" if is_new else "already mirrored, and does so from now on as you say:"
    desk.say(f"{kept} {source.address}; `passerby gateway run` fetches it")
    if "?" in source.address and is_url(source.address):
        desk.say("everybody who gets the feed sees this address; do not mirror one that contains a secret")
    return desk.show(_document(source), [source.feed_id or source.address])


def _address(text: str) -> str:
    if not is_url(text) and "://" in text:
        raise UsageError(f"only http:// and https:// addresses are fetched; got {text[:200]!r}")
    return text if is_url(text) else os.path.abspath(text)


def _feed(desk: Desk, text: str) -> str:
    if ":" in text:
        return parse_feed_id(text)
    with reach(desk.home, GATEWAY_APP) as node:
        found = [str(feed["id"]) for feed in node.call("feeds") if feed["title"] == text]
    if len(found) != 1:
        raise UsageError(f"{len(found) or 'no'} feeds are titled {text!r}; name one by its id")
    return found[0]


def listing(desk: Desk, options: argparse.Namespace) -> int:
    sources = Shelf(desk.home).sources()
    if not sources:
        desk.say("nothing is mirrored yet; begin with: passerby gateway add https://...")
    rows = [
        (
            show_time(source.memory.visited_at or None),
            show_time(source.memory.changed_at or None),
            _state(source),
            shorten(source.title or source.memory.title or "-"),
            source.address,
        )
        for source in sources.values()
    ]
    for source in sources.values():
        if source.memory.problem:
            desk.say(f"{source.address}: {source.memory.problem}")
    lines = table(("VISITED", "NEWS", "STATE", "TITLE", "ADDRESS"), rows, width=desk.width) if rows else []
    return desk.show([_document(source) for source in sources.values()], lines)


def _state(source: Source) -> str:
    if source.memory.problem:
        return "failing"
    return "well" if source.memory.visited_at else "new"


def remove(desk: Desk, options: argparse.Namespace) -> int:
    shelf = Shelf(desk.home)
    address = checked(Source(_address(options.source))).address
    source = shelf.sources().get(address)
    if source is None:
        raise UsageError(f"{address} is not mirrored; `passerby gateway list` shows what is")
    shelf.remove(address)
    _visitor(desk, shelf).forget(source)
    desk.say(f"{address} is no longer mirrored; what was published stays")
    return desk.show(_document(source), [address])


def run(desk: Desk, options: argparse.Namespace) -> int:
    shelf = Shelf(desk.home)
    if not shelf.sources():
        raise UsageError("nothing is mirrored yet; begin with: passerby gateway add https://...")
    with shelf.locked("running", busy=_complain):
        visitor = _visitor(desk, shelf)
        if options.once:
            return _once(desk, shelf, visitor)
        try:
            _forever(desk, shelf, visitor, options.every)
        except KeyboardInterrupt:
            desk.say("stopped; nothing is lost")
    return 0


def _complain() -> None:
    raise UsageError("a gateway runs in this home already")


def _once(desk: Desk, shelf: Shelf, visitor: Visitor) -> int:
    visits = []
    for source in shelf.sources().values():
        if source.is_resting(desk.now()):
            desk.say(f"{source.address} must be left alone until {show_time(source.memory.wait_until)}")
            visit = Visit(source, problem=source.memory.problem)
        else:
            visit = _visit(desk, visitor, source)
        visits.append(visit)
    lines = [visit.feed for visit in visits if visit.feed]
    desk.show([_visit_document(visit) for visit in visits], lines)
    return 1 if all(visit.problem for visit in visits) else 0


def _forever(desk: Desk, shelf: Shelf, visitor: Visitor, every_s: float) -> None:
    desk.say(f"visits {show_number(len(shelf.sources()), 'source')}, each every {every_s} s; Ctrl-C stops it")
    while True:
        due = [source.due_at(every_s, desk.now()) for source in shelf.sources().values()]
        wait_s = min([LOOK_AGAIN_S, *((moment - desk.now()) / 1000 for moment in due)])
        time.sleep(max(0.0, wait_s))
        for source in shelf.sources().values():
            if source.due_at(every_s, desk.now()) <= desk.now():
                _visit(desk, visitor, source)


def _visitor(desk: Desk, shelf: Shelf) -> Visitor:
    def take_in(document: Path) -> Report:
        # By the node if one runs; else the home is opened for this moment only, and left to others.
        with reach(desk.home, GATEWAY_APP) as node:
            done = node.call("import_feed", {"file": str(document)})
        counts = {name: done[name] for name in ("entries", "retractions", "files", "known", "refused")}
        return Report(done["feed"], document, **counts, problems=list(done["problems"]))

    return Visitor(shelf.folder, Fetcher(), take_in, shelf.visited)


def _visit(desk: Desk, visitor: Visitor, source: Source) -> Visit:
    visit = visitor.visit(source, desk.now())
    for problem in visit.problems:
        desk.say(f"{source.address}: {problem}")
    if visit.problem:
        again = show_time(visit.source.memory.wait_until)
        desk.say(f"{source.address}: {visit.problem}; next try not before {again}")
    elif visit.is_unchanged:
        desk.say(f"{source.address}: nothing new")
    else:
        entries, files = (
            show_number(visit.entries, "new entry", "new entries"),
            show_number(visit.files, "file"),
        )
        desk.say(f"{source.address}: {entries} and {files}; {visit.known} known, {visit.refused} refused")
    return visit


def _visit_document(visit: Visit) -> Document:
    return {
        **_document(visit.source),
        "unchanged": visit.is_unchanged,
        "entries": visit.entries,
        "new_files": visit.files,
        "known": visit.known,
        "refused": visit.refused,
        "problems": list(visit.problems),
    }


def _document(source: Source) -> Document:
    memory = source.memory
    return {
        "address": source.address,
        "feed": source.feed_id,
        "title": source.title or memory.title or None,
        "max_entries": source.max_entries,
        "max_file": source.max_file,
        "files": source.files,
        "allow_private": source.private,
        "visited": memory.visited_at or None,
        "changed": memory.changed_at or None,
        "wait_until": memory.wait_until or None,
        "problem": memory.problem or None,
    }
