"""Shell of the network's examination: sends datagrams to itself on every link and sees which come back."""

import errno
import os
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

from discovery.interfaces import Link
from discovery.trials import Trial
from discovery.udp_sockets import GROUP_IPV4, join_group, open_listener, open_sender, targets

# Our own datagrams come back at once; ARP is asked three times, a second apart.
HEARD_WITHIN_S, RESOLVED_WITHIN_S = 1.0, 1.5
LOOK_EVERY_S = 0.05
DISCARD_PORT = 9
_TOKEN_BYTES = 16
_MARK = b"passerby doctor "


def idle_interfaces(links: Iterable[Link]) -> list[str]:
    """Interfaces over which nothing can be sent now."""
    with suppress(OSError, AttributeError):
        return sorted({name for _, name in socket.if_nameindex()} - {link.name for link in links} - {"lo"})
    return []


def try_links(links: Iterable[Link]) -> list[Trial]:
    """One datagram for each link and way, on a port of its own, so that no node hears of it."""
    chosen = sorted(links)
    with ExitStack() as opened:
        listeners = {
            is_ipv6: _listener(opened, family, [link for link in chosen if link.is_ipv6 is is_ipv6])
            for is_ipv6, family in ((False, socket.AF_INET), (True, socket.AF_INET6))
        }
        waiting: dict[bytes, int] = {}
        trials: list[Trial] = []
        for link in chosen:
            listener = listeners[link.is_ipv6]
            port = 0 if listener is None else listener.getsockname()[1]
            for target in targets(link, port):
                token = _MARK + os.urandom(_TOKEN_BYTES)
                waiting[token] = len(trials)
                trials.append(_send(link, target, token))
        for token in _hear([each for each in listeners.values() if each], set(waiting)):
            trials[waiting[token]] = replace(trials[waiting[token]], is_heard=True)
    return trials


def _listener(opened: ExitStack, family: socket.AddressFamily, links: Sequence[Link]) -> socket.socket | None:
    try:
        listener = opened.enter_context(open_listener(family, 0))
    except OSError:
        return None
    for link in links:
        with suppress(OSError):  # then nothing is heard, which is what we want to know
            join_group(listener, link)
    return listener


def _send(link: Link, target: tuple[str, int] | tuple[str, int, int, int], token: bytes) -> Trial:
    way = "IPv6 multicast" if link.is_ipv6 else "multicast" if target[0] == GROUP_IPV4 else "broadcast"
    try:
        with open_sender(link) as sender:
            sender.sendto(token, target)
    except OSError as error:
        is_forbidden = error.errno in (errno.EPERM, errno.EACCES)
        return Trial(link, way, error=error.strerror or str(error), is_forbidden=is_forbidden)
    return Trial(link, way)


def _hear(listeners: list[socket.socket], expected: set[bytes]) -> set[bytes]:
    heard: set[bytes] = set()
    give_up_at = time.monotonic() + HEARD_WITHIN_S
    while listeners and heard != expected and (left := give_up_at - time.monotonic()) > 0:
        ready, _, _ = select.select(listeners, [], [], left)
        for listener in ready:
            with suppress(OSError):
                heard |= {listener.recv(len(_MARK) + _TOKEN_BYTES)} & expected
    return heard


def port_error(port: int) -> str:
    """Why hellos cannot be heard on this port; "" if they can, whoever else listens there."""
    try:
        open_listener(socket.AF_INET, port).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def count_listeners(port: int) -> int:
    """How many IPv4 sockets of this machine are on a UDP port; 0 where the system does not tell."""
    lines = _lines("/proc/net/udp")
    return sum(line.split()[1].endswith(f":{port:04X}") for line in lines if len(line.split()) > 1)


def default_gateway() -> str:
    """The address of the router; "" if there is none, or this system does not tell."""
    for line in _lines("/proc/net/route"):
        fields = line.split()
        if len(fields) > 2 and fields[1] == "00000000" and len(fields[2]) == 8:
            return socket.inet_ntoa(bytes.fromhex(fields[2])[::-1])
    return ""


def answering(hosts: Sequence[str]) -> dict[str, bool]:
    """Which IPv4 hosts of our own networks have hardware that answers; others are left out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for host in hosts:
            with suppress(OSError):
                sock.sendto(b"", (host, DISCARD_PORT))
    give_up_at = time.monotonic() + RESOLVED_WITHIN_S
    while True:
        found = _resolved()
        answers = {host: found[host] for host in hosts if host in found}
        if all(answers.get(host) for host in hosts) or time.monotonic() > give_up_at:
            return answers
        time.sleep(LOOK_EVERY_S)


def _resolved() -> dict[str, bool]:
    rows = [line.split() for line in _lines("/proc/net/arp")]
    return {row[0]: row[2] != "0x0" for row in rows if len(row) >= 6}


def firewall_rules() -> str | None:
    """As far as this person may read them."""
    for command in (["nft", "list", "ruleset"], ["iptables", "-S"]):
        path = shutil.which(command[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if path is None:
            continue
        with suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run([path, *command[1:]], capture_output=True, text=True, timeout=5)
            if done.returncode == 0:
                return done.stdout
    return None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(1 << 20).splitlines()[1:]
    except OSError:
        return []
