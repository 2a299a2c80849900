"""Answers which entries of one feed a neighbour lacks, by whatever way it says what it has.

Everything is found in the order in which the store gained it, and an answer that had to end early says after
which revision to go on. So the server keeps nothing between two requests, and what is added meanwhile comes
once: it is gained later than everything that was there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from contentdb.bloom import decode_filter
from contentdb.errors import RemoteError
from contentdb.model import Signed
from contentdb.selector import Selector
from contentdb.selector.compile import identifiers
from contentdb.serving import Offer, ServedFeed, Window
from contentdb.store import Store
from transport.items import HEADER, encode_items, encode_parts
from transport.messages import (
    MAX_ANSWER_BYTES,
    MAX_BODY_BYTES,
    MAX_IDS_ASKED,
    BySketch,
    EntriesReply,
    Except,
    FeedRequest,
    Ids,
    OneEntry,
    Reason,
    Since,
)
from transport.solicitation.answers import Piece, Refusal, Settings, read_selector, work_of

# Offers looked up at once: some parts' worth, and no burden for each of a few sessions.
PAGE = 256
SHORT_ID_BYTES = 8


@dataclass(slots=True)
class _Part:
    """What goes into the next reply."""

    descriptor: list[Signed] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)
    bytes: int = 0
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class _Question:
    """A request for entries, read and checked, and our pair when it came."""

    epoch: str
    window: Window
    selector: Selector | None
    is_known: Callable[[bytes], bool] | None
    offers: Iterator[Offer]


class EntryAnswers:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def answer(self, ask: FeedRequest, served: ServedFeed, body: bytes, at: int) -> Iterator[Piece]:
        """Raises Refusal or RemoteError before the first reply if body or selector are not as specified."""
        question = self._read(ask, served, body, at)
        part = _Part()
        if ask.sequence is None or ask.sequence < served.sequence:
            descriptor = self._store.feeds.descriptor(ask.feed)
            part.descriptor = [descriptor] if descriptor is not None else []
            part.bytes = sum(HEADER.size + len(signed.data) for signed in part.descriptor)
        return self._pieces(question, part)

    def _read(self, ask: FeedRequest, served: ServedFeed, body: bytes, at: int) -> _Question:
        selector = None if ask.selector is None else read_selector(ask.selector)
        is_known = _known(ask, body)
        # Up to now, and not what is gained while a slow client reads: that is for its next request.
        window = Window(served.key, self._after(ask), self._store.revision, at)
        if isinstance(ask.how, OneEntry):
            offers = iter(self._store.serving.versions(window, ask.how.id))
        elif isinstance(ask.how, Ids):
            offers = iter(self._store.serving.by_short_ids(window, _short_ids(body)))
        else:
            offers = self._gained(window, set() if selector is None else identifiers(selector.tree))
        return _Question(self._store.epoch, window, selector, is_known, offers)

    def _after(self, ask: FeedRequest) -> int:
        match ask.how:
            case Since(epoch, revision):
                return revision if epoch == self._store.epoch else 0
            case BySketch():
                return 0
            case how:
                return how.after

    def _gained(self, window: Window, names: set[str]) -> Iterator[Offer]:
        """Page by page, so that nothing is kept open or in memory while a slow client reads."""
        while True:
            page = self._store.serving.gained(window, PAGE, names)
            yield from page
            if len(page) < PAGE:
                return
            window = window._replace(after=page[-1].revision)

    def _pieces(self, question: _Question, part: _Part) -> Iterator[Piece]:
        room, work = MAX_ANSWER_BYTES - part.bytes, self._settings.max_evaluated
        last, is_known, selector = question.window.after, question.is_known, question.selector
        reply_at = work - self._settings.evaluated_per_reply
        for offer in question.offers:
            size = HEADER.size + offer.size
            if work <= 0 or size > room:
                yield self._piece(question, part, following=last)
                return
            if work <= reply_at:
                yield self._piece(question, part, more=True)
                part, reply_at = _Part(), work - self._settings.evaluated_per_reply
            work -= 1 if selector is None else work_of(selector, offer.seen)
            last = offer.revision
            if is_known is not None and is_known(offer.short_id):
                continue
            if selector is not None and not _is_wanted(selector, offer):
                part.withheld += 1
                continue
            if part.bytes and part.bytes + size > self._settings.part_bytes:
                yield self._piece(question, part, more=True)
                part = _Part()
            part.offers.append(offer)
            part.bytes += size
            room -= size
        yield self._piece(question, part)

    def _piece(
        self, question: _Question, part: _Part, *, following: int | None = None, more: bool = False
    ) -> Piece:
        signed = self._store.serving.signed(part.offers) if part.offers else []
        reply = EntriesReply(
            len(signed),
            question.epoch,
            question.window.upto,
            part.withheld,
            following,
            bool(part.descriptor),
        )
        return Piece(reply, [encode_items(part.descriptor), encode_parts(signed)], more)


def _is_wanted(selector: Selector, offer: Offer) -> bool:
    """Tombstones always are: who holds the entry must learn that it is gone."""
    return bool(offer.retracted) or selector.evaluate(offer.seen) is True


def _known(ask: FeedRequest, body: bytes) -> Callable[[bytes], bool] | None:
    """What the client says it has: by a filter, or by short ids beside `since`."""
    if isinstance(ask.how, Except):
        return _filter(body)
    return frozenset(_short_ids(body)).__contains__ if isinstance(ask.how, Since) and body else None


def _filter(body: bytes) -> Callable[[bytes], bool]:
    if len(body) > MAX_BODY_BYTES:
        raise Refusal(Reason.LIMIT)
    return decode_filter(body).__contains__


def _short_ids(body: bytes) -> list[bytes]:
    if len(body) > MAX_IDS_ASKED * SHORT_ID_BYTES:
        raise Refusal(Reason.LIMIT)
    if len(body) % SHORT_ID_BYTES:
        raise RemoteError(f"short ids have {SHORT_ID_BYTES} bytes each; got {len(body)} in all")
    return [body[at : at + SHORT_ID_BYTES] for at in range(0, len(body), SHORT_ID_BYTES)]
