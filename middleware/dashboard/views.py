"""The parts of the page as documents, put together from the calls that every app has."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from contentdb.names import fingerprint
from middleware.dashboard.routes import Call
from middleware.device.base import Battery

MOST_ENTRIES = 60
MOST_FOUND = 200


class Views:
    def __init__(
        self,
        call: Call,
        *,
        battery: Callable[[], Battery | None],
        found: Callable[[], list[dict[str, Any]]],
        at: Callable[[], int],
    ) -> None:
        """`found` are the feeds that neighbours were seen to have, the newest last."""
        self._call, self._battery, self._found = call, battery, found
        self._started = at()
        # What changes by itself is asked again and again, and is cheap; the rest only when the mark changes.
        self.moving: dict[str, Callable[[], Awaitable[Any]]] = {
            "status": self.status,
            "neighbours": self._named("neighbours"),
            "transfers": self._named("transfers"),
            "contacts": self._named("contacts"),
        }
        self.settled: dict[str, Callable[[], Awaitable[Any]]] = {
            "feeds": self._named("feeds"),
            "subscriptions": self._named("subscriptions"),
            "found": self.found,
            "entries": self.entries,
        }

    def _named(self, method: str) -> Callable[[], Awaitable[Any]]:
        return lambda: self._call(method, {})

    async def mark(self) -> object:
        """As long as this stays the same, so does everything that is settled."""
        status = await self._call("status", {})
        subscriptions, blocked = await self._call("subscriptions", {}), await self._call("blocked", {})
        return status["epoch"], status["revision"], subscriptions, blocked, self._found()

    async def status(self) -> dict[str, Any]:
        status, me = await self._call("status", {}), await self._call("me", {})
        battery = self._battery()
        sessions = await self._call("sessions", {})
        return {
            **status,
            "name": me["name"],
            "author": me["key"],
            "fingerprint": me["fingerprint"],
            "battery": None if battery is None else asdict(battery),
            "started": self._started,
            "busy": sorted({each["node_id"] for each in sessions if each["node_id"]}),
        }

    async def found(self) -> list[dict[str, Any]]:
        return self._found()

    async def entries(self) -> list[dict[str, Any]]:
        found = await self._call("entries", {"limit": MOST_ENTRIES})
        return [{**entry, "fingerprint": fingerprint(entry["author"])[:9]} for entry in found["entries"]]
