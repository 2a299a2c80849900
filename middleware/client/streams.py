"""What a subscription, a discovery or a watch gives an app: items one by one, or calls of a callback."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

from middleware.client.connection import Connection
from middleware.client.conversation import Inbox, Message

Item = TypeVar("Item")


class Stream(Generic[Item]):
    """Iterate over it, and each step waits for the next item, as long as the connection is open.

    An entry counts as finished, and never comes again, when the iterator advances to the next one; who breaks
    off gets the last one again next time. A stream with a callback is not iterated.
    """

    def __init__(
        self, connection: Connection, inbox: Inbox, read: Callable[[Message], Item], undo: str
    ) -> None:
        self._connection, self.inbox, self._read, self._undo = connection, inbox, read, undo
        self._mark: str | None = None
        self.is_iterated = False

    @property
    def id(self) -> int:
        """Its number, by which `unsubscribe` and `undiscover` know it."""
        return self.inbox.id

    def __getattr__(self, name: str) -> Any:
        try:
            return self.inbox.result[name]  # feed, where, files and the like, as the node confirmed them
        except KeyError:
            raise AttributeError(name) from None

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item = self.next()
        if item is None:
            raise StopIteration
        return item

    def next(self, timeout_s: float | None = None) -> Item | None:
        """The next item; None if the time is over first, or the stream is closed."""
        self.is_iterated = True
        self._finish()
        taken = self._connection.take(lambda: [self.inbox], timeout_s)
        if taken is None:
            return None
        self._mark = taken[1].get("mark")
        return self._read(taken[1])

    def _finish(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            self._connection.finished(mark)

    def close(self) -> None:
        """Take no more of it now. The subscription stays, and its entries wait; `unsubscribe` ends it."""
        self._connection.close_inbox(self.inbox)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
