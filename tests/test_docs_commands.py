"""Commands in documents do what the page says: all are understood, and README and docs/cli.md are run."""

import argparse
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import passerby
from evaluation.cli import build_parser as measuring_parser
from middleware.cli.examples import EXAMPLES
from middleware.cli.main import build_parser
from tests.transcript import FENCE, FRONT_DOOR, Session, follow, steps

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# In a fenced or an indented block, with or without a prompt.
COMMAND = re.compile(r"^[ ]*(?:\$ )?(?:\./)?passerby (\S.*)$", re.MULTILINE)
RUN_PAGES = ("README.md", "docs/cli.md")  # their console blocks are run, wrong commands included
SCRIPT_VERBS = {"test", "check", "fuzz"}  # understood by the front door itself
ENDS = {"|", "||", "&&", ";", ">", ">>", "<", "&"}


def blocks_of(text: str) -> Iterator[str]:
    fenced = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
    yield from fenced.findall(text)
    yield from re.findall(r"(?:^    .*\n)+", fenced.sub("", text), flags=re.MULTILINE)


def words_of(line: str) -> list[str]:
    """The words up to the first thing that is the shell's; a trailing comment is none."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    words: list[str] = []
    for word in lexer:
        if word in ENDS:
            break
        words.append(word)
    return words


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        # A command that goes on in the next line is one command.
        text, name = page.read_text(encoding="utf-8").replace("\\\n", " "), page.relative_to(ROOT).as_posix()
        text = FENCE.sub("", text) if name in RUN_PAGES else text
        found += [(name, line) for block in blocks_of(text) for line in COMMAND.findall(block)]
    return found


def is_understood(words: list[str]) -> bool:
    if words[0] in SCRIPT_VERBS:
        return True
    parser = measuring_parser() if words[0] in ("bench", "simulate") else build_parser()
    try:
        parser.parse_args(words)
    except SystemExit as stopped:
        return stopped.code in (0, None)
    return True


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_in_a_document_is_understood(page: str, line: str) -> None:
    assert is_understood(words_of(line)), f"{page} shows `passerby {line}`"


def test_the_documents_show_commands_at_all() -> None:
    assert len(commands()) > 5


def test_a_wrong_command_is_noticed() -> None:
    assert not is_understood(words_of("fedes --json"))
    assert not is_understood(words_of("feeds --jsno | head"))
    assert not is_understood(words_of("bench --round"))


def test_the_shells_own_words_are_left_to_the_shell() -> None:
    assert words_of("feeds \"title = 'a | b'\" --json | head  # all") == [
        "feeds",
        "title = 'a | b'",
        "--json",
    ]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with mock.patch.dict(os.environ):
        os.environ.pop("PASSERBY_HOME", None)
        with Session(tmp_path.resolve()) as session:
            yield session


@pytest.mark.parametrize("page", RUN_PAGES)
def test_a_page_shows_what_its_commands_really_print(page: str, session: Session) -> None:
    follow(session, (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", RUN_PAGES)
def test_a_page_that_is_run_hides_no_command_in_other_blocks(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = [words_of(line)[0] for block in blocks_of(FENCE.sub("", text)) for line in COMMAND.findall(block)]
    assert set(shown) <= {*SCRIPT_VERBS, "bench", "up", "subscribe"}


def test_output_that_is_not_what_the_page_shows_is_noticed(session: Session) -> None:
    first, second = (f"urn:uuid:{digit * 8}-0000-4000-8000-000000000000\n" for digit in "ab")
    assert session.agrees("id " + first + "at 2026-11-18 12:00\n", "id " + second + "at 2027-01-01 08:30\n")
    assert session.agrees(first, second)
    assert not session.agrees(first, first)
    assert not session.agrees("2 entries\n", "3 entries\n")
    assert not session.agrees("", "passerby: something went wrong\n")
    assert session.agrees("first\n...\nlast\n", "first\nsecond\nthird\n\nlast\n")
    assert not session.agrees("first\n...\nlast\n", "first\nsecond\nworst\n")


def commands_of(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Each command with the options that are its own."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for word, below in action.choices.items():
            yield from commands_of(below, f"{name} {word}".strip())
    if not inner:
        shown = {
            option
            for option, action in parser._option_string_actions.items()
            if action.help != argparse.SUPPRESS
        }
        yield name, shown - {"-h", "--help", "--home", "--json"}


def test_every_command_shows_an_example_that_it_understands() -> None:
    existing = dict(commands_of(build_parser()))
    assert EXAMPLES.keys() == existing.keys() - {"bench"}
    for name, lines in EXAMPLES.items():
        assert 1 <= len(lines) <= 3
        for line in lines:
            assert line.startswith(f"passerby {name}") and is_understood(words_of(line)[1:]), line


def test_help_ends_with_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert passerby.main(["feed", "create", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith("\n  ".join(["examples:", *EXAMPLES["feed create"]]) + "\n")


def sections_of_the_manual() -> dict[str, str]:
    _, *parts = re.split(
        r"^### (.*)\n", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_manual_has_every_command_with_its_options_and_no_other() -> None:
    sections = sections_of_the_manual()
    existing = dict(commands_of(build_parser())) | dict(commands_of(measuring_parser()))
    assert sections.keys() == existing.keys()
    for name, options in existing.items():
        assert sections[name].lstrip("\n").startswith(f"    {name}"), f"{name} does not start with its usage"
        missing = options - set(re.findall(r"--[a-z]+(?:-[a-z]+)*", sections[name]))
        assert not missing, f"{name} does not explain {missing}"


def test_the_manual_shows_every_command_at_work() -> None:
    for name, section in sections_of_the_manual().items():
        shown = [step.command for step in steps(section)]
        pattern = re.compile(rf"{re.escape(FRONT_DOOR)} (--home \S+ )?{name}( |$)")
        # `up` and `watch` run until they are stopped; tests of their own run them.
        assert name in ("bench", "up", "watch") or any(pattern.search(command) for command in shown), (
            f"{name} has no example"
        )
