"""A process that writes to a store until it is killed, and says on standard output what it was promised.

One line per acknowledgement, written after the call returned: `P id version` for a publication, `T id
version` for an entry taken in, `G id` for a retraction, `F root id` for an enclosure, `S` once it is open.
"""

import os
import random
import sys
from pathlib import Path

from contentdb.arrivals import verify_and_read
from contentdb.intake import Delivery
from contentdb.library import Draft, FeedDraft, Library
from contentdb.names import FeedId
from contentdb.rows import version_of
from contentdb.settings import Limits
from contentdb.store import Store
from tests.contentdb.makers import NOW, author, make_signed, node

FEED = FeedId("urn:example:crash")


def say(*words: str) -> None:
    # One write call: a line is there as a whole or not at all.
    os.write(1, (" ".join(words) + "\n").encode())


def main(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    with Store.open(folder, entropy=os.urandom, limits=Limits(max_bytes=40_000_000)) as store:
        library = Library(store, author(1), entropy=rng.randbytes)
        if store.feeds.descriptor(FEED) is None:
            library.create_feed(FeedDraft("Crash", id=FEED), NOW)
        say("S")
        published: list[str] = []
        step = seed * 1_000_000
        while True:
            step += 1
            act(store, library, rng, step, published)


def act(store: Store, library: Library, rng: random.Random, step: int, published: list[str]) -> None:
    kind = rng.choice(("publish", "file", "take", "take", "take", "replace", "retract", "maintain"))
    if kind == "take":
        batch = [
            make_signed(author(2 + n % 5), step * 100 + n, feed=FEED, updated=NOW + n)
            for n in range(rng.randrange(1, 60))
        ]
        for signed, outcome in zip(
            batch, store.take_in(verify_and_read(batch), Delivery(NOW, source=node(step % 7))), strict=True
        ):
            if outcome.fate.is_gain and outcome.entry is not None:
                say("T", outcome.entry.id, version_of(signed.data).hex())
    elif kind in ("publish", "file"):
        publish(store, library, rng, f"urn:example:own:{step}", published, with_file=kind == "file")
    elif kind == "replace" and published:
        publish(store, library, rng, rng.choice(published), published, with_file=False)
    elif kind == "retract" and published:
        entry_id = published.pop(rng.randrange(len(published)))
        (row,) = store.entries.find(entry_id, NOW)
        library.retract(row.entry_key, NOW)
        say("G", entry_id)
    else:
        store.maintain(NOW, 60)


def publish(
    store: Store,
    library: Library,
    rng: random.Random,
    entry_id: str,
    published: list[str],
    *,
    with_file: bool,
) -> None:
    files: tuple[Path, ...] = ()
    if with_file:
        path = Path(os.environ["CRASH_FILE"])
        path.write_bytes(rng.randbytes(rng.randrange(200_000)))
        files = (path,)
    attributes = {"n": rng.randrange(100), "word": rng.choice(("jazz", "folk"))}
    entry = library.publish(
        FEED,
        Draft("own", id=entry_id, attributes=attributes, files=files),
        NOW,
    )
    (row,) = store.entries.find(entry_id, NOW)
    say("P", entry_id, row.version.hex())
    if entry_id not in published:
        published.append(entry_id)
    for enclosure in entry.enclosures:
        say("F", enclosure.root, entry_id)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
