"""What a client has to ask its peer about: wants and searches, also those that come while it asks."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from contentdb.bloom import decode_filter
from contentdb.peers import Doubt
from contentdb.store import Store
from transport.messages import Ask, BloomRequest, FeedsRequest, SessionHello
from transport.solicitation.feedtalk import FeedTalk, Plan, Want

# With more wants than this, the peer's filter is cheaper than asking about feeds that it has not got.
BLOOM_FROM = 16
Question: TypeAlias = tuple[Ask, bytes, FeedTalk | None]


class Agenda:
    def __init__(self, store: Store, entropy: Callable[[int], bytes]) -> None:
        self._store, self._entropy = store, entropy
        self._plan = Plan()
        self._taken_up: set[str | tuple[str, str]] = set()  # selectors of searches, and wants
        self._undecided: list[Want] = []  # until the peer's filter is here
        self._talks: list[FeedTalk] = []
        self.is_filtered = False

    def take_up(self, plan: Plan) -> list[Question]:
        """Ask for what was not asked for in this session, whatever became of it."""
        self._plan = plan
        searches = [selector for selector in plan.discover if selector not in self._taken_up]
        wants = [want for want in plan.wants if (want.feed, want.selector) not in self._taken_up]
        self._taken_up.update(searches, ((want.feed, want.selector) for want in wants))
        questions: list[Question] = [(FeedsRequest(selector), b"", None) for selector in searches]
        if len(wants) <= BLOOM_FROM or plan.since is not None:
            return [*questions, *self._openings(wants)]
        if not self._undecided:
            questions.append((BloomRequest(), b"", None))
        self._undecided += wants
        return questions

    def filter_received(self, body: bytes) -> list[Question]:
        held = decode_filter(body)
        self.is_filtered = True
        wants, self._undecided = self._undecided, []
        return list(self._openings(want for want in wants if want.feed in held))

    def filter_refused(self) -> list[Question]:
        """Then every feed is asked about."""
        wants, self._undecided = self._undecided, []
        return list(self._openings(wants))

    def _openings(self, wants: Iterable[Want]) -> Iterable[Question]:
        for want in wants:
            talk = FeedTalk(self._store, want, self._plan, self._entropy)
            self._talks.append(talk)
            yield (*talk.opening(), talk)

    def seen(self, hello: SessionHello) -> SessionHello:
        """What the peer said of itself at first, or the pair before it up to which every feed was seen."""
        revision = min([hello.revision, *(talk.seen for talk in self._talks if talk.seen is not None)])
        return hello if revision == hello.revision else SessionHello(hello.epoch, revision)

    @property
    def doubt(self) -> Doubt:
        return max((talk.doubt for talk in self._talks), default=Doubt.NONE)
