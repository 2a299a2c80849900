"""A process that says hello and prints whom it hears, one JSON line each; ends with its standard input.

    python -m tests.discovery.announcer --node NUMBER [--mdns] [--port PORT]

A line "revision N" changes its pair. With a port of its own for hellos it is heard by mDNS alone.
"""

import argparse
import asyncio
import json
import os
import sys
from random import Random

from contentdb.names import Address, NodeId
from discovery.announcement import Announcement
from discovery.effects import AnswerHello, Effect, SendHello
from discovery.hello import Hello
from discovery.interfaces import Link
from discovery.mdns import LASTS_S, MdnsBeacon
from discovery.neighbourhood import Neighbourhood
from discovery.schedule import HelloSettings
from discovery.sightings import MDNS
from discovery.udp import UdpBeacon
from tests.discovery.scenes import EPOCH, node

TCP_PORT = 40_123


class Announcer:
    def __init__(self, number: int, port: int, has_mdns: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._core = Neighbourhood(node(number), HelloSettings(interval_s=0.5), Random(os.urandom(8)))
        self._udp = UdpBeacon(self._heard, port=port, links_changed=self._links_changed)
        self._mdns = MdnsBeacon(node(number), self._sighted, self._gone, os.urandom) if has_mdns else None
        self._timer: asyncio.TimerHandle | None = None
        self._changed(1)

    async def close(self) -> None:
        self._udp.close()
        if self._mdns is not None:
            await self._mdns.close()

    def line_read(self, line: str) -> None:
        self._changed(int(line.split()[1]))

    def _changed(self, revision: int) -> None:
        self._perform(self._core.pair_changed(EPOCH, revision, TCP_PORT, self._loop.time()))
        if self._mdns is not None:
            self._mdns.pair_changed(EPOCH, revision, TCP_PORT)

    def _links_changed(self, links: frozenset[Link]) -> None:
        print(json.dumps({"links": sorted(link.name for link in links)}), flush=True)
        self._perform(self._core.link_came_up(self._loop.time()))
        if self._mdns is not None:
            self._mdns.links_changed(links)

    def _heard(self, hello: Hello, source: Address) -> None:
        self._perform(self._core.hello_received(hello, source, self._loop.time()))

    def _sighted(self, said: Announcement, address: Address) -> None:
        sighted = self._core.sighted(
            said.node,
            address,
            epoch=said.epoch,
            revision=said.revision,
            source_name=MDNS,
            lasts_s=LASTS_S,
            now=self._loop.time(),
        )
        self._perform(sighted)

    def _gone(self, who: NodeId) -> None:
        self._perform(self._core.gone(who, MDNS, self._loop.time()))

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendHello):
                self._udp.send_hello(effect.hello)
            elif isinstance(effect, AnswerHello):
                self._udp.send_to(effect.hello, effect.to)
            else:
                one = effect.neighbour
                line = {"event": type(effect).__name__, "node": int(one.node, 16), "revision": one.revision}
                line |= {"addresses": one.addresses, "sources": one.sources}
                print(json.dumps(line), flush=True)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._core.next_timer(), self._timer_fired)

    def _timer_fired(self) -> None:
        self._perform(self._core.timer_fired(self._loop.time()))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", type=int, required=True)
    parser.add_argument("--port", type=int, default=4747)
    parser.add_argument("--mdns", action="store_true")
    options = parser.parse_args()
    announcer = Announcer(options.node, options.port, options.mdns)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        announcer.line_read(line.decode())
    await announcer.close()


if __name__ == "__main__":
    asyncio.run(main())
