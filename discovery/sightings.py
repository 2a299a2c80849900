"""What is known of one neighbour: where it was sighted, what it said there, and which of that counts.

A hello proves nothing, so what each place said last is kept apart. A pair counts when its place *changes*
what it says: two places that contradict each other and stay as they are make one change, not one a hello.
Places where a handshake proved the id come before others, and hellos before slower sources.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contentdb.names import Address, NodeId
from discovery.admission import Ration
from discovery.hello import Claim, Hello

HELLO = "hello"
MDNS = "mdns"
GIVEN = "given"
MAX_ADDRESSES = 8
# As many again for places that cannot be dialled, or that a forger adds: the proved ones stay.
MAX_SIGHTINGS = 16
# Publishing in a row is told at once; a forger gets one change a second.
CHANGES_BURST, CHANGES_PER_S = 8.0, 1.0
# A node that moved while somebody speaks from its old address is believed after half a minute at most.
STRAY_BURST, STRAY_PER_S = 1.0, 1 / 30


def host_of(address: Address) -> str:
    """The address without its port: "ip:192.0.2.7", "ip:[fe80::1%eth0]"."""
    return address[: address.rindex(":")]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour as it is known at one moment."""

    node: NodeId  # as claimed; is_proved: a handshake agreed
    addresses: tuple[Address, ...]  # where to dial: proved hosts first, then who spoke last, then the newest
    epoch: str  # "" while no source has said it
    revision: int
    since: float
    last_heard: float
    is_proved: bool
    sources: tuple[str, ...]
    gained: tuple[str, ...] = ()  # its last gains, as it says
    sum: str = ""  # of all its gains, as it says
    of: tuple[str, ...] = ()  # tags of the feeds of its last gains

    @property
    def claim(self) -> Claim:
        return Claim(self.epoch, self.revision, self.gained, self.sum, self.of)


class Sighting:
    """One place where a node was seen, through one source."""

    __slots__ = ("address", "claim", "heard_at", "host", "source_name", "stated_at", "until")

    def __init__(self, source_name: str, address: Address, claim: Claim, now: float) -> None:
        self.source_name, self.address, self.host = source_name, address, host_of(address)
        self.claim = claim
        self.stated_at = self.heard_at = self.until = now

    @property
    def is_dialable(self) -> bool:
        return not self.address.endswith(":0")


Place = tuple[str, Address]
UNKNOWN = Claim("", 0)  # of a source that gives an address only


class Known:
    """A neighbour and all its sightings."""

    __slots__ = (
        "changes", "claim", "is_changed", "last_heard", "look_at", "node", "proved_hosts", "said", "said_at",
        "said_from", "said_lasts_s", "sightings", "since", "speaker", "strays",
    )  # fmt: skip

    def __init__(self, node: NodeId, now: float) -> None:
        self.node = node
        self.since = self.last_heard = now
        self.sightings: dict[Place, Sighting] = {}
        self.proved_hosts: set[str] = set()
        self.claim = UNKNOWN
        self.speaker: Sighting | None = None
        self.is_changed = False
        self.changes = Ration(CHANGES_PER_S, CHANGES_BURST)
        self.strays = Ration(STRAY_PER_S, STRAY_BURST)
        self.look_at = float("inf")
        # The hello that was heard last, from which address, and the place it spoke of, while that stands.
        self.said: Hello | None = None
        self.said_from = Address("")
        self.said_at: Sighting | None = None
        self.said_lasts_s = 0.0

    @property
    def is_proved(self) -> bool:
        return bool(self.proved_hosts)

    def hosts(self) -> set[str]:
        return {sighting.host for sighting in self.sightings.values()}

    def says(self, hello: Hello, source: Address, of: Sighting, lasts_s: float, now: float) -> None:
        """It may say the same again, and will then be recognised by the same object."""
        self.said, self.said_from, self.said_at, self.said_lasts_s = hello, source, of, lasts_s
        self.heard_again(hello, source, now)

    def heard_again(self, hello: Hello, source: Address, now: float) -> bool:
        """As the neighbourhood says. Whoever decodes hellos keeps those that are repeated."""
        if self.said is not hello or self.said_from != source or self.said_at is None:
            return False
        self.said_at.heard_at = self.last_heard = now
        self.said_at.until = until = now + self.said_lasts_s
        return until >= self.look_at and not hello.asks

    def stated(self, sighting: Sighting, now: float) -> None:
        """A place is new or says another pair than it did."""
        sighting.stated_at = now
        if sighting.claim == self.claim:
            self.speaker = self.speaker or sighting
        elif self._best() is sighting or (sighting.source_name == HELLO and self.strays.take(now)):
            self._adopt(sighting)

    def add(self, sighting: Sighting, now: float) -> list[Sighting]:
        """Keep a new place; if there are too many now, say which one must make room."""
        is_new = all(s.address != sighting.address for s in self.sightings.values())
        self.sightings[sighting.source_name, sighting.address] = sighting
        self.last_heard = now
        self.is_changed |= is_new and sighting.is_dialable
        self.stated(sighting, now)
        if len(self.sightings) <= MAX_SIGHTINGS:
            return []
        others = [s for s in self.sightings.values() if s is not sighting]
        return [
            min(others, key=lambda s: (s.host in self.proved_hosts, s.heard_at, s.address, s.source_name))
        ]

    def remove(self, gone: list[Sighting]) -> None:
        """Forget places, and what was believed because of them."""
        for sighting in gone:
            del self.sightings[sighting.source_name, sighting.address]
        if self.said_at in gone:
            self.said = self.said_at = None
        self.proved_hosts &= self.hosts()
        if self.speaker in gone and self.sightings:
            self.settle()

    def settle(self) -> None:
        """Believe the best place again, whoever spoke last."""
        best = self._best()
        if best.claim not in (self.claim, UNKNOWN):
            self._adopt(best)
        else:
            self.speaker = best

    def lapsed(self, now: float) -> list[Sighting]:
        """The places whose time is over.

        Where hellos have stopped, the node has left, whatever a slower source remembers of that host.
        """
        over = [s for s in self.sightings.values() if s.until <= now]
        silent = {s.host for s in over if s.source_name == HELLO}
        silent -= {s.host for s in self.sightings.values() if s.source_name == HELLO and s.until > now}
        return [s for s in self.sightings.values() if s.until <= now or s.host in silent]

    def until(self) -> float:
        """When the first of its places lapses."""
        return min([sighting.until for sighting in self.sightings.values()])

    def snapshot(self) -> Neighbour:
        return Neighbour(
            node=self.node,
            addresses=tuple(dict.fromkeys(self._addresses()))[:MAX_ADDRESSES],
            epoch=self.claim.epoch,
            revision=self.claim.revision,
            gained=self.claim.gained,
            sum=self.claim.sum,
            of=self.claim.of,
            since=self.since,
            last_heard=self.last_heard,
            is_proved=self.is_proved,
            sources=tuple(sorted({source_name for source_name, _address in self.sightings})),
        )

    def _addresses(self) -> Iterator[Address]:
        def order(s: Sighting) -> tuple[bool, bool, float, str]:
            return s.host not in self.proved_hosts, s is not self.speaker, -s.heard_at, s.address

        return (s.address for s in sorted(self.sightings.values(), key=order) if s.is_dialable)

    def _best(self) -> Sighting:
        def authority(s: Sighting) -> tuple[bool, bool, bool, float, str]:
            has_pair, is_hello = s.claim != UNKNOWN, s.source_name == HELLO
            return has_pair, s.host in self.proved_hosts, is_hello, s.stated_at, s.address

        return max(self.sightings.values(), key=authority)

    def _adopt(self, sighting: Sighting) -> None:
        self.claim, self.speaker, self.is_changed = sighting.claim, sighting, True
