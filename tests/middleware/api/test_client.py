"""The façade as apps use it: iterators, callbacks, asyncio, and what happens when the node goes and comes."""

import asyncio
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import passerby
from tests.middleware.api.serving import PATIENCE_S, Served


@pytest.fixture
def node(served: Served) -> Iterator[passerby.Node]:
    with passerby.connect(app="jukebox", home=served.home) as node:
        yield node


@pytest.fixture
def music(node: passerby.Node) -> passerby.Feed:
    return node.create_feed("Street music", categories=["music"])


def test_the_ten_lines_of_the_design(served: Served, tmp_path: Path) -> None:
    (tmp_path / "take1.ogg").write_bytes(b"la la la")
    app = """
import passerby
with passerby.connect(app="jukebox") as node:
    feed = node.create_feed("Street music", categories=["music"])
    node.publish(feed.id, title="Corner of 5th", attributes={"genre": "jazz"}, files=["take1.ogg"])
    for entry in node.subscribe(feed.id, where="genre = 'jazz'"):
        print(entry.title, entry.enclosures[0].path)
        break
"""
    environment = {"PASSERBY_HOME": str(served.home), "PYTHONPATH": str(Path(passerby.__file__).parent)}
    ran = subprocess.run(
        [sys.executable, "-c", app], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    title, _, path = ran.stdout.rstrip().rpartition(" ")
    assert title == "Corner of 5th" and Path(path).read_bytes() == b"la la la"


def test_no_node_is_an_error_that_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(
        passerby.NodeNotRunning, match=r"no node runs in .*home.*; start one with `passerby up`"
    ):
        passerby.connect(app="jukebox", home=tmp_path / "home")


def test_results_are_values_with_the_keys_of_their_documents(
    node: passerby.Node, music: passerby.Feed
) -> None:
    when = datetime(2026, 6, 21, 18, tzinfo=UTC)
    entry = node.publish(music.id, title="One", attributes={"when": when, "n": 2**53 + 1, "x": 0.5})
    assert entry.attributes == {"when": 1782064800000, "n": 2**53 + 1, "x": 0.5}
    assert node.entries(where="n = 9007199254740993")[0].id == entry.id
    assert [feed.title for feed in node.feeds("categories LIKE '%|music|%'")] == ["Street music"]
    assert node.status().entries == 1
    assert [*node.neighbours(), *node.transfers(), *node.sessions()] == []
    assert [event.event for event in node.why(entry.id)] == ["published"]
    node.retract(entry.id)
    assert node.entries() == []


def test_a_wrong_call_raises_the_sentence_of_the_node(node: passerby.Node, music: passerby.Feed) -> None:
    with pytest.raises(passerby.UsageError, match="column 4 of the selector"):
        node.subscribe(music.id, where="n ==")
    with pytest.raises(passerby.UsageError, match="into brackets"):
        node.publish(music.id, title="x", files="take1.ogg")
    with pytest.raises(passerby.UsageError, match="has no time zone"):
        node.publish(music.id, title="x", expires=datetime(2030, 1, 1))


def test_the_iterator_marks_when_it_advances(
    served: Served, node: passerby.Node, music: passerby.Feed
) -> None:
    for title in "abc":
        node.publish(music.id, title=title)
    with passerby.connect(app="reader", home=served.home) as reader:
        stream = iter(reader.subscribe(music.id))
        assert [next(stream).title for _ in range(2)] == ["a", "b"]  # and breaks off while at b
    with passerby.connect(app="reader", home=served.home) as reader:
        assert [next(reader.subscribe(music.id)).title] == ["b"]


def test_a_callback_marks_when_it_returns_and_runs_on_a_thread_of_its_own(
    served: Served, node: passerby.Node, music: passerby.Feed
) -> None:
    seen: queue.Queue[tuple[str, str]] = queue.Queue()
    with passerby.connect(app="reader", home=served.home) as reader:
        reader.subscribe(
            music.id, on_entry=lambda entry: seen.put((entry.title, threading.current_thread().name))
        )
        node.publish(music.id, title="a")
        assert seen.get(timeout=PATIENCE_S) == ("a", "passerby callbacks")
        reader.status()  # answered while the other thread reads
        node.publish(music.id, title="b")
        assert seen.get(timeout=PATIENCE_S)[0] == "b"


def test_a_callback_is_handed_to_the_scheduler_of_the_app(
    served: Served, node: passerby.Node, music: passerby.Feed
) -> None:
    scheduled: queue.Queue[Callable[[], None]] = queue.Queue()
    seen: list[str] = []
    with passerby.connect(app="reader", home=served.home, schedule=scheduled.put) as reader:
        reader.subscribe(music.id, on_entry=lambda entry: seen.append(entry.title))
        node.publish(music.id, title="a")
        call = scheduled.get(timeout=PATIENCE_S)
        assert seen == []
        call()
        assert seen == ["a"]
        node.publish(music.id, title="b")
        scheduled.get(timeout=PATIENCE_S)  # and is never run: the app ends before it finished with b
    with passerby.connect(app="reader", home=served.home) as reader:
        assert next(reader.subscribe(music.id)).title == "b"


class Notes:
    def __init__(self) -> None:
        self.queue: queue.Queue[Any] = queue.Queue()

    def notify(self, feed_id: str, entry: passerby.Entry) -> None:
        self.queue.put((feed_id, entry.title))

    def discovery_notify(self, feeds: list[passerby.Feed]) -> None:
        self.queue.put(feeds)


def test_a_subscription_without_a_callback_goes_to_those_that_are_registered(
    served: Served, node: passerby.Node, music: passerby.Feed
) -> None:
    first, second = Notes(), Notes()
    node.publish(music.id, title="a")
    with passerby.connect(app="reader", home=served.home) as reader:
        reader.subscribe(music.id)
        reader.register_callback(first)
        assert first.queue.get(timeout=PATIENCE_S) == (music.id, "a")
        reader.register_callback(second)
        node.publish(music.id, title="b")
        for notes in (first, second):
            assert notes.queue.get(timeout=PATIENCE_S) == (music.id, "b")
        reader.unregister_callback(first)
        node.publish(music.id, title="c")
        assert second.queue.get(timeout=PATIENCE_S) == (music.id, "c")
        assert first.queue.empty()


def test_a_callback_that_raises_is_told_and_does_not_stop_the_others(
    served: Served, node: passerby.Node, music: passerby.Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: queue.Queue[Any] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", raised.put)
    seen: queue.Queue[str] = queue.Queue()

    def on_entry(entry: passerby.Entry) -> None:
        if entry.title == "bad":
            raise ValueError("a mistake of the app")
        seen.put(entry.title)

    with passerby.connect(app="reader", home=served.home) as reader:
        reader.subscribe(music.id, on_entry=on_entry)
        node.publish(music.id, title="bad")
        assert "a mistake of the app" in str(raised.get(timeout=PATIENCE_S).exc_value)
        node.publish(music.id, title="good")
        assert seen.get(timeout=PATIENCE_S) == "good"
    with passerby.connect(app="reader", home=served.home) as reader:
        assert next(reader.subscribe(music.id)).title == "bad"


def test_an_iterator_goes_on_when_the_node_was_away(
    served: Served, node: passerby.Node, music: passerby.Feed
) -> None:
    stream = node.subscribe(music.id)
    node.publish(music.id, title="a")
    assert next(stream).title == "a"
    served.stop()
    served.start()
    with passerby.connect(app="writer", home=served.home) as writer:
        writer.publish(music.id, title="b")
    # "a" is in our hands: it is sent again, and not given out again.
    assert next(stream).title == "b"
    assert stream.next(timeout_s=0.05) is None
    assert node.status().entries == 2


def test_calls_after_a_restart_reconnect_by_themselves(served: Served, node: passerby.Node) -> None:
    served.stop()
    with pytest.raises(passerby.NodeNotRunning):
        node.status()
    served.start()
    assert node.status().feeds == 0


def test_many_threads_share_one_connection(node: passerby.Node, music: passerby.Feed) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(20):
                entry = node.publish(music.id, title=f"{number}-{n}")
                assert node.entry(entry.id).title == f"{number}-{n}"
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failures == [] and node.status().entries == 100


def test_the_same_with_asyncio(served: Served) -> None:
    async def app() -> list[str]:
        async with passerby.connect_async(app="jukebox", home=served.home) as node:
            feed = await node.create_feed("Street music", categories=["music"])
            await asyncio.gather(*(node.publish(feed.id, title=title) for title in "abc"))
            seen = []
            async for entry in node.subscribe(feed.id):
                seen.append(entry.title)
                if len(seen) == 3:
                    served.stop()
                    served.start()
                    async with passerby.connect_async(app="writer", home=served.home) as writer:
                        await writer.publish(feed.id, title="d")
                if len(seen) == 4:
                    assert (await node.status()).entries == 4
                    return seen
        return []

    assert sorted(asyncio.run(asyncio.wait_for(app(), PATIENCE_S))) == ["a", "b", "c", "d"]


def test_importing_the_facade_loads_nothing_heavy() -> None:
    code = "import sys, passerby; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(passerby.__file__).parent, capture_output=True, text=True
    )
    heavy = {"asyncio", "sqlite3", "cryptography", "lxml", "argparse", "dataclasses", "threading", "numpy"}
    assert heavy & set(ran.stdout.split()) == set()
