"""Apps that do not read, that flood, that die and that talk rubbish: the others notice nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import passerby
from contentdb.errors import StoreBusyError
from contentdb.store import Store
from middleware.api.address import read_pointer
from middleware.api.messages import (
    MAX_REQUEST_BYTES,
    Code,
    Lines,
    MessageError,
    Request,
    decode_request,
    encode_request,
)
from middleware.api.tokens import Tokens
from tests.middleware.api.serving import PATIENCE_S, RawApp, Served

ROOT = Path(passerby.__file__).parent


# -- rubbish


@given(st.binary(max_size=300))
def test_any_line_is_a_request_or_an_error(line: bytes) -> None:
    try:
        assert isinstance(decode_request(line), Request)
    except MessageError as error:
        assert error.code < 0 and str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.integers() | st.text(max_size=9), st.text(min_size=1), st.dictionaries(st.text(), st.integers()))
def test_a_request_is_read_as_it_was_written(number: int | str, method: str, params: dict[str, int]) -> None:
    line = encode_request(number, method, params)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode_request(line) == Request(number, method, params)


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"x")), max_size=8), st.data())
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream, cutter, found = b"".join(line + b"\n" for line in lines), Lines(100), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += cutter.received(stream[:size])
        stream = stream[size:]
    assert found == [line for line in lines if line.strip()]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["publish", "entries", "subscribe", "discover", "done", "me"]), JSON)
def test_calls_with_any_parameters_are_answered(app: RawApp, method: str, params: object) -> None:
    number = app.send_line({"method": method, "params": params})
    message = app.next_where(lambda message: message.get("id") in (number, None) and "method" not in message)
    assert "result" in message or message["error"]["message"]


def test_rubbish_gets_an_error_and_a_line_without_end_the_end(app: RawApp, served: Served) -> None:
    app.socket.sendall(b"\x00\xff rubbish\n[1,2]\n{}\n" + b"[" * 5000 + b"\n")
    codes = [app.line()["error"]["code"] for _ in range(4)]
    assert codes == [Code.NOT_JSON, Code.NOT_A_REQUEST, Code.NOT_A_REQUEST, Code.NOT_JSON]
    endless = RawApp(served.home, "endless")
    with pytest.raises(OSError, match=r"reset|pipe|Broken"):
        for _ in range(100):
            endless.socket.sendall(b"x" * MAX_REQUEST_BYTES)
    assert app.call("feeds") == []


# -- others are not disturbed


def test_an_app_that_reads_nothing_disturbs_nobody(app: RawApp, feed: str, served: Served) -> None:
    deaf = RawApp(served.home, "deaf")
    deaf.send("subscribe", feed=feed)
    deaf.socket.setblocking(False)
    line = encode_request(1, "entries", {})
    app.call("publish", feed=feed, title="x" * 10_000)
    with pytest.raises(BlockingIOError):  # until the node no longer reads what it asks
        for _ in range(1_000_000):
            deaf.socket.send(line)
    app.call("subscribe", feed=feed)
    for number in range(20):
        app.call("publish", feed=feed, title=str(number))
    assert len([app.entry() for _ in range(21)]) == 21


def test_an_app_that_floods_leaves_others_their_turn(app: RawApp, feed: str, served: Served) -> None:
    flood = RawApp(served.home, "flood")
    flood.socket.setblocking(False)
    line = encode_request(1, "entries", {})
    answered = 0
    for _ in range(20):
        try:
            while True:
                flood.socket.send(line * 100)
        except BlockingIOError:
            pass
        try:
            while flood.socket.recv(1 << 20):
                pass
        except BlockingIOError:
            pass
        app.call("publish", feed=feed, title="in between")
        answered += 1
    assert answered == 20 and len(app.call("entries")["entries"]) == 20


def test_too_many_connections_are_hung_up_on_and_the_others_stay(app: RawApp, served: Served) -> None:
    opened: list[socket.socket] = []
    pointer = read_pointer(str(served.home)) or {}
    for _ in range(300):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(PATIENCE_S)
        one.connect(str(pointer["socket"]))
        opened.append(one)
        app.call("feeds")
    assert opened[-1].recv(1) == b""
    for one in opened:
        one.close()
    assert app.call("feeds") == []


def test_a_home_whose_path_is_too_long_for_a_socket(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 30)
    served = Served(home)
    path = Path(str((read_pointer(str(home)) or {})["socket"]))
    assert home not in path.parents and path.parent.stat().st_mode & 0o777 == 0o700
    assert RawApp(home).call("feeds") == []
    served.stop()
    assert not path.parent.exists() and read_pointer(str(home)) is None


def test_a_stale_socket_is_no_hindrance(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    socket.socket(socket.AF_UNIX).bind(str(home / "api.sock"))
    (home / "api.json").write_text(json.dumps({"socket": str(home / "api.sock")}))
    with pytest.raises(passerby.NodeNotRunning):
        passerby.connect(home=home)
    served = Served(home)
    assert RawApp(home).call("feeds") == []
    served.stop()


# -- TCP


def test_over_tcp_a_token_is_needed_and_may_be_revoked(tmp_path: Path) -> None:
    home = tmp_path / "home"
    served = Served(home, use_tcp=True)
    try:
        stranger = RawApp(home, name=None)
        assert stranger.refused("hello", app="quiz")[0] == Code.NOT_ALLOWED
        assert stranger.refused("feeds")[0] == Code.NOT_ALLOWED
        token = served.run(lambda: Tokens(home, os.urandom).make("quiz"))
        assert (home / "tokens" / "quiz").stat().st_mode & 0o777 == 0o600
        assert stranger.refused("hello", app="other", token=token)[0] == Code.NOT_ALLOWED
        with passerby.connect(app="quiz", home=home) as quiz:
            assert quiz.feeds() == [] and quiz.call("tokens") == ["quiz"]
            admitted = RawApp(home, name=None)
            admitted.call("hello", app="quiz", token=token)
            with pytest.raises(passerby.NodeGone):  # it ends its own connection, before or after the answer
                quiz.call("revoke_token", name="quiz")
                quiz.call("publish", feed="x", title="x")
            while admitted.line() is not None:
                pass  # what is left; then the end
            with pytest.raises(passerby.CallError, match="needs a valid token"):
                passerby.connect(app="quiz", home=home, token=token)
    finally:
        served.stop()


# -- death, in processes of their own

READER = """
import passerby, sys
with passerby.connect(app="reader") as node:
    for entry in node.subscribe("urn:example:news"):
        print(entry.title, flush=True)
        if sys.stdin.readline() != "next\\n":
            break
"""


class Process:
    """A node, or an app, in a process that can be killed."""

    def __init__(self, home: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PASSERBY_HOME": str(home)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"


def up(home: Path) -> Process:
    node = Process(home, "-m", "passerby", "up", "--interface", "nowhere")
    assert node.line()
    return node


def connected(home: Path, app: str) -> passerby.Node:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return passerby.connect(app=app, home=home)
        except passerby.NodeNotRunning:
            assert time.monotonic() < deadline


def test_each_entry_is_given_once_though_app_and_node_are_killed(home: Path) -> None:
    node = up(home)
    reader = None
    try:
        with connected(home, "writer") as writer:
            writer.create_feed("News", id="urn:example:news")
            for title in "abcd":
                writer.publish("urn:example:news", title=title)
            reader = Process(home, "-c", READER)
            assert reader.line() == "a"
            reader.say("next")
            assert reader.line() == "b"
            reader.kill()  # before it has finished with b
            reader = Process(home, "-c", READER)
            assert reader.line() == "b"
            node.kill()
            node = up(home)
            # It lives: b is in its hands, and does not come again.
            reader.say("next")
            assert reader.line() == "c"
            reader.say("next")
            assert reader.line() == "d"
        with connected(home, "writer") as writer:
            writer.publish("urn:example:news", title="e")
            reader.say("next")
            assert reader.line() == "e"
    finally:
        node.kill()
        if reader is not None:
            reader.kill()


def test_what_was_acknowledged_survives_the_death_of_the_node(home: Path) -> None:
    node = up(home)
    try:
        with connected(home, "writer") as writer:
            feed = writer.create_feed("News")
            entries = [writer.publish(feed.id, title=str(n)) for n in range(20)]
            node.kill()
            node = up(home)
            with connected(home, "writer") as again:
                assert {e.id for e in again.entries(feed.id)} == {e.id for e in entries}
    finally:
        node.kill()


def test_a_second_node_in_a_home_is_refused(served: Served) -> None:
    with pytest.raises(StoreBusyError, match="another passerby is using"):
        Store.open(served.home, entropy=os.urandom)
    assert RawApp(served.home).call("feeds") == []
