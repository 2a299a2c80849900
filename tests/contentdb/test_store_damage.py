"""Damage on the disk: whatever is asked of the store, it answers or says in one sentence what is broken."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from contentdb.blobs import MemoryBlobs
from contentdb.database import FILE_NAME
from contentdb.errors import StoreError, UsageError
from contentdb.exchange import export_feed
from contentdb.ledger import Event, Happening
from contentdb.model import Enclosure, Text
from contentdb.query import Selection
from contentdb.selector import parse
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from tests.contentdb.makers import (
    DAY,
    NOW,
    OPEN_FEED,
    author,
    entropy,
    make_descriptor,
    make_entry,
    make_signed,
    node,
    take,
)

ALICE, BOB = author(1), author(2)
SONG = b"song" * 10_000

QUESTIONS: list[Callable[[Store], object]] = [
    lambda store: store.feeds.rows(),
    lambda store: store.feeds.descriptor(OPEN_FEED),
    lambda store: store.feeds.floor(OPEN_FEED),
    lambda store: store.feeds.blocked(),
    lambda store: store.entries.select(Selection(NOW, where=parse("a = 3 OR title LIKE '%ntry 1%'"))),
    lambda store: store.entries.since(OPEN_FEED, 0, 100, NOW),
    lambda store: list(store.entries.undelivered(Subscription(1, "app", OPEN_FEED), NOW, parse(""))),
    lambda store: store.entry(make_entry(ALICE, 5).key),
    lambda store: store.enclosures(1),
    lambda store: store.subscriptions.all(),
    lambda store: store.subscriptions.delivered([(1, 1)]),
    lambda store: store.peers.all(),
    lambda store: store.peers.get(node(1)),
    lambda store: store.ledger.of("urn:example:entry:1"),
    lambda store: store.ledger.note(Happening("urn:e", 1, Event.REFUSED, "y")),
    lambda store: store.parked(),
    lambda store: store.usage(),
    lambda store: store.problems(),
    lambda store: store.missing_files(),
    lambda store: store.owner_name,
    lambda store: store.known_sketch(OPEN_FEED),
    lambda store: store.ensure_room(1),
    lambda store: take(store, make_signed(BOB, 9_999)),
    lambda store: store.publish(make_signed(ALICE, 55), NOW),
    lambda store: store.maintain(NOW, 60),
]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("healthy")
    with Store.open(home, entropy=entropy(1)) as store:
        store.feeds.put_descriptor(make_descriptor(ALICE))
        take(store, *(make_signed(BOB, number, attributes={"a": number}) for number in range(50)))
        root, length = store.blobs.add_bytes(SONG)
        file = Enclosure("song", "audio/ogg", length, root)
        store.publish(make_signed(ALICE, 5, enclosures=(file,)), NOW)
        store.subscriptions.add(Subscription(0, "app", OPEN_FEED))
        store.subscriptions.mark_delivered(1, [(1, b"x" * 32)])
        take(store, make_signed(BOB, 77, updated=NOW + 9 * DAY))
        store.feeds.block(author(9).key)
    return home


def copy_of(healthy: Path, home: Path) -> Path:
    shutil.copytree(healthy, home)
    return home


def root_pages(home: Path) -> list[int]:
    connection = sqlite3.connect(home / FILE_NAME)
    rows = connection.execute("SELECT rootpage FROM sqlite_master WHERE rootpage > 0 ORDER BY rootpage")
    pages = [page for (page,) in rows]
    connection.close()
    return pages


def change(home: Path, old: bytes, new: bytes) -> None:
    data = (home / FILE_NAME).read_bytes()
    assert old in data and len(old) == len(new)
    (home / FILE_NAME).write_bytes(data.replace(old, new))


@pytest.mark.parametrize("byte", [b"\x00", b"\xa5"])
def test_a_damaged_page_is_a_sentence_whatever_is_asked(healthy: Path, tmp_path: Path, byte: bytes) -> None:
    for page in root_pages(healthy):
        home = copy_of(healthy, tmp_path / str(page))
        data = bytearray((home / FILE_NAME).read_bytes())
        data[(page - 1) * 4096 : page * 4096] = byte * 4096
        (home / FILE_NAME).write_bytes(data)
        with suppress(StoreError), Store.open(home, entropy=entropy(1)) as store:
            for question in QUESTIONS:
                with suppress(StoreError, UsageError):
                    question(store)
        assert len([path for path in home.rglob("*") if path.name.endswith(".state")]) == 1


def test_a_document_that_does_not_read_any_more_is_our_damage_and_no_neighbours_fault(
    healthy: Path, tmp_path: Path
) -> None:
    home = copy_of(healthy, tmp_path / "home")
    change(home, b"</entry>", b"</entrx>")
    change(home, b"</feed>", b"</feex>")
    with Store.open(home, entropy=entropy(1)) as store:
        with pytest.raises(StoreError, match="damaged on the disk"):
            store.entry(make_entry(ALICE, 5).key)
        with pytest.raises(StoreError, match="damaged on the disk"):
            store.feeds.rows()
        with pytest.raises(StoreError, match="damaged on the disk"):
            take(store, make_signed(BOB, 9_999))


@pytest.mark.parametrize(
    ("old", "new"), [(b">Entry 7<", b">Entry 8<"), (b">Street music<", b">Street mucis<")]
)
def test_one_changed_byte_in_what_was_signed_is_found(
    healthy: Path, tmp_path: Path, old: bytes, new: bytes
) -> None:
    home = copy_of(healthy, tmp_path / "home")
    change(home, old, new)
    with Store.open(home, entropy=entropy(1)) as store:
        (problem,) = store.problems()
        assert problem.startswith("1 ") and "signed: urn:example:" in problem


def test_a_parked_entry_that_was_changed_on_the_disk_is_not_stored(tmp_path: Path) -> None:
    with Store.open(tmp_path, entropy=entropy(1)) as store:
        take(store, make_signed(ALICE, title=Text("in two days"), updated=NOW + 2 * DAY))
    change(tmp_path, b">in two days<", b">in two dayz<")
    with Store.open(tmp_path, entropy=entropy(1)) as store:
        assert store.maintain(NOW + 2 * DAY, 60) == []
        assert store.entries.select(Selection(NOW + 2 * DAY)) == []


def test_an_export_says_that_a_file_was_cut_short_and_leaves_nothing_half(
    healthy: Path, tmp_path: Path
) -> None:
    with Store.open(copy_of(healthy, tmp_path / "home"), entropy=entropy(1)) as store:
        (root,) = store.blobs.roots()
        path = store.blobs.path(root)
        assert path is not None
        os.truncate(path, 10_000)
        with pytest.raises(StoreError, match="was cut short"):
            export_feed(store, OPEN_FEED, tmp_path / "export", NOW)
        assert not (tmp_path / "export").exists()


def test_a_store_whose_files_are_gone_still_closes_and_opens(tmp_path: Path) -> None:
    store = Store.open(tmp_path, entropy=entropy(1))
    others = MemoryBlobs()
    for number in range(40):  # more than are open at a time, so that flushing has to open some again
        root, length = others.add_bytes(bytes([number]) * 40_000)
        take(store, make_signed(ALICE, number, enclosures=(Enclosure("x", "a/b", length, root),)))
        store.blobs.begin(root, length)
        store.blobs.set_leaves(root, 1, others.leaves(root, 1, 3))
        store.blobs.write_chunk(root, 1, others.read_chunk(root, 1))
    shutil.rmtree(tmp_path / "enclosures")
    with pytest.raises(StoreError):
        store.close()
    Store.open(tmp_path, entropy=entropy(1)).close()
