"""Core: when to say hello, who has come into range, changed, and gone out of it.

Everything heard is a hint that anybody may forge. What strangers can make us keep, send or report is bounded:
new ids and places by `Admission`, changes and contradictions by `Known`, the table by its size here. Whom a
handshake has proved is never displaced by somebody whom none has.

A node that is heard over several interfaces and through several sources is one neighbour. Its deadline is
looked at lazily: a hello only moves it, and the timer that was set for the old one finds it not over yet.
"""

from heapq import heapify, heappop, heappush
from random import Random

from contentdb.names import Address, NodeId
from discovery.admission import Admission, Ration
from discovery.effects import (
    AnswerHello,
    Effect,
    NeighbourChanged,
    NeighbourFound,
    NeighbourLost,
)
from discovery.hello import Claim, Hello, check_pair
from discovery.schedule import HelloSchedule, HelloSettings
from discovery.sightings import HELLO, MDNS, UNKNOWN, Known, Neighbour, Sighting, host_of

MAX_NEIGHBOURS = 1024
MAX_IDS_PER_HOST = 32
ANSWERS_PER_S = 32.0
LOST_AFTER_HELLOS = 3
MIN_LASTS_S = 1.0
# At a hello interval of a second nobody is looked for in between.
LOOK_LATER_S = 1.25
# A source that says nothing of its end, such as mDNS, tells when a node is gone; else a day is enough.
MAX_LASTS_S = 86_400.0
# An address at which another node answered is not believed for this id until then.
DISPROVED_S = 60.0
MAX_DISPROVED = 1024
# Anybody on the network can speak through these; other sources are the owner's own.
FORGEABLE = (HELLO, MDNS)


class Neighbourhood:
    """Says hello at intervals and decides who is near.

    Methods that take input return effects, in the order in which they are to be performed.
    """

    def __init__(self, own: NodeId, settings: HelloSettings, rng: Random) -> None:
        self._own = own
        self._schedule = HelloSchedule(own, settings, rng)
        self._admission = Admission(rng)
        self._answers = Ration(ANSWERS_PER_S, ANSWERS_PER_S)
        self._answered: dict[NodeId, float] = {}
        self._known: dict[NodeId, Known] = {}
        self._at_host: dict[str, dict[NodeId, None]] = {}
        self._disproved: dict[tuple[NodeId, Address], float] = {}
        self._looks: list[tuple[float, NodeId]] = []
        self._report_at = float("inf")  # when a change may be told that had to wait

    def neighbours(self) -> list[Neighbour]:
        return [self._known[node].snapshot() for node in sorted(self._known)]

    def __len__(self) -> int:
        return len(self._known)

    def neighbour(self, node: NodeId) -> Neighbour | None:
        known = self._known.get(node)
        return None if known is None else known.snapshot()

    def heard_again(self, hello: Hello, source: Address, now: float) -> bool:
        """Whether a neighbour only says what it said before, from where it said it: the common case by far.

        Then that is noted, and nothing follows: no effect, no timer.
        """
        known = self._known.get(hello.node)
        return known is not None and known.heard_again(hello, source, now)

    def hello_received(self, hello: Hello, source: Address, now: float) -> list[Effect]:
        """A hello came from this address, which is where an answer goes."""
        if self.heard_again(hello, source, now):
            return []
        known = self._known.get(hello.node)
        port_at = source.rindex(":") + 1
        address = Address(f"{source[:port_at]}{hello.port}")
        if known is not None:
            sighting = known.sightings.get((HELLO, address))
            said = sighting.claim if sighting is not None else UNKNOWN
            if sighting is not None and said == hello.claim:
                known.says(hello, source, sighting, max(MIN_LASTS_S, LOST_AFTER_HELLOS * hello.next_s), now)
                if (until := known.until()) < known.look_at:
                    self._look(known, until)
                return self._answer(hello.node, source, now) if hello.asks and not hello.is_answer else []
            known.said = known.said_at = None
        lasts_s = LOST_AFTER_HELLOS * hello.next_s
        effects = self._sighted(hello.node, Sighting(HELLO, address, hello.claim, now), lasts_s, now)
        is_welcome = hello.node in self._known and (known is None or hello.asks)
        if is_welcome and not hello.is_answer:
            effects += self._answer(hello.node, source, now)
        return effects

    def asking(self) -> Hello | None:
        """A hello that asks for an answer, for one address; None while there is nothing to say."""
        return self._schedule.hello(asks=True) if self._schedule.is_started else None

    def sighted(
        self,
        node: NodeId,
        address: Address,
        *,
        epoch: str = "",
        revision: int = 0,
        source_name: str,
        lasts_s: float,
        now: float,
    ) -> list[Effect]:
        """Another source says that a node can be dialled there; without an epoch its pair is unknown.

        A neighbour that also says hello from that host is lost when its hellos stop, however long this lasts.
        """
        if epoch:
            check_pair(epoch, revision)
        claim = Claim(epoch, revision) if epoch else UNKNOWN
        return self._sighted(node, Sighting(source_name, address, claim, now), lasts_s, now)

    def gone(self, node: NodeId, source_name: str, now: float) -> list[Effect]:
        """This source says that the node is not there any more."""
        known = self._known.get(node)
        if known is None:
            return []
        theirs = [s for s in known.sightings.values() if s.source_name == source_name]
        if len(theirs) == len(known.sightings):
            known.last_heard = now
        return self._forget(known, theirs, now)

    def pair_changed(
        self,
        epoch: str,
        revision: int,
        port: int,
        now: float,
        *,
        gained: tuple[str, ...] = (),
        sum: str = "",
        of: tuple[str, ...] = (),
    ) -> list[Effect]:
        """Our own state, first of all and whenever it changes; port 0 if we cannot be dialled."""
        return self._schedule.pair_changed(Claim(epoch, revision, gained, sum, of), port, now)

    def link_came_up(self, now: float) -> list[Effect]:
        """There may be others to hear us now than before: say hello soon, and often again."""
        return self._schedule.link_came_up(now)

    def proved(self, claimed: NodeId, now: float, *, address: Address | None = None) -> list[Effect]:
        """A handshake proved this id, at this address; without one, where it was heard last.

        Either end may have dialled, so only the host counts. A host where it was never sighted proves nothing
        about those where it was.
        """
        known = self._known.get(claimed)
        if known is None or known.speaker is None:
            return []
        host = known.speaker.host if address is None else host_of(address)
        if host in known.hosts():
            known.proved_hosts.add(host)
            known.settle()
        return self._report(known, now)

    def disproved(self, claimed: NodeId, address: Address, now: float) -> list[Effect]:
        """Somebody else answered at this address; it is not believed for this id for a minute."""
        self._disproved.pop((claimed, address), None)
        if len(self._disproved) >= MAX_DISPROVED:
            del self._disproved[next(iter(self._disproved))]
        self._disproved[claimed, address] = now + DISPROVED_S
        known = self._known.get(claimed)
        if known is None:
            return []
        return self._forget(known, [s for s in known.sightings.values() if s.address == address], now)

    def next_timer(self) -> float:
        """When `timer_fired` wants to be called; it does no harm earlier or more often.

        Whose silence is up is seen when we say hello anyway, if that is soon: a phone need not wake for it.
        """
        hello_at = self._schedule.hello_at
        if not self._looks or self._looks[0][0] + LOOK_LATER_S >= hello_at:
            return min(hello_at, self._report_at)
        return min(self._looks[0][0], self._report_at)

    def timer_fired(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if now >= self._report_at:
            self._report_at = float("inf")
        while self._looks and self._looks[0][0] <= now:
            look_at, node = heappop(self._looks)
            known = self._known.get(node)
            if known is not None and known.look_at == look_at:
                known.look_at = float("inf")
                until = known.until()
                if until > now and not known.is_changed:  # heard again meanwhile, as nearly always
                    self._look(known, until)
                else:
                    effects += self._forget(known, known.lapsed(now), now)
        return effects + self._schedule.timer_fired(now)

    def _sighted(self, node: NodeId, sighting: Sighting, lasts_s: float, now: float) -> list[Effect]:
        if node == self._own or self._disproved.get((node, sighting.address), now) > now:
            return []
        sighting.until = now + min(max(MIN_LASTS_S, lasts_s), MAX_LASTS_S)
        known = self._known.get(node)
        old = None if known is None else known.sightings.get((sighting.source_name, sighting.address))
        if known is None or old is None:
            return self._admit(node, sighting, now)
        old.heard_at = known.last_heard = now
        old.until = sighting.until
        if sighting.claim not in (UNKNOWN, old.claim):
            old.claim = sighting.claim
            known.stated(old, now)
        return self._report(known, now)

    def _admit(self, node: NodeId, sighting: Sighting, now: float) -> list[Effect]:
        """Keep a place that is new, of a neighbour that is known or not, if it may come in."""
        if sighting.source_name in FORGEABLE and not self._admission.admits(node, sighting.host, now):
            return []
        known = self._known.get(node)
        effects, has_room = self._make_room(known, sighting.host, now)
        if not has_room:
            return effects
        self._at_host.setdefault(sighting.host, {})[node] = None
        if known is None:
            known = self._known[node] = Known(node, now)
            known.add(sighting, now)
            known.is_changed = False
            self._schedule.stirred(now)
            effects.append(NeighbourFound(known.snapshot()))
            return effects + self._report(known, now)
        return effects + self._forget(known, known.add(sighting, now), now)

    def _make_room(self, known: Known | None, host: str, now: float) -> tuple[list[Effect], bool]:
        """Let the unproved id that was silent longest go, at the host or in all, if one must."""
        effects: list[Effect] = []
        here = self._at_host.get(host, {})
        if len(here) >= MAX_IDS_PER_HOST and (known is None or known.node not in here):
            others = [self._known[node] for node in here if host not in self._known[node].proved_hosts]
            if not others:
                return [], False
            victim = min(others, key=lambda k: (k.last_heard, k.node))
            effects += self._forget(victim, [s for s in victim.sightings.values() if s.host == host], now)
        if known is None and len(self._known) >= MAX_NEIGHBOURS:
            unproved = [k for k in self._known.values() if not k.is_proved]
            if not unproved:
                return effects, False
            victim = min(unproved, key=lambda k: (k.last_heard, k.node))
            effects += self._forget(victim, list(victim.sightings.values()), now)
        return effects, True

    def _forget(self, known: Known, gone: list[Sighting], now: float) -> list[Effect]:
        is_lost = len(gone) == len(known.sightings)
        last = known.snapshot() if is_lost else None
        known.remove(gone)
        for host in {s.host for s in gone} - known.hosts():
            here = self._at_host[host]
            del here[known.node]
            if not here:
                del self._at_host[host]
        if last is None:
            return self._report(known, now)
        del self._known[known.node]
        return [NeighbourLost(last, known.last_heard - known.since)]

    def _report(self, known: Known, now: float) -> list[Effect]:
        """Tell what changed, now or when the ration allows it, and say when to look again."""
        effects: list[Effect] = []
        look_at = known.until()
        if known.is_changed:
            if known.changes.take(now):
                known.is_changed = False
                effects.append(NeighbourChanged(known.snapshot()))
            else:
                look_at = min(look_at, known.changes.available_at(now))
                self._report_at = min(self._report_at, look_at)
        if look_at < known.look_at:
            self._look(known, look_at)
        return effects

    def _look(self, known: Known, at: float) -> None:
        known.look_at = at
        heappush(self._looks, (at, known.node))
        # Those that an earlier look replaced, or whose neighbour has gone, stay behind until their time.
        if len(self._looks) > 2 * len(self._known) + 64:
            self._looks = [(k.look_at, node) for node, k in self._known.items() if k.look_at != float("inf")]
            heapify(self._looks)

    def _answer(self, node: NodeId, to: Address, now: float) -> list[Effect]:
        self._answered = {who: at for who, at in self._answered.items() if now - at < 1.0}
        if node in self._answered or not self._schedule.is_started or not self._answers.take(now):
            return []
        self._answered[node] = now
        return [AnswerHello(self._schedule.hello(is_answer=True), to)]
