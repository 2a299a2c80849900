"""What happened to an entry, and how it stands with it, in plain words: the answer to `why`."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from contentdb.chunking import chunk_count
from contentdb.ledger import MEETINGS, Event, Happening, about_feed
from contentdb.model import Entry
from contentdb.names import NodeId, fingerprint
from contentdb.query import EntryRow
from contentdb.selector.deciding import Term, deciding, literal
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from middleware.cli.words import show_number, show_time
from middleware.delivery import Delivery

_NODE = re.compile(r"\b[0-9a-f]{40}\b")
# More than a few would hide what matters; the rest is counted.
MAX_RANGES, MAX_MEETINGS, MAX_SUBSCRIPTIONS = 5, 5, 20
MAX_VALUE_CHARACTERS = 60
_ADVICE = {
    "blocked": "you block its author's key; `passerby block KEY --undo` changes that",
    "not a writer": "the owner of its feed has not allowed its author to write there",
    "no room": "`passerby storage` shows what fills this store, and max_bytes in the settings is its limit",
    "this neighbour has brought": "it comes at another meeting, or from somebody else",
    "larger than the whole store": "max_bytes in the settings is the limit",
    "clock": "its date is more than a day ahead of this machine's clock: one of the two is wrong",
}  # fmt: skip


def sentences(store: Store, rows: Sequence[EntryRow], happenings: Sequence[Happening], at: int) -> list[str]:
    """The story of the entries with one id, oldest first, then how it stands with each that is here."""
    lines = [_told(each) for each in happenings]
    for row in rows:
        lines += _standing(store, row, at)
    return list(dict.fromkeys(lines))


def hints(store: Store) -> list[str]:
    """What may have kept an entry away of which nothing is known."""
    subscriptions = store.subscriptions.all()
    if not subscriptions:
        return [
            "you subscribe to no feed, and nothing is fetched that nobody asks for: passerby subscribe FEED"
        ]
    feeds = list(dict.fromkeys(each.feed for each in subscriptions))
    lines = [f"you subscribe to {show_number(len(feeds), 'feed')}, and no entry of this id was offered there"]
    return [*lines, *(line for feed in feeds for line in _kept_back(store, feed)), *_meetings(store)]


# -- what happened


def name_of(node: str) -> str:
    return fingerprint(NodeId(node))[:9] if _NODE.fullmatch(node) else node


def _told(happening: Happening) -> str:
    _, at, event, detail = happening
    when = show_time(at)
    return _WORDS[event](_NODE.sub(lambda found: name_of(found[0]), detail), when)


def _refused(detail: str, when: str) -> str:
    advice = next((words for start, words in _ADVICE.items() if detail.startswith(start)), "")
    return f"refused on {when}: {detail}" + (f"; {advice}" if advice else "")


def _offered(detail: str, when: str) -> str:
    who, _, what = detail.rpartition(" file") if detail.endswith(" file") else (detail, "", None)
    return f"{who} had {'it too' if what is None else 'its files, or parts of them,'} on {when}"


_WORDS: dict[Event, Callable[[str, str], str]] = {
    Event.PUBLISHED: lambda detail, when: f"you published it on {when}",
    Event.RECEIVED: lambda detail, when: (
        f"received from {detail} on {when}" if detail else f"taken in on {when}"
    ),
    Event.OFFERED: _offered,
    Event.WITHHELD: lambda detail, when: f"kept back by {detail} on {when}",
    Event.REFUSED: _refused,
    Event.PARKED: lambda detail, when: f"it waits since {when}; {detail}: {_ADVICE['clock']}",
    Event.DELIVERED: lambda detail, when: f"delivered to app {detail} on {when}",
    Event.EXPIRED: lambda detail, when: f"expired on {when}" + (f": {detail}" if detail else ""),
    Event.EVICTED: lambda detail, when: f"removed on {when} to keep within the limits: {detail}",
    Event.RETRACTED: lambda detail, when: f"its author took it back on {when}",
}


# -- how it stands


def _standing(store: Store, row: EntryRow, at: int) -> Iterator[str]:
    entry = store.entry_of_row(row.key)
    if entry.retracted:
        return
    if row.author in store.feeds.blocked():
        yield "it is not shown: you block its author's key; `passerby block KEY --undo` changes that"
    if not store.entries.copies.is_shown(row.key, at) and (row.expires is None or row.expires > at):
        yield f"the copy signed by {fingerprint(row.author)[:9]} is not shown: another copy of it is"
    subscriptions = store.subscriptions.of_feed(row.feed)
    if not subscriptions and not row.own:
        yield f"no subscription of yours wants it: nobody here subscribes to {row.feed}"
    delivery = Delivery(store)
    for subscription in subscriptions[:MAX_SUBSCRIPTIONS]:
        yield _wish(store, delivery, subscription, row, entry, at)
    yield from _files(store, row)


def _wish(
    store: Store, delivery: Delivery, subscription: Subscription, row: EntryRow, entry: Entry, at: int
) -> str:
    name = f"your subscription {subscription.key} (app {subscription.app})"
    selector, seen = delivery.selector(subscription.selector), entry.selectable()
    if selector.evaluate(seen) is not True:
        reasons = "; ".join(_reason(term, seen) for term in deciding(selector, seen))
        return f"{name} does not want it: {reasons}"
    if subscription.max_age_s is not None and row.updated < at - subscription.max_age_s * 1000:
        return f"{name} does not want it: it is older than {subscription.max_age_s} s"
    place = (subscription.key, row.key)
    if store.subscriptions.delivered([place]).get(place) == row.version:
        return f"{name} wants it, and its app has had it"
    wanted = [each for each in entry.enclosures if subscription.wants_file(each.length)]
    if not all(store.blobs.is_complete(each.root) for each in wanted):
        return f"{name} wants it, and waits for its files"
    return f"{name} wants it"


def _reason(term: Term, seen: Mapping[str, object]) -> str:
    values = ", ".join(_value(name, seen.get(name)) for name in term.names) or "that is never so"
    return f"{values}, and it asks for {term.text}"


def _value(name: str, value: object) -> str:
    if value is None:
        return f"it has no {name}"
    shown = literal(value) if isinstance(value, str | int | float) else str(value)
    return f"{name} is {shown if len(shown) <= MAX_VALUE_CHARACTERS else shown[:MAX_VALUE_CHARACTERS] + '…'}"


def _files(store: Store, row: EntryRow) -> list[str]:
    lacking = list(_incomplete(store, row))
    return [*lacking, *_meetings(store)] if lacking else []


def _incomplete(store: Store, row: EntryRow) -> Iterator[str]:
    for enclosure in store.enclosures(row.key):
        count = chunk_count(enclosure.length)
        if store.blobs.is_complete(enclosure.root) or not count:
            continue
        if store.blobs.received(enclosure.root) == 0:
            yield f"nothing of its file {enclosure.name} is here; it has {show_number(count, 'chunk')}"
            continue
        missing = store.blobs.missing(enclosure.root)
        shown = ", ".join(_range(each) for each in missing[:MAX_RANGES])
        more = ", ..." if len(missing) > MAX_RANGES else ""
        lacking = sum(map(len, missing))
        word, verb = ("chunk", "is") if lacking == 1 else ("chunks", "are")
        yield f"its file {enclosure.name} is not complete: {word} {shown}{more} of {count} {verb} missing"


def _range(chunks: range) -> str:
    return str(chunks[0]) if len(chunks) == 1 else f"{chunks[0]}-{chunks[-1]}"


# -- of what nothing is known


def _kept_back(store: Store, feed: str) -> Iterator[str]:
    for _, at, _, detail in store.ledger.of(about_feed(feed))[-MAX_MEETINGS:]:
        who, count, selector = (*detail.split(" ", 2), "")[:3]
        entries = show_number(int(count), "entry", "entries")
        yield (
            f"{name_of(who)} kept back {entries} of {feed} on {show_time(at)}, which your selector "
            f"{selector} does not want: it may be among them"
        )


def _meetings(store: Store) -> Iterator[str]:
    for _, at, _, detail in store.ledger.of(MEETINGS)[-MAX_MEETINGS:]:
        who, _, what = detail.partition(" ")
        yield f"the last meeting with {name_of(who)}, on {show_time(at)}, came to nothing: {what}"
