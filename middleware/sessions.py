"""The sessions of a node: who is admitted, and whose time is up."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from contentdb.names import Address, NodeId, Root
from middleware.config import SessionSettings
from middleware.logbook import SessionEnded
from middleware.sync import Synchroniser
from transport.messages import Reason, Reject
from transport.solicitation.feedtalk import Want
from transport.solicitation.streams import ClientStream, ServerStream

MAX_HALF_OPEN = 8
# Those who were told to go and have not gone yet; each has a buffer, and keys to come with cost nothing.
MAX_LEAVING = 8
# Who had to make room for others does not get it back at once; as many as may well be near.
MAX_SENT_AWAY = 64
TURN_AGAIN_S = 5
# A rate is judged over this long, so that one slow moment is not a slow peer.
RATE_OVER_S = 10.0
# A server that brought nothing new for so long makes room for one that others say has something.
PATIENCE_S = 30.0
# Most sessions are over long before their time is; asking once more costs a handshake.
BUSY_AGAIN_S = 3

TALLIED = ("entries", "useless_entries", "chunks", "false_positives", "withheld")

Stream: TypeAlias = ClientStream | ServerStream


@dataclass(slots=True)
class Session:
    """A stream on its way, from dialling to its end."""

    number: int
    stream: Stream
    address: Address
    claimed: NodeId | None  # whom we dialled; None for one that came to us
    began: float
    moved: float  # when a byte went either way
    proved: float | None = None
    reason: str = ""
    retry_s: float | None = None
    is_given: bool = False  # dialled because the owner gave the address, without knowing who is there
    is_whole: bool = False
    is_false: bool = False  # the peer itself said what is not true or not allowed
    leave_by: float | None = None  # it was told to go, and may read what is on its way until then
    verifying: int = 0
    subscriptions: int = 0  # the newest that a client has asked for
    asked_for: int | None = None  # the version of our downloads when a client had asked for all it wanted
    measured: tuple[float, int] = (0.0, 0)
    # For the ledger, at its end: what the peer kept back, what it had that was here, and which files.
    withheld: dict[Want, int] = field(default_factory=dict)
    doubles: dict[str, None] = field(default_factory=dict)
    offered: dict[Root, None] = field(default_factory=dict)

    @property
    def is_leaving(self) -> bool:
        return self.leave_by is not None

    @property
    def role(self) -> str:
        return "client" if isinstance(self.stream, ClientStream) else "server"

    @property
    def proven(self) -> NodeId:
        """Who the peer is; only of a session in which that is proved."""
        assert self.stream.peer is not None
        return self.stream.peer

    def fact(self, now: float) -> SessionEnded:
        """What the logbook keeps of it, now that it is over."""
        stream, peer = self.stream, self.stream.peer or self.claimed or ""
        moved = {}
        if isinstance(stream, ClientStream):
            tally = stream.tally
            moved = {name: getattr(tally, name) for name in TALLIED}
            moved["useful_bytes"] = tally.entry_bytes + tally.chunk_bytes
        return SessionEnded(
            peer, self.role, self.reason or "cut", round(now - self.began, 6),
            stream.bytes_in, stream.bytes_out, **moved,
        )  # fmt: skip

    def tell(self, sync: Synchroniser, fact: SessionEnded, now: float) -> None:
        """How it went, for who decides whom to dial; only of sessions that it asked for."""
        if self.claimed is not None:
            sync.session_ended(
                self.claimed,
                self.address,
                is_proved=self.stream.peer == self.claimed,
                is_whole=self.is_whole,
                is_false=self.is_false,
                has_gained=fact.entries > 0 or fact.chunks > 0,
                retry_s=self.retry_s,
                now=now,
                asked_for=self.asked_for,
            )


class Sessions:
    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        self._all: dict[int, Session] = {}
        self._next = 1
        self._waiting_until = float("-inf")  # others were rejected, and may still be waiting
        self._sent_away: dict[NodeId, float] = {}  # whose turn was over, and when each may come back

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._all.values()))

    def add(self, stream: Stream, address: Address, claimed: NodeId | None, now: float) -> Session:
        session = Session(self._next, stream, address, claimed, now, now)
        self._all[session.number] = session
        self._next += 1
        return session

    def get(self, number: int) -> Session | None:
        return self._all.get(number)

    def remove(self, number: int) -> Session | None:
        return self._all.pop(number, None)

    def count(self, role: str) -> int:
        """Sessions in this role whose peer is proved."""
        return sum(s.proved is not None and s.role == role for s in self._all.values())

    def surplus(self) -> list[tuple[Session, str]]:
        """The oldest of those that came to us and proved nothing, or do not go, if there are too many."""
        came = [s for s in self._all.values() if s.role == "server"]
        half_open = [(s, "half open") for s in came if s.proved is None]
        leaving = [(s, s.reason) for s in came if s.is_leaving]
        return [
            *half_open[: max(len(half_open) - MAX_HALF_OPEN, 0)],
            *leaving[: max(len(leaving) - MAX_LEAVING, 0)],
        ]

    def sent_away(self, session: Session, why: str, now: float) -> None:
        """It is told to go; if to make room for others, it is not let in again before them."""
        session.reason, session.leave_by = why, now + self._settings.silence_s
        if why == Reason.TURN:
            self._sent_away.pop(session.proven, None)
            self._sent_away[session.proven] = now + TURN_AGAIN_S
            if len(self._sent_away) > MAX_SENT_AWAY:
                del self._sent_away[next(iter(self._sent_away))]

    def admission(self, session: Session, now: float) -> Reject | None:
        """Why a client that has just proved itself may not be served; None if it may."""
        others = [
            s
            for s in self._all.values()
            if s.role == "server" and s.proved is not None and not s.is_leaving and s is not session
        ]
        if any(s.stream.peer == session.stream.peer for s in others):
            return Reject("twice")
        rest_s = self._sent_away.get(session.proven, now) - now
        if rest_s > 0 and now < self._waiting_until:
            return Reject("busy", retry_s=max(1, round(rest_s)))
        most = 1 if self._settings.serving == "sequential" else self._settings.servers
        if len(others) < most:
            return None
        self._waiting_until = now + self._settings.service_s
        oldest = min((s.proved or now for s in others), default=now)
        left = self._settings.service_s - (now - oldest)
        return Reject("busy", retry_s=max(1, min(round(left), BUSY_AGAIN_S)))

    def overdue(self, now: float, *, is_crowded: bool = False) -> list[tuple[Session, str]]:
        """Sessions that must end now, and why. `is_crowded`: we would dial others if there were room."""
        if now >= self._waiting_until:
            self._waiting_until = float("-inf")
        every = list(self._all.values())
        return [(session, why) for session in every if (why := self._fault(session, now, is_crowded))]

    def _fault(self, session: Session, now: float, is_crowded: bool) -> str:
        settings = self._settings
        if session.proved is None:
            return "handshake" if now >= session.began + settings.handshake_s else ""
        if now >= session.moved + settings.silence_s and not session.verifying:
            return "silence"
        if session.leave_by is not None and now >= session.leave_by:
            return session.reason + ", and did not go"
        if isinstance(session.stream, ClientStream):
            return "patience" if self._is_useless(session, session.stream, now) and is_crowded else ""
        if session.role == "server" and now < self._waiting_until and not session.is_leaving:
            if now >= session.proved + settings.service_s:
                return "turn"
            return self._too_slow(session, now)
        return ""

    def _is_useless(self, session: Session, stream: ClientStream, now: float) -> bool:
        """Has it brought nothing new since we looked last? An answer without end does move, after all."""
        since, count = session.measured
        if now < since + PATIENCE_S or session.verifying:
            return False
        gains = stream.tally.entries + stream.tally.chunks
        session.measured = (now, gains)
        return gains == count

    def _too_slow(self, session: Session, now: float) -> str:
        since, count = session.measured
        sent = session.stream.bytes_out
        if now < since + RATE_OVER_S:
            return ""
        session.measured = (now, sent)
        is_slow = since > 0 and (sent - count) / (now - since) < self._settings.least_rate
        return "turn" if is_slow else ""

    def next_timer(self) -> float:
        """When `overdue` may have something again."""
        if not self._all:
            return float("inf")
        settings, times = self._settings, []
        for session in self._all.values():
            if session.proved is None:
                times.append(session.began + settings.handshake_s)
                continue
            if not session.verifying:
                times.append(session.moved + settings.silence_s)
                if session.role == "client":
                    times.append(session.measured[0] + PATIENCE_S)
            if session.leave_by is not None:
                times.append(session.leave_by)
            elif session.role == "server":
                turn = min(session.proved + settings.service_s, session.measured[0] + RATE_OVER_S)
                if turn < self._waiting_until:
                    times.append(turn)
        return min(times, default=float("inf"))
