"""Fills stores of homes with small signed entries, as a person's node would have gained them."""

import os
import random
import time
from collections.abc import Iterator

from contentdb.arrivals import read_verified
from contentdb.atom import write_entry
from contentdb.identity import AuthorSecret
from contentdb.model import Category, Content, Entry, Person, Signed, Text
from contentdb.names import EntryId, FeedId
from contentdb.store import Store
from evaluation.benchmarks.meeting.nodes import Home

WORDS = ("corner", "street", "music", "tonight", "harbour", "bridge", "rain", "brass", "drum", "river")
BATCH = 1_000


def small_entries(feed: FeedId, count: int, seed: int = 1) -> Iterator[Signed]:
    """Entries whose signed bytes are about 1 kB each: one author, two attributes, two categories, text."""
    rng = random.Random(seed)
    author = AuthorSecret.from_bytes(rng.randbytes(32))
    at = _now()
    for number in range(count):
        entry = Entry(
            id=EntryId(f"urn:uuid:{rng.getrandbits(128):032x}"),
            title=Text(" ".join(rng.choices(WORDS, k=4))),
            updated=at - rng.randrange(10**9),
            published=at - 10**9,
            authors=(Person("Ada"),),
            categories=(Category(rng.choice(WORDS)), Category("music")),
            summary=Text(" ".join(rng.choices(WORDS, k=8))),
            content=Content("text", " ".join(rng.choices(WORDS, k=45))),
            language="en",
            feed=feed,
            author=author.key,
            attributes={"genre": rng.choice(("jazz", "folk", "brass")), "number": number},
        )
        yield author.sign_entry(write_entry(entry))


def publish_entries(home: Home, feed: str, count: int, *, seed: int = 1) -> int:
    """Put so many entries into a home whose node is not up; returns the bytes that were signed."""
    size, batch = 0, list[Signed]()
    with Store.open(home.path, entropy=os.urandom) as store:
        for number, signed in enumerate(small_entries(FeedId(feed), count, seed), start=1):
            batch.append(signed)
            size += len(signed.data)
            if len(batch) == BATCH or number == count:
                store.publish_many(read_verified(batch), _now())
                batch.clear()
    return size


def _now() -> int:
    return time.time_ns() // 1_000_000
