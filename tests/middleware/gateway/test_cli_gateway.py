"""The commands of a gateway, against a real server."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import passerby
from tests.middleware.api.serving import Served
from tests.middleware.command import ROOT, Commands
from tests.middleware.gateway.test_visits import atom, podcast, post
from tests.middleware.gateway.webserver import Web, web_server

PATIENCE_S = 60


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


def test_a_feed_of_the_web_is_added_fetched_listed_and_removed(run: Commands, web: Web) -> None:
    web.serve("/song.mp3", b"la" * 10_000)
    web.serve("/feed", podcast((1, web.url("/song.mp3"), 20_000)))
    added = run.json("gateway", "add", web.url("/feed"), "--allow-private", "--max-file", "1M")
    assert added["feed"] == web.url("/feed") and added["max_file"] == 2**20
    (visit,) = run.json("gateway", "run", "--once")
    assert (visit["entries"], visit["new_files"], visit["problem"]) == (1, 1, None)
    (entry,) = run.json("entries", web.url("/feed"))
    assert entry["complete"] and entry["enclosures"][0]["name"] == "song.mp3"
    (again,) = run.json("gateway", "run", "--once")
    assert again["unchanged"]
    (listed,) = run.json("gateway", "list")
    assert listed["title"] == "Talks" and listed["changed"] and listed["visited"] >= listed["changed"]
    assert "well" in run("gateway", "list").out
    assert run("gateway", "remove", web.url("/feed")).status == 0
    assert run.json("gateway", "list") == []
    assert run.json("entries", web.url("/feed")) == [entry]


def test_what_is_not_public_is_not_fetched_without_the_owners_word(run: Commands, web: Web) -> None:
    web.serve("/feed", atom(post(1)))
    run("gateway", "add", web.url("/feed"))
    ran = run("gateway", "run", "--once")
    assert ran.status == 1 and "--allow-private" in ran.err and web.asked == []
    assert "must be left alone" in run("gateway", "run", "--once").err
    assert "public internet" in run.json("gateway", "list")[0]["problem"]


def test_one_source_that_fails_does_not_keep_others_away(run: Commands, web: Web) -> None:
    web.serve("/feed", atom(post(1)))
    for path in ("/feed", "/gone"):
        run("gateway", "add", web.url(path), "--allow-private")
    ran = run("gateway", "run", "--once")
    assert ran.status == 0 and "is not there" in ran.err
    assert [entry["title"] for entry in run.json("entries")] == ["Post 1"]


def test_entries_go_to_the_feed_that_is_named(run: Commands, web: Web, feed: str) -> None:
    web.serve("/feed", atom(post(1)))
    run("gateway", "add", web.url("/feed"), "--allow-private", "--feed", "Street music", "--no-files")
    run("gateway", "run", "--once")
    assert [entry["feed"] for entry in run.json("entries")] == [feed]
    assert "no feeds are titled" in run.fails("gateway", "add", web.url("/feed"), "--feed", "Nobody's")


def test_a_file_is_mirrored(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "blog.xml").write_bytes(atom(post(1)))
    run("gateway", "add", str(tmp_path / "blog.xml"))
    assert run.json("gateway", "run", "--once")[0]["entries"] == 1


def test_a_copy_by_another_gateway_makes_no_entry_ambiguous(run: Commands, web: Web, tmp_path: Path) -> None:
    web.serve("/feed", atom(post(1)))
    other = tmp_path / "other"
    for home in (None, other):
        run("gateway", "add", web.url("/feed"), "--allow-private", home=home)
        run("gateway", "run", "--once", home=home)
    run("feed", "export", web.url("/feed"), "--into", str(tmp_path / "out"), home=other)
    assert run.json("feed", "import", str(tmp_path / "out"))["entries"] == 1
    (mine,) = run.json("entries")
    assert mine["own"] and run.json("get", "urn:example:post:1")["author"] == mine["author"]
    assert run.json("feeds")[0]["entries"] == 1
    assert run.json("storage")["hidden"] == 1


WRONG = [
    (("add", "ftp://x.example/"), "only http:// and https://"),
    (("add", "https://u:p@x.example/"), "leave that out"),
    (("add", "nothing.xml"), "there is no file"),
    (("add", "https://x.example/", "--max-entries", "5000"), "1 to 1000"),
    (("add", "https://x.example/", "--max-file", "much"), "a size is"),
    (("remove", "https://x.example/"), "is not mirrored"),
    (("run", "--once"), "nothing is mirrored yet"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_wrong_input_is_one_sentence(run: Commands, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in run.fails("gateway", *words)


def test_usage_is_checked(run: Commands) -> None:
    run.fails("gateway", "run", "--every", "5", status=2)
    run.fails("gateway", "add", "https://x.example/", "--feed", "a", "--title", "b", status=2)


def test_a_running_node_takes_in_what_is_fetched_and_delivers_it(run: Commands, web: Web) -> None:
    web.serve("/song.mp3", b"la" * 10_000)
    web.serve("/feed", podcast((1, web.url("/song.mp3"), 20_000)))
    served = Served(run.home)
    try:
        with passerby.connect(app="reader", home=run.home) as reader:
            entries = iter(reader.subscribe(web.url("/feed")))
            run("gateway", "add", web.url("/feed"), "--allow-private")
            (visit,) = run.json("gateway", "run", "--once")
            assert (visit["entries"], visit["new_files"]) == (1, 1)
            entry = next(entries)
            assert entry.title == "Talk 1" and entry.enclosures[0].name == "song.mp3"
    finally:
        served.stop()


def test_an_address_that_may_hold_a_secret_is_warned_about(run: Commands) -> None:
    assert "secret" in run("gateway", "add", "https://x.example/feed?token=1").err
    assert "secret" not in run("gateway", "add", "https://x.example/feed").err


def test_a_gateway_runs_until_it_is_stopped_and_leaves_the_home_to_others(run: Commands, web: Web) -> None:
    web.serve("/feed", atom(post(1)))
    run("gateway", "add", web.url("/feed"), "--allow-private")
    words = [sys.executable, "-P", "-m", "passerby", "--home", str(run.home), "gateway", "run"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment) as gateway:
        assert gateway.stderr is not None
        lines = iter(gateway.stderr.readline, "")
        assert next(line for line in lines if "1 new entry" in line)
        assert run.json("entries")[0]["title"] == "Post 1"
        assert "runs in this home already" in run.fails("gateway", "run", "--once")
        gateway.send_signal(signal.SIGINT)
        assert gateway.wait(PATIENCE_S) == 0
