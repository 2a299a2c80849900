"""What a simulated machine keeps when its process ends, its power fails or its disk is full."""

from random import Random

import pytest

from contentdb.arrivals import verify_and_read
from contentdb.errors import StoreError
from contentdb.intake import Delivery
from contentdb.library import Attachment, Draft, FeedDraft, Library
from contentdb.names import NodeId
from contentdb.settings import Limits
from contentdb.store import Store
from evaluation.simulator.machine import Crash, Machine

AT = 1_790_000_000_000
Opened = tuple[Machine, Store, Library]


def opened(machine: Machine | None = None) -> Opened:
    entropy = Random(1).randbytes if machine is None else Random(2).randbytes
    machine = machine or Machine(entropy)
    store = machine.open_store(entropy, Limits())
    return machine, store, Library(store, machine.author, entropy=entropy)


def published(library: Library, count: int = 1) -> int:
    feed = library.create_feed(FeedDraft("feed"), AT)
    for number in range(count):
        library.publish(feed.id, Draft("entry", files=(Attachment("f", bytes([number]) * 40_000),)), AT)
    return len(library.store.entries.keys(feed.id, AT))


def held(store: Store) -> int:
    return sum(len(store.entries.keys(row.id, AT)) for row in store.feeds.rows())


def test_a_killed_process_leaves_what_it_had_committed_under_a_new_epoch() -> None:
    machine, store, library = opened()
    assert published(library, 3) == 3
    machine.killed()
    with pytest.raises(Crash):
        held(store)
    _, again, _ = opened(machine)
    assert held(again) == 3 and again.epoch != store.epoch and again.revision == store.revision


def test_a_store_that_was_closed_keeps_its_epoch() -> None:
    machine, store, library = opened()
    published(library)
    store.close()
    assert opened(machine)[1].epoch == store.epoch


def test_wherever_publishing_is_cut_off_all_of_it_happened_or_nothing() -> None:
    outcomes = set()
    for fuse in range(1, 200):
        machine, _, library = opened()
        machine.disk.fuse = fuse
        try:
            published(library)
        except Crash:
            machine.killed()
            _, store, _ = opened(machine)
            assert store.problems() == [] and store.missing_files() == [] and store.unnamed_files() == []
            outcomes.add(held(store))
        else:
            break
    assert outcomes == {0, 1} and fuse < 199


@pytest.mark.parametrize("is_own", [True, False])
def test_a_power_cut_takes_only_what_was_not_acknowledged(is_own: bool) -> None:
    _, _, elsewhere = opened()
    feed = elsewhere.create_feed(FeedDraft("feed"), AT)
    machine, store, library = opened(Machine(Random(3).randbytes))
    machine.dread_power_cuts()
    store.feeds.put_descriptor(elsewhere.store.feeds.descriptor(feed.id))  # type: ignore[arg-type]
    if is_own:
        library.publish(feed.id, Draft("mine"), AT)
    else:
        elsewhere.publish(feed.id, Draft("theirs"), AT)
        keys = elsewhere.store.entries.keys(feed.id, AT)
        signed = [signed for _, signed in elsewhere.store.entries.signed(keys)]
        store.take_in(verify_and_read(signed), Delivery(AT, source=NodeId("ab" * 20)))
    machine.power_failed(Random(4))
    assert held(opened(machine)[1]) == is_own


def test_a_full_disk_refuses_and_loses_nothing() -> None:
    machine, store, library = opened()
    published(library, 2)
    feed = store.feeds.rows()[0].id
    machine.fill()
    with pytest.raises(StoreError, match="full"):
        for _ in range(1000):
            library.publish(feed, Draft("more", summary="x" * 3000), AT)
    stored = held(store)
    machine.make_room()
    library.publish(feed, Draft("at last"), AT)
    assert held(store) == stored + 1 >= 3 and store.problems() == []
