"""Makes authors, entries and stores for tests; everything follows from small numbers."""

import hashlib
from collections.abc import Callable
from typing import Any

from contentdb.arrivals import verify_and_read
from contentdb.atom import write_descriptor, write_entry
from contentdb.identity import AuthorSecret
from contentdb.intake import Delivery, Outcome
from contentdb.model import Entry, Feed, Signed, Text
from contentdb.names import EntryId, FeedId, NodeId, owned_feed_id
from contentdb.settings import Limits
from contentdb.store import Store

NOW = 1_790_000_000_000  # some day in 2026, in milliseconds
SECOND, DAY = 1_000, 86_400_000
OPEN_FEED = FeedId("urn:example:street-music")


def entropy(seed: int) -> Callable[[int], bytes]:
    """Bytes that look random and are the same in every run."""
    count = iter(range(2**62))
    return lambda size: hashlib.shake_128(f"{seed}:{next(count)}".encode()).digest(size)


def author(number: int) -> AuthorSecret:
    return AuthorSecret.from_bytes(hashlib.sha256(f"author {number}".encode()).digest())


def node(number: int) -> NodeId:
    return NodeId(hashlib.sha256(f"node {number}".encode()).hexdigest()[:40])


def owned_feed(owner: AuthorSecret, label: str = "diary") -> FeedId:
    return owned_feed_id(owner.key, label)


def make_entry(writer: AuthorSecret, number: int = 1, /, **fields: Any) -> Entry:
    given: dict[str, Any] = {
        "id": EntryId(f"urn:example:entry:{number}"),
        "title": Text(f"Entry {number}"),
        "updated": NOW,
        "feed": OPEN_FEED,
        "author": writer.key,
    }
    return Entry(**(given | fields))


def make_signed(writer: AuthorSecret, number: int = 1, /, **fields: Any) -> Signed:
    return writer.sign_entry(write_entry(make_entry(writer, number, **fields)))


def make_descriptor(signer: AuthorSecret, feed: FeedId = OPEN_FEED, **fields: Any) -> Signed:
    given: dict[str, Any] = {
        "title": Text("Street music"),
        "updated": NOW,
        "signer": signer.key,
        "sequence": 1,
    }
    return signer.sign_descriptor(write_descriptor(Feed(id=feed, **(given | fields))))


def memory_store(limits: Limits | None = None) -> Store:
    return Store.open(None, entropy=entropy(0), limits=limits)


def take(store: Store, *batch: Signed, at: int = NOW, source: int | None = 1) -> list[Outcome]:
    return store.take_in(
        verify_and_read(batch), Delivery(at, source=None if source is None else node(source))
    )
