"""The core of an app's end: which answers are awaited, what came for whom, and what was finished with.

Every entry has a mark that stays the same however often it is sent. So an entry that comes again because the
connection broke is recognised: one that is still in somebody's hands is not given out twice, and of one that
was finished with the node is told once more.
"""

import json
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from middleware.api.messages import CallError, encode_request

# Finished entries whose mark the node has not confirmed; a node has fewer in flight.
MAX_UNCONFIRMED = 1_000
# Which inbox a notification is for: by the call that opened it, and the parameter that names it.
NOTIFICATIONS = {
    "entry": ("subscribe", "subscription"),
    "feed": ("discover", "discovery"),
    "news": ("watch", "watch"),
}
# Calls that may be made again when the node ended before it answered: they change nothing, or nothing twice.
REPEATABLE = frozenset(
    (
        *(
            "hello",
            "feeds",
            "entries",
            "entry",
            "why",
            "subscriptions",
            "subscribe",
            "me",
            "blocked",
            "storage",
            "check",
        ),
        *("settings", "status", "neighbours", "sessions", "transfers", "logbook", "discover", "watch"),
        *("pin", "block", "done"),
    )
)

Message = dict[str, Any]


class Inbox:
    """What came for one subscription, discovery or watch and was not taken yet. The node bounds how much."""

    def __init__(
        self, method: str, params: dict[str, Any], callback: Callable[[Message], object] | None = None
    ) -> None:
        self.method, self.params = method, params  # the call that opened it, and opens it again
        self.callback = callback  # what takes its items; None: somebody who waits for them
        self.id = 0
        self.result: Message = {}
        self.items: deque[Message] = deque()
        self.error: CallError | None = None  # why it could not be opened again
        self.is_closed = False


class Conversation:
    def __init__(self) -> None:
        self._next = 0
        self._answers: dict[int, Message | None] = {}
        self._opening: dict[int, Inbox] = {}  # by the request that will give it its id
        self._confirming: dict[int, str] = {}
        self._held: set[str] = set()  # marks of entries that were not finished with
        self._unconfirmed: OrderedDict[str, None] = OrderedDict()
        self.inboxes: dict[tuple[str, int], Inbox] = {}

    def ask(self, method: str, params: dict[str, Any], inbox: Inbox | None = None) -> tuple[int, bytes]:
        """A request to send; its answer is kept under the number."""
        self._next += 1
        self._answers[self._next] = None
        if inbox is not None:
            self._opening[self._next] = inbox
        return self._next, encode_request(self._next, method, params)

    def has_answer(self, number: int) -> bool:
        return self._answers.get(number) is not None

    def take_answer(self, number: int) -> Message | None:
        """None if the connection broke before it came, or nobody waits for it any more."""
        self._opening.pop(number, None)
        return self._answers.pop(number, None)

    def line_received(self, line: bytes) -> bytes:
        """Keep what came for whoever waits for it; returns what is to be sent because of it."""
        message = json.loads(line)
        number = message.get("id")
        if number is None:
            return self._notified(message["method"], message["params"]) if "method" in message else b""
        if number in self._answers:
            self._answers[number] = message
        if number in self._opening and "result" in message:
            # Here and not by who asked: the next line may be the first entry.
            inbox = self._opening.pop(number)
            inbox.result, inbox.id = message["result"], int(message["result"]["id"])
            self.inboxes[inbox.method, inbox.id] = inbox
        self._unconfirmed.pop(self._confirming.pop(number, ""), None)
        return b""

    def _notified(self, method: str, params: dict[str, Any]) -> bytes:
        kind, key = NOTIFICATIONS.get(method, ("", ""))
        inbox, mark = self.inboxes.get((kind, params.get(key, 0))), params.get("mark")
        if mark is not None:
            if mark in self._held:
                return b""
            if mark in self._unconfirmed:
                return self._confirm(mark)
        if inbox is not None:
            if mark is not None:
                self._held.add(mark)
            inbox.items.append(params)
        return b""

    def finished(self, mark: str) -> bytes:
        """The app is done with an entry; returns what to send. If that is lost, it is noticed."""
        self._held.discard(mark)
        self._unconfirmed[mark] = None
        if len(self._unconfirmed) > MAX_UNCONFIRMED:
            self._unconfirmed.popitem(last=False)
        return self._confirm(mark)

    def _confirm(self, mark: str) -> bytes:
        self._next += 1
        self._confirming[self._next] = mark
        return encode_request(self._next, "done", {"marks": [mark]})

    def forget(self, inbox: Inbox) -> None:
        """Nobody takes its items any more; what was not taken comes again in another life of the app."""
        inbox.is_closed = True
        self.inboxes.pop((inbox.method, inbox.id), None)
        for item in inbox.items:
            self._held.discard(item.get("mark", ""))
        inbox.items.clear()

    def interrupted(self) -> None:
        """The connection broke: nothing that was sent will be answered."""
        self._answers.clear()
        self._opening.clear()
        self._confirming.clear()
