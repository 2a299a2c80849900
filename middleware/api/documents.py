"""Feeds, entries and subscriptions as JSON documents, and the ways a person may name them."""

import json
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

from contentdb.errors import UsageError
from contentdb.feeds import FeedRow
from contentdb.model import Enclosure, Entry, Source, Time
from contentdb.names import AuthorKey, FeedId, owner_of
from contentdb.query import MIN_ABBREVIATION, EntryRow, Selection
from contentdb.store import Store
from contentdb.subscriptions import Subscription

Document = dict[str, Any]
MAX_CHOICES = 5


def shown_feeds(store: Store, at: int, ids: Sequence[FeedId] | None = None) -> list[FeedRow]:
    """Feeds that count only the entries that `passerby entries` lists: expired ones are kept, and hidden."""
    hidden = store.entries.hidden(at)
    return [
        _as_shown(store, row, hidden[row.id], at) if row.id in hidden else row
        for row in store.feeds.rows(ids)
    ]


def _as_shown(store: Store, row: FeedRow, hidden: int, at: int) -> FeedRow:
    blocked = set(store.feeds.blocked())
    newest, _ = unblocked(store, Selection(at, row.id, limit=1), blocked)
    return replace(row, entries=row.entries - hidden, updated=newest[0].updated if newest else None)


def unblocked(store: Store, wanted: Selection, blocked: Container[AuthorKey]) -> tuple[list[EntryRow], int]:
    """What is wanted without the entries of blocked keys, and how many of those were passed over."""
    limit = wanted.limit
    while True:
        rows = store.entries.select(replace(wanted, limit=limit))
        shown = [row for row in rows if row.author not in blocked]
        if len(shown) >= wanted.limit or len(rows) < limit:
            return shown[: wanted.limit], len(rows) - len(shown)
        limit *= 4


def feed_document(row: FeedRow) -> Document:
    return {
        "id": row.id,
        "title": str(row.feed.title) if row.feed else None,
        "updated": row.updated,
        "categories": [category.term for category in row.feed.categories] if row.feed else [],
        "entries": row.entries,
        "subscribed": row.subscribed,
        "owned": owner_of(row.id) is not None,
        "listed": row.listed,
    }


def entry_document(store: Store, row: EntryRow) -> Document:
    named = store.enclosures(row.key) if row.enclosures else []
    enclosures = [enclosure_document(store, enclosure) for enclosure in named]
    source = _source(store, row)
    return {
        "id": row.id,
        "feed": row.feed,
        "title": row.title,
        "updated": row.updated,
        "published": row.published,
        "author": row.author,
        "attributes": json.loads(row.attributes) if row.attributes else {},
        "enclosures": enclosures,
        "complete": all(enclosure["received"] == enclosure["length"] for enclosure in enclosures),
        "summary": row.summary,
        "categories": [term for term in (row.categories or "").split("|") if term],
        "expires": row.expires,
        "own": bool(row.own),
        "pinned": bool(row.pinned),
        "author_name": row.author_name if source is None else _foreign_name(row, source),
        "source": None if source is None else _source_document(source),
    }


def published_document(entry: Entry) -> Document:
    """What `entry_document` shows of an entry without files that is new and our own."""
    return {
        "id": entry.id,
        "feed": entry.feed,
        "title": entry.title,
        "updated": entry.updated,
        "published": entry.published,
        "author": entry.author,
        "attributes": dict(entry.attributes),
        "enclosures": [],
        "complete": True,
        "summary": entry.summary,
        "categories": [category.term for category in entry.categories],
        "expires": entry.expires,
        "own": True,
        "pinned": False,
        "author_name": entry.authors[0].name if entry.authors else None,
        "source": None,
    }


def full_document(store: Store, row: EntryRow, entry: Entry) -> Document:
    """What `entries` shows of it, and besides what only its signed bytes tell."""
    content = entry.content
    return entry_document(store, row) | {
        "content": None
        if content is None
        else {"type": content.type, "text": content.text or None, "src": content.src},
        "links": [
            {
                "href": link.href,
                "rel": link.rel,
                "type": link.type,
                "title": link.title,
                "length": link.length,
            }
            for link in entry.links
        ],
        "summary_type": None if entry.summary is None else entry.summary.type,
        "times": [name for name, value in entry.attributes.items() if isinstance(value, Time)],
    }


def _source(store: Store, row: EntryRow) -> Source | None:
    for _key, signed in store.entries.signed([row.key]):
        # Reading every document would make long lists slow; most do not even contain the word.
        return store.entry_of_row(row.key).source if b"<source>" in signed.data else None
    return None


def _source_document(source: Source) -> Document:
    return {"id": source.id, "title": None if source.title is None else str(source.title)}


def _foreign_name(row: EntryRow, source: Source) -> str | None:
    """In Atom, an entry that names no author has that of its feed."""
    return row.author_name or (source.authors[0].name if source.authors else None)


def enclosure_document(store: Store, enclosure: Enclosure) -> Document:
    blobs = store.blobs
    # An empty file has nothing to receive; it is complete without ever having been begun.
    received = blobs.received(enclosure.root)
    is_here = received == enclosure.length and blobs.is_complete(enclosure.root)
    path = blobs.path(enclosure.root) if is_here else None
    return {
        "name": enclosure.name,
        "type": enclosure.type,
        "length": enclosure.length,
        "root": enclosure.root,
        "received": received,
        "path": None if path is None else str(path),
    }


def subscription_document(subscription: Subscription) -> Document:
    return {
        "id": subscription.key,
        "app": subscription.app,
        "feed": subscription.feed,
        "where": subscription.selector,
        "files": subscription.files,
        "max_age": subscription.max_age_s,
        "max_count": subscription.max_count,
    }


def find_feed(store: Store, text: str) -> FeedRow:
    """A feed by its id, or by its title if only one has it."""
    found = feeds_named(store, text)
    if not found:
        raise UsageError(f"there is no feed {text!r} here; `passerby feeds` lists them")
    if len(found) > 1:
        raise UsageError(f"{len(found)} feeds are titled {text!r}; name one by its id: {_some(found)}")
    return found[0]


def feeds_named(store: Store, text: str) -> list[FeedRow]:
    found = store.feeds.rows([FeedId(text)])
    return found or [row for row in store.feeds.rows() if row.feed is not None and row.feed.title == text]


def find_entry(store: Store, text: str, *, feed: str | None = None, author: str | None = None) -> EntryRow:
    """An entry by its id, or by the beginning of it if only one begins so."""
    found = entries_named(store, text, feed=feed, author=author)
    if not found:
        advice = "`passerby entries` lists them"
        if len(text) < MIN_ABBREVIATION:
            advice = f"the beginning of an id has at least {MIN_ABBREVIATION} characters"
        raise UsageError(f"there is no entry {text!r} here; {advice}")
    if author is None and len(found) > 1:  # of several copies, the one that is listed is meant
        found = [row for row in found if store.entries.copies.is_shown(row.key, at=0)]
    if len(found) == 1:
        return found[0]
    if len({row.id for row in found}) > 1:
        raise UsageError(f"{text!r} begins the ids of several entries; give more of the id: {_some(found)}")
    places = "; ".join(f"in feed {row.feed} by {row.author}" for row in found[:MAX_CHOICES])
    raise UsageError(f"several entries have the id {text!r}; choose by --feed or --author: {places}")


def entries_named(
    store: Store, text: str, *, feed: str | None = None, author: str | None = None
) -> list[EntryRow]:
    feed_id = None if feed is None else find_feed(store, feed).id
    return [
        row
        for row in store.entries.find(text)
        if (feed_id is None or row.feed == feed_id) and (author is None or row.author.startswith(author))
    ]


def _some(found: Sequence[FeedRow] | Sequence[EntryRow]) -> str:
    return ", ".join(row.id for row in found[:MAX_CHOICES]) + (" ..." if len(found) > MAX_CHOICES else "")


def check_category(term: str) -> None:
    """Selectors see categories as |one|two|: what is empty or has a bar in it could not be asked for."""
    if not term.strip() or "|" in term:
        raise UsageError(f"a category is a word or several, without |; got {term[:80]!r}")
