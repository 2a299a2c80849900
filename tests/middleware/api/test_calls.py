"""Calls over a real socket: what they answer, and how they refuse."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from middleware.api.local import InProcess
from middleware.api.messages import Code
from tests.middleware.api.serving import RawApp, Served


def test_the_socket_is_for_its_owner_only(served: Served) -> None:
    assert stat.S_IMODE(os.stat(served.home / "api.sock").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(served.home / "api.json").st_mode) == 0o600


def test_nothing_is_answered_before_hello(served: Served) -> None:
    stranger = RawApp(served.home, name=None)
    assert stranger.refused("feeds") == (Code.NOT_ALLOWED, "say hello first, with the name of your app")
    assert stranger.call("hello", app="late")["api"] == 1
    assert stranger.call("feeds") == []


def test_what_was_published_is_listed_at_once(app: RawApp, feed: str) -> None:
    app.send("publish", feed=feed, title="One", attributes={"n": 1, "when": {"time": 5}, "live": True})
    listed = app.call("entries", feed=feed, where="n = 1 AND live")["entries"]
    assert [(each["title"], each["attributes"]) for each in listed] == [
        ("One", {"n": 1, "when": 5, "live": True})
    ]
    assert app.call("entry", entry=listed[0]["id"])["times"] == ["when"]


def test_the_answer_to_publish_is_what_entries_shows(app: RawApp, feed: str, tmp_path: Path) -> None:
    (tmp_path / "take1.ogg").write_bytes(b"la la la")
    plain = app.call("publish", feed=feed, title="One", summary="s", categories=["a", "b"])
    filed = app.call("publish", feed="Street music", title="Two", files=[str(tmp_path / "take1.ogg")])
    renewed = app.call("publish", feed=feed, title="One again", id=plain["id"])
    assert renewed["updated"] > plain["updated"] and renewed["published"] == plain["published"]
    listed = app.call("entries")["entries"]
    assert sorted(listed, key=lambda e: e["title"]) == [renewed, filed]
    assert Path(filed["enclosures"][0]["path"]).read_bytes() == b"la la la"


def test_versions_that_are_sent_together_come_one_after_the_other(app: RawApp, feed: str) -> None:
    sent = [app.send("publish", feed=feed, title=f"v{n}", id="urn:example:1") for n in range(5)]
    answers = [app.message(number)["result"] for number in sent]
    assert answers == sorted(answers, key=lambda answer: answer["updated"])
    assert [entry["title"] for entry in app.call("entries")["entries"]] == ["v4"]


def test_one_bad_publication_does_not_spoil_the_others(app: RawApp, feed: str) -> None:
    titles = ["a", "", "b", "c"]
    sent = [app.send("publish", feed=feed, title=title) for title in titles]
    sent.append(app.send("publish", feed=feed, title="x", attributes={"title": 1}))
    messages = [app.message(number) for number in sorted(sent)]
    assert ["error" in message for message in messages] == [False, True, False, False, True]
    assert {entry["title"] for entry in app.call("entries")["entries"]} == {"a", "b", "c"}


WRONG: list[tuple[str, dict[str, Any], Code, str]] = [
    ("nothing", {}, Code.NO_SUCH_CALL, "there is no call 'nothing'"),
    ("feeds", {"were": "x"}, Code.WRONG_PARAMETERS, "no parameter 'were'; there are: where"),
    ("publish", {"feed": "x"}, Code.WRONG_PARAMETERS, "title is missing: a string"),
    ("publish", {"feed": 7, "title": "x"}, Code.WRONG_PARAMETERS, "feed is a string; got 7"),
    ("publish", {"feed": "x", "title": "\udc80"}, Code.WRONG_PARAMETERS, "title is a string"),
    ("publish", {"feed": "x", "title": "x", "files": ["a"]}, Code.WRONG_PARAMETERS, "absolute paths"),
    ("publish", {"feed": "x", "title": "x", "attributes": {"a": None}}, Code.WRONG_PARAMETERS, "object"),
    ("publish", {"feed": "none", "title": "x"}, Code.REFUSED, "there is no feed 'none' here"),
    ("entries", {"limit": True}, Code.WRONG_PARAMETERS, "limit is an integer"),
    ("entries", {"limit": 0}, Code.REFUSED, "limit is 1 to"),
    ("entries", {"where": "a =="}, Code.REFUSED, "column 4"),
    ("subscribe", {"feed": "urn:x:y", "files": "some"}, Code.REFUSED, "files is all, none or max=BYTES"),
    ("unsubscribe", {}, Code.REFUSED, "say which"),
    ("unsubscribe", {"id": 99}, Code.REFUSED, "no such subscription"),
    ("hello", {"app": "a b"}, Code.REFUSED, "an app's name is"),
    ("block", {"key": "xyz"}, Code.REMOTE, "key"),
]


@pytest.mark.parametrize(("method", "params", "code", "words"), WRONG)
def test_wrong_calls_get_a_code_and_a_sentence(
    app: RawApp, method: str, params: dict[str, Any], code: Code, words: str
) -> None:
    number, message = app.refused(method, **params)
    assert number == code and words in message


@pytest.mark.parametrize("place", ["missing.ogg", "."])
def test_a_file_that_cannot_be_read_is_named(app: RawApp, feed: str, tmp_path: Path, place: str) -> None:
    code, message = app.refused("publish", feed=feed, title="x", files=[str(tmp_path / place)])
    assert code == Code.REFUSED and str(tmp_path) in message
    assert app.call("entries")["entries"] == []


def test_calls_that_look_answer_what_a_node_knows(app: RawApp, feed: str) -> None:
    status = app.call("status")
    assert list(status) == [
        "node_id", "epoch", "revision", "feeds", "entries", "neighbours", "sessions", "storage", "dashboard",
        "metrics_token",
    ]  # fmt: skip
    assert (status["feeds"], status["neighbours"], app.call("neighbours")) == (1, 0, [])
    assert app.call("sessions") == app.call("transfers") == app.call("blocked") == []
    assert app.call("settings")["hello"]["port"] == 4747


def test_the_same_calls_run_without_a_node(tmp_path: Path) -> None:
    with InProcess(tmp_path / "home", "cli") as here:
        feed = here.call("create_feed", {"title": "Street music"})["id"]
        entry = here.call("publish", {"feed": feed, "title": "One"})
        assert here.call("entries")["entries"] == [entry]
        made = here.call("subscribe", {"feed": feed, "max_count": 3})
        assert here.call("unsubscribe", {"feed": feed}) == [made]
        with pytest.raises(ValueError, match=r"no node runs in .*; start one with `passerby up`"):
            here.call("status")
