"""What changed since a page was told last, as server-sent events: one event for each part of the page."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from middleware.dashboard.views import Views


class Live:
    """One for each open page."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._told: dict[str, str] = {}
        self._mark: object = None

    async def changes(self) -> bytes:
        """The events due now; empty if nothing changed."""
        events = await self._events(self._views.moving)
        mark = await self._views.mark()
        if mark != self._mark:
            self._mark = mark
            events += await self._events(self._views.settled)
        return "".join(events).encode()

    async def _events(self, parts: Mapping[str, Callable[[], Awaitable[Any]]]) -> list[str]:
        events = []
        for name, view in parts.items():
            text = json.dumps(await view())  # in ASCII, so no line break of any kind is left in it
            if self._told.get(name) != text:
                self._told[name] = text
                events.append(f"event: {name}\ndata: {text}\n\n")
        return events
