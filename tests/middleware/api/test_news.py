"""Feeds seen at neighbours, what goes on, and entries whose files are on their way."""

import os
from typing import Any

import pytest

from contentdb.arrivals import verify_and_read
from contentdb.atom import write_descriptor, write_entry
from contentdb.chunking import TreeHasher
from contentdb.identity import AuthorSecret
from contentdb.intake import Delivery
from contentdb.model import CHUNK_BYTES, Enclosure, Entry, Feed, Signed, Text
from contentdb.names import Address, EntryId, FeedId, NodeId
from discovery.hello import Hello
from middleware.api.local import wall_clock
from middleware.effects import Deliver, FeedsDiscovered
from tests.middleware.api.serving import RawApp, Served

BOB = NodeId("b0" * 20)
STRANGER = AuthorSecret.generate(os.urandom)


def descriptor(number: int) -> Signed:
    feed = Feed(
        id=FeedId(f"urn:example:{number}"), title=Text(f"Feed {number}"), updated=1,
        signer=STRANGER.key, sequence=1,
    )  # fmt: skip
    return STRANGER.sign_descriptor(write_descriptor(feed))


def found(served: Served, *numbers: int) -> None:
    effect = FeedsDiscovered(tuple(map(descriptor, numbers)), BOB)
    served.run(lambda: served.api.reported([effect]))


def near(served: Served) -> None:
    hello = Hello(BOB, 4747, "ab" * 8, 1, 10)
    served.run(lambda: served.node.hello_received(hello, Address("ip:192.0.2.7:4747"), 0.0, wall_clock()))


def note(app: RawApp, method: str) -> Any:
    return app.next_where(lambda message: message.get("method") == method)["params"]


def test_feeds_are_told_as_they_come_each_once_and_only_if_they_match(app: RawApp, served: Served) -> None:
    made = app.call("discover", where="title LIKE '%1'")
    found(served, 1, 2)
    found(served, 1, 11)
    told = [note(app, "feed") for _ in range(2)]
    assert [each["feed"]["title"] for each in told] == ["Feed 1", "Feed 11"]
    assert [(each["discovery"], each["feed"]["seen_at"]) for each in told] == [(made["id"], BOB)] * 2
    app.call("undiscover", id=made["id"])
    found(served, 21)
    app.call("feeds")
    assert app.notes == []


def test_feeds_that_were_seen_at_who_is_still_near_are_told_at_once(app: RawApp, served: Served) -> None:
    found(served, 1)
    app.call("discover")
    app.call("feeds")
    assert app.notes == []  # whoever had it has gone
    near(served)
    app.call("discover")
    assert note(app, "feed")["feed"]["id"] == "urn:example:1"


def test_a_forged_descriptor_is_told_to_nobody(app: RawApp, served: Served) -> None:
    app.call("discover")
    good = descriptor(1)
    forged = Signed(good.author, bytes(64), good.data)
    served.run(lambda: served.api.reported([FeedsDiscovered((forged, descriptor(2)), BOB)]))
    assert note(app, "feed")["feed"]["id"] == "urn:example:2"
    assert [feed["id"] for feed in app.call("feeds")] == ["urn:example:2"]


def test_what_an_app_looks_for_is_asked_of_neighbours_until_it_goes(app: RawApp, served: Served) -> None:
    wishes = served.node.wishes
    app.call("discover", where="a = 1")
    assert served.run(lambda: wishes.plan(BOB).discover) == ("a = 1",)
    second = RawApp(served.home, "second")
    second.call("discover", where="b = 2")
    assert served.run(lambda: wishes.plan(BOB).discover) == ("a = 1", "b = 2")
    app.close()
    while served.run(lambda: wishes.plan(BOB).discover) != ("b = 2",):
        second.call("feeds")
    assert second.refused("undiscover", id=1)[1] == "this connection has no discovery 1"


def test_who_watches_sees_neighbours_and_arrivals(app: RawApp, feed: str, served: Served) -> None:
    app.call("watch")
    first = {(news := note(app, "news"))["kind"]: news for _ in range(3)}
    assert first["neighbours"]["neighbours"] == first["transfers"]["transfers"] == []
    near(served)
    while (news := note(app, "news"))["kind"] != "neighbours":
        pass
    assert [each["node_id"] for each in news["neighbours"]] == [BOB]
    app.call("publish", feed=feed, title="One")
    while (news := note(app, "news"))["kind"] != "arrival":
        pass
    assert (news["entry"]["title"], news["peer"]) == ("One", None)


@pytest.fixture
def arriving(app: RawApp, feed: str, served: Served) -> tuple[TreeHasher, bytes]:
    """An entry of somebody else whose file of three chunks is not here yet."""
    data = os.urandom(3 * CHUNK_BYTES)
    hasher = TreeHasher()
    hasher.update(data)
    entry = Entry(
        id=EntryId("urn:example:song"), title=Text("Song"), updated=wall_clock(), feed=FeedId(feed),
        author=STRANGER.key, enclosures=(Enclosure("song.ogg", "audio/ogg", len(data), hasher.root()),),
    )  # fmt: skip

    def take_in() -> None:
        store, delivery = served.node.store, Delivery(wall_clock(), BOB)
        (outcome,) = store.take_in(verify_and_read([STRANGER.sign_entry(write_entry(entry))]), delivery)
        store.begin_enclosure(hasher.root(), len(data))
        store.blobs.set_leaves(hasher.root(), 1, hasher.leaves())
        stored = served.node.delivery.stored([outcome.key])
        served.api.reported(map(Deliver, served.node.delivery.due(stored, wall_clock())))

    served.run(take_in)
    return hasher, data


def chunk(served: Served, arriving: tuple[TreeHasher, bytes], index: int) -> None:
    hasher, data = arriving

    def write() -> None:
        store, delivery = served.node.store, served.node.delivery
        piece = data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES]
        if store.blobs.write_chunk(hasher.root(), index, piece):
            (row,) = store.entries.find("urn:example:song")
            served.api.reported(map(Deliver, delivery.due(delivery.stored([row.key]), wall_clock())))

    served.run(write)


def test_an_entry_comes_when_its_files_are_complete(
    app: RawApp, feed: str, served: Served, arriving: tuple[TreeHasher, bytes]
) -> None:
    app.call("subscribe", feed=feed)
    for index in (1, 2, 3):
        app.call("feeds")
        assert app.notes == []
        chunk(served, arriving, index)
    assert app.entry()["entry"]["complete"]


def test_with_partial_it_comes_at_once_and_again_as_its_files_grow(
    app: RawApp, feed: str, served: Served, arriving: tuple[TreeHasher, bytes]
) -> None:
    app.call("subscribe", feed=feed, partial=True)
    received = []
    for index in (1, 2, 3):
        given = app.entry()
        received.append(given["entry"]["enclosures"][0]["received"])
        assert not given["entry"]["complete"]
        app.call("done", marks=[given["mark"]])
        chunk(served, arriving, index)
    assert received == [0, CHUNK_BYTES, 2 * CHUNK_BYTES]
    last = app.entry()
    assert last["entry"]["complete"] and app.call("done", marks=[last["mark"]]) == {"marked": 1}
    again = RawApp(served.home, "raw")
    app.close()
    while "error" in again.message(again.send("subscribe", feed=feed, partial=True)):
        pass  # until the node has seen the end of the other
    again.call("feeds")
    assert again.notes == []


def test_without_files_it_comes_at_once(app: RawApp, feed: str, arriving: tuple[TreeHasher, bytes]) -> None:
    app.call("subscribe", feed=feed, files="none")
    assert app.entry()["entry"]["id"] == "urn:example:song"
