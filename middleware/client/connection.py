"""An app's connection to its node: calls and entries over one socket, from any number of threads.

There is no reader thread. Whoever waits for something reads for all: it hands out what comes to others, who
wait for their turn. A connection that breaks is opened again, and subscriptions go on where they were.
"""

import json
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Self

from middleware.api.messages import CallError, Code, encode_request
from middleware.client.errors import NodeGone, NodeNotRunning, call_error
from middleware.client.wire import Wire, open_socket, token_for

FIRST_RETRY_S, MAX_RETRY_S = 0.05, 2.0
# Finished entries whose mark the node has not confirmed; a node has fewer in flight.
MAX_UNCONFIRMED = 1_000
# Calls that may be made again when the node ended before it answered: they change nothing, or nothing twice.
REPEATABLE = frozenset(
    ("hello", "feeds", "entries", "entry", "why", "subscriptions", "subscribe", "me", "blocked", "storage",
     "settings", "status", "neighbours", "sessions", "transfers", "logbook", "discover", "watch", "pin",
     "block")
)  # fmt: skip


class Inbox:
    """What came for one subscription, discovery or watch and was not taken yet."""

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method, self.params = method, params  # the call that made it, and makes it again
        self.id = 0
        self.items: deque[dict[str, Any]] = deque()
        self.error: CallError | None = None  # it could not be resumed
        self.is_closed = False


class Connection:
    """Use `call`; `open_inbox` and `take` are what iterators and callbacks are made of."""

    def __init__(self, home: str, app: str, token: str | None = None) -> None:
        self.home, self.app, self._token = home, app, token
        self._changed = threading.Condition(threading.RLock())
        self._is_read = False  # somebody is reading
        self._wire: Wire | None = None
        self._next = 0
        self._answers: dict[int, dict[str, Any] | None] = {}
        self._opening: dict[int, Inbox] = {}  # by the request that will give it its id
        self._confirming: dict[int, list[str]] = {}
        self._inboxes: dict[tuple[str, int], Inbox] = {}
        self._held: set[str] = set()  # marks of entries that were not finished with
        self._unconfirmed: OrderedDict[str, None] = OrderedDict()
        self.is_closed = False
        with self._changed:
            self._connect()

    # -- calls

    def call(self, method: str, params: dict[str, Any] | None = None, inbox: Inbox | None = None) -> Any:
        """Ask the node and wait for its answer; raises CallError with the node's own sentence."""
        with self._changed:
            for is_last in (False, True):
                try:
                    return self._asked(method, params or {}, inbox)
                except NodeGone:
                    self._broken()
                    if is_last or method not in REPEATABLE:
                        raise
        raise AssertionError

    def _asked(self, method: str, params: dict[str, Any], inbox: Inbox | None = None) -> Any:
        if self._wire is None:
            self._connect()
        number = self.send(method, params)
        if inbox is not None:
            self._opening[number] = inbox
        return self.answer(number)

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Send a request without waiting; `answer` waits for what the node says to it."""
        with self._changed:
            if self._wire is None:
                raise NodeGone("the connection to the node is broken")
            self._next += 1
            self._answers[self._next] = None
            self._transmit(encode_request(self._next, method, params))
            return self._next

    def answer(self, number: int) -> Any:
        with self._changed:
            wire = self._wire
            try:
                self._wait(lambda: self._answers.get(number) is not None or self._wire is not wire)
                message = self._answers.get(number)
            finally:
                self._answers.pop(number, None)
                self._opening.pop(number, None)
            if message is None:
                raise NodeGone(f"the node ended before it answered; see `passerby status` in {self.home}")
            if "error" in message:
                raise call_error(message["error"])
            return message.get("result")

    def _transmit(self, data: bytes) -> None:
        assert self._wire is not None
        lines: list[bytes] | None = None if self._is_read else []
        self._wire.send(data, lines)
        self._dispatch(lines or ())

    # -- inboxes

    def open_inbox(self, method: str, params: dict[str, Any]) -> Inbox:
        inbox = Inbox(method, params)
        with self._changed:
            self.call(method, params, inbox)
        return inbox

    def close_inbox(self, inbox: Inbox) -> None:
        with self._changed:
            inbox.is_closed = True
            self._inboxes.pop((inbox.method, inbox.id), None)
            for item in inbox.items:
                self._held.discard(item.get("mark", ""))
            inbox.items.clear()
            self._changed.notify_all()

    def take(self, inboxes: "Callable[[], list[Inbox]]", timeout_s: float | None = None) -> "Inbox | None":
        """Wait until one of these has something, and return it; None if the time is over or all is closed."""
        with self._changed:

            def ready() -> bool:
                return self.is_closed or any(i.items or i.error or i.is_closed for i in inboxes())

            self._wait(ready, timeout_s=timeout_s, is_resuming=True)
            return next((inbox for inbox in inboxes() if inbox.items), None)

    def finished(self, mark: str) -> None:
        """The app is done with an entry: never again. If the node is gone, it hears of it when it is back."""
        with self._changed:
            self._held.discard(mark)
            self._unconfirmed[mark] = None
            if len(self._unconfirmed) > MAX_UNCONFIRMED:
                self._unconfirmed.popitem(last=False)
            if self._wire is not None:
                try:
                    self._confirm([mark])
                except NodeGone:
                    self._broken()

    def _confirm(self, marks: list[str]) -> None:
        self._next += 1
        self._confirming[self._next] = marks
        self._transmit(encode_request(self._next, "done", {"marks": marks}))

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
                retry_s = FIRST_RETRY_S
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
        lines: list[bytes] | None = []
        try:
            lines = wire.receive(timeout_s)
        except NodeGone:
            lines = None
        finally:
            self._changed.acquire()
            self._is_read = False
        if lines is None:
            if self._wire is wire:
                self._broken()
        else:
            self._dispatch(lines)
        self._changed.notify_all()

    def _dispatch(self, lines: "list[bytes] | tuple[()]") -> None:
        for line in lines:
            message = json.loads(line)
            number = message.get("id")
            if number is not None:
                if number in self._answers:
                    self._answers[number] = message
                if number in self._opening and "result" in message:
                    # Here and not by who asked: the next line may be the first entry.
                    inbox = self._opening.pop(number)
                    inbox.id = int(message["result"]["id"])
                    self._inboxes[inbox.method, inbox.id] = inbox
                for mark in self._confirming.pop(number, ()):
                    self._unconfirmed.pop(mark, None)
            elif "method" in message:
                self._notified(message["method"], message["params"])
        if lines:
            self._changed.notify_all()

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        kind, key = NOTIFICATIONS.get(method, ("", ""))
        inbox = self._inboxes.get((kind, params.get(key, 0)))
        mark = params.get("mark")
        if mark is not None:
            if mark in self._held:
                return  # it is here, or in somebody's hands: sent again because the connection broke
            if mark in self._unconfirmed and not mark.endswith("-partial"):
                self._confirm([mark])
                return
        if inbox is not None:
            if mark is not None:
                self._held.add(mark)
            inbox.items.append({"method": method, **params})

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
            self._asked("hello", params)
            for inbox in list(self._inboxes.values()):
                self._resume_inbox(inbox)
        except NodeGone:
            self._broken()
            raise
        except CallError:
            self._broken()
            raise

    def _resume_inbox(self, inbox: Inbox) -> None:
        self._inboxes.pop((inbox.method, inbox.id), None)
        try:
            self._asked(inbox.method, inbox.params, inbox)
        except CallError as error:
            if error.code is Code.TAKEN:  # most likely by our own connection, whose end was not noticed yet
                self._inboxes[inbox.method, inbox.id] = inbox
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
        self._confirming.clear()
        self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            self._broken()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Which inbox a notification is for: by the call that opened it, and the parameter that names it.
NOTIFICATIONS = {
    "entry": ("subscribe", "subscription"),
    "feed": ("discover", "discovery"),
    "news": ("watch", "watch"),
}
