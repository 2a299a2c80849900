"""The client of a session, against the server's core and nothing between them."""

from collections.abc import Iterable

from contentdb.arrivals import verify_and_read
from contentdb.names import FeedId
from contentdb.store import Store
from tests.contentdb.makers import (
    NOW,
    OPEN_FEED,
    entropy,
    make_descriptor,
    make_signed,
    memory_store,
    node,
    take,
)
from tests.transport.asking import ALICE, store_with
from transport.messages import BloomRequest, FeedRequest, FeedsRequest, Reject, Request, SessionHello, Since
from transport.solicitation.agenda import BLOOM_FROM
from transport.solicitation.client import Client
from transport.solicitation.downloads import Downloads
from transport.solicitation.effects import Effect, Finished, Send, VerifyEntries
from transport.solicitation.feedtalk import Plan, Want
from transport.solicitation.server import Server

OTHER_FEED = FeedId("urn:example:other")


class Talk:
    """A client whose requests wait until the server is told to answer."""

    def __init__(self, theirs: Store, *wants: Want) -> None:
        self.ours, self.server = memory_store(), Server(theirs, node(1), entropy=entropy(9))
        self.client = Client(node(1), self.ours, Downloads(self.ours.blobs), Plan(wants), entropy=entropy(8))
        self.waiting: list[tuple[Request, bytes]] = []
        self.finished: list[Finished] = []
        self.parting: SessionHello | None = None
        self.perform(self.client.start(0.0))

    def perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(Request() as request, body):
                    self.waiting.append((request, body))
                case Send(SessionHello() as hello):
                    self.parting = hello
                case VerifyEntries(_, batch):
                    self.perform(self.client.verified([verify_and_read(batch)], NOW))
                    self.perform(self.client.more_wanted())
                case Finished():
                    self.finished.append(effect)

    def admitted(self) -> None:
        self.perform(self.client.message_received(self.server.hello(), b"", 0.0, NOW))

    def answered(self) -> None:
        """The server answers what was asked so far, and what that leads to."""
        while self.waiting:
            request, body = self.waiting.pop(0)
            for message, parts in self.server.answer(request, body, NOW):
                self.perform(self.client.message_received(message, b"".join(parts), 0.0, NOW))

    def has(self, feed: FeedId) -> int:
        return self.ours.wanting.known_count(feed)


def two_feeds() -> Store:
    store = store_with(make_signed(ALICE))
    store.feeds.put_descriptor(make_descriptor(ALICE, OTHER_FEED))
    take(store, make_signed(ALICE, feed=OTHER_FEED))
    return store


def test_what_is_wanted_while_a_session_runs_is_asked_for_in_it() -> None:
    theirs = two_feeds()
    talk = Talk(theirs, Want(OPEN_FEED))
    talk.admitted()
    talk.perform(talk.client.more_wanted(Plan((Want(OPEN_FEED), Want(OTHER_FEED)), ("title = 'x'",))))
    assert [type(request.ask) for request, _ in talk.waiting] == [FeedRequest, FeedsRequest, FeedRequest]
    talk.answered()
    assert (talk.has(OPEN_FEED), talk.has(OTHER_FEED)) == (1, 1)
    (finished,) = talk.finished
    assert finished.seen == talk.server.hello() and talk.parting is not None


def test_nothing_is_asked_twice_and_nothing_after_the_end() -> None:
    talk = Talk(two_feeds(), Want(OPEN_FEED))
    talk.perform(talk.client.more_wanted(Plan((Want(OPEN_FEED),))))
    assert len(talk.waiting) == 1
    talk.admitted()
    talk.answered()
    assert len(talk.finished) == 1
    talk.perform(talk.client.more_wanted(Plan((Want(OPEN_FEED), Want(OTHER_FEED)))))
    assert talk.waiting == [] and talk.has(OTHER_FEED) == 0


def test_a_want_that_comes_while_the_filter_is_asked_for_is_asked_by_itself() -> None:
    many = [Want(FeedId(f"urn:example:{number}")) for number in range(BLOOM_FROM + 1)]
    talk = Talk(two_feeds(), *many)
    talk.perform(talk.client.more_wanted(Plan((*many, Want(OTHER_FEED)))))
    assert [type(request.ask) for request, _ in talk.waiting] == [BloomRequest, FeedRequest]
    talk.admitted()
    talk.answered()
    assert talk.has(OTHER_FEED) == 1 and len(talk.finished) == 1


def test_a_peer_that_gives_no_filter_is_asked_about_every_feed() -> None:
    many = [Want(FeedId(f"urn:example:{number}")) for number in range(BLOOM_FROM)]
    talk = Talk(two_feeds(), *many, Want(OTHER_FEED))
    talk.admitted()
    ((request, _),) = talk.waiting
    talk.waiting.clear()
    talk.perform(talk.client.message_received(Reject("limit", request.id), b"", 0.0, NOW))
    assert len(talk.waiting) == BLOOM_FROM + 1
    talk.answered()
    assert talk.has(OTHER_FEED) == 1 and len(talk.finished) == 1


def test_what_came_from_others_is_named_with_since_and_not_sent_again() -> None:
    first, second = make_signed(ALICE), make_signed(ALICE, 2)
    theirs = store_with(first, second)
    talk = Talk(theirs)
    take(talk.ours, first)
    plan = Plan((Want(OPEN_FEED, is_seen=True),), since=(theirs.epoch, 1), shared=16)
    talk.perform(talk.client.more_wanted(plan))
    ((request, body),) = talk.waiting
    assert isinstance(request.ask, FeedRequest) and request.ask.how == Since(theirs.epoch, 1)
    assert len(body) == 8
    talk.admitted()
    talk.answered()
    assert (talk.client.tally.entries, talk.client.tally.useless_entries) == (1, 0)
