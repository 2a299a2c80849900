"""Which entries are due to which subscription: matching, with the files it wants, and not delivered yet."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from contentdb.copies import origin_of
from contentdb.model import Enclosure, Entry
from contentdb.names import FeedId
from contentdb.query import EntryRow, Selection
from contentdb.selector import Selector, parse
from contentdb.store import Store
from contentdb.subscriptions import Subscription

# Parsed selectors of subscriptions that are in use; a text is at most some kilobytes.
MAX_PARSED = 10_000
_NOT_READ: Mapping[int, Entry] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Due:
    """An entry for an app. It is marked when the app says that it is done with it."""

    subscription: Subscription
    entry: EntryRow
    is_complete: bool = True  # else its app asked to be told of it before its files are here
    is_copy: bool = False  # somebody else may bring the same entry of a web feed


START = (-(2**63), 0)  # before every entry, for `candidates`


class Stored(NamedTuple):
    """An entry that the store holds, as it is listed and as it was signed."""

    row: EntryRow
    entry: Entry


class Delivery:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._parsed: dict[str, Selector] = {}
        self.partial: set[int] = set()  # subscriptions whose apps want entries before their files are here

    def selector(self, text: str) -> Selector:
        selector = self._parsed.get(text)
        if selector is None:
            if len(self._parsed) >= MAX_PARSED:
                self._parsed.clear()
            selector = self._parsed[text] = parse(text)
        return selector

    def due_now(self, subscription: Subscription, at: int) -> Iterator[Due]:
        """Everything the store has for a subscription that its app was not given, oldest first."""
        for row in self._store.entries.undelivered(subscription, at, self.selector(subscription.selector)):
            if not row.enclosures or self._is_complete(subscription, self._store.enclosures(row.key)):
                yield Due(subscription, row)

    def candidates(
        self, subscription: Subscription, at: int, *, after: tuple[int, int], limit: int
    ) -> list[tuple[int, int]]:
        """(updated, row) of what may be due, oldest first, after such a pair; `due_to` decides on each."""
        selector = self.selector(subscription.selector)
        if subscription.max_count is not None:
            rows = self._store.entries.undelivered(subscription, at, selector)
            return [pair for row in rows if (pair := (row.updated, row.key)) > after][:limit]
        return self._store.entries.undelivered_keys(subscription, at, selector, after=after, limit=limit)

    def due_to(self, subscription: Subscription, keys: Sequence[int], at: int) -> list[Due]:
        """Which of the entries in these rows are due to this subscription, now."""
        found = [due for each in self.stored(keys) for due in self._due(each, [subscription], at)]
        return self._unmarked(found)

    def still_due(self, dues: Sequence[Due], at: int) -> list[Due]:
        """Which of these are as they were when they became due, and were not delivered meanwhile.

        Nothing is read or matched again. Not for copies, nor for who wants a number of the newest: to them it
        matters what others bring.
        """
        rows = {row.key: row for row in self._store.entries.rows([due.entry.key for due in dues])}
        held = [due for due in dues if due.entry.key in rows]
        return self._unmarked(
            [
                due
                for due in held
                if rows[due.entry.key].version == due.entry.version
                and (due.entry.expires is None or due.entry.expires > at)
            ]
        )

    def stored(self, keys: Iterable[int], read: Mapping[int, Entry] = _NOT_READ) -> list[Stored]:
        """The entries in these rows, each once, as far as they are held; `read` has those parsed already."""
        rows = self._store.entries.rows(list(dict.fromkeys(keys)))
        return [Stored(row, read.get(row.key) or self._store.entry_of_row(row.key)) for row in rows]

    def due(self, stored: Iterable[Stored], at: int) -> list[Due]:
        """To whom entries are due that were stored, or whose last file came, just now."""
        subscribed = self.subscribed()
        found = [due for each in stored for due in self._due(each, subscribed(each.row.feed), at)]
        return self._unmarked(found)

    def _unmarked(self, found: list[Due]) -> list[Due]:
        pairs = [(due.subscription.key, due.entry.key) for due in found]
        marks = self._store.subscriptions.delivered(pairs)
        return [due for pair, due in zip(pairs, found, strict=True) if marks.get(pair) != due.entry.version]

    def _due(self, stored: Stored, subscriptions: list[Subscription], at: int) -> Iterator[Due]:
        """The same for one entry, whether it was delivered before or not; another copy of it counts."""
        (row, entry), copies = stored, self._store.entries.copies
        is_copy = origin_of(entry) is not None
        if entry.retracted or (row.expires is not None and row.expires <= at):
            return
        if is_copy and not copies.is_shown(row.key, at):
            return
        seen = entry.selectable() if any(each.selector for each in subscriptions) else {}
        for subscription in subscriptions:
            if (
                self.selector(subscription.selector).evaluate(seen) is True
                and _is_recent(subscription, row, at)
                and not (is_copy and copies.was_delivered(subscription.key, row.key))
                and (subscription.max_count is None or self._is_among_newest(subscription, row, at))
            ):
                is_complete = not entry.enclosures or self._is_complete(subscription, entry.enclosures)
                if is_complete or subscription.key in self.partial:
                    yield Due(subscription, row, is_complete, is_copy)

    def _is_among_newest(self, subscription: Subscription, row: EntryRow, at: int) -> bool:
        wanted = Selection(at, row.feed, self.selector(subscription.selector), subscription.max_count or 1)
        return any(row.key == each.key for each in self._store.entries.select(wanted))

    def subscribed(self) -> Callable[[FeedId], list[Subscription]]:
        """Who subscribes to a feed, looked up once for each feed of a batch."""
        return cache(self._store.subscriptions.of_feed)

    def is_match(self, subscription: Subscription, entry: Entry) -> bool:
        selector = self.selector(subscription.selector)
        return selector.tree is None or selector.evaluate(entry.selectable()) is True

    def _is_complete(self, subscription: Subscription, enclosures: Iterable[Enclosure]) -> bool:
        return all(
            self._store.blobs.is_complete(enclosure.root)
            for enclosure in enclosures
            if subscription.wants_file(enclosure.length)
        )


def _is_recent(subscription: Subscription, row: EntryRow, at: int) -> bool:
    return subscription.max_age_s is None or row.updated >= at - subscription.max_age_s * 1000
