"""A process that takes a file of one gigabyte through every path, and says how much memory each of them took.

One line per step on standard output: its name, and by how many bytes the most memory it ever had has grown
since the process was ready. The high-water mark is the kernel's own and of this process alone: unlike
`ru_maxrss`, it does not start from that of the process that started it.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from contentdb.arrivals import verify_and_read
from contentdb.chunking import MAX_RANGE_HASHES, chunk_count, verify_range
from contentdb.exchange import export_feed
from contentdb.intake import Delivery
from contentdb.library import Draft, FeedDraft, Library
from contentdb.model import Enclosure
from contentdb.names import FeedId
from contentdb.store import Store
from tests.contentdb.makers import NOW, author, node

FEED = FeedId("urn:example:large")
LENGTH = 2**30 + 1  # one byte more than whole chunks


def most_memory() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def main(folder: Path) -> None:
    ready = most_memory()
    for step in steps(folder):
        print(step, most_memory() - ready, flush=True)


def steps(folder: Path) -> Iterator[str]:
    file = folder / "large.bin"
    with file.open("wb") as empty:
        empty.truncate(LENGTH)  # reads as zeros and takes no room; every copy of it is written in full
    with opened(folder / "here") as here, opened(folder / "there") as there:
        library = Library(here, author(1), entropy=os.urandom)
        library.create_feed(FeedDraft("Large", id=FEED), NOW)
        library.publish(FEED, Draft("Large", files=(file,)), NOW)
        yield "publish"
        ((_, signed),) = list(here.entries.signed([1]))
        descriptor = here.feeds.descriptor(FEED)
        assert descriptor is not None
        there.feeds.put_descriptor(descriptor)
        there.feeds.trust(author(1).key)  # a stranger may not bring so much
        there.take_in(verify_and_read([signed]), Delivery(NOW, source=node(2)))
        (enclosure,) = there.enclosures(1)
        receive(here, there, enclosure)
        yield "receive"
        here.blobs.remove(enclosure.root)
        assert there.blobs.verify(enclosure.root) == []
        yield "verify"
        assert export_feed(there, FEED, folder / "export", NOW).files == 1
        yield "export"
    with file.open("rb") as whole:
        kept = whole.read(64 * 2**20)
    yield "control"  # what it looks like when somebody does keep a part of a file
    del kept


def opened(folder: Path) -> Store:
    return Store.open(folder, entropy=os.urandom)


def receive(here: Store, there: Store, enclosure: Enclosure) -> None:
    """Read each chunk with its proof as it is served, and verify and write it as it is received."""
    root, length, count = enclosure.root, enclosure.length, chunk_count(enclosure.length)
    assert not there.begin_enclosure(root, length)
    for first in range(1, count + 1, MAX_RANGE_HASHES):
        hashes, proof = here.blobs.hashes(root, first, min(count, first + MAX_RANGE_HASHES - 1))
        there.blobs.set_leaves(root, first, verify_range(root, length, first, hashes, proof))
    for index in range(1, count + 1):
        is_complete = there.blobs.write_chunk(root, index, here.blobs.read_chunk(root, index))
    assert is_complete


if __name__ == "__main__":
    main(Path(sys.argv[1]))
