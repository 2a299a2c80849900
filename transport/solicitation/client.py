"""The client of a session: finds out what the peer has that we want, and collects it.

A core. What it wants done comes out as effects; what came of it goes in again as calls. Verifying entries is
left to others (`VerifyEntries`, answered by `verified`), because it takes longer than everything else here.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from contentdb.arrivals import Arrival
from contentdb.errors import RemoteError
from contentdb.intake import Delivery, Fate
from contentdb.model import CHUNK_BYTES, Signed
from contentdb.names import NodeId
from contentdb.store import Store
from transport.items import decode_items
from transport.messages import (
    MAX_OPEN_REQUESTS,
    Answer,
    BloomReply,
    BloomRequest,
    CellsReply,
    ChunksReply,
    ChunksRequest,
    EntriesReply,
    FeedRequest,
    FeedsReply,
    FeedsRequest,
    HashesReply,
    HashesRequest,
    Message,
    Reason,
    Reject,
    Reply,
    Request,
    SessionHello,
)
from transport.solicitation.agenda import Agenda, Question
from transport.solicitation.downloads import Downloads
from transport.solicitation.effects import (
    Asked,
    Effect,
    EnclosureCompleted,
    EntriesStored,
    EntriesWithheld,
    FeedsFound,
    FileOffered,
    Finished,
    Send,
    Tally,
    VerifyEntries,
)
from transport.solicitation.feedsearch import FeedSearch
from transport.solicitation.feedtalk import FeedTalk, Plan
from transport.solicitation.states import NEXT, State, answer_to
from transport.solicitation.window import Window

Body: TypeAlias = bytes | memoryview  # chunks are written from where they lie


class Client:
    def __init__(
        self,
        peer: NodeId,
        store: Store,
        downloads: Downloads,
        plan: Plan,
        *,
        entropy: Callable[[int], bytes],
    ) -> None:
        self._peer, self._store, self._downloads, self._plan = peer, store, downloads, plan
        self._state = State.OPENING
        self._questions: deque[Question] = deque()
        self._open: dict[int, Asked] = {}
        self._agenda = Agenda(store, entropy)
        self._next_id = self._next_ticket = 1
        self._unverified = 0
        self._search = FeedSearch()
        self._hello: SessionHello | None = None
        self._revision = store.revision
        self._gained = 0
        self._window = Window()
        self.tally = Tally()

    # -- inputs

    def start(self, now: float) -> list[Effect]:
        """What to send first; it may go out with the end of the handshake."""
        self._downloads.opened(self._peer)
        self._window.started(now)
        self._questions.extend(self._agenda.take_up(self._plan))
        return self._pump()

    def ended(self) -> None:
        """The stream is gone; what was asked for is free for others."""
        self._state = State.OVER
        self._downloads.closed(self._peer)

    def more_wanted(self, plan: Plan | None = None) -> list[Effect]:
        """There may be new enclosures on the list of downloads; ask for them, or end if there is no more.

        With a plan, what it has beyond those before is taken up, too: a session may last for hours.
        """
        if self._state is State.OVER:
            return []
        if plan is not None:
            self._questions.extend(self._agenda.take_up(plan))
        return self._pump()

    def message_received(self, message: Message, body: Body, now: float, at: int) -> list[Effect]:
        """Raises RemoteError, which ends the session, for what a server may not say now."""
        match message:
            case SessionHello():
                return self._admitted(message)
            case Reject(to=None):
                raise RemoteError(f"rejected: {message.reason}")
            case Reject():
                return self._refused(message)
            case Reply():
                return self._replied(message, body, now, at)
        raise RemoteError(f"a server does not send {type(message).__name__}")

    def verified(self, batches: Sequence[Sequence[Arrival]], at: int) -> list[Effect]:
        """Store in one go what was verified; `more_wanted` follows when it is known which files are wanted.

        Raises RemoteError if the peer handed on what nobody signed.
        """
        self._unverified -= len(batches)  # one for each VerifyEntries
        arrivals = [arrival for batch in batches for arrival in batch]
        if any(arrival.entry is None for arrival in arrivals):
            raise RemoteError("an entry came whose signature or form is wrong")
        before = self._store.revision
        outcomes = self._store.take_in(arrivals, Delivery(at, source=self._peer))
        self._gained += self._store.revision - before
        for arrival, outcome in zip(arrivals, outcomes, strict=True):
            self.tally.took(len(arrival.signed.data), outcome.fate.is_gain or outcome.fate is Fate.PARKED)
        return [EntriesStored(tuple(outcomes))]

    # -- answers

    def _admitted(self, hello: SessionHello) -> list[Effect]:
        if self._state is not State.OPENING:
            raise RemoteError("a server says hello once")
        self._state = State.DISCOVERY
        self._hello = hello
        return self._pump()

    def _refused(self, reject: Reject) -> list[Effect]:
        asked = self._open.pop(reject.to or 0, None)
        if asked is None:
            raise RemoteError(f"a reject to request {reject.to}, which is not open")
        if isinstance(asked.ask, HashesRequest | ChunksRequest):
            self._downloads.refused(self._peer, asked.ask)
        elif isinstance(asked.ask, BloomRequest):
            self._questions.extend(self._agenda.filter_refused())
        elif asked.talk is not None and isinstance(asked.ask, FeedRequest):
            self.tally.false_positives += self._agenda.is_filtered and reject.reason == Reason.UNKNOWN
            if reject.reason != Reason.UNKNOWN:
                self._ask_on(asked.talk, asked.talk.refused(asked.ask))
        return self._pump()

    def _replied(self, reply: Reply, body: Body, now: float, at: int) -> list[Effect]:
        asked = self._open.get(reply.to)
        if asked is None or type(reply.answer) is not answer_to(asked.ask):
            raise RemoteError(f"{type(reply.answer).__name__} to request {reply.to} is no answer to it")
        self._advance(reply.answer)
        if not reply.more:
            del self._open[reply.to]
        return [*self._take(asked, reply, body, now), *self._pump()]

    def _advance(self, answer: Answer) -> None:
        try:
            self._state = NEXT[self._state, type(answer)]
        except KeyError:
            raise RemoteError(f"{type(answer).__name__} is not allowed while {self._state.value}") from None

    def _take(self, asked: Asked, reply: Reply, body: Body, now: float) -> list[Effect]:
        match asked.ask, reply.answer:
            case ChunksRequest() as ask, ChunksReply() as answer:
                return self._take_chunks(asked, ask, answer, body, reply.more, now)
            case FeedRequest(), EntriesReply() as answer:
                return self._take_entries(asked, answer, bytes(body), reply.more)
            case FeedRequest(), CellsReply() as answer if asked.talk is not None:
                self._ask_on(asked.talk, asked.talk.cells_received(answer.revision, bytes(body)))
            case HashesRequest() as ask, HashesReply() as answer:
                if (answer.root, answer.first, answer.last) != (ask.root, ask.first, ask.last):
                    raise RemoteError("other hashes than those asked for")
                self._downloads.hashes_received(self._peer, ask, answer.have, bytes(body))
                return [FileOffered(ask.root)] if answer.have else []
            case FeedsRequest() as ask, FeedsReply() as answer:
                return self._take_feeds(ask, answer, bytes(body), reply.more)
            case BloomRequest(), BloomReply():
                self._questions.extend(self._agenda.filter_received(bytes(body)))
        return []

    def _take_feeds(self, ask: FeedsRequest, answer: FeedsReply, body: bytes, more: bool) -> list[Effect]:
        descriptors, following = self._search.found(ask, answer, body, is_last=not more)
        if following is not None:
            self._questions.append((following, b"", None))
        return [FeedsFound(tuple(descriptors))] if descriptors else []

    def _take_entries(self, asked: Asked, answer: EntriesReply, body: bytes, more: bool) -> list[Effect]:
        assert asked.talk is not None
        items = decode_items(body, answer.count + answer.descriptor)
        if answer.descriptor:
            self._take_descriptor(items.pop(0))
        effects: list[Effect] = []
        if items:
            self._unverified += 1
            effects.append(VerifyEntries(self._next_ticket, tuple(items)))
            self._next_ticket += 1
        if answer.withheld:
            self.tally.withheld += answer.withheld
            effects.append(EntriesWithheld(asked.talk.want, answer.withheld))
        if not more:
            self._ask_on(asked.talk, asked.talk.entries_received(answer))
        return effects

    def _take_descriptor(self, signed: Signed) -> None:
        before = self._store.revision
        self._store.feeds.put_descriptor(signed)
        self._gained += self._store.revision - before

    def _take_chunks(
        self, asked: Asked, ask: ChunksRequest, answer: ChunksReply, body: Body, more: bool, now: float
    ) -> list[Effect]:
        expected = ask.last - asked.chunks + 1
        if answer.root != ask.root or answer.first != expected or not expected <= answer.last <= ask.last:
            raise RemoteError(f"chunks {answer.first} to {answer.last} came; expected {expected} and on")
        effects: list[Effect] = [] if more else [FileOffered(ask.root)]
        start = 0
        for index in range(answer.first, answer.last + 1):
            size = min(CHUNK_BYTES, len(body) - start)
            if self._downloads.chunk_received(ask.root, index, body[start : start + size]):
                effects.append(EnclosureCompleted(ask.root))
            start += size
        self.tally.chunks += answer.last - answer.first + 1
        self.tally.chunk_bytes += len(body)
        asked.chunks -= answer.last - answer.first + 1
        if not more:
            self._downloads.answered(self._peer, ask, is_whole=not asked.chunks)
        self._window.received(answer.last - answer.first + 1, now)
        return effects

    # -- questions

    def _ask_on(self, talk: FeedTalk, question: tuple[FeedRequest, bytes] | None) -> None:
        if question is not None:
            self._questions.append((*question, talk))

    def _pump(self) -> list[Effect]:
        """Ask what may be asked now, and end when there is nothing left."""
        effects: list[Effect] = []
        while self._questions and len(self._open) < MAX_OPEN_REQUESTS:
            ask, body, talk = self._questions.popleft()
            effects.append(self._send(Asked(ask, talk), body))
        waiting = sum(asked.chunks for asked in self._open.values())
        while len(self._open) < MAX_OPEN_REQUESTS and waiting < self._window.chunks:
            next_ask = self._downloads.next_ask(self._peer)
            if next_ask is None:
                break
            window = next_ask.last - next_ask.first + 1 if isinstance(next_ask, ChunksRequest) else 0
            effects.append(self._send(Asked(next_ask, None, window), b""))
            waiting += window
        if not (self._open or self._questions or self._unverified) and self._state is not State.OPENING:
            effects += self._finish()
        return effects

    def _send(self, asked: Asked, body: bytes) -> Send:
        id, self._next_id = self._next_id, self._next_id + 1
        self._open[id] = asked
        return Send(Request(id, asked.ask), body)

    def _finish(self) -> list[Effect]:
        if self._state is State.OVER or self._hello is None:
            return []
        self._state = State.OVER
        # Only if nothing but this peer has made us grow may it take our new revision for one it has seen.
        is_all = self._store.revision - self._revision == self._gained
        base, sum = self._revision if is_all else None, self._store.gains.sum
        hello = SessionHello(self._store.epoch, self._store.revision, base, sum)
        return [Send(hello), Finished(self._agenda.seen(self._hello), self._agenda.doubt)]
