"""The app's end of the local socket for asyncio: the same calls, awaited, and streams for `async for`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Generic, Self, TypeVar

from middleware.api.messages import MAX_ANSWER_BYTES, CallError, Code
from middleware.client.connection import FIRST_RETRY_S, MAX_RETRY_S
from middleware.client.conversation import REPEATABLE, Conversation, Inbox, Message
from middleware.client.errors import NodeGone, NodeNotRunning, call_error
from middleware.client.requests import AttributeValue, PathLike, attributes_of, given, milliseconds, paths_of
from middleware.client.results import Entry, Event, Feed, Neighbour, Status
from middleware.client.wire import open_socket, token_for

Item = TypeVar("Item")


class AsyncConnection:
    """One task reads; who waits is told by a condition. Resumes as `connection.Connection` does."""

    def __init__(self, home: str, app: str, token: str | None) -> None:
        self._home, self._app, self._token = home, app, token
        self._talk = Conversation()
        self._changed = asyncio.Condition()
        self._connecting = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self.is_closed = False

    async def open(self) -> None:
        async with self._connecting:
            if self.is_closed:
                raise NodeGone("this connection was closed by its app")
            if self._writer is None:
                await self._open()

    async def _open(self) -> None:
        # Connecting to a local socket does not wait for anything but the node's own backlog.
        sock, needs_token = await asyncio.to_thread(open_socket, self._home)
        sock.setblocking(False)
        reader, self._writer = await asyncio.open_connection(sock=sock, limit=MAX_ANSWER_BYTES)
        self._reading = asyncio.create_task(self._read(reader, self._writer))
        params: dict[str, Any] = {"app": self._app}
        if needs_token:
            params["token"] = self._token or token_for(self._home, self._app)
        try:
            await self._asked("hello", params)
            for inbox in list(self._talk.inboxes.values()):
                await self._open_again(inbox)
        except (NodeGone, CallError):
            await self._broken()
            raise

    async def _open_again(self, inbox: Inbox) -> None:
        try:
            await self._asked(inbox.method, inbox.params, inbox)
        except CallError as error:
            if error.code is Code.TAKEN:
                raise NodeGone(str(error)) from None
            inbox.error = error

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):  # ValueError: a line without end
            while line := await reader.readline():
                writer.write(self._talk.line_received(line))
                async with self._changed:
                    self._changed.notify_all()
        if self._writer is writer:
            await self._broken()

    async def _broken(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        self._talk.interrupted()
        async with self._changed:
            self._changed.notify_all()

    async def _asked(self, method: str, params: dict[str, Any], inbox: Inbox | None = None) -> Any:
        writer = self._writer
        if writer is None:
            raise NodeGone("the connection to the node is broken")
        number, data = self._talk.ask(method, params, inbox)
        writer.write(data)
        try:
            async with self._changed:
                await self._changed.wait_for(
                    lambda: self._talk.has_answer(number) or self._writer is not writer
                )
        finally:
            message = self._talk.take_answer(number)
        if message is None:
            raise NodeGone("the node ended before it answered; what was asked may be done or not")
        if "error" in message:
            raise call_error(message["error"])
        return message.get("result")

    async def call(self, method: str, params: dict[str, Any], inbox: Inbox | None = None) -> Any:
        while True:
            had_wire = self._writer is not None
            if not had_wire:
                await self.open()
            try:
                return await self._asked(method, params, inbox)
            except NodeGone:
                if not had_wire or method not in REPEATABLE:
                    raise

    async def take(self, inbox: Inbox) -> Message | None:
        """The next item, however long it takes and however often the node restarts; None when closed."""
        retry_s = FIRST_RETRY_S
        while True:
            async with self._changed:
                await self._changed.wait_for(
                    lambda: inbox.items or inbox.error or inbox.is_closed or self._writer is None
                )
            if inbox.items:
                return inbox.items.popleft()
            if inbox.error is not None:
                raise inbox.error
            if inbox.is_closed or self.is_closed:
                return None
            try:
                await self.open()
                retry_s = FIRST_RETRY_S
            except (NodeNotRunning, NodeGone):
                await asyncio.sleep(retry_s)
                retry_s = min(retry_s * 2, MAX_RETRY_S)

    def finished(self, mark: str) -> None:
        data = self._talk.finished(mark)
        if self._writer is not None:
            self._writer.write(data)

    def forget(self, inbox: Inbox) -> None:
        self._talk.forget(inbox)

    async def close(self) -> None:
        self.is_closed = True
        await self._broken()
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading


class AsyncStream(Generic[Item]):
    """Items one by one; an entry is finished when the next one is asked for."""

    def __init__(self, connection: AsyncConnection, inbox: Inbox, read: Callable[[Message], Item]) -> None:
        self._connection, self.inbox, self._read = connection, inbox, read
        self._is_open = False
        self._mark: str | None = None

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        await self.open()
        if self._mark is not None:
            self._connection.finished(self._mark)
            self._mark = None
        item = await self._connection.take(self.inbox)
        if item is None:
            raise StopAsyncIteration
        self._mark = item.get("mark")
        return self._read(item)

    async def open(self) -> Self:
        """Make the call now; else the first step of the iteration does. Raises what is wrong with it."""
        if not self._is_open:
            await self._connection.call(self.inbox.method, self.inbox.params, self.inbox)
            self._is_open = True
        return self

    def close(self) -> None:
        self._connection.forget(self.inbox)


class AsyncNode:
    """`async with passerby.connect_async(app="quiz") as node:`; see `feeds.Node` for what each call means."""

    def __init__(self, home: str, app: str, token: str | None = None) -> None:
        self._connection = AsyncConnection(home, app, token)

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    def call(self, method: str, **params: Any) -> Awaitable[Any]:
        """Any call of docs/api.md by its name."""
        return self._connection.call(method, params)

    async def create_feed(
        self, title: str, *, categories: Iterable[str] = (), owned: bool = False, **more: Any
    ) -> Feed:
        found = await self.call("create_feed", title=title, categories=list(categories), owned=owned, **more)
        return Feed.of(found)

    async def publish(
        self,
        feed: str,
        *,
        title: str,
        attributes: Mapping[str, AttributeValue] | None = None,
        files: Iterable[PathLike] | None = None,
        expires: datetime | int | None = None,
        **more: Any,
    ) -> Entry:
        params = given(
            attributes=attributes_of(attributes),
            files=paths_of(files),
            expires=milliseconds(expires, "expires"),
        )
        return Entry.of(await self.call("publish", feed=feed, title=title, **params, **more))

    async def feeds(self, where: str = "") -> list[Feed]:
        return [Feed.of(each) for each in await self.call("feeds", where=where)]

    async def entries(self, feed: str | None = None, *, where: str = "", limit: int = 100) -> list[Entry]:
        found = await self.call("entries", where=where, limit=limit, **given(feed=feed))
        return [Entry.of(each) for each in found["entries"]]

    def subscribe(self, feed: str, *, where: str = "", **more: Any) -> AsyncStream[Entry]:
        params = {"feed": feed, "where": where, **more}
        return AsyncStream(self._connection, Inbox("subscribe", params), lambda item: Entry.of(item["entry"]))

    async def unsubscribe(self, subscription: "AsyncStream[Entry] | int | str") -> None:
        if isinstance(subscription, AsyncStream):
            subscription.close()
            subscription = subscription.inbox.id
        params = {"feed": subscription} if isinstance(subscription, str) else {"id": subscription}
        await self.call("unsubscribe", **params)

    def discover(self, where: str = "") -> AsyncStream[Feed]:
        inbox = Inbox("discover", {"where": where})
        return AsyncStream(self._connection, inbox, lambda item: Feed.of(item["feed"]))

    def watch(self) -> AsyncStream[Message]:
        return AsyncStream(self._connection, Inbox("watch", {}), lambda item: item)

    async def status(self) -> Status:
        return Status.of(await self.call("status"))

    async def neighbours(self) -> list[Neighbour]:
        return [Neighbour.of(each) for each in await self.call("neighbours")]

    async def why(self, entry: str) -> list[Event]:
        return [Event.of(each) for each in (await self.call("why", entry=entry))["events"]]
