"""The UDP sockets that hellos need: a private one per link to send from, a shared one per family to hear."""

import socket
import struct
import sys

from discovery.interfaces import Link

GROUP_IPV4 = "239.255.47.47"
GROUP_IPV6 = "ff02::7062"
# Not known to Python before 3.14: deliver only the groups that this very socket has joined.
_IP_MULTICAST_ALL = 49
_IS_LINUX = sys.platform.startswith(("linux", "android"))


def open_sender(link: Link) -> socket.socket:
    """A socket of our own with a port of its own, from which a link's hellos go out and answers come back."""
    family = socket.AF_INET6 if link.is_ipv6 else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        if link.is_ipv6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, link.index)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1)
            sock.bind((link.address, 0, 0, link.index))
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(link.address))
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            sock.bind((link.address, 0))
    except BaseException:
        sock.close()
        raise
    return sock


def open_far(family: socket.AddressFamily) -> socket.socket:
    """A socket for addresses behind a router, which no link reaches by itself."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setblocking(False)
    return sock


def open_listener(family: socket.AddressFamily, port: int) -> socket.socket:
    """A socket on the common port, shared with other nodes of this machine: each hears every broadcast."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind(("::", port))
        else:
            if _IS_LINUX:
                sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
            sock.bind(("", port))
    except BaseException:
        sock.close()
        raise
    return sock


def join_group(listener: socket.socket, link: Link) -> None:
    """Hear the group on this link; OSError if it was joined before or the link is gone again."""
    _membership(listener, link, socket.IP_ADD_MEMBERSHIP, socket.IPV6_JOIN_GROUP)


def leave_group(listener: socket.socket, link: Link) -> None:
    _membership(listener, link, socket.IP_DROP_MEMBERSHIP, socket.IPV6_LEAVE_GROUP)


def _membership(listener: socket.socket, link: Link, ipv4_option: int, ipv6_option: int) -> None:
    if link.is_ipv6:
        group = socket.inet_pton(socket.AF_INET6, GROUP_IPV6) + struct.pack("@I", link.index)
        listener.setsockopt(socket.IPPROTO_IPV6, ipv6_option, group)
        return
    group = socket.inet_aton(GROUP_IPV4)
    if _IS_LINUX:  # by number, since a membership can be left after its address has gone
        group += socket.inet_aton("0.0.0.0") + struct.pack("@i", link.index)
    else:
        group += socket.inet_aton(link.address)
    listener.setsockopt(socket.IPPROTO_IP, ipv4_option, group)


def targets(link: Link, port: int) -> list[tuple[str, int] | tuple[str, int, int, int]]:
    """Where the hellos of a link go."""
    if link.is_ipv6:
        return [(GROUP_IPV6, port, 0, link.index)]
    hosts = [link.broadcast] if link.broadcast else []
    return [(host, port) for host in (*hosts, *([GROUP_IPV4] if link.has_multicast else []))]
