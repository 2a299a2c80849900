"""One feed within one session: which question finds the difference cheapest, and what to ask next."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from contentdb.bloom import SALT_BYTES, Filter, encode_filter
from contentdb.names import FeedId
from contentdb.peers import Doubt
from contentdb.sketch import Sketch
from contentdb.sketch_codec import decode_cells
from contentdb.sketch_decoder import Decoder, Progress
from contentdb.sketch_request import encode_continuation, encode_opening
from contentdb.store import Store
from transport.messages import (
    MAX_IDS_ASKED,
    BySketch,
    EntriesReply,
    Except,
    FeedRequest,
    How,
    Ids,
    Since,
)

# A filter of so many ids is about as large as the cells of a sketch for a handful of differences.
FILTER_UP_TO = 256
# What a filter hides by chance comes only when the peer has changed, and under another salt. Where that costs
# less than a kilobyte, it all but never happens; a larger filter may be coarser.
SHARP_ERROR_RATE, FILTER_ERROR_RATE = 1e-6, 0.001


@dataclass(frozen=True, slots=True)
class Want:
    """What we want of a feed: all of it, or what a selector matches.

    `is_seen` says that a session with this peer ran to its end since the subscription was made, so that only
    what the peer gained since then is new.
    """

    feed: FeedId
    selector: str = ""
    is_seen: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Why a session is opened. `since` is the peer's pair at the end of our last whole session with it.

    `shared` is how many of what it gained since then we may have from others: so many we name, and not get.
    """

    wants: tuple[Want, ...] = ()
    discover: tuple[str, ...] = ()
    since: tuple[str, int] | None = None
    shared: int = 0


class Method(Enum):
    SINCE = auto()  # what the peer gained since its last pair we saw, or all it has if we know nothing
    EXCEPT = auto()  # all but what our filter holds
    SKETCH = auto()  # what the cells tell apart


Question = tuple[FeedRequest, bytes]


class FeedTalk:
    """Asks about one want until the peer has nothing more to say to it."""

    def __init__(self, store: Store, want: Want, plan: Plan, entropy: Callable[[int], bytes]) -> None:
        self.want = want
        self._store, self._entropy = store, entropy
        self._since, self._shared = plan.since, plan.shared
        self._ids: deque[int] = deque()
        self._decoder: Decoder | None = None
        self._filter = self._asked = self._named = b""
        self.doubt = Doubt.NONE
        self.method = self._choose()
        self.seen: int | None = None  # the peer's revision up to which we have seen this feed, once we have

    def _choose(self) -> Method:
        if self._since is not None and self.want.is_seen:
            return Method.SINCE
        known = self._store.wanting.known_count(self.want.feed)
        if known == 0:
            self._since = None
            return Method.SINCE
        return Method.EXCEPT if self.want.selector or known <= FILTER_UP_TO else Method.SKETCH

    def opening(self) -> Question:
        if self.method is Method.SINCE:
            epoch, revision = self._since or ("0" * 16, 0)
            if self._since is not None and self._shared:
                latest = self._store.wanting.latest_ids(self.want.feed, self._shared)
                self._named = b"".join(id.to_bytes(8) for id in latest)
            return self._question(Since(epoch, revision)), self._named
        if self.method is Method.EXCEPT:
            return self._except()
        ours = self._store.known_sketch(self.want.feed)
        self._decoder = Decoder(ours)
        return self._question(BySketch()), encode_opening(ours)

    def _except(self) -> Question:
        self.method = Method.EXCEPT
        ids = [id.to_bytes(8) for id in self._store.wanting.known_ids(self.want.feed)]
        is_sharp = len(ids) <= FILTER_UP_TO
        self.doubt = Doubt.SLIGHT if is_sharp else Doubt.REAL
        rate = SHARP_ERROR_RATE if is_sharp else FILTER_ERROR_RATE
        self._filter = encode_filter(Filter.build(ids, self._entropy(SALT_BYTES), rate))
        return self._question(Except()), self._filter

    def _question(self, how: How) -> FeedRequest:
        takes_selector = isinstance(how, Since | Except) and self.want.selector
        sequence = self._store.wanting.sequence(self.want.feed)
        return FeedRequest(self.want.feed, how, self.want.selector if takes_selector else None, sequence)

    def entries_received(self, reply: EntriesReply) -> Question | None:
        """After the last part of an answer: what to ask next, if there is more."""
        if reply.next is None:
            if self._ids:
                return self._next_ids()
            self.seen = reply.revision if self.seen is None else self.seen
            return None
        if self.method is Method.EXCEPT:
            return self._question(Except(after=reply.next)), self._filter
        if self.method is Method.SKETCH:
            return self._question(Ids(after=reply.next)), self._asked
        return self._question(Since(reply.epoch, reply.next)), self._named

    def cells_received(self, revision: int, body: bytes) -> Question | None:
        """After cells: more cells, the ids they told apart, another way, or nothing if the sets are equal."""
        assert self._decoder is not None
        block = decode_cells(body)
        if block.end > self._decoder.own_cells:
            self._decoder.lengthen(self._longer(block.end))
        if self._decoder.progress is Progress.MORE:
            self._decoder.feed(block)
        if self._decoder.progress is Progress.FAILED:
            return self._except()
        if self._decoder.progress is Progress.MORE:
            request = encode_continuation(
                self._store.known_sketch(self.want.feed).fingerprint,
                self._decoder.received,
                self._decoder.next_end,
            )
            return self._question(BySketch()), request
        self.seen = revision
        self._ids = deque(self._decoder.only_remote)
        return self._next_ids() if self._ids else None

    def _longer(self, cells: int) -> Sketch:
        return Sketch.of(self._store.wanting.known_ids(self.want.feed), cells)

    def _next_ids(self) -> Question:
        asked = [self._ids.popleft() for _ in range(min(len(self._ids), MAX_IDS_ASKED))]
        self._asked = b"".join(id.to_bytes(8) for id in asked)
        return self._question(Ids()), self._asked

    def refused(self, ask: FeedRequest) -> Question | None:
        """The peer will not say it this way; if that was by cells, it may by a filter."""
        return self._except() if isinstance(ask.how, BySketch) else None
