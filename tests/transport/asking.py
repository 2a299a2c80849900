"""A client that only asks: drives a server's answers through the codec and follows each `next` to its end."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from contentdb.arrivals import verify_and_read
from contentdb.model import Entry, Signed
from contentdb.names import FeedId
from contentdb.store import Store
from tests.contentdb.makers import NOW, OPEN_FEED, author, entropy, make_descriptor, memory_store, node, take
from transport.items import decode_items
from transport.messages import (
    MAX_ANSWER_BYTES,
    Ask,
    EntriesReply,
    Except,
    FeedRequest,
    FeedsReply,
    Ids,
    Message,
    OneEntry,
    Reject,
    Reply,
    Request,
    Since,
)
from transport.solicitation.answers import Settings
from transport.solicitation.server import Server
from transport.xmlcodec import decode_message

ALICE, BOB = author(1), author(2)


def store_with(*batch: Signed, feed: FeedId = OPEN_FEED, **described: Any) -> Store:
    store = memory_store()
    store.feeds.put_descriptor(make_descriptor(ALICE, feed, **described))
    take(store, *batch)
    return store


@dataclass
class Gathered:
    """What a whole answer, or a row of them, brought."""

    entries: list[Entry] = field(default_factory=list)
    descriptors: list[Signed] = field(default_factory=list)
    withheld: int = 0
    requests: int = 0
    replies: int = 0
    largest_body: int = 0

    @property
    def titles(self) -> list[str]:
        return [str(entry.title) for entry in self.entries]


class Asking:
    def __init__(self, store: Store, settings: Settings | None = None) -> None:
        self.store = store
        self.server = Server(store, node(1), entropy=entropy(9), settings=settings)

    def steps(self, ask: Ask, body: bytes = b"", at: int = NOW) -> Iterator[tuple[Message, bytes]]:
        """Each message as it comes, through the codec; what holds for every answer is checked on the way."""
        total, is_over = 0, False
        for header, parts in self.server.encoded_answer(Request(7, ask), body, at):
            assert not is_over
            content = b"".join(parts)
            envelope = decode_message(header)
            assert envelope.node == node(1)
            message = envelope.message
            assert isinstance(message, Reply | Reject) and message.to == 7
            is_over = isinstance(message, Reject) or not message.more
            total += len(content)
            yield message, content
        assert is_over and total <= MAX_ANSWER_BYTES

    def ask(self, ask: Ask, body: bytes = b"", at: int = NOW) -> list[tuple[Message, bytes]]:
        return list(self.steps(ask, body, at))

    def one(self, ask: Ask, body: bytes = b"", at: int = NOW) -> tuple[Any, bytes]:
        """The answer of a request that has only one reply."""
        ((message, content),) = self.ask(ask, body, at)
        assert isinstance(message, Reply)
        return message.answer, content

    def refusal(self, ask: Ask, body: bytes = b"", at: int = NOW) -> str:
        ((message, content),) = self.ask(ask, body, at)
        assert isinstance(message, Reject) and content == b""
        return message.reason

    def entries(self, ask: FeedRequest, body: bytes = b"", at: int = NOW) -> tuple[Gathered, EntriesReply]:
        """One answer with entries, and its last reply."""
        gathered = Gathered(requests=1)
        for message, content in self.steps(ask, body, at):
            assert isinstance(message, Reply) and isinstance(message.answer, EntriesReply)
            last = message.answer
            assert last.next is None or not message.more
            items = decode_items(content, last.count + last.descriptor)
            gathered.descriptors += items[: int(last.descriptor)]
            gathered.entries += [
                read.entry for read in verify_and_read(items[last.descriptor :]) if read.entry
            ]
            gathered.withheld += last.withheld
            gathered.replies += 1
            gathered.largest_body = max(gathered.largest_body, len(content))
        return gathered, last

    def all_entries(self, ask: FeedRequest, body: bytes = b"", at: int = NOW) -> Gathered:
        """Goes on after each `next` until there is none; the number of requests is bounded by the store."""
        whole = Gathered()
        while True:
            found, last = self.entries(ask, body, at)
            whole.entries += found.entries
            whole.descriptors += found.descriptors
            whole.withheld += found.withheld
            whole.requests += 1
            whole.replies += found.replies
            assert whole.requests < 1_000
            if last.next is None:
                return whole
            ask = replace(ask, how=gone_on(ask, last), sequence=1)

    def all_feeds(self, ask: Any) -> tuple[list[Signed], int, int]:
        """Descriptors, how many were withheld, and the number of requests."""
        found: list[Signed] = []
        withheld, requests = 0, 0
        while True:
            requests += 1
            for message, content in self.steps(ask):
                assert isinstance(message, Reply) and isinstance(message.answer, FeedsReply)
                found += decode_items(content, message.answer.count)
                withheld += message.answer.withheld
                last = message.answer
            if last.next is None:
                return found, withheld, requests
            assert ask.after is None or last.next > ask.after
            ask = replace(ask, after=last.next)


def gone_on(ask: FeedRequest, last: EntriesReply) -> Any:
    assert last.next is not None
    if isinstance(ask.how, Since):
        assert last.next > ask.how.revision or last.epoch != ask.how.epoch
        return Since(last.epoch, last.next)
    assert isinstance(ask.how, Except | Ids | OneEntry) and last.next > ask.how.after
    return replace(ask.how, after=last.next)
