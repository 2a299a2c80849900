"""Decides whom to solicit next: only somebody who can help, and not everybody at once.

A session is worth its cost when the neighbour's (epoch, revision) is another than at the end of our last
whole session and it does not only name gains that we know, when a subscription is newer than that, or when a
download is unfinished that it may help with. In every other case a contact costs no byte beyond the hellos.

What a hello says is a claim that anybody can forge. A claim may cause a dial, at a bounded rate, and is
remembered until then: a later one that promises nothing does not call the dial off, only what we gained does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from contentdb.names import Address, NodeId
from discovery.hello import Claim
from discovery.sightings import UNKNOWN
from middleware.backoff import FIRST_BACKOFF_S, MAX_BACKOFF_S, Backoff
from middleware.coverage import Coverage
from middleware.sights import MAX_COUNTED, Reason, Sight

# A revision that twenty neighbours see at once must not bring twenty dials at once.
CROWD_WAIT_S = 0.02
MAX_CROWD_WAIT_S = 2.0
# A hello is only a claim; a neighbour whose claims change all the time is dialled no oftener than this.
LEAST_BETWEEN_S = 0.2
# Nor one whose claims came to nothing again and again, which takes a forger. Real news wait so long at most.
MAX_VAIN_S = 30.0
# What another session is about to bring is waited for so long, looked at so often. It may bring nothing.
HOPE_S, LOOK_S = 1.0, 0.1


@dataclass(frozen=True, slots=True)
class Dial:
    node: NodeId
    address: Address
    reason: Reason


@dataclass(slots=True)
class Interest:
    """What we want just now, as far as it decides whom to ask."""

    newest_subscription: int = 0  # the highest subscription key; 0: nobody wants anything
    downloads: int = 0  # how many enclosures are unfinished
    downloads_version: int = 0  # grows when there is something else to ask for
    discoveries: int = 0  # grows with each new discovery
    is_discovering: bool = False  # somebody wants to know of feeds, also of those that come later


class Synchroniser:
    def __init__(
        self,
        rng: Random,
        coverage: Coverage,
        *,
        max_sessions: int = 3,
    ) -> None:
        self._rng, self._coverage, self._peer_of = rng, coverage, coverage.peer_of
        self._max_sessions = max_sessions
        self._sights: dict[NodeId, Sight] = {}
        self._backoff = Backoff(rng)
        self._interest = Interest()
        # How many discoveries there had been when we asked a neighbour, and what it said of itself then.
        self._discovered: dict[NodeId, tuple[int, Claim]] = {}
        self._asking: dict[NodeId, tuple[int, Claim]] = {}
        # Apart from the sights: a session may outlast the sight of its peer, and there is one for each peer.
        self._in_session: dict[NodeId, Claim] = {}  # with what each promised
        self._next_due: float | None = None  # None: it must be looked up; a node asks after every event

    # -- inputs

    def neighbour_seen(self, node: NodeId, addresses: tuple[Address, ...], claim: Claim, now: float) -> None:
        """A neighbour was found, or says something else than before."""
        sight = self._sights.get(node)
        if sight is None:
            sight = self._sights[node] = Sight(addresses, claim)
        sight.addresses, sight.claim = addresses, claim
        self._consider(node, sight, now)

    def neighbour_lost(self, node: NodeId) -> None:
        self._sights.pop(node, None)
        self._discovered.pop(node, None)
        self._asking.pop(node, None)
        self._next_due = None

    def interest_changed(self, interest: Interest, now: float) -> None:
        """Another subscription, download or discovery; everybody in range is considered again."""
        self._interest = interest
        for node, sight in sorted(self._sights.items()):
            self._consider(node, sight, now)

    @property
    def has_room(self) -> bool:
        return len(self._in_session) < self._max_sessions

    def is_in_session(self, node: NodeId) -> bool:
        return node in self._in_session

    def promised(self, node: NodeId) -> Claim:
        """What made us open the session that we have with this node."""
        return self._in_session.get(node, UNKNOWN)

    def session_began(self, node: NodeId) -> None:
        """With somebody whom we dialled without knowing who it is."""
        self._in_session[node] = UNKNOWN
        self._next_due = None

    def session_ended(
        self,
        node: NodeId,
        address: Address,
        *,
        is_whole: bool,
        is_proved: bool = True,
        is_false: bool = False,
        has_gained: bool = False,
        retry_s: float | None = None,
        now: float,
        asked_for: int | None = None,
    ) -> None:
        """Over, for better or worse. `retry_s` is what a peer that rejected us asked for, within reason.

        `is_proved`: the right node answered there. `is_false`: and said what is not true or not allowed.
        `asked_for` is the version of our downloads when the last question was asked; now if not given.
        """
        promised = self._in_session.pop(node, None)
        self._next_due = None
        if is_proved:
            self._backoff.succeeded(address)
        else:
            self._backoff.failed(address, now)
        sight = self._sights.get(node)
        if sight is None:
            return
        if is_whole:
            version = self._interest.downloads_version if asked_for is None else asked_for
            sight.failures, sight.lacks = 0, (sight.claim, version)
            self._discovered[node] = self._asking.pop(node, (0, sight.claim))
            is_vain = sight.reason is Reason.NEW and not has_gained and self._is_idle(node, sight, promised)
            sight.vain = min(sight.vain + 1, MAX_COUNTED) if is_vain else 0
            sight.not_before = now + min(LEAST_BETWEEN_S * 2**sight.vain, MAX_VAIN_S)
        elif is_proved:
            rest_s = sight.failed(has_gained=has_gained, is_false=is_false)
            wait_s = rest_s if retry_s is None else min(max(retry_s, FIRST_BACKOFF_S), MAX_BACKOFF_S)
            sight.not_before = now + wait_s * self._rng.uniform(1.0, 1.2)
        self._consider(node, sight, now)

    def _is_idle(self, node: NodeId, sight: Sight, promised: Claim | None) -> bool:
        """Does it say in sessions what it said before, or in hellos what it does not say in sessions?"""
        told = self._pair(node)
        return told == sight.before or (sight.claim == promised and told != promised[:2])

    # -- outputs

    def is_crowded(self, now: float) -> bool:
        """Is somebody to be dialled for whom there is no room?"""
        is_full = len(self._in_session) >= self._max_sessions
        return is_full and any(due <= now for due, _, _ in self._waiting())

    def _waiting(self) -> Iterator[tuple[float, NodeId, Sight]]:
        for node, sight in self._sights.items():
            if sight.due is not None and sight.addresses and node not in self._in_session:
                yield sight.due, node, sight

    def dials(self, now: float) -> list[Dial]:
        """Whom to dial at this moment, as many as there is room for.

        Those whom a handshake has proved come first, then those at addresses that failed least, then the
        longest overdue: strangers who only claim to be there keep nobody waiting who is.
        """
        if now < self.next_timer():
            return []
        self._next_due = None
        due = [
            (self._peer_of(node) is None, self._backoff.failures(self._address(sight)), since, node)
            for since, node, sight in self._waiting()
            if since <= now
        ]
        chosen: list[Dial] = []
        for _, _, _, node in sorted(due):
            if len(self._in_session) >= self._max_sessions:
                break
            chosen += self._dial(node, self._sights[node], now)
        return chosen

    def next_timer(self) -> float:
        """When `dials` may have something; infinity if nobody is to be dialled."""
        if self._next_due is None:
            has_room = len(self._in_session) < self._max_sessions
            self._next_due = min((due for due, _, _ in self._waiting() if has_room), default=float("inf"))
        return self._next_due

    def _dial(self, node: NodeId, sight: Sight, now: float) -> list[Dial]:
        """Dial, unless what was promised has come from somebody else meanwhile, or the address must rest."""
        reason, address = self._standing_reason(node, sight), self._address(sight)
        if reason is None:
            sight.due = sight.promised = None
            return []
        if self._backoff.until(address) > now:
            sight.due = self._backoff.until(address)
            return []
        if reason is Reason.NEW and now < sight.hoped_until and self._is_on_its_way(node, sight.claim):
            sight.due = now + LOOK_S
            return []
        sight.due = sight.promised = None
        sight.reason, sight.before = reason, self._pair(node)
        self._in_session[node] = sight.claim
        self._asking[node] = (self._interest.discoveries, sight.claim)
        return [Dial(node, address, reason)]

    def _address(self, sight: Sight) -> Address:
        """The first that did not fail, else the one whose rest is over first."""
        return min(sight.addresses, key=self._backoff.until)

    # -- decisions

    def _consider(self, node: NodeId, sight: Sight, now: float) -> None:
        self._next_due = None
        reason = None if node in self._in_session else self._standing_reason(node, sight)
        if reason is None:
            sight.due = sight.promised = None
            return
        sight.reason = reason
        if sight.due is None:
            sight.promised = sight.claim
            sight.due = max(now + self._wait(), sight.not_before)
            sight.hoped_until = sight.due + HOPE_S

    def _standing_reason(self, node: NodeId, sight: Sight) -> Reason | None:
        """Why to dial: because of what it says now, or of what it said when we decided to."""
        reason = self._reason(node, sight, sight.claim)
        if reason is None and sight.promised not in (None, sight.claim):
            assert sight.promised is not None
            return self._reason(node, sight, sight.promised)
        return reason

    def _reason(self, node: NodeId, sight: Sight, claim: Claim) -> Reason | None:
        interest, peer = self._interest, self._peer_of(node)
        newest = interest.newest_subscription
        if newest and not self._coverage.is_complete(node, claim, newest):
            if peer is None or peer.subscriptions >= newest:
                return Reason.NEW
            return Reason.SUBSCRIPTION
        if interest.downloads and sight.lacks != (claim, interest.downloads_version):
            return Reason.DOWNLOAD
        if interest.is_discovering and self._discovered.get(node) != (interest.discoveries, claim):
            return Reason.DISCOVERY
        return None

    def _is_on_its_way(self, node: NodeId, claim: Claim) -> bool:
        """Whether all that is new there was also promised by those whom we are asking just now."""
        asked = self._in_session
        if any(self._coverage.is_burst(other, promised) for other, promised in asked.items()):
            return True  # of which we do not know what it is
        coming = frozenset(gain for other in asked.values() for gain in other.gained)
        newest = self._interest.newest_subscription
        return bool(coming) and self._coverage.is_complete(node, claim, newest, coming)

    def _pair(self, node: NodeId) -> tuple[str | None, int | None]:
        peer = self._peer_of(node)
        return (None, None) if peer is None else (peer.epoch, peer.revision)

    def _wait(self) -> float:
        crowd = len(self._sights) - 1
        return self._rng.uniform(0, min(CROWD_WAIT_S * crowd, MAX_CROWD_WAIT_S)) if crowd > 0 else 0.0
