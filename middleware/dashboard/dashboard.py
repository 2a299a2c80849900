"""The dashboard of a running node: an app of it like any other, which shows a browser what it learns."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from contentdb.blobs import Blobs
from middleware.client.asynchronous import AsyncNode
from middleware.dashboard.access import Access
from middleware.dashboard.live import Live
from middleware.dashboard.metrics import encode_metrics
from middleware.dashboard.routes import Routes
from middleware.dashboard.server import HOST, DashboardServer, page_files
from middleware.dashboard.uploads import Uploads
from middleware.dashboard.views import MOST_FOUND, Views
from middleware.device.base import Device

APP = "dashboard"
LOOK_EVERY_S = 1.0
# A line that says nothing, so that a page which is gone is noticed.
STILL_HERE = b": still here\n\n"


class Dashboard:
    def __init__(
        self, home: Path, blobs: Blobs, device: Device, *, max_bytes: int, entropy: Callable[[int], bytes]
    ) -> None:
        self._blobs, self._device = blobs, device
        self._uploads = Uploads(home / "uploads", max_bytes=max_bytes, entropy=entropy)
        self._server = DashboardServer(self._uploads.receive)
        self._node = AsyncNode(str(home), APP)
        self._pages = 0
        self._found: dict[str, Any] = {}
        self._discovering: asyncio.Task[None] | None = None

    async def start(self, port: int, secret: bytes) -> str:
        """Listen; returns the address, with the token in its fragment."""
        port = await self._server.listen(port)
        access = Access(secret, port)
        views = Views(
            self._call,
            battery=self._device.battery,
            found=lambda: list(self._found.values()),
            at=lambda: time.time_ns() // 1_000_000,
        )
        self._server.serve(
            Routes(
                access,
                call=self._call,
                file_of=self._blobs.path,
                uploads=self._uploads,
                live=lambda: self._live(views),
                metrics=lambda: self._metrics(views),
                page=page_files(),
                at_s=lambda: int(time.time()),
            )
        )
        self.metrics_token = access.metrics_token
        return f"http://{HOST}:{port}/#token={access.page_token}"

    async def close(self) -> None:
        if self._discovering is not None:
            self._discovering.cancel()
        await self._server.close()
        await self._node.__aexit__()
        self._uploads.close()

    async def _call(self, method: str, params: dict[str, Any]) -> Any:
        return await self._node.call(method, **params)

    async def _live(self, views: Views) -> AsyncIterator[bytes]:
        live = Live(views)
        self._opened()
        try:
            while True:
                yield await live.changes() or STILL_HERE
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._pages -= 1
            if self._pages == 0 and self._discovering is not None:
                self._discovering.cancel()
                self._discovering = None

    def _opened(self) -> None:
        self._pages += 1
        if self._discovering is None:
            self._discovering = asyncio.ensure_future(self._discover())

    async def _discover(self) -> None:
        """Ask neighbours for their feeds, while somebody looks at the page."""
        stream = self._node.discover()
        with suppress(asyncio.CancelledError):
            async for feed in stream:
                self._found.pop(feed.id, None)
                shown = {"id": feed.id, "title": feed.title, "categories": list(feed.categories)}
                self._found[feed.id] = shown
                while len(self._found) > MOST_FOUND:
                    del self._found[next(iter(self._found))]
        await self._call("undiscover", {"id": stream.inbox.id})
        stream.close()

    async def _metrics(self, views: Views) -> str:
        sessions, transfers = await self._call("sessions", {}), await self._call("transfers", {})
        return encode_metrics(await views.status(), sessions, transfers)
