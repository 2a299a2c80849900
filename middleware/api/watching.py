"""What goes on, for who watches: neighbours, transfers with their rate, and what arrives."""

from contentdb.errors import UsageError
from contentdb.names import NodeId
from middleware.api.documents import Document, entry_document
from middleware.api.effects import ApiEffect, Send
from middleware.api.home import Home
from middleware.api.messages import encode_notification
from middleware.api.nodes import neighbours, sessions, transfers

MAX_PER_APP = 10
# More than this of one moment is not shown entry by entry; `entries` lists them.
MAX_ARRIVALS = 100


class Watching:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._open: dict[int, int] = {}  # watch by its number: the connection
        self._next = 1
        self._told: dict[str, object] = {}
        self._measured: dict[str, tuple[float, int, int]] = {}  # when, bytes and rate of each transfer
        self._arrivals = 0

    @property
    def is_on(self) -> bool:
        return bool(self._open)

    def watch(self, connection: int) -> Document:
        if sum(each == connection for each in self._open.values()) >= MAX_PER_APP:
            raise UsageError(f"an app has at most {MAX_PER_APP} watches at a time")
        number, self._next = self._next, self._next + 1
        self._open[number] = connection
        return {"id": number}

    def unwatch(self, connection: int, number: int) -> Document:
        if self._open.get(number) != connection:
            raise UsageError(f"this connection has no watch {number}")
        del self._open[number]
        return {"id": number}

    def lost(self, connection: int) -> None:
        self._open = {number: each for number, each in self._open.items() if each != connection}

    def as_it_is(self, number: int) -> list[ApiEffect]:
        """To a watch that is new: everything as it is."""
        news = self._news()
        return [self._send(number, kind, {kind: found}) for kind, found in news.items()]

    def tick(self) -> list[ApiEffect]:
        """Now and then: what has changed."""
        self._arrivals = 0
        effects: list[ApiEffect] = []
        for kind, found in self._news().items():
            if self._told.get(kind) != found:
                self._told[kind] = found
                effects += self._to_all(kind, {kind: found})
        return effects

    def arrived(self, key: int, peer: NodeId | None) -> list[ApiEffect]:
        self._arrivals += 1
        row = self._home.store.entries.row(key) if self._open and self._arrivals <= MAX_ARRIVALS else None
        if row is None:
            return []
        return self._to_all("arrival", {"entry": entry_document(self._home.store, row), "peer": peer})

    def _news(self) -> dict[str, list[Document]]:
        found = {"neighbours": neighbours(self._home, ""), "sessions": sessions(self._home, "")}
        now = self._home.monotonic()
        moving = transfers(self._home, "")
        self._measured = {each["root"]: self._rate(each, now) for each in moving}
        for each in moving:
            each["rate"] = self._measured[each["root"]][2]
        return found | {"transfers": moving}

    def _rate(self, transfer: Document, now: float) -> tuple[float, int, int]:
        """Bytes a second since it was last looked at, unless that was just now."""
        received = transfer["received"]
        before, had, rate = self._measured.get(transfer["root"], (now, received, 0))
        if now - before < 0.1:
            return before, had, rate
        return now, received, round((received - had) / (now - before))

    def _to_all(self, kind: str, news: Document) -> list[ApiEffect]:
        return [self._send(number, kind, news) for number in self._open]

    def _send(self, number: int, kind: str, news: Document) -> Send:
        return Send(self._open[number], encode_notification("news", {"watch": number, "kind": kind, **news}))
