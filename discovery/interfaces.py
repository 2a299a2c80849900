"""Which network interfaces are up, and from which of their addresses hellos can be sent.

`current_links` asks the operating system; `changes` compares two answers and is pure.
"""

import ipaddress
import re
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import ifaddr

from contentdb.names import Address

_SIOCGIFFLAGS = 0x8913  # Linux and Android; allowed to apps there
_UP, _BROADCAST, _LOOPBACK, _RUNNING, _MULTICAST = 0x1, 0x2, 0x8, 0x40, 0x1000
_IP = re.compile(r"ip:(?:\[([0-9a-f:.]{2,45})(?:%([!-$&-Z\\^-~]{1,15}))?\]|([0-9.]{7,15})):([0-9]{1,5})")


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """One address of an interface that is up: what one sending socket is bound to."""

    name: str
    index: int
    address: str  # IPv4, or link-local IPv6 without its scope
    prefix: int
    broadcast: str  # "" if there is none, as with IPv6
    has_multicast: bool

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.address

    def reaches(self, host: str, scope: str) -> bool:
        """Is this the link over which that host was heard?"""
        if self.is_ipv6 or ":" in host:
            return self.is_ipv6 and ":" in host and scope == self.name
        network = ipaddress.ip_network(f"{self.address}/{self.prefix}", strict=False)
        return ipaddress.ip_address(host) in network


def changes(old: frozenset[Link], new: frozenset[Link]) -> tuple[list[Link], list[Link]]:
    """The links that are gone and those that have come, in order."""
    return sorted(old - new), sorted(new - old)


def current_links() -> frozenset[Link]:
    """The links that are up now; loopback is one, for several nodes on one machine."""
    links: set[Link] = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for adapter in ifaddr.get_adapters():
            flags = _flags(asking, adapter.name)
            if flags & _UP and flags & _RUNNING:
                links.update(_links_of(adapter, flags))
    return frozenset(links)


def _flags(asking: socket.socket, name: str) -> int:
    if not sys.platform.startswith(("linux", "android")):
        # Elsewhere the call has another number; an interface with an address is taken as one that is up.
        return _UP | _RUNNING | _BROADCAST | _MULTICAST
    import fcntl

    request = struct.pack("16sH22x", name.encode()[:15], 0)
    try:
        flags: int = struct.unpack_from("16xH", fcntl.ioctl(asking.fileno(), _SIOCGIFFLAGS, request))[0]
    except OSError:
        return 0  # gone since it was listed
    return flags


def _links_of(adapter: ifaddr.Adapter, flags: int) -> Iterator[Link]:
    index, has_multicast = adapter.index or 0, bool(flags & _MULTICAST)
    for ip in adapter.ips:
        if isinstance(ip.ip, str):
            broadcast = _broadcast(ip.ip, ip.network_prefix, flags)
            yield Link(adapter.name, index, ip.ip, ip.network_prefix, broadcast, has_multicast)
        elif has_multicast and ipaddress.IPv6Address(ip.ip[0]).is_link_local:
            yield Link(adapter.name, index, ip.ip[0].partition("%")[0], ip.network_prefix, "", True)


def _broadcast(address: str, prefix: int, flags: int) -> str:
    network = ipaddress.IPv4Network(f"{address}/{prefix}", strict=False)
    # Loopback has no such flag, but 127.255.255.255 reaches every socket of the machine.
    if prefix > 30 or not (flags & (_BROADCAST | _LOOPBACK)):
        return ""
    return str(network.broadcast_address)


def ip_address(host: str, port: int, *, name: str = "") -> Address:
    """The tagged address of a host and port, with the interface's name for link-local IPv6."""
    if ":" not in host:
        return Address(f"ip:{host}:{port}")
    return Address(f"ip:[{host}%{name}]:{port}" if name else f"ip:[{host}]:{port}")


def split_ip_address(address: Address) -> tuple[str, str, int] | None:
    """Host, interface name ("" if none) and port; None if it is of another radio."""
    match = _IP.fullmatch(address)
    if match is None:
        return None
    ipv6, name, ipv4, port = match.groups()
    return ipv6 or ipv4, name or "", int(port)


def dialable_address(text: str, port: int) -> Address | None:
    """The tagged address of an IP address with or without %scope; None if it can mean no other machine."""
    host, _, scope = text.partition("%")
    ip = ipaddress.ip_address(host)
    if ip.is_multicast or ip.is_unspecified or ip.is_loopback:
        return None
    if ip.version == 4 or not ip.is_link_local:
        return ip_address(host, port)
    try:
        name = socket.if_indextoname(int(scope)) if scope.isdecimal() else scope
    except OSError:
        return None
    return ip_address(host, port, name=name) if name else None
