"""What every command promises: statuses, streams, homes, and a terminal that is safe."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import passerby
from contentdb.model import Category, Enclosure, Person, Text
from contentdb.names import Root
from contentdb.store import Store
from middleware.cli.words import clean, parse_size, shorten, show_json, show_size, show_time, table
from tests.contentdb.makers import author, make_descriptor, make_signed, take
from tests.middleware.command import ROOT, Commands, process

TRICKS = "\u202eevil\u2066 \u009b31m \u200f\u2028 \ufeff"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def strange(run: Commands) -> Commands:
    """A home that has met a stranger whose every word is a trick."""
    with Store.open(run.home, entropy=os.urandom) as store:
        store.feeds.put_descriptor(make_descriptor(author(1), title=Text(TRICKS)))
        signed = make_signed(
            author(1), 1, title=Text(TRICKS), summary=Text(TRICKS), authors=(Person(TRICKS),),
            categories=(Category(TRICKS),), attributes={"mood": TRICKS},
            enclosures=(Enclosure(TRICKS, "audio/ogg", 5, Root("ab" * 32)),),
        )  # fmt: skip
        assert take(store, signed)[0].fate.is_gain
    return run


@pytest.mark.parametrize(
    "words",
    [
        ("feeds",), ("entries",), ("get", "urn:example:entry:1"), ("pin", "urn:example:entry:1"),
        ("pin", "urn:example:street-music"), ("why", "urn:example:entry:1"), ("get", "urn:example"),
        ("feed", "export", "urn:example:street-music", "--into", "{out}"), ("get", TRICKS),
        ("doctor", "--interface", "lo"),
        ("get", "urn:example:entry:1", "--into", "{out}"), ("unsubscribe", TRICKS),
        ("feed", "import", TRICKS), (TRICKS,), ("entries", TRICKS),
        ("publish", "urn:example:street-music", "--title", "T", "--attr", TRICKS),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_strangers_tricks_never_reach_the_terminal(
    strange: Commands, tmp_path: Path, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    ran = strange(*(word.replace("{out}", str(tmp_path / "out")) for word in words), *form)
    assert UNSAFE.search(ran.out + ran.err) is None, ran


def test_json_keeps_every_character_as_an_escape(strange: Commands) -> None:
    assert strange.json("entries")[0]["title"] == TRICKS


def test_a_file_that_is_not_here_is_not_copied_and_said(strange: Commands, tmp_path: Path) -> None:
    ran = strange("get", "urn:example:entry:1", "--into", str(tmp_path / "out"), "--json")
    assert ran.status == 1 and "not received in full" in ran.err
    assert ran.document["enclosures"][0]["path"] is None and ran.document["complete"] is False


@given(st.text())
def test_any_text_becomes_one_safe_line_and_survives_json(text: str) -> None:
    assert UNSAFE.search(clean(text)) is None and "\n" not in clean(text)
    assert UNSAFE.search(show_json([text])) is None
    assert json.loads(show_json([text])) == [text]
    assert len(shorten(text)) <= 4 * 48 + 1  # a column may have accents


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_a_table_has_one_line_for_each_row(rows: list[tuple[str, str]]) -> None:
    assert len(table(("A", "B"), rows)) == len(rows) + 1


@given(st.integers(0, 2**60))
def test_sizes_and_times_can_be_shown(number: int) -> None:
    assert show_size(number) and show_time(number)
    assert parse_size(str(number)[:15]) == int(str(number)[:15])


# -- homes and statuses


def test_home_may_stand_before_or_after_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = set()
    for words in (["--home", str(tmp_path / "a"), "me"], ["me", "--home", str(tmp_path / "a")]):
        assert passerby.main([*words, "--json"]) == 0
        keys.add(json.loads(capsys.readouterr().out)["key"])
    assert len(keys) == 1


def test_home_comes_from_the_environment_if_not_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSERBY_HOME", str(tmp_path / "from environment"))
    assert passerby.main(["--json", "me"]) == 0
    assert json.loads(capsys.readouterr().out)["home"] == str(tmp_path / "from environment")
    monkeypatch.setenv("PASSERBY_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert passerby.main(["--json", "me"]) == 0
    assert json.loads(capsys.readouterr().out)["home"] == str(tmp_path / "data" / "passerby")


def test_a_home_that_cannot_be_is_one_sentence(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "choose another folder" in run.fails("feeds", home=tmp_path / "file")
    assert "choose another" in run.fails("feeds", home=Path("~nobody-of-this-name"))
    assert "expected a folder" in run.fails("feeds", "--home", "", status=2)


@pytest.mark.parametrize(
    "words",
    [
        [], ["nonsense"], ["feed"], ["feed", "nonsense"], ["feeds", "--jsno"], ["publish"], ["publish", "F"],
        ["get"], ["feeds", "a", "b"], ["--json"], ["storage", "x"], ["--home", "h", "bench"], ["--home"],
    ],
)  # fmt: skip
def test_misuse_is_status_2_and_one_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert passerby.main(words) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "--help`" in said.err


@pytest.mark.parametrize(
    "words", [["--help"], ["publish", "--help"], ["feed", "--help"], ["feed", "import", "-h"]]
)
def test_help_is_no_failure(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert passerby.main(words) == 0
    assert capsys.readouterr().out.startswith("usage: passerby")


VERBS = [
    "feed",
    "create",
    "feeds",
    "publish",
    "entries",
    "get",
    "pin",
    "why",
    "block",
    "storage",
    "--json",
    "me",
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(VERBS) | st.text(max_size=8), max_size=5))
def test_rubbish_never_ends_in_a_traceback(run: Commands, words: list[str]) -> None:
    assert run(*words).status in (0, 1, 2)


# -- as a real process


def test_a_second_process_is_told_that_the_home_is_taken(tmp_path: Path) -> None:
    with Store.open(tmp_path, entropy=os.urandom):
        done = process("--home", str(tmp_path), "feeds")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == f"passerby: another passerby is using {tmp_path}; stop it first, or choose another --home\n"
    )


def test_commands_that_are_started_together_wait_for_each_other(run: Commands, feed: str) -> None:
    words = ["--home", str(run.home), "publish", feed, "--title"]
    started = [
        subprocess.Popen(
            [sys.executable, "-P", "-m", "passerby", *words, str(number)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
        )
        for number in range(6)
    ]
    assert [command.wait(60) for command in started] == [0] * 6
    assert {entry["title"] for entry in run.json("entries")} == set("012345")


def test_a_terminal_that_knows_few_characters_gets_escapes(tmp_path: Path) -> None:
    done = process(
        "--home", str(tmp_path), "feed", "create", "日本", environment={"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0 and "\\u65e5" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "passerby", "--home", str(tmp_path), "me"],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=Path(passerby.__file__).parent,
        )  # fmt: skip
    assert done.returncode == 1 and done.stderr == "passerby: the output: No space left on device\n"
