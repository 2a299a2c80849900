"""Commands about feeds and subscriptions."""

import argparse
import os
from typing import Any

from contentdb.errors import UsageError
from contentdb.names import fingerprint
from middleware.cli.desk import Desk
from middleware.cli.words import parse_size, shorten, show_number, show_time, table


def create(desk: Desk, options: argparse.Namespace) -> int:
    feed = desk.call(
        "create_feed",
        title=options.title,
        id=options.id,
        subtitle=options.subtitle,
        categories=options.category,
        language=options.language,
        owned=options.owned,
        listed=not options.unlisted,
    )
    kind = "owned: only you and whom you add may write" if options.owned else "open: anybody may write"
    desk.say(f"created {shorten(feed['title'])} ({kind})")
    return desk.show(feed, [feed["id"]])


def listing(desk: Desk, options: argparse.Namespace) -> int:
    desk.hint_at_dates(options.selector)
    feeds = desk.call("feeds", where=options.selector)
    rows = [(str(feed["entries"]), show_time(feed["updated"]), _title(feed), feed["id"]) for feed in feeds]
    if not feeds:
        advice = "no feeds yet; make one: passerby feed create 'Street music'"
        desk.say("no feed matches" if options.selector.strip() else advice)
    lines = table(("ENTRIES", "NEWEST", "TITLE", "ID"), rows, width=desk.width) if feeds else []
    return desk.show(feeds, lines)


def _title(feed: dict[str, Any]) -> str:
    return "(no description yet)" if feed["title"] is None else shorten(feed["title"])


def writers(desk: Desk, options: argparse.Namespace) -> int:
    if options.change is None:
        answer = desk.call("writers", feed=options.feed)
    else:
        answer = desk.call("writers", feed=options.feed, **{options.change: options.key})
    if options.change == "add" and not answer["changed"]:
        desk.say("this key is among the writers already")
    if options.change == "remove":
        desk.say("what this key published stays where it is; who gets the feed from now on refuses it")
    owner = answer["owner"]
    keys = [owner, *(key for key in answer["writers"] if key != owner)]
    rows = [(fingerprint(key), key, "owner" if key == owner else "") for key in keys]
    return desk.show(answer, table(("FINGERPRINT", "KEY", ""), rows))


def export(desk: Desk, options: argparse.Namespace) -> int:
    into = None if options.into is None else desk.path(options.into)
    done = desk.call("export_feed", feed=options.feed, into=into, beside=os.getcwd())
    desk.say(f"wrote {_carried(done)} into {os.path.dirname(done['file'])}")
    for problem in done["problems"]:
        desk.say(problem)
    return desk.show(done, [done["file"]])


def import_(desk: Desk, options: argparse.Namespace) -> int:
    if options.file.startswith(("http://", "https://")):
        raise UsageError(f"an import takes files; to fetch from the web: passerby gateway add {options.file}")
    done = desk.call("import_feed", file=desk.path(options.file))
    for problem in done["problems"]:
        desk.say(problem)
    desk.say(f"took in {_carried(done)}; {done['known']} known already, {done['refused']} refused")
    desk.show(done, [done["feed"]])
    is_futile = done["refused"] and not (done["entries"] or done["retractions"] or done["known"])
    return 1 if is_futile else 0


def _carried(done: dict[str, Any]) -> str:
    entries, files = show_number(done["entries"], "entry", "entries"), show_number(done["files"], "file")
    retractions = f", {show_number(done['retractions'], 'retraction')}" if done["retractions"] else ""
    return f"{entries}{retractions} and {files}"


# -- subscriptions


def subscribe(desk: Desk, options: argparse.Namespace) -> int:
    desk.hint_at_dates(options.where)
    files = options.files
    if files.startswith("max="):
        files = f"max={parse_size(files.removeprefix('max='))}"
    made = desk.call("subscribe", feed=options.feed, where=options.where, files=files, deliver=False)
    desk.say(f"subscribed to {made['feed']}" + (f" where {options.where}" if options.where else ""))
    return desk.show(made, [str(made["id"])])


def unsubscribe(desk: Desk, options: argparse.Namespace) -> int:
    if options.what.isascii() and options.what.isdigit():
        gone = desk.call("unsubscribe", id=int(options.what[:18]))
    else:
        gone = desk.call("unsubscribe", feed=options.what)
    for subscription in gone:
        desk.say(f"unsubscribed from {subscription['feed']}")
    return desk.show(gone, [str(subscription["id"]) for subscription in gone])


def subscriptions(desk: Desk, options: argparse.Namespace) -> int:
    found = desk.call("subscriptions")
    rows = [(str(each["id"]), each["app"], each["files"], each["feed"], each["where"]) for each in found]
    if not found:
        desk.say("no subscriptions yet; make one: passerby subscribe FEED")
    lines = table(("ID", "APP", "FILES", "FEED", "WHERE"), rows, width=desk.width) if found else []
    return desk.show(found, lines)
