"""Feeds that a selector matches at a peer, page by page."""

from contentdb.errors import RemoteError
from contentdb.model import Signed
from transport.items import decode_items
from transport.messages import FeedsReply, FeedsRequest

MAX_FOUND_FEEDS = 1_000


class FeedSearch:
    """All that a session finds by selectors, which is bounded: a peer can invent feeds for ever."""

    def __init__(self) -> None:
        self._found = 0

    def found(
        self, ask: FeedsRequest, answer: FeedsReply, body: bytes, *, is_last: bool
    ) -> tuple[list[Signed], FeedsRequest | None]:
        """The descriptors of a reply, and what to ask next, if there is more."""
        descriptors = decode_items(body, answer.count)
        self._found += len(descriptors)
        if not is_last or answer.next is None or self._found >= MAX_FOUND_FEEDS:
            return descriptors, None
        if answer.next <= (ask.after or ""):
            raise RemoteError("feeds come in the order of their ids")
        return descriptors, FeedsRequest(ask.selector, answer.next)
