"""The core of a whole node: datagrams, streams and calls of apps in, effects out.

It composes the others: `Neighbourhood` knows who is near, `Synchroniser` whom to dial, `Encounters` what is
said in sessions, `Wishes` what apps want, `Delivery` what is due to them. A shell owns sockets, clocks and
threads; it passes in what happens and performs what comes out, in that order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from contentdb.arrivals import Arrival
from contentdb.identity import NodeSecret
from contentdb.model import Entry
from contentdb.names import Address, parse_ip_address
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from discovery.effects import AnswerHello, NeighbourChanged, NeighbourFound, NeighbourLost, SendHello
from discovery.hello import Hello
from discovery.neighbourhood import Neighbourhood
from discovery.schedule import HelloSettings
from discovery.sightings import Neighbour
from middleware.config import Settings
from middleware.coverage import Coverage
from middleware.delivery import Delivery, Due
from middleware.diary import Diary
from middleware.effects import Broadcast, Deliver, Effect, EntryGained, SendTo
from middleware.encounters import Encounters, Outcome
from middleware.logbook import (
    ContactBegan,
    ContactEnded,
    EntryDelivered,
    EntryPublished,
    Logbook,
    NodeStarted,
    NodeStopped,
    short_version,
)
from middleware.outreach import Outreach
from middleware.sync import Synchroniser
from middleware.wishes import Wishes

MAINTAIN_EVERY_S = 60.0
MAX_REMEMBERED = 32


def hello_settings(settings: Settings) -> HelloSettings:
    interval_s = settings.hello.interval_s
    return HelloSettings() if interval_s is None else HelloSettings(interval_s=interval_s, backs_off=False)


class Node:
    def __init__(
        self,
        store: Store,
        secret: NodeSecret,
        settings: Settings,
        *,
        rng: Random,
        entropy: Callable[[int], bytes],
        logbook: Logbook,
    ) -> None:
        self.id = secret.node_id
        self.store, self.logbook, self.diary = store, logbook, Diary()
        self.neighbourhood = Neighbourhood(self.id, hello_settings(settings), rng)
        coverage = Coverage(store.peers.get, store.gains)
        self._sync = Synchroniser(rng, coverage, max_sessions=settings.sessions.clients)
        self._outreach = Outreach(rng, settings.hello.port)
        self.delivery = Delivery(store)
        self.wishes = Wishes(store, self.delivery, coverage)
        self._encounters = Encounters(
            store,
            secret,
            settings.sessions,
            neighbourhood=self.neighbourhood,
            sync=self._sync,
            coverage=coverage,
            outreach=self._outreach,
            wishes=self.wishes,
            delivery=self.delivery,
            logbook=logbook,
            entropy=entropy,
        )
        self.sessions = self._encounters.sessions
        self._port, self._hello_port = 0, settings.hello.port
        self._announced: tuple[str, int] | None = None
        self._considered: tuple[int, ...] = ()
        self._maintained = 0.0
        self._clock = 0  # what the wall clock showed last

    # -- life

    def started(self, port: int, now: float, at: int) -> list[Effect]:
        """The sockets are open; sessions come to this TCP port."""
        self._port, self._maintained = port, now
        self.logbook.note(NodeStarted(self.store.epoch, self.store.revision), now, at)
        self.wishes.subscriptions_changed()
        for address in self.store.peers.given():
            self._outreach.given(address, now)
        self._outreach.remembered(self.store.peers.addresses(MAX_REMEMBERED), now)
        for subscription in self.store.subscriptions.all():
            self.wishes.resume(subscription, at)
        return self._settled([], now, at)

    def stopping(self, now: float, at: int) -> None:
        self._encounters.close_all(now, at)
        self.logbook.note(NodeStopped(self.store.revision), now, at)

    def next_timer(self) -> float:
        return min(
            self.neighbourhood.next_timer(),
            self._sync.next_timer(),
            self._outreach.next_timer(),
            self.sessions.next_timer(),
            self._maintained + MAINTAIN_EVERY_S,
        )

    def timer_fired(self, now: float, at: int) -> list[Effect]:
        effects: list[Outcome] = [*self.neighbourhood.timer_fired(now), *self._reached_out(now)]
        if now >= self.sessions.next_timer():
            effects += self._encounters.overdue(now, at)
        if now >= self._maintained + MAINTAIN_EVERY_S:
            ran_s, self._maintained = round(now - self._maintained), now
            unparked = self.delivery.stored(outcome.key for outcome in self.store.maintain(at, ran_s))
            self.wishes.entries_stored(unparked)  # they waited for their day; now for their files, too
            effects += map(Deliver, self.delivery.due(unparked, at))
        return self._settled(effects, now, at)

    # -- apps

    def subscribed(self, subscription: Subscription, now: float, at: int) -> list[Effect]:
        """A subscription is new, or its app is back: look for more. What is due now, `delivery` tells."""
        self.wishes.subscriptions_changed()
        self.wishes.resume(subscription, at)
        return self._settled(self._encounters.more_wanted(now, at, by_apps=True), now, at)

    def unsubscribed(self, now: float, at: int) -> list[Effect]:
        self.wishes.subscriptions_changed()
        return self._settled([], now, at)

    def published(self, read: Mapping[int, Entry], now: float, at: int) -> list[Effect]:
        """The store has these own entries, by row; others may have waited for the same files."""
        roots = [enclosure.root for entry in read.values() for enclosure in entry.enclosures]
        waiting = [row for root in roots for row in self.wishes.file_completed(root)]
        stored = self.delivery.stored(dict.fromkeys([*read, *waiting]), read)
        for row, _entry in stored:
            if row.key in read:
                fact = EntryPublished(row.feed, row.id, short_version(row.version), row.size)
                self.logbook.note(fact, now, at)
        gained = [EntryGained(key) for key in read]
        return self._settled([*gained, *map(Deliver, self.delivery.due(stored, at))], now, at)

    def delivered(self, dues: Iterable[Due], now: float, at: int) -> None:
        """Apps are done with these: never again."""
        marks: dict[int, list[tuple[int, bytes]]] = {}
        for due in dues:
            row = due.entry
            marks.setdefault(due.subscription.key, []).append((row.key, row.version))
            fact = EntryDelivered(row.feed, row.id, short_version(row.version), due.subscription.app)
            self.logbook.note(fact, now, at)
        with self.store.transaction():
            for subscription, marked in marks.items():
                self.store.subscriptions.mark_delivered(subscription, marked)

    def discover(self, selectors: Iterable[str], now: float, at: int) -> list[Effect]:
        self.wishes.discover(selectors)
        return self._settled(self._encounters.more_wanted(now, at, by_apps=True), now, at)

    # -- hellos

    def heard_again(self, hello: Hello, source: Address, now: float) -> bool:
        """Whether a neighbour repeats itself; then nothing is to be done, and no timer was set."""
        return not self._outreach.looks_at(source) and self.neighbourhood.heard_again(hello, source, now)

    def hello_received(self, hello: Hello, source: Address, now: float, at: int) -> list[Effect]:
        if hello.node != self.id and self._outreach.looks_at(source):
            own = self.neighbourhood.asking()
            self._outreach.heard(source, hello, hello.next_s if own is None else own.next_s, now)
        effects = self.neighbourhood.hello_received(hello, source, now)
        return self._settled([*effects], now, at) if effects else []

    def sighted(self, effects: Iterable[Outcome], now: float, at: int) -> list[Effect]:
        """What the neighbourhood made of another source of sightings, such as mDNS."""
        return self._settled([*effects], now, at)

    def links_changed(self, now: float, at: int) -> list[Effect]:
        """There are other network interfaces than before, or other addresses."""
        self._outreach.links_changed(now)
        return self._settled([*self.neighbourhood.link_came_up(now)], now, at)

    def meet(self, address: str, now: float, at: int) -> list[Effect]:
        """Look for somebody at this address from now on, also after a restart; UsageError if it is none."""
        given = parse_ip_address(address, self._hello_port)
        self.store.peers.give(given)
        self._outreach.given(given, now)
        return self._settled(self._reached_out(now), now, at)

    def _reached_out(self, now: float) -> list[Outcome]:
        if now < self._outreach.next_timer():
            return []
        hello = self.neighbourhood.asking()
        asks = [] if hello is None else [SendTo(hello, to) for to in self._outreach.asks(now)]
        dials = self._outreach.dials(now, has_room=self._sync.has_room)
        return [*asks, *(self._encounters.dial_given(address, now) for address in dials)]

    # -- streams

    def stream_accepted(self, address: Address, now: float, at: int) -> tuple[int, list[Effect]]:
        """Somebody opened a stream to us; returns the number its session has from now on."""
        number, effects = self._encounters.accepted(address, now, at)
        return number, self._settled(effects, now, at)

    def stream_opened(self, number: int, now: float, at: int) -> list[Effect]:
        """A stream that we asked for is open."""
        return self._settled(self._encounters.opened(number, now), now, at)

    def stream_lost(self, number: int, why: str, now: float, at: int) -> list[Effect]:
        """It could not be opened, or is closed or broken."""
        self._encounters.lost(number, why, now, at)
        return self._settled([], now, at)

    def bytes_received(self, number: int, data: bytes | memoryview, now: float, at: int) -> list[Effect]:
        return self._settled(self._encounters.bytes_received(number, data, now, at), now, at)

    def verified(
        self, number: int, batches: Sequence[Sequence[Arrival]], now: float, at: int
    ) -> list[Effect]:
        """What came of one or more `Verify` of this session, in their order."""
        return self._settled(self._encounters.verified(number, batches, now, at), now, at)

    def next_output(self, number: int, now: float, at: int) -> bytes | None:
        """The next bytes to send; None if there is nothing now."""
        session = self.sessions.get(number)
        piece = None if session is None else session.stream.next_output(at)
        if piece is not None and session is not None:
            session.moved = now
        return piece

    def stream_drains(self, number: int, now: float) -> None:
        """The peer takes what we sent earlier: a link that is slow is not silent."""
        session = self.sessions.get(number)
        if session is not None:
            session.moved = now

    def wants_close(self, number: int) -> bool:
        """Is everything said? Asked when `next_output` gave nothing."""
        session = self.sessions.get(number)
        return session is None or session.stream.wants_close

    # -- what follows from anything

    def _settled(self, effects: list[Outcome], now: float, at: int) -> list[Effect]:
        """Our new pair is told, neighbours are considered again, and those that are due are dialled."""
        before, self._clock = self._clock, at
        if at < before and self.store.retention.shows_again(before, at):
            effects += [again for again in self._clock_set_back(before, at) if again not in effects]
        pair = self.store.pair
        if pair != self._announced:
            self._announced = pair
            gains, hood = self.store.gains, self.neighbourhood
            gained, of = gains.recent(), gains.recent_tags()
            effects += hood.pair_changed(*pair, self._port, now, gained=gained, sum=gains.sum, of=of)
        out = [mapped for effect in effects for mapped in self._mapped(effect, now, at)]
        interest = self.wishes.interest
        interest.downloads_version = self.wishes.downloads.version
        considered = (interest.newest_subscription, interest.downloads_version, interest.discoveries)
        if considered != self._considered:
            self._considered = considered
            self._sync.interest_changed(interest, now)
        out += [self._encounters.dial(dial, now) for dial in self._sync.dials(now)]
        return out

    def _clock_set_back(self, before: int, at: int) -> list[Outcome]:
        """What seemed to have expired has not: apps get it, and neighbours must ask us again."""
        self.store.restored()
        dues = [due for each in self.store.subscriptions.all() for due in self.delivery.due_now(each, at)]
        return [Deliver(due) for due in dues if due.entry.expires and due.entry.expires <= before]

    def _mapped(self, effect: Outcome, now: float, at: int) -> list[Effect]:
        match effect:
            case SendHello(hello):
                return [Broadcast(hello)]
            case AnswerHello(hello, to):
                return [SendTo(hello, to)]
            case NeighbourFound(neighbour):
                self.diary.began(neighbour.node, at)
                self.logbook.note(ContactBegan(neighbour.node, len(self.neighbourhood)), now, at)
                self._seen(neighbour, now)
            case NeighbourChanged(neighbour):
                self._seen(neighbour, now)
            case NeighbourLost(neighbour, seconds):
                self._sync.neighbour_lost(neighbour.node)
                self.diary.ended(neighbour.node, at)
                fact = ContactEnded(neighbour.node, round(seconds, 3), len(self.neighbourhood))
                self.logbook.note(fact, now, at)
            case _:
                return [effect]
        return []

    def _seen(self, neighbour: Neighbour, now: float) -> None:
        self._sync.neighbour_seen(neighbour.node, neighbour.addresses, neighbour.claim, now)
