"""Answers each request of a neighbour by itself, from the store (docs/protocol/solicitation-v1.md).

    server = Server(store, node_id, entropy=os.urandom)
    for message, body in server.answer(request, body, at=now_ms):
        ...                                         # as fast as the peer takes them, and no faster

There is no state of a session here, only two things dear to make that all sessions share: the filter over
all ids, and the last long sketch. Work per request is bounded, and an answer is found while it is sent, so
that a peer that reads slowly costs no memory.
"""

import logging
from collections.abc import Callable, Iterator
from math import log

from contentdb.atom import read_signed_descriptor
from contentdb.bloom import SALT_BYTES, Filter, encode_filter
from contentdb.errors import RemoteError
from contentdb.model import Signed
from contentdb.names import FeedId, NodeId
from contentdb.selector import Selector
from contentdb.selector.compile import identifiers
from contentdb.serving import ListedFeed
from contentdb.store import Store
from transport.items import HEADER, encode_items
from transport.messages import (
    MAX_ANSWER_BYTES,
    MAX_BODY_BYTES,
    MAX_ID_BYTES,
    BloomReply,
    BloomRequest,
    BySketch,
    ChunksRequest,
    Envelope,
    FeedRequest,
    FeedsReply,
    FeedsRequest,
    HashesRequest,
    Message,
    Reason,
    Reject,
    Reply,
    Request,
    SessionHello,
    UnknownRequest,
)
from transport.solicitation.answers import Body, Piece, Refusal, Settings, read_selector, work_of
from transport.solicitation.cells import CellAnswers
from transport.solicitation.enclosures import EnclosureAnswers
from transport.solicitation.entries import EntryAnswers
from transport.xmlcodec import encode_message

FEEDS_PER_PAGE = 64
# As coarse as is needed for a filter to fit into one frame. Powers of one half use their bits best.
ERROR_RATES = (0.01, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4)
_log = logging.getLogger(__name__)


class Server:
    def __init__(
        self,
        store: Store,
        node: NodeId,
        *,
        entropy: Callable[[int], bytes],
        settings: Settings | None = None,
    ) -> None:
        self._store = store
        self._node = node
        self._entropy = entropy
        self._settings = settings or Settings()
        self._entries = EntryAnswers(store, self._settings)
        self._cells = CellAnswers(store, self._settings)
        self._enclosures = EnclosureAnswers(store, self._settings)
        self._bloom: tuple[str, int, int, bytes] | None = None  # epoch, revision, when it was made, filter

    def hello(self) -> SessionHello:
        """What a server says first: the pair that its answers will at least reflect."""
        return SessionHello(self._store.epoch, self._store.revision, sum=self._store.gains.sum)

    def answer(self, request: Request, body: bytes, at: int) -> Iterator[tuple[Message, Body]]:
        """Yield the replies to a request, each when it is asked for; the last message is a reply or a reject.

        Nothing that a peer sends makes this raise; StoreError passes through.
        """
        try:
            for answer, content, more in self._pieces(request, body, at):
                yield Reply(request.id, answer, more), content
        except Refusal as refusal:
            yield Reject(refusal.reason, request.id), []
        except RemoteError as error:
            _log.debug("request refused kind=%s error=%s", type(request.ask).__name__, error)
            yield Reject(Reason.UNKNOWN, request.id), []

    def encoded_answer(self, request: Request, body: bytes, at: int) -> Iterator[tuple[bytes, Body]]:
        """The same with each message as the header of its frame."""
        for message, content in self.answer(request, body, at):
            yield encode_message(Envelope(self._node, message)), content

    def _pieces(self, request: Request, body: bytes, at: int) -> Iterator[Piece]:
        match request.ask:
            case ChunksRequest() as ask:
                yield from self._enclosures.chunks(ask, at)
            case HashesRequest() as ask:
                yield self._enclosures.hashes(ask, at)
            case FeedRequest() as ask:
                yield from self._feed(ask, body, at)
            case FeedsRequest() as ask:
                yield from self._feeds(ask)
            case BloomRequest():
                yield Piece(BloomReply(), [self._filter(at)])
            case UnknownRequest():
                raise Refusal(Reason.UNKNOWN)

    def _feed(self, ask: FeedRequest, body: bytes, at: int) -> Iterator[Piece]:
        served = self._store.serving.feed(ask.feed)
        if served is None:
            raise Refusal(Reason.UNKNOWN)
        if isinstance(ask.how, BySketch):
            yield self._cells.answer(ask.feed, served, body, at)
        else:
            yield from self._entries.answer(ask, served, body, at)

    # -- feeds by selector

    def _feeds(self, ask: FeedsRequest) -> Iterator[Piece]:
        selector = read_selector(ask.selector)
        found: list[Signed] = []
        size, withheld, room, work = 0, 0, MAX_ANSWER_BYTES, self._settings.max_feeds_evaluated
        last, reply_at = ask.after, work - self._settings.feeds_per_reply
        for id, signed, updated in self._listed(ask.after or FeedId("")):
            item = HEADER.size + len(signed.data)
            if work <= 0 or item > room:
                yield Piece(FeedsReply(len(found), withheld, last), [encode_items(found)])
                return
            if work <= reply_at:
                yield Piece(FeedsReply(len(found), withheld), [encode_items(found)], more=True)
                found, size, withheld, reply_at = [], 0, 0, work - self._settings.feeds_per_reply
            is_match, cost = _matches(selector, signed, updated)
            work, last = work - cost, id
            if not is_match:
                withheld += 1
                continue
            if found and size + item > self._settings.part_bytes:
                yield Piece(FeedsReply(len(found), withheld), [encode_items(found)], more=True)
                found, size, withheld = [], 0, 0
            found.append(signed)
            size, room = size + item, room - item
        yield Piece(FeedsReply(len(found), withheld), [encode_items(found)])

    def _listed(self, after: FeedId) -> Iterator[ListedFeed]:
        while True:
            page = self._store.serving.listed(after, FEEDS_PER_PAGE, MAX_ID_BYTES)
            yield from page
            if len(page) < FEEDS_PER_PAGE:
                return
            after = page[-1].id

    # -- the filter over all ids

    def _filter(self, at: int) -> bytes:
        epoch, revision = self._store.epoch, self._store.revision
        if self._bloom is not None:
            of_epoch, of_revision, made_at, data = self._bloom
            is_fresh = made_at <= at < made_at + self._settings.bloom_s * 1000
            if is_fresh and (of_epoch, of_revision) == (epoch, revision):
                return data
        ids = self._store.serving.listed_ids(at)
        data = encode_filter(Filter.build(ids, self._entropy(SALT_BYTES), error_rate(len(ids))))
        self._bloom = (epoch, revision, at, data)
        return data


def error_rate(count: int) -> float:
    """The least error rate at which a filter of so many ids goes into one frame."""
    for rate in ERROR_RATES:
        if count * log(1 / rate) / (8 * log(2) ** 2) < MAX_BODY_BYTES - 1_000:  # for header and rounding
            return rate
    raise Refusal(Reason.LIMIT)


def _matches(selector: Selector, signed: Signed, updated: int | None) -> tuple[bool, int]:
    """Whether a feed matches, and what finding out counted for."""
    if selector.tree is None:
        return True, 1
    attributes, names = read_signed_descriptor(signed.data).selectable(updated), identifiers(selector.tree)
    seen: dict[str, object] = {name: value for name, value in attributes.items() if name in names}
    return selector.evaluate(seen) is True, work_of(selector, seen)
