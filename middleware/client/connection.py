"""An app's connection to its node: calls and entries over one socket, from any number of threads.

There is no reader thread. Whoever waits for something reads for all: it hands out what comes to others, who
wait for their turn. A connection that breaks is opened again, and subscriptions go on where they were.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from middleware.api.messages import CallError, Code
from middleware.client.conversation import REPEATABLE, Conversation, Inbox, Message
from middleware.client.errors import NodeGone, NodeNotRunning, call_error
from middleware.client.wire import Wire, numbered, open_socket, token_for

FIRST_RETRY_S, MAX_RETRY_S = 0.05, 2.0


class Connection:
    """Use `call`; `open_inbox` and `take` are what iterators and callbacks are made of."""

    def __init__(self, home: str, app: str, token: str | None = None) -> None:
        self.home, self.app, self._token = home, app, token
        self._changed = threading.Condition(threading.RLock())
        self._talk = Conversation()
        self._wire: Wire | None = None
        self._is_read = False  # somebody is reading
        self.is_closed = False
        with self._changed:
            self._connect()

    # -- calls

    def call(self, method: str, params: dict[str, Any] | None = None, inbox: Inbox | None = None) -> Any:
        """Ask the node and wait for its answer; raises CallError with the node's own sentence."""
        with self._changed:
            while True:
                had_wire = self._wire is not None
                if not had_wire:
                    self._connect()
                try:
                    return self.answer(self.send(method, params or {}, inbox))
                except NodeGone:
                    # Once more if this is how we learn that the connection broke long ago.
                    if not had_wire or method not in REPEATABLE:
                        raise

    def send(self, method: str, params: dict[str, Any], inbox: Inbox | None = None) -> int:
        """Send a request without waiting; `answer` waits for what the node says to it."""
        with self._changed:
            if self._wire is None:
                raise NodeGone("the connection to the node is broken")
            descriptors: list[int] = []
            if "files" in params:
                params, descriptors = numbered(params, self._wire.passed, can_pass=self._wire.can_pass)
            number, data = self._talk.ask(method, params, inbox)
            self._transmit(data, descriptors)
            return number

    def answer(self, number: int) -> Any:
        with self._changed:
            wire = self._wire
            try:
                self._wait(lambda: self._talk.has_answer(number) or self._wire is not wire)
            finally:
                message = self._talk.take_answer(number)
            if message is None:
                raise NodeGone("the node ended before it answered; what was asked may be done or not")
            if "error" in message:
                raise call_error(message["error"])
            return message.get("result")

    def _transmit(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        assert self._wire is not None
        lines: list[bytes] | None = None if self._is_read else []
        try:
            self._wire.send(data, lines, descriptors)
        except NodeGone:
            self._broken()
            raise
        self._dispatch(lines or [])

    # -- inboxes

    def open_inbox(self, inbox: Inbox) -> Inbox:
        """Make the call that fills it; from now on it is filled again after every interruption."""
        self.call(inbox.method, inbox.params, inbox)
        return inbox

    def close_inbox(self, inbox: Inbox) -> None:
        with self._changed:
            self._talk.forget(inbox)
            self._changed.notify_all()

    def take(
        self, inboxes: Callable[[], list[Inbox]], timeout_s: float | None = None
    ) -> tuple[Inbox, Message] | None:
        """Wait until one of these has something, and take it; None if the time is over, or all is closed.

        Raises the error of an inbox that could not be opened again.
        """
        with self._changed:

            def is_ready() -> bool:
                return self.is_closed or any(i.items or i.error or i.is_closed for i in inboxes())

            self._wait(is_ready, timeout_s=timeout_s, is_resuming=True)
            for inbox in inboxes():
                if inbox.items:
                    return inbox, inbox.items.popleft()
                if inbox.error is not None:
                    raise inbox.error
            return None

    def open_inboxes(self) -> list[Inbox]:
        return list(self._talk.inboxes.values())

    def finished(self, mark: str) -> None:
        """The app is done with an entry: never again. If the node is gone, it hears of it when it is back."""
        with self._changed:
            data = self._talk.finished(mark)
            if self._wire is not None:
                try:
                    self._transmit(data)
                except NodeGone:
                    return

    def wake(self) -> None:
        """Let whoever waits look again at what it waits for."""
        with self._changed:
            self._changed.notify_all()
            if self._is_read and self._wire is not None:
                self._wire.wake()

    # -- reading for all

    def _wait(
        self, is_ready: Callable[[], bool], *, timeout_s: float | None = None, is_resuming: bool = False
    ) -> None:
        """Until it is so. The lock is held before and after, and free while somebody waits or reads."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        retry_s = FIRST_RETRY_S
        while not is_ready():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            if self._is_read:
                self._changed.wait(left)
            elif self._wire is not None:
                self._read(left)
            elif not is_resuming:
                return
            elif not self._resume():
                self._changed.wait(retry_s if left is None else min(retry_s, left))
                retry_s = min(retry_s * 2, MAX_RETRY_S)

    def _read(self, timeout_s: float | None) -> None:
        wire = self._wire
        assert wire is not None
        self._is_read = True
        self._changed.release()
        lines: list[bytes] | None = None
        try:
            lines = wire.receive(timeout_s)
        except NodeGone:
            lines = None
        finally:
            self._changed.acquire()
            self._is_read = False
            self._changed.notify_all()
        if lines is not None:
            self._dispatch(lines)
        elif self._wire is wire:
            self._broken()

    def _dispatch(self, lines: list[bytes]) -> None:
        replies = b"".join([self._talk.line_received(line) for line in lines])
        if lines:
            self._changed.notify_all()
        if replies and self._wire is not None:
            self._transmit(replies)

    # -- connecting

    def _connect(self) -> None:
        if self.is_closed:
            raise NodeGone("this connection was closed by its app")
        sock, needs_token = open_socket(self.home)
        self._wire = Wire(sock)
        params: dict[str, Any] = {"app": self.app}
        if needs_token:
            params["token"] = self._token or token_for(self.home, self.app)
        try:
            self.answer(self.send("hello", params))
            for inbox in self.open_inboxes():
                self._open_again(inbox)
        except (NodeGone, CallError):
            self._broken()
            raise

    def _open_again(self, inbox: Inbox) -> None:
        try:
            self.answer(self.send(inbox.method, inbox.params, inbox))
        except CallError as error:
            if error.code is Code.TAKEN:  # most likely by our own connection, whose end was not noticed yet
                raise NodeGone(str(error)) from None
            inbox.error = error

    def _resume(self) -> bool:
        try:
            self._connect()
        except (NodeNotRunning, NodeGone):
            return False
        return True

    def _broken(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None
        self._talk.interrupted()
        self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            self._broken()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
