"""Core: whom to look for where no broadcast reaches, at addresses that are remembered or that the owner gave.

A hello that asks for an answer is tried first: it costs one datagram, and the answer says whether a session
is worth opening. Whoever answers is a neighbour like any other, as long as it is asked often enough. An
address that the owner gave may also be one for sessions, where hellos are filtered; it is dialled when no
answer comes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from contentdb.names import Address, NodeId
from discovery.hello import Hello
from discovery.neighbourhood import LOST_AFTER_HELLOS
from discovery.sightings import host_of

FIRST_WAIT_S, MAX_WAIT_S = 1.0, 300.0
# Asked so often in vain, a given address is dialled too.
ASKED_BEFORE_DIAL = 2
# Not where hellos were heard lately: then they are not filtered, and whoever was there has left.
HEARD_LATELY_S = 60.0
# So many places are looked at, given ones first; a quiet one costs a datagram in five minutes.
MAX_PLACES = 96
# Remembered addresses are not all asked at the same moment.
SPREAD_S = 5.0


@dataclass(slots=True)
class Place:
    """A host where somebody may be."""

    ports: tuple[int, ...]  # where hellos may be heard
    dialled: Address | None  # where sessions may be accepted; None: that is not known
    due: float
    node: NodeId | None = None  # who answered last
    unanswered: int = 0
    heard_at: float = float("-inf")
    dial_at: float = float("inf")
    dials: int = 0


class Outreach:
    def __init__(self, rng: Random, hello_port: int) -> None:
        self._rng, self._hello_port = rng, hello_port
        self._places: dict[str, Place] = {}

    # -- inputs

    def given(self, address: Address, now: float) -> None:
        """The owner says that somebody is there; looked for at once, also if it was before."""
        host, port = host_of(address), int(address[address.rindex(":") + 1 :])
        self._add(host, Place(tuple(dict.fromkeys((port, self._hello_port))), address, now))

    def remembered(self, addresses: Iterable[Address], now: float) -> None:
        """Somebody was there once. The port of its sessions has likely changed, that of hellos has not."""
        for address in addresses:
            host = host_of(address)
            if host not in self._places and len(self._places) < MAX_PLACES:
                due = now + self._rng.uniform(0, SPREAD_S)
                self._places[host] = Place((self._hello_port,), None, due)

    def links_changed(self, now: float) -> None:
        """Other places may be in reach than before."""
        for place in self._places.values():
            if place.unanswered:
                place.unanswered = place.dials = 0
                place.due = min(place.due, now + self._rng.uniform(0, FIRST_WAIT_S))

    def looks_at(self, source: Address) -> bool:
        return bool(self._places) and host_of(source) in self._places

    def heard(self, source: Address, hello: Hello, own_next_s: float, now: float) -> None:
        """A hello came from there. Whoever answers is asked again in time; who speaks unasked need not be.

        Several nodes may share a host, ours among them: at an address that was given, what others say
        unasked is no reason not to ask the one who answered.
        """
        place = self._places.get(host_of(source))
        if place is None:
            return
        if hello.is_answer or place.dialled is None:
            place.node = hello.node
        elif place.node != hello.node:
            return
        wait_s = min(hello.next_s, own_next_s) if hello.is_answer else LOST_AFTER_HELLOS * hello.next_s
        place.due, place.unanswered, place.dials = now + wait_s, 0, 0
        place.dial_at, place.heard_at = float("inf"), now

    def dial_ended(self, address: Address, now: float) -> None:
        """A stream to an address that was given is over, or never was; it is dialled again after longer."""
        place = self._places.get(host_of(address))
        if place is not None and place.unanswered:
            place.dials = min(place.dials + 1, 16)
            place.dial_at = now + self._wait_s(place.dials + 2)

    # -- outputs

    def next_timer(self) -> float:
        if not self._places:
            return float("inf")
        return min(min(place.due, place.dial_at) for place in self._places.values())

    def asks(self, now: float) -> list[Address]:
        """Where to say hello now, asking for an answer."""
        asked = []
        for host, place in self._places.items():
            if place.due <= now:
                asked += [Address(f"{host}:{port}") for port in place.ports]
                place.unanswered += 1
                place.due = now + self._wait_s(place.unanswered)
                is_filtered = now - place.heard_at > HEARD_LATELY_S
                if place.dialled is not None and place.unanswered == ASKED_BEFORE_DIAL and is_filtered:
                    place.dial_at = min(place.dial_at, now)
        return asked

    def dials(self, now: float, *, has_room: bool) -> list[Address]:
        """Where to open a stream now, without knowing to whom; one at a time, if there is room for it."""
        due = [p for p in self._places.values() if p.dial_at <= now]
        for place in due:
            place.dial_at = now + FIRST_WAIT_S
        if not due or not has_room or due[0].dialled is None:
            return []
        due[0].dial_at = float("inf")
        return [due[0].dialled]

    def _wait_s(self, times: int) -> float:
        return float(min(FIRST_WAIT_S * 2.0 ** min(times - 1, 16), MAX_WAIT_S) * self._rng.uniform(0.9, 1.1))

    def _add(self, host: str, place: Place) -> None:
        """Given places push out remembered ones, and the oldest given ones if there must be room."""
        old = self._places.pop(host, None)
        if old is None and len(self._places) >= MAX_PLACES:
            ranked = sorted(self._places, key=lambda each: self._places[each].dialled is not None)
            del self._places[ranked[0]]
        self._places[host] = place
