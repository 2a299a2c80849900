"""Decides whom to solicit next: only somebody who can help, and not everybody at once.

A session is worth its cost when the neighbour's (epoch, revision) is another than at the end of our last
whole session, when a subscription is newer than that, or when a download is unfinished that it may help with.
In every other case a contact costs no byte beyond the hellos.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from contentdb.names import Address, NodeId
from contentdb.peers import Peer

# A revision that twenty neighbours see at once must not bring twenty dials at once.
CROWD_WAIT_S = 0.02
MAX_CROWD_WAIT_S = 2.0
FIRST_BACKOFF_S, MAX_BACKOFF_S = 1.0, 300.0
# A hello is only a claim; a neighbour whose claims change all the time is dialled no oftener than this.
LEAST_BETWEEN_S = 0.2


class Reason(StrEnum):
    NEW = "new content"
    SUBSCRIPTION = "new subscription"
    DOWNLOAD = "unfinished download"
    DISCOVERY = "discovery"


@dataclass(frozen=True, slots=True)
class Dial:
    node: NodeId
    address: Address
    reason: Reason


@dataclass(slots=True)
class Sight:
    """A neighbour as its hellos show it, and how it went with it."""

    addresses: tuple[Address, ...]
    pair: tuple[str, int]
    due: float | None = None  # when to dial; None: nothing to gain
    reason: Reason = Reason.NEW
    failures: int = 0
    not_before: float = 0.0
    tried: int = 0  # which of its addresses comes next
    lacks: tuple[tuple[str, int], int] | None = (
        None  # its pair and our downloads when it had nothing for them
    )


@dataclass(slots=True)
class Interest:
    """What we want just now, as far as it decides whom to ask."""

    newest_subscription: int = 0  # the highest subscription key; 0: nobody wants anything
    downloads: int = 0  # how many enclosures are unfinished
    downloads_version: int = 0  # grows when there is something else to ask for
    discoveries: int = 0  # grows with each new discovery


class Synchroniser:
    def __init__(self, rng: Random, *, max_sessions: int = 3) -> None:
        self._rng = rng
        self._max_sessions = max_sessions
        self._sights: dict[NodeId, Sight] = {}
        self._interest = Interest()
        self._discovered: dict[NodeId, int] = {}
        # Apart from the sights: a session may outlast the sight of its peer, and there is one for each peer.
        self._in_session: set[NodeId] = set()
        self._next_due: float | None = None  # None: it must be looked up; a node asks after every event

    # -- inputs

    def neighbour_seen(
        self,
        node: NodeId,
        addresses: tuple[Address, ...],
        pair: tuple[str, int],
        *,
        peer: Peer | None,
        now: float,
    ) -> None:
        """A neighbour was found, or says something else than before."""
        sight = self._sights.get(node)
        if sight is None:
            sight = self._sights[node] = Sight(addresses, pair)
        sight.addresses, sight.pair = addresses, pair
        self._consider(node, sight, peer, now)

    def neighbour_lost(self, node: NodeId) -> None:
        self._sights.pop(node, None)
        self._discovered.pop(node, None)
        self._next_due = None

    def interest_changed(self, interest: Interest, peers: dict[NodeId, Peer], now: float) -> None:
        """Another subscription, download or discovery; everybody in range is considered again."""
        self._interest = interest
        for node, sight in sorted(self._sights.items()):
            self._consider(node, sight, peers.get(node), now)

    def session_opened(self, node: NodeId) -> None:
        self._in_session.add(node)
        self._next_due = None
        sight = self._sights.get(node)
        if sight is not None:
            sight.due = None

    def session_ended(
        self,
        node: NodeId,
        *,
        is_whole: bool,
        has_gained: bool = False,
        retry_s: float | None,
        peer: Peer | None,
        now: float,
        asked_for: int | None = None,
    ) -> None:
        """Over, for better or worse. `retry_s` is what a peer that rejected us asked for.

        `asked_for` is the version of our downloads when the last question was asked; now if not given.
        """
        self._in_session.discard(node)
        self._next_due = None
        sight = self._sights.get(node)
        if sight is None:
            return
        if is_whole:
            sight.failures, sight.not_before = 0, now + LEAST_BETWEEN_S
            version = self._interest.downloads_version if asked_for is None else asked_for
            sight.lacks = (sight.pair, version)
            self._discovered[node] = self._interest.discoveries
        else:
            # A link that breaks again and again, but brings something each time, is worth the next try.
            sight.failures = 1 if has_gained else sight.failures + 1
            sight.tried += 1
            backoff = min(FIRST_BACKOFF_S * 2 ** (sight.failures - 1), MAX_BACKOFF_S)
            wait_s = retry_s if retry_s is not None else backoff
            sight.not_before = now + wait_s * self._rng.uniform(1.0, 1.2)
        self._consider(node, sight, peer, now)

    # -- outputs

    def dials(self, now: float) -> list[Dial]:
        """Whom to dial at this moment, the longest overdue first, as many as there is room for."""
        if now < self.next_timer():
            return []
        room = self._max_sessions - len(self._in_session)
        self._next_due = None
        due = sorted(
            (sight.due, node)
            for node, sight in self._sights.items()
            if sight.due is not None and sight.due <= now and sight.addresses and node not in self._in_session
        )
        chosen = []
        for _, node in due[: max(room, 0)]:
            sight = self._sights[node]
            sight.due = None
            self._in_session.add(node)
            chosen.append(Dial(node, sight.addresses[sight.tried % len(sight.addresses)], sight.reason))
        return chosen

    def next_timer(self) -> float:
        """When `dials` may have something; infinity if nobody is to be dialled."""
        if self._next_due is None:
            self._next_due = min(self._dues(), default=float("inf"))
        return self._next_due

    def _dues(self) -> Iterator[float]:
        if len(self._in_session) < self._max_sessions:
            for node, sight in self._sights.items():
                if sight.due is not None and sight.addresses and node not in self._in_session:
                    yield sight.due

    # -- decisions

    def _consider(self, node: NodeId, sight: Sight, peer: Peer | None, now: float) -> None:
        self._next_due = None
        reason = self._reason(node, sight, peer)
        if reason is None or node in self._in_session:
            sight.due = None
            return
        sight.reason = reason
        if sight.due is None:
            sight.due = max(now + self._wait(reason), sight.not_before)

    def _reason(self, node: NodeId, sight: Sight, peer: Peer | None) -> Reason | None:
        interest = self._interest
        if interest.newest_subscription:
            if peer is None or peer.subscriptions < interest.newest_subscription:
                return Reason.SUBSCRIPTION if peer is not None else Reason.NEW
            if sight.pair != (peer.epoch, peer.revision):
                return Reason.NEW
            if interest.downloads and sight.lacks != (sight.pair, interest.downloads_version):
                return Reason.DOWNLOAD
        if interest.discoveries > self._discovered.get(node, 0):
            return Reason.DISCOVERY
        return None

    def _wait(self, reason: Reason) -> float:
        crowd = len(self._sights) - 1
        return self._rng.uniform(0, min(CROWD_WAIT_S * crowd, MAX_CROWD_WAIT_S)) if crowd > 0 else 0.0
