"""Commands about feeds and subscriptions."""

import argparse
from pathlib import Path

from contentdb.blobs import safe_name
from contentdb.errors import UsageError
from contentdb.exchange import Report, export_feed, import_feed
from contentdb.identity import check_author_key, fingerprint
from contentdb.library import FeedDraft
from contentdb.names import AuthorKey, FeedId, owner_of, parse_feed_id
from contentdb.selector import parse
from contentdb.subscriptions import Subscription
from middleware.api.documents import (
    check_category,
    feed_document,
    feeds_named,
    find_feed,
    shown_feeds,
    subscription_document,
)
from middleware.cli.desk import Desk
from middleware.cli.words import parse_size, shorten, show_number, show_time, table

# Subscriptions made by hand belong to an app of this name.
CLI_APP = "cli"


def create(desk: Desk, options: argparse.Namespace) -> int:
    for category in options.category:
        check_category(category)
    draft = FeedDraft(
        options.title,
        id=options.id,
        subtitle=options.subtitle,
        categories=tuple(options.category),
        language=options.language,
        is_owned=options.owned,
        is_listed=not options.unlisted,
    )
    feed = desk.library.create_feed(draft, desk.now())
    kind = "owned: only you and whom you add may write" if options.owned else "open: anybody may write"
    desk.say(f"created {shorten(feed.title)} ({kind})")
    (row,) = desk.store.feeds.rows([feed.id])
    return desk.show(feed_document(row), [feed.id])


def listing(desk: Desk, options: argparse.Namespace) -> int:
    desk.hint_at_dates(options.selector)
    selector = parse(options.selector)
    rows = [
        row
        for row in shown_feeds(desk.store, desk.now())
        if not selector.text
        or (row.feed is not None and selector.evaluate(row.feed.selectable(row.updated)) is True)
    ]
    lines = table(
        ("ENTRIES", "NEWEST", "TITLE", "ID"),
        [
            (
                str(row.entries),
                show_time(row.updated),
                shorten(row.feed.title) if row.feed else "(no description yet)",
                row.id,
            )
            for row in rows
        ],
        width=desk.width,
    )
    if not rows:
        what = (
            "no feed matches"
            if selector.text
            else "no feeds yet; make one: passerby feed create 'Street music'"
        )
        desk.say(what)
    return desk.show([feed_document(row) for row in rows], lines if rows else ())


def writers(desk: Desk, options: argparse.Namespace) -> int:
    row = find_feed(desk.store, options.feed)
    owner = owner_of(row.id)
    if owner is None:
        raise UsageError(f"{row.id} is an open feed: anybody may write to it, and there is no list")
    current = row.feed.writers if row.feed is not None else ()
    if options.change:
        current = _change_writers(desk, options, row.id, current)
    keys = [owner, *(key for key in current if key != owner)]
    lines = table(
        ("FINGERPRINT", "KEY", ""), [(fingerprint(key), key, "owner" if key == owner else "") for key in keys]
    )
    return desk.show({"feed": row.id, "owner": owner, "writers": list(current)}, lines)


def _change_writers(
    desk: Desk, options: argparse.Namespace, feed: FeedId, current: tuple[AuthorKey, ...]
) -> tuple[AuthorKey, ...]:
    key = check_author_key(options.key)
    if key == owner_of(feed) == desk.author.key:
        raise UsageError("you own this feed and may always write to it; the list is for others")
    if options.change == "remove" and key not in current:
        raise UsageError(f"{key} is not among the writers")
    if options.change == "add" and key in current:
        desk.say("this key is among the writers already")
        return current
    changed = (*current, key) if options.change == "add" else tuple(each for each in current if each != key)
    current = desk.library.set_writers(feed, changed, desk.now()).writers
    if options.change == "remove":
        desk.say("what this key published stays where it is; who gets the feed from now on refuses it")
    return current


def export(desk: Desk, options: argparse.Namespace) -> int:
    row = find_feed(desk.store, options.feed)
    folder = Path(options.into if options.into else safe_name(row.feed.title if row.feed else "feed"))
    done = export_feed(desk.store, row.id, folder, desk.now())
    desk.say(f"wrote {_carried(done)} into {folder}")
    for problem in done.problems:
        desk.say(problem)
    return desk.show(_report_document(done, str(done.document)), [str(done.document)])


def import_(desk: Desk, options: argparse.Namespace) -> int:
    if options.file.startswith(("http://", "https://")):
        raise UsageError(f"an import takes files; to fetch from the web: passerby gateway add {options.file}")
    done = import_feed(desk.library, Path(options.file), desk.now())
    for problem in done.problems:
        desk.say(problem)
    desk.say(f"took in {_carried(done)}; {done.known} known already, {done.refused} refused")
    desk.show(_report_document(done, str(options.file)), [done.feed])
    return 1 if done.refused and not (done.entries or done.retractions or done.known) else 0


def _carried(done: Report) -> str:
    entries, files = show_number(done.entries, "entry", "entries"), show_number(done.files, "file")
    retractions = f", {show_number(done.retractions, 'retraction')}" if done.retractions else ""
    return f"{entries}{retractions} and {files}"


def _report_document(done: Report, file: str) -> dict[str, object]:
    return {
        "feed": done.feed,
        "file": file,
        "entries": done.entries,
        "retractions": done.retractions,
        "files": done.files,
        "known": done.known,
        "refused": done.refused,
        "problems": list(done.problems),
    }


# -- subscriptions


def subscribe(desk: Desk, options: argparse.Namespace) -> int:
    desk.hint_at_dates(options.where)
    files = options.files
    if files.startswith("max="):
        files = f"max={parse_size(files.removeprefix('max='))}"
    wanted = Subscription(
        0, CLI_APP, _feed_id(desk, options.feed), options.where, files=files, created_at=desk.now()
    )
    subscription = desk.store.subscriptions.add(wanted)
    desk.say(f"subscribed to {subscription.feed}" + (f" where {options.where}" if options.where else ""))
    return desk.show(subscription_document(subscription), [str(subscription.key)])


def _feed_id(desk: Desk, text: str) -> FeedId:
    """One may subscribe to a feed that nobody near has yet: then its id is all there is."""
    if ":" in text and not feeds_named(desk.store, text):
        return parse_feed_id(text)
    return find_feed(desk.store, text).id


def unsubscribe(desk: Desk, options: argparse.Namespace) -> int:
    subscriptions = desk.store.subscriptions
    if options.what.isascii() and options.what.isdigit():
        gone = [s for s in subscriptions.all() if str(s.key) == options.what.lstrip("0")]
        if not gone:
            raise UsageError(f"there is no subscription {options.what}; `passerby subscriptions` lists them")
    else:
        gone = [s for s in subscriptions.of_feed(_feed_id(desk, options.what)) if s.app == CLI_APP]
        if not gone:
            raise UsageError(
                f"you are not subscribed to {options.what}; `passerby subscriptions` lists what you are"
            )
    for subscription in gone:
        subscriptions.remove(subscription.key)
        desk.say(f"unsubscribed from {subscription.feed}")
    return desk.show([subscription_document(s) for s in gone], [str(s.key) for s in gone])


def subscriptions(desk: Desk, options: argparse.Namespace) -> int:
    found = desk.store.subscriptions.all()
    rows = [(str(s.key), s.app, s.files, s.feed, s.selector) for s in found]
    if not found:
        desk.say("no subscriptions yet; make one: passerby subscribe FEED")
    lines = table(("ID", "APP", "FILES", "FEED", "WHERE"), rows, width=desk.width) if found else []
    return desk.show([subscription_document(s) for s in found], lines)
