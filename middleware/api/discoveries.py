"""Feeds that neighbours have: for apps that look for some, now and as they come."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from contentdb.errors import RemoteError, UsageError
from contentdb.feeds import FeedRow
from contentdb.model import Signed
from contentdb.names import FeedId, NodeId
from contentdb.selector import Selector, parse
from contentdb.stored import stored_descriptor
from middleware.api.documents import Document, feed_document
from middleware.api.effects import ApiEffect, Send
from middleware.api.home import Home
from middleware.api.messages import encode_notification
from middleware.logbook import FeedFound

# Feeds whose place is remembered, those seen last; as many as the store keeps of what it only heard of.
MAX_SEEN = 5_000
MAX_PER_APP = 100


@dataclass(slots=True)
class Discovery:
    connection: int
    selector: Selector
    told: set[FeedId] = field(default_factory=set)  # of those in `seen`, so it is bounded with it


class Discoveries:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._open: dict[int, Discovery] = {}
        self._next = 1
        self._seen: OrderedDict[FeedId, NodeId] = OrderedDict()

    def discover(self, connection: int, where: str) -> Document:
        selector = parse(where)
        if sum(each.connection == connection for each in self._open.values()) >= MAX_PER_APP:
            raise UsageError(f"an app has at most {MAX_PER_APP} discoveries at a time; end one first")
        number, self._next = self._next, self._next + 1
        self._open[number] = Discovery(connection, selector)
        self._changed()
        return {"id": number, "where": where}

    def as_it_is(self, number: int) -> list[ApiEffect]:
        """What was seen already, at neighbours that are still near."""
        near = {each.node for each in self._home.node.neighbourhood.neighbours()}
        seen = [feed for feed, peer in self._seen.items() if peer in near]
        rows = self._home.store.feeds.rows(seen) if seen else []
        return [effect for row in rows for effect in self._tell(number, row)]

    def undiscover(self, connection: int, number: int) -> Document:
        found = self._open.get(number)
        if found is None or found.connection != connection:
            raise UsageError(f"this connection has no discovery {number}")
        del self._open[number]
        self._changed()
        return {"id": number}

    def lost(self, connection: int) -> None:
        gone = [number for number, each in self._open.items() if each.connection == connection]
        for number in gone:
            del self._open[number]
        if gone:
            self._changed()

    def _changed(self) -> None:
        selectors = dict.fromkeys(each.selector.text for each in self._open.values())
        self._home.effects += self._home.node.discover(selectors, self._home.monotonic(), self._home.at())

    def found(self, descriptors: Iterable[Signed], peer: NodeId) -> list[ApiEffect]:
        """A neighbour has these feeds. They are remembered as long as there is room, and not served on."""
        ids = [feed for signed in descriptors if (feed := self._taken(signed, peer)) is not None]
        rows = self._home.store.feeds.rows(ids) if ids else []
        return [effect for row in rows for number in list(self._open) for effect in self._tell(number, row)]

    def _taken(self, signed: Signed, peer: NodeId) -> FeedId | None:
        try:
            self._home.store.feeds.put_descriptor(signed)
        except RemoteError:  # forged, or another one than that which is known: what is known stays
            return None
        feed = stored_descriptor(signed.data).id
        if feed not in self._seen:
            fact = FeedFound(feed, peer)
            self._home.node.logbook.note(fact, self._home.monotonic(), self._home.at())
        self._seen[feed] = peer
        self._seen.move_to_end(feed)
        if len(self._seen) > MAX_SEEN:
            forgotten, _ = self._seen.popitem(last=False)
            for each in self._open.values():
                each.told.discard(forgotten)
        return feed

    def _tell(self, number: int, row: FeedRow) -> list[ApiEffect]:
        each = self._open[number]
        if row.feed is None or row.id in each.told:
            return []
        if (
            each.selector.tree is not None
            and each.selector.evaluate(row.feed.selectable(row.updated)) is not True
        ):
            return []
        each.told.add(row.id)
        feed = feed_document(row) | {"seen_at": self._seen.get(row.id)}
        return [Send(each.connection, encode_notification("feed", {"discovery": number, "feed": feed}))]
