"""What an app does with a node: publish, subscribe, discover, ask."""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import IO, Any, Self

from middleware.client.callbacks import Callback, Callbacks, Schedule
from middleware.client.connection import Connection
from middleware.client.conversation import Inbox, Message
from middleware.client.requests import (
    AttributeValue,
    PathLike,
    absolute,
    attributes_of,
    files_of,
    given,
    milliseconds,
)
from middleware.client.results import Entry, Event, Feed, Neighbour, Session, Status, Transfer
from middleware.client.streams import Stream


def _entry(item: Message) -> Entry:
    return Entry.of(item["entry"])


def _feed(item: Message) -> Feed:
    return Feed.of(item["feed"])


class Node:
    """A connection to the node of this device. Made by `passerby.connect`; usable from any thread."""

    def __init__(self, connection: Connection, schedule: Schedule | None = None) -> None:
        self._connection = connection
        self._callbacks = Callbacks(connection, schedule)
        self._streams: list[Stream[Any]] = []

    def call(self, method: str, **params: Any) -> Any:
        """Any call of docs/api.md by its name; its result as it stands in the JSON."""
        return self._connection.call(method, params)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- feeds and entries

    def create_feed(
        self,
        title: str,
        *,
        id: str | None = None,
        subtitle: str | None = None,
        categories: Iterable[str] = (),
        language: str | None = None,
        owned: bool = False,
        listed: bool = True,
    ) -> Feed:
        """Make a feed. Anybody may write to it, unless it is `owned`.

        feed = node.create_feed("Street music", categories=["music"])
        """
        params = given(id=id, subtitle=subtitle, language=language)
        rest = {"title": title, "categories": list(categories), "owned": owned, "listed": listed}
        return Feed.of(self.call("create_feed", **rest, **params))

    def publish(
        self,
        feed: str,
        *,
        title: str,
        id: str | None = None,
        summary: str | None = None,
        content: str | None = None,
        categories: Iterable[str] = (),
        attributes: Mapping[str, AttributeValue] | None = None,
        files: Iterable[PathLike | IO[Any]] | None = None,
        language: str | None = None,
        expires: datetime | int | None = None,
    ) -> Entry:
        """Publish an entry; it is on the disk when this returns, and public to whoever is near.

            node.publish(feed.id, title="Corner of 5th", attributes={"genre": "jazz"}, files=["take1.ogg"])

        With the `id` of an own entry of the feed, this is a new version of it. Files are copied; one that is
        given open may be such that the node could not open it itself, or have no name any more. Raises
        NodeGone if the node ended meanwhile: then it may be published or not.
        """
        params = given(
            id=id,
            summary=summary,
            content=content,
            categories=list(categories) or None,
            attributes=attributes_of(attributes),
            files=files_of(files),
            language=language,
            expires=milliseconds(expires, "expires"),
        )
        return Entry.of(self.call("publish", feed=feed, title=title, **params))

    def retract(self, entry: str, *, feed: str | None = None) -> None:
        """Take an own entry back, wherever that news arrives."""
        self.call("retract", entry=entry, **given(feed=feed))

    def feeds(self, where: str = "") -> list[Feed]:
        """The feeds that are here and match.

        node.feeds("title LIKE '%music%'")
        """
        return [Feed.of(each) for each in self.call("feeds", where=where)]

    def entries(self, feed: str | None = None, *, where: str = "", limit: int = 100) -> list[Entry]:
        """Entries that are here and match, the newest first."""
        found = self.call("entries", where=where, limit=limit, **given(feed=feed))
        return [Entry.of(each) for each in found["entries"]]

    def entry(self, entry: str, *, feed: str | None = None, into: PathLike | None = None) -> Entry:
        """One entry in full; with `into`, its files are copied to that folder, and `path` is the copy's."""
        folder = None if into is None else absolute(into)
        return Entry.of(self.call("entry", entry=entry, **given(feed=feed, into=folder)))

    # -- subscribing

    def subscribe(
        self,
        feed: str,
        *,
        where: str = "",
        on_entry: Callable[[Entry], object] | None = None,
        files: str = "all",
        max_age: int | None = None,
        max_count: int | None = None,
        partial: bool = False,
    ) -> Stream[Entry]:
        """Ask for a feed, or for what of it matches: first what is here, oldest first, then what comes.

            for entry in node.subscribe(quiz.id, where="round > 3"):
                print(entry.title)

        Each entry is given once, with its files complete, across restarts of app and node: it counts as
        finished when the iterator advances, or when `on_entry` returns. `files` is "all", "none" or
        "max=BYTES". With `partial`, entries come before their files are here, and again as these grow. Raises
        a UsageError that points at the column if the selector cannot be parsed.
        """
        params = given(feed=feed, where=where, files=files, max_age=max_age, max_count=max_count)
        if partial:
            params["partial"] = True
        callback = None if on_entry is None else lambda item: on_entry(_entry(item))
        return self._stream(Inbox("subscribe", params, callback), _entry, "unsubscribe")

    def unsubscribe(self, subscription: "Stream[Entry] | int | str") -> None:
        """End a subscription, by itself or its id; or all that this app has for a feed."""
        if isinstance(subscription, Stream):
            subscription.close()
            subscription = subscription.id
        params = {"feed": subscription} if isinstance(subscription, str) else {"id": subscription}
        self.call("unsubscribe", **params)

    def subscriptions(self) -> list[dict[str, Any]]:
        """What all apps are subscribed to."""
        found: list[dict[str, Any]] = self.call("subscriptions")
        return found

    def discover(self, where: str = "", *, on_feed: Callable[[Feed], object] | None = None) -> Stream[Feed]:
        """Feeds seen at neighbours that match: now, and as they come, until `undiscover`.

        node.discover("title LIKE '%music%'", on_feed=lambda feed: print(feed.title, feed.seen_at))
        """
        callback = None if on_feed is None else lambda item: on_feed(_feed(item))
        return self._stream(Inbox("discover", {"where": where}, callback), _feed, "undiscover")

    def undiscover(self, discovery: "Stream[Feed] | int") -> None:
        if isinstance(discovery, Stream):
            discovery.close()
            discovery = discovery.id
        self.call("undiscover", id=discovery)

    def watch(self, on_news: Callable[[Message], object] | None = None) -> Stream[Message]:
        """What goes on: neighbours, transfers and arrivals, as dictionaries with a `kind`."""
        return self._stream(Inbox("watch", {}, on_news), lambda item: item, "unwatch")

    def _stream(self, inbox: Inbox, read: Callable[[Message], Any], undo: str) -> Stream[Any]:
        stream: Stream[Any] = Stream(self._connection, inbox, read, undo)
        self._streams = [each for each in self._streams if not each.inbox.is_closed] + [stream]
        self._connection.open_inbox(inbox)
        if inbox.callback is not None:
            self._callbacks.start(self._is_iterated)
        return stream

    def _is_iterated(self, inbox: Inbox) -> bool:
        return any(stream.is_iterated for stream in self._streams if stream.inbox is inbox)

    def register_callback(self, callback: Callback) -> None:
        """Call `callback.notify(feed_id, entry)` for entries, `callback.discovery_notify(feeds)` for feeds.

        For every subscription and discovery that has no callback of its own and is not iterated. Several may
        be registered; an entry is finished when all of them have returned.
        """
        self._callbacks.register(callback)
        self._callbacks.start(self._is_iterated)

    def unregister_callback(self, callback: Callback) -> None:
        self._callbacks.unregister(callback)

    # -- looking around

    def status(self) -> Status:
        return Status.of(self.call("status"))

    def neighbours(self) -> list[Neighbour]:
        return [Neighbour.of(each) for each in self.call("neighbours")]

    def sessions(self) -> list[Session]:
        return [Session.of(each) for each in self.call("sessions")]

    def transfers(self) -> list[Transfer]:
        return [Transfer.of(each) for each in self.call("transfers")]

    def why(self, entry: str) -> list[Event]:
        """What happened to an entry, oldest first."""
        return [Event.of(each) for each in self.call("why", entry=entry)["events"]]

    def meet(self, address: str) -> None:
        """Dial an address, such as "192.0.2.7:40123"."""
        self.call("meet", address=address)

    def me(self, name: str | None = None) -> dict[str, Any]:
        """Your name, key and fingerprint; with a name, what you are called from now on."""
        found: dict[str, Any] = self.call("me", **given(name=name))
        return found

    # -- keeping

    def pin(self, what: str) -> None:
        """Never evict this entry or feed."""
        self.call("pin", what=what)

    def unpin(self, what: str) -> None:
        self.call("pin", what=what, pinned=False)

    def block(self, key: str) -> None:
        """Refuse what this author key signs."""
        self.call("block", key=key)

    def unblock(self, key: str) -> None:
        self.call("block", key=key, blocked=False)

    def storage(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("storage")
        return found


def home_of(home: PathLike | None) -> str:
    from middleware.client.homes import default_home

    return os.path.abspath(os.path.expanduser(default_home() if home is None else os.fspath(home)))
