"""Which entries are due to which subscription: matching, with the files it wants, and not delivered yet."""

from collections.abc import Iterator
from dataclasses import dataclass

from contentdb.names import Root
from contentdb.query import EntryRow
from contentdb.selector import Selector, parse
from contentdb.store import Store
from contentdb.subscriptions import Subscription

# Parsed selectors of subscriptions that are in use; a text is at most some kilobytes.
MAX_PARSED = 10_000


@dataclass(frozen=True, slots=True)
class Due:
    """An entry for an app. It is marked when the app says that it is done with it."""

    subscription: Subscription
    entry: EntryRow


class Delivery:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._parsed: dict[str, Selector] = {}

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
            if self.is_complete(subscription, row.key):
                yield Due(subscription, row)

    def due_after(self, key: int, at: int) -> list[Due]:
        """To whom an entry is due that was stored, or whose last file came, just now."""
        row = self._store.entries.row(key)
        if row is None or (row.expires is not None and row.expires <= at):
            return []
        entry = self._store.entry_of_row(key)
        if entry.retracted or not self._store.entries.copies.is_shown(key, at):
            return []
        seen = entry.selectable()
        return [
            Due(subscription, row)
            for subscription in self._store.subscriptions.of_feed(row.feed)
            if self.selector(subscription.selector).evaluate(seen) is True
            and _is_recent(subscription, row, at)
            and self.is_complete(subscription, key)
            and not self._store.subscriptions.is_delivered(subscription.key, key, row.version)
            and not self._store.entries.copies.was_delivered(subscription.key, key)
        ]

    def wanted_files(self, key: int, subscription: Subscription) -> list[tuple[Root, int]]:
        """The files of an entry that a subscription wants, complete or not: root and length."""
        wanted = [
            (enclosure.root, enclosure.length)
            for enclosure in self._store.enclosures(key)
            if subscription.wants_file(enclosure.length)
        ]
        if not wanted:
            return []
        seen = self._store.entry_of_row(key).selectable()
        return wanted if self.selector(subscription.selector).evaluate(seen) is True else []

    def is_complete(self, subscription: Subscription, key: int) -> bool:
        return all(
            self._store.blobs.is_complete(enclosure.root)
            for enclosure in self._store.enclosures(key)
            if subscription.wants_file(enclosure.length)
        )


def _is_recent(subscription: Subscription, row: EntryRow, at: int) -> bool:
    return subscription.max_age_s is None or row.updated >= at - subscription.max_age_s * 1000
