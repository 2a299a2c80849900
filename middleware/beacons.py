"""The shell of discovery: hellos by UDP from the start, mDNS as soon as the node is up."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from importlib import import_module

from contentdb.names import Address, NodeId
from discovery.announcement import Announcement
from discovery.hello import Hello
from discovery.interfaces import Link, current_links
from discovery.mdns import LASTS_S, MdnsBeacon
from discovery.sightings import MDNS
from discovery.udp import UdpBeacon
from middleware.config import HelloSettings
from middleware.effects import Effect
from middleware.node import Node
from middleware.samples import HelloCounts

log = logging.getLogger(__name__)


class Beacons:
    """Tells the node whom each source has sighted, and has what comes of it performed."""

    def __init__(
        self,
        node: Node,
        settings: HelloSettings,
        perform: Callable[[Iterable[Effect]], None],
        at: Callable[[], int],
    ) -> None:
        self._node, self._settings, self._perform, self._at = node, settings, perform, at
        self._loop = asyncio.get_running_loop()
        self._mdns: MdnsBeacon | None = None
        self._announced: tuple[str, int, int] | None = None
        self._udp = UdpBeacon(
            self._heard, port=settings.port, find_links=self._links, links_changed=self._links_changed
        )

    @property
    def counts(self) -> HelloCounts:
        counts = self._udp.counts
        return HelloCounts(counts.sent, counts.heard, counts.refused)

    def send_hello(self, hello: Hello) -> None:
        self._udp.send_hello(hello)
        self._announce(hello)

    def send_to(self, hello: Hello, to: Address) -> None:
        self._udp.send_to(hello, to)

    async def start_mdns(self) -> None:
        """Not before the node is up: loading zeroconf takes longer than all the rest of a start."""
        if not self._settings.mdns:
            return
        try:
            await self._loop.run_in_executor(None, import_module, "zeroconf.asyncio")
            self._mdns = MdnsBeacon(self._node.id, self._sighted, self._gone, os.urandom)
        except (ImportError, AttributeError, OSError) as error:  # an optional library takes nothing with it
            log.warning("mDNS is not available, hellos by UDP go on error=%r", error)
            return
        self._mdns.links_changed(self._udp.links)
        if self._announced is not None:
            self._mdns.pair_changed(*self._announced)

    async def close(self) -> None:
        self._udp.close()
        if self._mdns is not None:
            await self._mdns.close()

    def _announce(self, hello: Hello) -> None:
        told = (hello.epoch, hello.revision, hello.port)
        if told != self._announced:
            self._announced = told
            if self._mdns is not None:
                self._mdns.pair_changed(*told)

    def _heard(self, hello: Hello, source: Address) -> None:
        now = self._loop.time()
        if not self._node.heard_again(hello, source, now):
            self._perform(self._node.hello_received(hello, source, now, self._at()))

    def _sighted(self, said: Announcement, address: Address) -> None:
        now = self._loop.time()
        sighted = self._node.neighbourhood.sighted(
            said.node,
            address,
            epoch=said.epoch,
            revision=said.revision,
            source_name=MDNS,
            lasts_s=LASTS_S,
            now=now,
        )
        self._perform(self._node.sighted(sighted, now, self._at()))

    def _gone(self, who: NodeId) -> None:
        now = self._loop.time()
        gone = self._node.neighbourhood.gone(who, MDNS, now)
        self._perform(self._node.sighted(gone, now, self._at()))

    def _links(self) -> frozenset[Link]:
        wanted = self._settings.interfaces
        return frozenset(link for link in current_links() if not wanted or link.name in wanted)

    def _links_changed(self, links: frozenset[Link]) -> None:
        now = self._loop.time()
        self._perform(self._node.links_changed(now, self._at()))
        if self._mdns is not None:
            self._mdns.links_changed(links)
