"""Calls an app back: on a thread of our own, or wherever the app's own scheduler runs things."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from middleware.client.connection import Connection
from middleware.client.conversation import Inbox, Message
from middleware.client.results import Entry, Feed

Schedule = Callable[[Callable[[], None]], object]


class Callback(Protocol):
    """What `register_callback` takes: an object with these two methods."""

    def notify(self, feed_id: str, entry: Entry) -> None: ...

    def discovery_notify(self, feeds: list[Feed]) -> None: ...


class Callbacks:
    """Takes what has a callback, and what nobody iterates while somebody is registered."""

    def __init__(self, connection: Connection, schedule: Schedule | None) -> None:
        self._connection, self._schedule = connection, schedule
        self._registered: list[Callback] = []
        self._iterated: Callable[[Inbox], bool] = lambda inbox: False
        self._thread: threading.Thread | None = None

    def start(self, is_iterated: Callable[[Inbox], bool]) -> None:
        self._iterated = is_iterated
        if self._thread is None:
            self._begin()
        else:
            self._connection.wake()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name="passerby callbacks", daemon=True)
        self._thread.start()

    def register(self, callback: Callback) -> None:
        if callback not in self._registered:
            self._registered = [*self._registered, callback]

    def unregister(self, callback: Callback) -> None:
        self._registered = [each for each in self._registered if each != callback]

    def _inboxes(self) -> list[Inbox]:
        return [
            inbox
            for inbox in self._connection.open_inboxes()
            if not inbox.error
            and (inbox.callback is not None or (self._registered and not self._iterated(inbox)))
        ]

    def _run(self) -> None:
        try:
            while not self._connection.is_closed:
                taken = self._connection.take(self._inboxes)
                if taken is None:
                    continue
                if self._schedule is None:
                    self._deliver(*taken)
                else:
                    self._schedule(partial(self._deliver, *taken))
        finally:
            # What a callback raised is told by Python, as for any thread; the others go on being called.
            if not self._connection.is_closed:
                self._begin()

    def _deliver(self, inbox: Inbox, item: Message) -> None:
        """One that raises has not finished: its entry comes again in the next life of the app."""
        if inbox.callback is not None:
            inbox.callback(item)
        else:
            for callback in self._registered:
                _notify(callback, item)
        if "mark" in item:
            self._connection.finished(item["mark"])


def _notify(callback: Any, item: Message) -> None:
    if "entry" in item:
        callback.notify(item["entry"]["feed"], Entry.of(item["entry"]))
    elif "feed" in item:
        callback.discovery_notify([Feed.of(item["feed"])])
