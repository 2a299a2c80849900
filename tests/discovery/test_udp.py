"""A beacon on loopback: all hear what is said, only who asked hears the answer, and nobody hears rubbish."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

from contentdb.names import Address
from discovery.hello import Hello, encode_hello
from discovery.interfaces import Link, current_links
from discovery.udp import UdpBeacon
from discovery.udp_reader import DATAGRAMS_PER_S, DatagramReader, Source
from tests.discovery.scenes import ANN, answer, hello

PATIENCE_S = 60.0


def loopback() -> frozenset[Link]:
    return frozenset(link for link in current_links() if link.address == "127.0.0.1")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Ear:
    """A beacon with a queue of what it heard."""

    def __init__(self, port: int, find_links: Callable[[], frozenset[Link]] = loopback) -> None:
        self.heard: asyncio.Queue[tuple[Hello, Address]] = asyncio.Queue()
        self.links: asyncio.Queue[frozenset[Link]] = asyncio.Queue()
        self.beacon = UdpBeacon(
            lambda said, source: self.heard.put_nowait((said, source)),
            port=port,
            find_links=find_links,
            links_changed=self.links.put_nowait,
        )


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scene()

    asyncio.run(bounded())


def test_everybody_on_the_machine_hears_a_hello_and_only_the_asker_the_answer() -> None:
    async def scene() -> None:
        ears = [Ear(port) for port in [free_port()] * 3]
        for ear in ears:
            await ear.links.get()
        ears[0].beacon.send_hello(hello())
        (said, source), *others = [await ear.heard.get() for ear in ears]
        assert said == hello() and others == [(said, source)] * 2
        ears[1].beacon.send_to(answer(), source)
        assert (await ears[0].heard.get())[0] == answer()
        ears[2].beacon.send_hello(hello(revision=3))
        # What comes next to the others is the next hello, not the answer.
        assert [(await ear.heard.get())[0].revision for ear in ears[1:]] == [3, 3]
        for ear in ears:
            ear.beacon.close()

    run(scene)


def test_what_is_no_hello_is_counted_and_dropped() -> None:
    async def scene() -> None:
        ear = Ear(free_port())
        (link,) = await ear.links.get()
        ear.beacon.send_hello(hello())
        _, source = await ear.heard.get()
        target = ("127.0.0.1", int(source.rpartition(":")[2]))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for datagram in (b"", b"\x51" * 20, b" " * 60_000, encode_hello(hello()) + b" " * 500):
                stranger.sendto(datagram, target)
            stranger.sendto(encode_hello(hello(revision=9)), target)
        assert (await ear.heard.get())[0].revision == 9
        assert (ear.beacon.counts.refused, ear.beacon.counts.heard) == (4, 2)
        assert ear.beacon.links == {link}
        ear.beacon.close()

    run(scene)


def test_what_cannot_be_sent_is_counted_and_not_fatal() -> None:
    async def scene() -> None:
        (lo,) = loopback()
        # A broadcast address that lies behind no route of the loopback address.
        stray = Link(lo.name, lo.index, "127.0.0.1", 8, "255.255.255.255", False)
        ear = Ear(0, lambda: frozenset({stray}))
        await ear.links.get()
        ear.beacon.send_hello(hello())
        ear.beacon.send_to(answer(), Address("ip:[fe80::1%gone]:9"))
        ear.beacon.send_to(answer(), Address("ble:00-11"))
        assert ear.beacon.counts.unsent >= 2
        ear.beacon.close()

    run(scene)


def test_a_link_that_cannot_be_opened_is_left_out() -> None:
    async def scene() -> None:
        (lo,) = loopback()
        foreign = Link("wlan0", lo.index, "203.0.113.9", 24, "203.0.113.255", True)
        ear = Ear(free_port(), lambda: frozenset({lo, foreign}))
        assert await ear.links.get() == {lo}
        ear.beacon.close()

    run(scene)


def test_links_that_come_and_go_are_followed() -> None:
    async def scene() -> None:
        now_up = loopback()
        ear = Ear(free_port(), lambda: now_up)
        assert await ear.links.get() == loopback()
        now_up = frozenset()
        assert await ear.links.get() == frozenset()
        now_up = loopback()
        assert await ear.links.get() == loopback()
        ear.beacon.send_hello(hello())
        assert (await ear.heard.get())[0].node == ANN
        ear.beacon.close()

    run(scene)


def test_a_flood_is_read_only_so_far_in_a_second_and_then_goes_on() -> None:
    async def scene() -> None:
        loop, times = asyncio.get_running_loop(), list[float]()
        enough = asyncio.Event()

        def received(_datagram: bytes, _source: Source) -> None:
            times.append(loop.time())
            if len(times) > DATAGRAMS_PER_S:
                enough.set()

        ear, mouth = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ear.setblocking(False)
        mouth.setblocking(False)
        began = loop.time()
        reader = DatagramReader(received, 10)
        reader.add(ear)
        while not enough.is_set():
            try:
                mouth.send(b"x")
            except BlockingIOError:
                await asyncio.sleep(0)
        assert times[DATAGRAMS_PER_S] - began >= 0.99  # however slow this machine is
        reader.close()
        ear.close()
        mouth.close()

    run(scene)
