"""The sessions of a node at work: streams and what is said in them, in both roles."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from contentdb.arrivals import Arrival
from contentdb.errors import RemoteError
from contentdb.identity import NodeSecret
from contentdb.intake import Outcome as Taken
from contentdb.names import Address, NodeId, Root
from contentdb.store import Store
from discovery.effects import Effect as DiscoveryEffect
from discovery.neighbourhood import Neighbourhood
from discovery.sightings import GIVEN
from middleware.config import SessionSettings
from middleware.coverage import Coverage
from middleware.delivery import Delivery
from middleware.effects import (
    CloseStream,
    Deliver,
    Effect,
    EntryGained,
    FeedsDiscovered,
    OpenStream,
    Verify,
    Wake,
)
from middleware.history import History
from middleware.logbook import (
    EnclosureReceived,
    EntryReceived,
    Logbook,
    SessionRefused,
    short_version,
)
from middleware.outreach import MAX_WAIT_S, Outreach
from middleware.remembering import remember, remember_doubles
from middleware.sessions import TURN_AGAIN_S, Session, Sessions
from middleware.sync import Dial, Synchroniser
from middleware.wishes import Wishes
from transport.messages import Reason, Reject
from transport.solicitation.client import Client
from transport.solicitation.effects import (
    EnclosureCompleted,
    EntriesStored,
    EntriesWithheld,
    FeedsFound,
    FileOffered,
    Finished,
    VerifyEntries,
)
from transport.solicitation.feedtalk import Plan
from transport.solicitation.server import Server
from transport.solicitation.streams import (
    ClientDone,
    ClientStream,
    PeerProved,
    ServerStream,
    SessionRejected,
    StreamEffect,
)

Outcome: TypeAlias = Effect | DiscoveryEffect


class Encounters:
    def __init__(
        self,
        store: Store,
        secret: NodeSecret,
        settings: SessionSettings,
        *,
        neighbourhood: Neighbourhood,
        sync: Synchroniser,
        coverage: Coverage,
        outreach: Outreach,
        wishes: Wishes,
        delivery: Delivery,
        logbook: Logbook,
        entropy: Callable[[int], bytes],
    ) -> None:
        self._store, self._secret, self._entropy = store, secret, entropy
        self._neighbourhood, self._sync, self._wishes = neighbourhood, sync, wishes
        self._outreach, self._history = outreach, History(store, wishes.interest, coverage)
        self._delivery, self._logbook = delivery, logbook
        self._server = Server(store, secret.node_id, entropy=entropy)
        self.sessions = Sessions(settings)

    # -- streams

    def dial(self, dial: Dial, now: float) -> OpenStream:
        stream = ClientStream(self._secret, self._entropy)
        session = self.sessions.add(stream, dial.address, dial.node, now)
        return OpenStream(session.number, dial.address)

    def dial_given(self, address: Address, now: float) -> OpenStream:
        """Dial whoever is there."""
        session = self.sessions.add(ClientStream(self._secret, self._entropy), address, None, now)
        session.is_given = True
        return OpenStream(session.number, address)

    def accepted(self, address: Address, now: float, at: int) -> tuple[int, list[Outcome]]:
        stream = ServerStream(self._secret, self._entropy, self._server)
        session = self.sessions.add(stream, address, None, now)
        stream.connected()
        effects: list[Outcome] = []
        for surplus, why in self.sessions.surplus():
            effects += self._cut(surplus, why, now, at)
        return session.number, effects

    def opened(self, number: int, now: float) -> list[Outcome]:
        session = self.sessions.get(number)
        if session is None:
            return [CloseStream(number, abort=True)]
        session.began = session.moved = now
        session.stream.connected()
        return [Wake(number)]

    def lost(self, number: int, why: str, now: float, at: int) -> None:
        session = self.sessions.get(number)
        if session is not None:
            session.reason = session.reason or why
            self._end(session, now, at)

    def bytes_received(self, number: int, data: bytes | memoryview, now: float, at: int) -> list[Outcome]:
        session = self.sessions.get(number)
        if session is None:
            return [CloseStream(number, abort=True)]
        session.moved = now
        return self._guarded(session, lambda: session.stream.bytes_received(data, now, at), now, at)

    def verified(
        self, number: int, batches: Sequence[Sequence[Arrival]], now: float, at: int
    ) -> list[Outcome]:
        session = self.sessions.get(number)
        if session is None or not isinstance(session.stream, ClientStream):
            return []
        session.verifying -= len(batches)
        session.moved = now
        stream = session.stream
        return self._guarded(session, lambda: stream.verified(batches, at), now, at)

    def overdue(self, now: float, at: int) -> list[Outcome]:
        effects: list[Outcome] = []
        for session, why in self.sessions.overdue(now, is_crowded=self._sync.is_crowded(now)):
            if why == Reason.TURN and isinstance(session.stream, ServerStream):
                self.sessions.sent_away(session, why, now)
                session.stream.reject(Reject(Reason.TURN, retry_s=TURN_AGAIN_S))
                effects.append(Wake(session.number))
            else:
                effects += self._cut(session, why, now, at)
        return effects

    def close_all(self, now: float, at: int) -> None:
        for session in self.sessions:
            session.reason = session.reason or "stopping"
            self._end(session, now, at)

    def _guarded(
        self, session: Session, work: Callable[[], list[StreamEffect]], now: float, at: int
    ) -> list[Outcome]:
        """Do something with what a peer said; if it broke the protocol, the session ends and nothing else."""
        try:
            effects = self._perform(session, work(), now, at)
        except RemoteError as error:
            session.is_false = session.stream.is_intact
            return self._cut(session, f"broken: {error}", now, at)
        if self.sessions.get(session.number) is not None:
            effects.append(Wake(session.number))
        return effects

    def _cut(self, session: Session, why: str, now: float, at: int) -> list[Outcome]:
        session.reason = why
        self._end(session, now, at)
        return [CloseStream(session.number, abort=True)]

    def _end(self, session: Session, now: float, at: int) -> None:
        if self.sessions.remove(session.number) is None:
            return
        if isinstance(session.stream, ClientStream):
            session.stream.lost()
        fact = session.fact(now)
        self._logbook.note(fact, now, at)
        remember(self._store, session, at, waiting_for=self._wishes.waiting_for)
        if session.is_given:
            self._outreach.dial_ended(session.address, now)
        session.tell(self._sync, fact, now)

    # -- what is said in them

    def _perform(self, session: Session, effects: list[StreamEffect], now: float, at: int) -> list[Outcome]:
        out: list[Outcome] = []
        for effect in effects:
            match effect:
                case PeerProved(node):
                    out += self._proved(session, node, now, at)
                case VerifyEntries(_, batch):
                    session.verifying += 1
                    out.append(Verify(session.number, batch))
                case EntriesStored(outcomes):
                    out += self._gained(session, outcomes, now, at)
                    out += self.more_wanted(now, at)
                case EnclosureCompleted(root):
                    out += self._completed(root, now, at)
                case EntriesWithheld(want, count):
                    session.withheld[want] = session.withheld.get(want, 0) + count
                case FileOffered(root):
                    session.offered[root] = None
                case FeedsFound(descriptors):
                    out.append(FeedsDiscovered(descriptors, session.stream.peer or NodeId("")))
                case Finished(seen, doubt):
                    session.is_whole, session.reason = True, "done"
                    session.asked_for = self._wishes.downloads.version
                    self._history.asked(session.proven, seen, doubt, session.subscriptions, at)
                case ClientDone(hello):
                    session.is_whole, session.reason = True, "done"
                    self._history.served(session.proven, hello, at)
                case SessionRejected(reason, retry_s):
                    session.reason = f"rejected: {reason}"
                    session.retry_s = None if retry_s is None else float(retry_s)
        return out

    def _proved(self, session: Session, node: NodeId, now: float, at: int) -> list[Outcome]:
        session.proved = now
        session.measured = (now, 0)
        if isinstance(session.stream, ServerStream):
            self._store.peers.met(node, at)
            self._admit(session, session.stream, node, now, at)
            return [*self._neighbourhood.proved(node, now, address=session.address)]
        given = self._given_proved(session, node, now) if session.claimed is None else []
        if node != session.claimed:
            effects = self._neighbourhood.disproved(session.claimed or node, session.address, now)
            return [*effects, *self._cut(session, "another node answered", now, at)]
        self._store.peers.met(node, at, session.address)
        downloads, plan = self._wishes.downloads, self._plan(session)
        client = Client(node, self._store, downloads, plan, entropy=self._entropy)
        proved = self._neighbourhood.proved(node, now, address=session.address)
        return [*given, *proved, *self._perform(session, session.stream.begin(client, now), now, at)]

    def _given_proved(self, session: Session, node: NodeId, now: float) -> list[Outcome]:
        """Now we know who is at an address that was given, unless that is somebody whom we ask already."""
        if self._sync.is_in_session(node):
            return []
        session.claimed = node
        self._sync.session_began(node)
        place, lasts_s = session.address, 2 * MAX_WAIT_S
        return [*self._neighbourhood.sighted(node, place, source_name=GIVEN, lasts_s=lasts_s, now=now)]

    def _admit(self, session: Session, stream: ServerStream, node: NodeId, now: float, at: int) -> None:
        reject = self.sessions.admission(session, now)
        if reject is None:
            stream.admit(self._server.hello())
            return
        self.sessions.sent_away(session, f"rejected: {reject.reason}", now)
        self._logbook.note(SessionRefused(node, "server", reject.reason), now, at)
        stream.reject(reject)

    def _gained(self, session: Session, outcomes: tuple[Taken, ...], now: float, at: int) -> list[Outcome]:
        peer = session.stream.peer or ""
        read = {
            taken.key: taken.entry for taken in outcomes if taken.fate.is_gain and taken.entry is not None
        }
        remember_doubles(session, outcomes)
        batch = self._delivery.stored(read, read)
        for row, _entry in batch:
            fact = EntryReceived(row.feed, row.id, short_version(row.version), peer, row.updated)
            self._logbook.note(fact, now, at)
        self._wishes.entries_stored(batch)
        gained = [EntryGained(row.key, session.stream.peer) for row, _entry in batch]
        return [*gained, *map(Deliver, self._delivery.due(batch, at))]

    def more_wanted(self, now: float, at: int, *, by_apps: bool = False) -> list[Outcome]:
        """New files may be wanted, or by apps more than files, and any session may be able to help."""
        effects: list[Outcome] = []
        for session in self.sessions:
            if isinstance(session.stream, ClientStream) and session.proved is not None:
                plan = self._plan(session) if by_apps and not session.is_whole else None
                effects += self._perform(session, session.stream.more_wanted(plan), now, at)
                effects.append(Wake(session.number))
        return effects

    def _plan(self, session: Session) -> Plan:
        session.subscriptions = self._wishes.interest.newest_subscription
        return self._wishes.plan(session.proven, self._sync.promised(session.proven))

    def _completed(self, root: Root, now: float, at: int) -> list[Outcome]:
        self._logbook.note(EnclosureReceived(root, self._store.blobs.length(root)), now, at)
        self._store.gained(root)
        keys = self._wishes.file_completed(root)
        return [Deliver(due) for due in self._delivery.due(self._delivery.stored(keys), at)]
