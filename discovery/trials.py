"""Core of the network's examination: what datagrams that were sent and heard, or not, say about it.

A machine hears its own broadcasts and multicasts. That shows that it may send and hear them; whether the
network carries them, only another machine can show. So the words promise no more than that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from discovery.interfaces import Link

TOGETHER = (
    "join the same Wi-Fi, let one laptop or phone open a hotspot (Linux: nmcli device wifi hotspot), "
    "make an ad hoc network, or put a cable between the two laptops; no internet is needed"
)


class Level(StrEnum):
    GOOD = "good"
    NOTE = "note"
    WRONG = "wrong"


class Finding(NamedTuple):
    """One line for people: what was found, and if something is wrong, what to do."""

    check: str
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One datagram to ourselves over one link, and what became of it."""

    link: Link
    way: str  # broadcast, multicast or IPv6 multicast
    is_heard: bool = False
    error: str = ""
    is_forbidden: bool = False  # the system refused it, as a firewall makes it do


def judge_links(
    links: Iterable[Link], trials: Sequence[Trial], port: int, *, idle: Sequence[str] = ()
) -> list[Finding]:
    """What hellos can do on each interface; `idle` are interfaces that are down or have no address."""
    names = sorted({link.name for link in links})
    if not names:
        down = f" ({', '.join(idle)} is down or has no address)" if idle else ""
        text = f"this machine is on no network{down}; to meet another: {TOGETHER}"
        return [Finding("network", Level.NOTE, text)]
    return [_judge_link(name, [trial for trial in trials if trial.link.name == name], port) for name in names]


def _judge_link(name: str, trials: list[Trial], port: int) -> Finding:
    heard = list(dict.fromkeys(trial.way for trial in trials if trial.is_heard))
    silent = [trial for trial in trials if not trial.is_heard and trial.way not in heard]
    ways = " and ".join(dict.fromkeys(trial.way for trial in silent))
    if not trials:
        text = f"{name} has neither broadcast nor multicast; name others by their address: passerby meet"
        return Finding("network", Level.NOTE, text)
    if not silent:
        return Finding("network", Level.GOOD, f"{name}: {', '.join(heard)} sent and heard")
    reason = _reason(silent, port)
    if heard:
        text = f"{name}: {ways} does not work, {' and '.join(heard)} does, which is enough; {reason}"
        return Finding("network", Level.NOTE, text)
    return Finding("network", Level.WRONG, f"{name}: nobody is found there by {ways}: {reason}")


def _reason(silent: Sequence[Trial], port: int) -> str:
    if any(trial.is_forbidden for trial in silent):
        return f"this machine's firewall forbids sending; allow UDP port {port} in its rules"
    error = next((trial.error for trial in silent if trial.error), "")
    if error:
        return f"sending fails: {error}"
    return (
        f"what is sent is not heard back, most likely because this machine's firewall drops it; "
        f"allow incoming UDP port {port}, and TCP for sessions"
    )


def judge_port(port: int, error: str) -> Finding:
    if error:
        text = f"UDP port {port} is not free for hellos: {error}; `ss -ulpn` tells who has it, and up takes"
        text += " --hello-port for another, which all who want to meet must use"
        return Finding("port", Level.WRONG, text)
    return Finding("port", Level.GOOD, f"UDP port {port} can be used for hellos")


def judge_listeners(port: int, listeners: int, *, is_running: bool) -> Finding:
    """How many sockets of this machine hear hellos; a node has one, and several nodes share the port."""
    others = max(0, listeners - is_running)
    if not others:
        return Finding("nodes", Level.GOOD, f"no other node on this machine hears hellos on UDP port {port}")
    programs = "1 other program has" if others == 1 else f"{others} other programs have"
    text = f"{programs} UDP port {port} open, most likely nodes in other homes of this machine; that is fine"
    return Finding("nodes", Level.GOOD, text)


def judge_isolation(
    gateway: str, answers: Mapping[str, bool], remembered: Sequence[str], *, has_neighbours: bool
) -> list[Finding]:
    """Of an access point that keeps its clients apart: it answers itself, and nobody else does.

    `answers` tells of each host of our own network whether its hardware could be asked for its address.
    """
    asked = [host for host in remembered if host in answers and host != gateway]
    if has_neighbours or not asked or any(answers[host] for host in asked):
        return []
    if not answers.get(gateway, False):
        return []
    hosts = f"{len(asked)} whom you met on this network {'is' if len(asked) == 1 else 'are'}"
    text = (
        f"{hosts} silent while the access point {gateway} answers: they have left, or it keeps its clients "
        f"apart (guest networks do). If they are here: {TOGETHER}"
    )
    return [Finding("isolation", Level.NOTE, text)]


def judge_company(neighbours: int | None) -> list[Finding]:
    if neighbours is None:
        return []
    if neighbours:
        return [Finding("neighbours", Level.GOOD, f"{neighbours} near")]
    text = f"nobody is near; if somebody should be, you may share no network: {TOGETHER}"
    return [Finding("neighbours", Level.NOTE, text)]


def judge_rules(rules: str | None, port: int) -> list[Finding]:
    """The rules of the firewall, as text; None if they cannot be read by this person, or there are none."""
    if rules is None or str(port) in rules:
        return []
    if not any(word in rules for word in ("drop", "reject", "DROP", "REJECT")):
        return []
    text = f"the firewall here drops packets, and no rule mentions UDP port {port}; allow it"
    return [Finding("firewall", Level.NOTE, text)]
