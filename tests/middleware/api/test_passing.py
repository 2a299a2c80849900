"""Files that are handed over open, through the socket itself."""

import asyncio
import io
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import passerby
from contentdb.errors import UsageError
from middleware.api.connection import MAX_HELD
from middleware.api.messages import MAX_PASSED, Code
from middleware.api.parameters import KINDS, Files, Passed
from middleware.api.server import MAX_PASSED_BY_ALL
from middleware.api.tokens import Tokens
from tests.middleware.api.serving import RawApp, Served


@pytest.fixture
def node(served: Served) -> Iterator[passerby.Node]:
    with passerby.connect(app="jukebox", home=served.home) as node:
        yield node


@pytest.fixture
def music(node: passerby.Node) -> str:
    return node.create_feed("Street music").id


def _pass(app: RawApp, descriptors: list[int], method: str, **params: Any) -> int:
    app._next += 1
    line = json.dumps({"jsonrpc": "2.0", "id": app._next, "method": method, "params": params})
    socket.send_fds(app.socket, [line.encode() + b"\n"], descriptors)
    return app._next


def _held(served: Served) -> int:
    """Descriptors that the node has open just now; it runs in this process."""
    return int(served.run(lambda: len(os.listdir("/proc/self/fd"))))


def test_an_open_file_is_published_under_its_name(node: passerby.Node, music: str, tmp_path: Path) -> None:
    (tmp_path / "take1.ogg").write_bytes(b"la la la")
    with open(tmp_path / "take1.ogg", "rb") as file:
        file.seek(3)  # which changes nothing, and is not changed
        entry = node.publish(music, title="Corner of 5th", files=[file])
        assert file.tell() == 3 and file.read() == b"la la"[-5:]
    (enclosure,) = entry.enclosures
    assert enclosure.name == "take1.ogg" and Path(str(enclosure.path)).read_bytes() == b"la la la"


def test_a_file_without_a_name_and_one_that_was_just_written_are_published(
    node: passerby.Node, music: str, tmp_path: Path
) -> None:
    (tmp_path / "b.txt").write_text("by path")
    with tempfile.TemporaryFile() as nameless, open(tmp_path / "c.txt", "w+") as written:
        nameless.write(b"nameless")
        written.write("not flushed by us")
        entry = node.publish(music, title="Three", files=[nameless, tmp_path / "b.txt", written])
    found = [(each.name, Path(str(each.path)).read_bytes()) for each in entry.enclosures]
    assert found == [("file", b"nameless"), ("b.txt", b"by path"), ("c.txt", b"not flushed by us")]


def test_open_files_of_many_entries_keep_their_order(node: passerby.Node, music: str, tmp_path: Path) -> None:
    for number in range(2 * MAX_HELD):
        (tmp_path / "same").write_text(str(number))
        with open(tmp_path / "same", "rb") as file:
            entry = node.publish(music, title=f"{number}", files=[file])
        assert Path(str(entry.enclosures[0].path)).read_text() == str(number)


def test_what_is_no_plain_file_or_cannot_be_read_is_refused(
    node: passerby.Node, music: str, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, pytest.raises(UsageError, match="not a plain file"):
        node.publish(music, title="A pipe", files=[pipe])
    os.close(writing)
    with open(tmp_path / "new", "wb") as file, pytest.raises(UsageError, match="cannot be read"):
        file.write(b"only for writing")
        node.publish(music, title="Written", files=[file])
    with pytest.raises(UsageError, match="open file of the system"):
        node.publish(music, title="Bytes", files=[io.BytesIO(b"x")])
    with open(tmp_path / "new", "rb") as file, pytest.raises(UsageError, match="into brackets"):
        node.publish(music, title="One", files=file)  # type: ignore[arg-type]
    assert node.entries() == []


def test_a_file_that_was_not_handed_over_or_was_used_is_refused(
    served: Served, app: RawApp, feed: str, tmp_path: Path
) -> None:
    (tmp_path / "take1.ogg").write_bytes(b"la la la")
    named = [{"descriptor": 1, "name": "take1.ogg"}]
    assert "came with this" in app.refused("publish", feed=feed, title="None", files=named)[1]
    with open(tmp_path / "take1.ogg", "rb") as file:
        twice = app.message(_pass(app, [file.fileno()], "publish", feed=feed, title="Twice", files=named * 2))
        assert "was used" in twice["error"]["message"]
    # It came all the same, and the next request may name it.
    assert app.call("publish", feed=feed, title="Corner of 5th", files=named)["title"] == "Corner of 5th"
    assert "was used" in app.refused("publish", feed=feed, title="Again", files=named)[1]


def test_who_hands_over_more_than_it_names_makes_the_node_hold_only_some(
    served: Served, app: RawApp, tmp_path: Path
) -> None:
    before = _held(served)
    others = [RawApp(served.home, f"greedy-{number}") for number in range(8)]
    with open(tmp_path / "file", "w+b") as file:
        for _ in range(10):
            app.message(_pass(app, [file.fileno()] * MAX_PASSED, "status"))
        assert _held(served) <= before + 2 * len(others) * 2 + 1 + MAX_HELD
        for other in others * 3:
            other.message(_pass(other, [file.fileno()] * MAX_PASSED, "status"))
        assert _held(served) <= before + 2 * len(others) * 2 + 1 + MAX_PASSED_BY_ALL
    for each in (app, *others):
        each.close()
    other = RawApp(served.home, "other")  # which is served after the end of the first was noticed
    other.call("status")
    other.close()
    served.stop()
    served.start()
    assert _held(served) <= before


def test_the_node_closes_what_it_was_handed(
    served: Served, node: passerby.Node, music: str, tmp_path: Path
) -> None:
    (tmp_path / "take1.ogg").write_bytes(b"la la la")
    before = _held(served)
    with open(tmp_path / "take1.ogg", "rb") as file:
        for number in range(20):
            node.publish(music, title=f"{number}", files=[file])
    assert _held(served) <= before + 2  # those that enclosures keep open


def test_where_no_file_can_be_handed_over_a_sentence_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    served = Served(home, use_tcp=True)
    token = served.run(lambda: Tokens(home, os.urandom).make("jukebox"))
    with passerby.connect(app="jukebox", home=home, token=token) as node, open(tmp_path / "f", "w+b") as file:
        feed = node.create_feed("Street music").id
        with pytest.raises(UsageError, match="give their paths"):
            node.publish(feed, title="Over TCP", files=[file])
    served.stop()


def test_asyncio_says_so_too(served: Served, tmp_path: Path) -> None:
    async def publish() -> None:
        async with passerby.connect_async(app="jukebox", home=served.home) as node:
            with open(tmp_path / "f", "w+b") as file, pytest.raises(UsageError, match="connect_async"):
                await node.publish("x", title="Async", files=[file])  # type: ignore[list-item]

    asyncio.run(publish())


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["descriptor", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.lists(ANY, max_size=4))
def test_rubbish_for_files_is_no_file(given_files: list[Any]) -> None:
    found = KINDS[Files][1](given_files)
    assert found is None or all(
        isinstance(file, Path) or (isinstance(file, Passed) and file.name) for file in found
    )


def test_a_wrong_file_gets_a_sentence(app: RawApp, feed: str) -> None:
    code, message = app.refused("publish", feed=feed, title="Wrong", files=[{"descriptor": "1"}])
    assert code == Code.WRONG_PARAMETERS and "descriptor" in message
