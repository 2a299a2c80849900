"""Shell: hellos by UDP, broadcast and multicast on every link that is up.

Answers come to the private sockets: a unicast datagram to the common port reaches only one of the nodes of a
machine. Needs a selector event loop, which is asyncio's own everywhere but on Windows.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass

from contentdb.errors import RemoteError
from contentdb.names import Address
from discovery.hello import MAX_HELLO_BYTES, Hello, decode_hello, encode_hello
from discovery.interfaces import Link, changes, current_links, ip_address, split_ip_address
from discovery.udp_reader import DatagramReader, Source
from discovery.udp_sockets import join_group, leave_group, open_far, open_listener, open_sender, targets

log = logging.getLogger(__name__)

HELLO_PORT = 4747
FOLLOW_S = 2.0  # looking at the interfaces takes less than a millisecond


@dataclass(slots=True)
class BeaconCounts:
    """What went over the air and what did not."""

    sent: int = 0
    unsent: int = 0  # the network was unreachable, forbidden or full
    heard: int = 0
    refused: int = 0  # not a hello


class UdpBeacon:
    """Sends hellos on every link and hands over those that come, from its making until it is closed.

    `links_changed` is told the links whenever they are others than before, the first time in the next turn of
    the loop: say hello then.
    """

    def __init__(
        self,
        heard: Callable[[Hello, Address], None],
        *,
        port: int = HELLO_PORT,
        find_links: Callable[[], frozenset[Link]] = current_links,
        links_changed: Callable[[frozenset[Link]], None] = lambda _links: None,
    ) -> None:
        self._heard, self._port = heard, port
        self._find_links, self._links_changed = find_links, links_changed
        self._loop = asyncio.get_running_loop()
        self._reader = DatagramReader(self._received, MAX_HELLO_BYTES)
        self._senders: dict[Link, socket.socket] = {}
        self._far: dict[bool, socket.socket] = {}
        self._listeners: dict[bool, socket.socket] = {}
        self.counts = BeaconCounts()
        for is_ipv6, family in ((False, socket.AF_INET), (True, socket.AF_INET6)):
            try:
                self._listeners[is_ipv6] = open_listener(family, port)
            except OSError as error:  # a machine without IPv6 has a beacon all the same
                log.warning("cannot listen for hellos family=%s port=%d error=%s", family.name, port, error)
        for listener in self._listeners.values():
            self._reader.add(listener)
        self._timer: asyncio.Handle = self._loop.call_soon(self._follow)

    @property
    def links(self) -> frozenset[Link]:
        return frozenset(self._senders)

    def send_hello(self, hello: Hello) -> None:
        datagram = encode_hello(hello)
        for link in sorted(self._senders):
            for target in targets(link, self._port):
                self._send(self._senders[link], datagram, target)

    def send_to(self, hello: Hello, to: Address) -> None:
        """Say it to one address, from the link that reaches it; else the routes decide."""
        host, scope, port = split_ip_address(to) or ("", "", 0)
        for link in sorted(self._senders):
            if host and link.reaches(host, scope):
                target = (host, port, 0, link.index) if link.is_ipv6 else (host, port)
                self._send(self._senders[link], encode_hello(hello), target)
                return
        if host and not scope and self._senders:
            self._send(self._far_socket(":" in host), encode_hello(hello), (host, port))
        else:
            self.counts.unsent += 1  # the link over which it was heard is gone, and so is who asked

    def close(self) -> None:
        self._timer.cancel()
        self._reader.close()
        for sock in [*self._senders.values(), *self._listeners.values(), *self._far.values()]:
            sock.close()
        self._senders, self._listeners, self._far = {}, {}, {}

    def _far_socket(self, is_ipv6: bool) -> socket.socket:
        if is_ipv6 not in self._far:
            self._far[is_ipv6] = open_far(socket.AF_INET6 if is_ipv6 else socket.AF_INET)
            self._reader.add(self._far[is_ipv6])
        return self._far[is_ipv6]

    def _send(self, sender: socket.socket, datagram: bytes, target: Source) -> None:
        try:
            sender.sendto(datagram, target)
            self.counts.sent += 1
        except OSError as error:
            self.counts.unsent += 1
            log.debug("hello not sent error=%s", error)

    def _follow(self) -> None:
        """Open what has come, close what is gone; what cannot be opened yet is tried again next time."""
        self._timer = self._loop.call_later(FOLLOW_S, self._follow)
        before = self.links
        gone, come = changes(before, self._find_links())
        for link in gone:
            sender = self._senders.pop(link)
            self._reader.remove(sender)
            sender.close()
            self._membership(leave_group, link)
        for link in come:
            try:
                sender = open_sender(link)
            except OSError as error:  # such as an IPv6 address that is not yet known to be unique
                log.debug("link not usable yet name=%s error=%s", link.name, error)
                continue
            self._membership(join_group, link)
            self._senders[link] = sender
            self._reader.add(sender)
        if self.links != before:
            self._links_changed(self.links)

    def _membership(self, act: Callable[[socket.socket, Link], None], link: Link) -> None:
        # One membership for all addresses of an interface.
        is_shared = any((o.index, o.is_ipv6) == (link.index, link.is_ipv6) for o in self._senders)
        listener = self._listeners.get(link.is_ipv6)
        if is_shared or listener is None or not link.has_multicast:
            return
        try:
            act(listener, link)
        except OSError as error:
            log.debug("%s failed name=%s error=%s", act.__name__, link.name, error)

    def _received(self, datagram: bytes, source: Source) -> None:
        try:
            hello, address = decode_hello(datagram), _address_of(source)
        except (RemoteError, OSError) as error:
            self.counts.refused += 1
            log.debug("hello refused error=%s", error)
            return
        self.counts.heard += 1
        self._heard(hello, address)


def _address_of(source: Source) -> Address:
    """The tagged address of a datagram's source; OSError if its interface is gone already."""
    host, port = str(source[0]).partition("%")[0], int(source[1])
    scope = int(source[3]) if len(source) == 4 else 0
    return ip_address(host, port, name=socket.if_indextoname(scope) if scope else "")
