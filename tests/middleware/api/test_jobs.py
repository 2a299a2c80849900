"""Calls that copy files: workers do that, so the node and all apps go on meanwhile."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.blobs import DiskBlobs
from contentdb.errors import UsageError
from contentdb.steps import Steps, run_steps
from middleware.api.jobs import MAX_JOBS
from tests.middleware.api.serving import PATIENCE_S, RawApp, Served


class Gate:
    """Holds up whoever goes through it until it is opened."""

    def __init__(self) -> None:
        self.reached, self._opened = threading.Event(), threading.Event()

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def held_up(*args: Any, **more: Any) -> Any:
            self.reached.set()
            assert self._opened.wait(PATIENCE_S)
            return method(*args, **more)

        return held_up

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(DiskBlobs, "copy_out", gate.around(DiskBlobs.copy_out))
    yield gate
    gate.open()


def _published(app: RawApp, feed: str, folder: Path) -> str:
    (folder / "take1.ogg").write_bytes(b"music" * 10_000)
    entry = app.call("publish", feed=feed, title="Corner of 5th", files=[str(folder / "take1.ogg")])
    return str(entry["id"])


@pytest.mark.parametrize("method", ["entry", "export_feed"])
def test_others_and_the_same_app_are_served_while_files_are_copied_out(
    served: Served, app: RawApp, feed: str, tmp_path: Path, gate: Gate, method: str
) -> None:
    entry = _published(app, feed, tmp_path)
    what = {"entry": entry} if method == "entry" else {"feed": feed}
    number = app.send(method, **what, into=str(tmp_path / "out"))
    assert gate.reached.wait(PATIENCE_S)
    other = RawApp(served.home, "other")
    assert other.call("status")["entries"] == 1
    assert app.call("publish", feed=feed, title="Meanwhile")["title"] == "Meanwhile"
    other.close()
    gate.open()
    result = app.message(number)["result"]
    path = result["enclosures"][0]["path"] if method == "entry" else tmp_path / "out" / "files" / "take1.ogg"
    assert Path(path).read_bytes() == b"music" * 10_000


def test_others_are_served_while_files_are_copied_in_by_an_import(
    served: Served, app: RawApp, feed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _published(app, feed, tmp_path)
    app.call("export_feed", feed=feed, into=str(tmp_path / "out"))
    app.call("retract", entry=app.call("entries")["entries"][0]["id"])
    copying = Gate()
    monkeypatch.setattr(DiskBlobs, "add_file", copying.around(DiskBlobs.add_file))
    number = app.send("import_feed", file=str(tmp_path / "out"))
    assert copying.reached.wait(PATIENCE_S)
    assert app.call("publish", feed=feed, title="Meanwhile")["title"] == "Meanwhile"
    copying.open()
    assert app.message(number)["result"]["known"] == 1


def test_an_import_leaves_the_files_of_others_alone(
    served: Served, app: RawApp, feed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was copied in while an import ran, and that nobody names yet, is not the import's."""
    _published(app, feed, tmp_path)
    app.call("export_feed", feed=feed, into=str(tmp_path / "out"))
    copying = Gate()
    monkeypatch.setattr(DiskBlobs, "add_file", copying.around(DiskBlobs.add_file))
    number = app.send("import_feed", file=str(tmp_path / "out"))
    assert copying.reached.wait(PATIENCE_S)
    root, _ = served.run(lambda: served.node.store.blobs.add_bytes(b"somebody else's"))
    copying.open()
    app.message(number)
    assert served.run(lambda: served.node.store.blobs.is_complete(root))


def test_one_app_has_so_many_of_them_and_no_more(app: RawApp, feed: str, tmp_path: Path, gate: Gate) -> None:
    entry = _published(app, feed, tmp_path)
    numbers = [app.send("entry", entry=entry, into=str(tmp_path / "out")) for _ in range(MAX_JOBS)]
    assert "not done yet" in app.refused("entry", entry=entry, into=str(tmp_path / "out"))[1]
    gate.open()
    assert len({app.message(number)["result"]["enclosures"][0]["path"] for number in numbers}) == MAX_JOBS


def test_a_node_that_stops_puts_away_what_was_begun(
    served: Served, app: RawApp, feed: str, tmp_path: Path, gate: Gate
) -> None:
    _published(app, feed, tmp_path)
    app.send("export_feed", feed=feed, into=str(tmp_path / "out"))
    assert gate.reached.wait(PATIENCE_S)
    served.run(gate.open)
    served.stop()
    assert not any(path.name.startswith(".passerby-export-") for path in tmp_path.iterdir())
    served.start()


@given(st.lists(st.one_of(st.integers(), st.just(None)), max_size=20))
def test_steps_get_what_their_calls_return_or_raise(values: list[int | None]) -> None:
    def returned(value: int | None) -> int:
        if value is None:
            raise UsageError("none")
        return value

    def steps() -> Steps[list[int | None]]:
        found: list[int | None] = []
        for value in values:
            try:
                found.append((yield partial(returned, value)))
            except UsageError:
                found.append(None)
        return found

    assert run_steps(steps()) == values
