"""Shell: the same events from mDNS, through zeroconf, which is loaded only when a beacon is made.

Works with zeroconf from 0.39.4, the last that is pure Python, to the present one. zeroconf does not follow
interfaces, so it is closed and opened again when they change.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from contentdb.errors import RemoteError
from contentdb.names import Address, NodeId
from discovery.announcement import SERVICE, Announcement, decode_announcement, encode_announcement
from discovery.interfaces import Link, dialable_address
from discovery.sightings import MAX_ADDRESSES

log = logging.getLogger(__name__)

TTL_S = 120  # a node that left without goodbye is forgotten then; by default it would take 75 minutes
# zeroconf tells when a record has lapsed but not when it was renewed, so a sighting waits to be told.
LASTS_S = 4500.0
UPDATE_S = 5.0  # announcing costs three multicasts each time
RETRY_S = 60.0
GOODBYE_S = 2.0  # it takes zeroconf half a second; nobody waits longer for it
RESOLVE_MS = 3000
MAX_NAMES, MAX_RESOLVING = 1024, 32  # as many as there may be neighbours, and asked for at one time


class MdnsBeacon:
    """Announces this node on the given links and hands over whom others announce, until it is closed."""

    def __init__(
        self,
        own: NodeId,
        sighted: Callable[[Announcement, Address], None],
        gone: Callable[[NodeId], None],
        entropy: Callable[[int], bytes],
    ) -> None:
        import zeroconf
        import zeroconf.asyncio

        self._zeroconf, self._api = zeroconf, zeroconf.asyncio
        self._faults = (OSError, RuntimeError, ValueError, zeroconf.Error)
        # It prints a traceback when an address goes away under it, of which we hear in our own way.
        logging.getLogger("zeroconf").setLevel(logging.CRITICAL)
        self._own, self._sighted, self._gone = own, sighted, gone
        # Random, since the name of a person or a machine is nobody's business.
        self._name, self._server = f"{entropy(8).hex()}.{SERVICE}", f"{entropy(8).hex()}.local."
        self._links: frozenset[Link] = frozenset()
        self._open_links: frozenset[Link] = frozenset()
        self._announcement: tuple[Announcement, int] | None = None
        self._announced: tuple[Announcement, int] | None = None
        self._open: Any = None  # AsyncZeroconf
        self._nodes: dict[str, NodeId] = {}
        self._resolving: dict[str, asyncio.Task[None]] = {}
        self._wanted = asyncio.Event()
        self._complaint = ""
        self._work = asyncio.get_running_loop().create_task(self._run())

    def pair_changed(self, epoch: str, revision: int, port: int) -> None:
        """Announce this, now or when the last time is long enough ago; port 0: announce nothing."""
        self._announcement = (Announcement(self._own, epoch, revision), port) if port else None
        self._wanted.set()

    def links_changed(self, links: frozenset[Link]) -> None:
        self._links = frozenset(link for link in links if link.has_multicast)
        self._wanted.set()

    async def close(self) -> None:
        """Say goodbye and stop."""
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)
        try:
            async with asyncio.timeout(GOODBYE_S):
                await self._shut()
        except self._faults as error:  # whatever zeroconf says now, the node stops
            log.debug("mDNS did not end well error=%r", error)

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                if self._links != self._open_links:
                    await self._shut()
                    self._start()
                await self._announce()
            except self._faults as error:  # such as an interface that vanished; the node goes on without
                self._failed(error)
            await asyncio.sleep(UPDATE_S)

    def _failed(self, error: Exception) -> None:
        """Say so once for each reason, and begin anew after a while."""
        if self._complaint != repr(error):
            self._complaint = repr(error)
            log.warning("mDNS is not available, hellos by UDP go on error=%r", error)
        self._open_links, self._announced = frozenset(), None
        asyncio.get_running_loop().call_later(RETRY_S, self._wanted.set)

    def _start(self) -> None:
        self._open_links = self._links
        if not self._links:
            return
        places = [link.index if link.is_ipv6 else link.address for link in sorted(self._links)]
        self._open = self._api.AsyncZeroconf(interfaces=places)
        self._api.AsyncServiceBrowser(self._open.zeroconf, SERVICE, handlers=[self._changed])

    async def _shut(self) -> None:
        for task in self._resolving.values():
            task.cancel()
        for node in sorted(set(self._nodes.values())):
            self._gone(node)
        self._nodes, self._resolving = {}, {}
        if self._open is not None:
            closing, self._open, self._announced = self._open, None, None
            await closing.async_unregister_all_services()
            await closing.async_close()  # and with it the browser

    async def _announce(self) -> None:
        if self._open is None or self._announcement == self._announced:
            return
        known, self._announced = self._announced, self._announcement
        if self._announced is None:
            await self._open.async_unregister_all_services()
            return
        act = self._open.async_update_service if known else self._open.async_register_service
        await (await act(self._service(*self._announced)))

    def _service(self, announcement: Announcement, port: int) -> Any:
        return self._api.AsyncServiceInfo(
            SERVICE,
            self._name,
            port=port,
            properties=encode_announcement(announcement),
            server=self._server,
            host_ttl=TTL_S,
            other_ttl=TTL_S,
            parsed_addresses=[link.address for link in sorted(self._links)],
        )

    def _changed(self, *, name: str, state_change: Any, **_: object) -> None:
        if self._open is None:  # the browser speaks on for a moment while it is being closed
            return
        if state_change is self._zeroconf.ServiceStateChange.Removed:
            node = self._nodes.pop(name, None)
            if node is not None and node not in self._nodes.values():
                self._gone(node)
        elif name != self._name and name not in self._resolving and len(self._resolving) < MAX_RESOLVING:
            task = asyncio.get_running_loop().create_task(self._resolve(name, self._open))
            self._resolving[name] = task
            task.add_done_callback(lambda done: self._resolved(name, done))

    def _resolved(self, name: str, done: "asyncio.Task[None]") -> None:
        if self._resolving.get(name) is done:
            del self._resolving[name]
        if not done.cancelled() and done.exception() is not None:
            log.debug("announcement not resolved error=%r", done.exception())

    async def _resolve(self, name: str, open_: Any) -> None:
        service = self._api.AsyncServiceInfo(SERVICE, name)
        if not await service.async_request(open_.zeroconf, RESOLVE_MS) or not service.port:
            return
        try:
            announcement = decode_announcement(service.properties)
        except RemoteError as error:
            log.debug("announcement refused error=%s", error)
            return
        if len(self._nodes) >= MAX_NAMES:
            self._nodes.pop(next(iter(self._nodes)))
        self._nodes[name] = announcement.node
        for text in service.parsed_scoped_addresses()[:MAX_ADDRESSES]:
            address = dialable_address(text, service.port)
            if address is not None:
                self._sighted(announcement, address)
