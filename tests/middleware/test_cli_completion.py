"""Completion: what bash offers after some words, and that every shell's script knows every command."""

import argparse
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.cli import build_parser as measuring_parser
from middleware.cli.main import build_parser
from tests.middleware.command import Commands, process

SHELLS = ("bash", "zsh", "fish")
# As bash does it when somebody presses Tab after these words: the last is what is typed so far.
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_passerby
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
"""


class Bash:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder.parent / "completion.bash"
        done = process("completion", "bash")
        assert done.returncode == 0, done.stderr
        self.script.write_text(done.stdout)

    def offers(self, *words: str) -> list[str]:
        command = ["bash", "--norc", "-c", ASK, "bash", str(self.script), "passerby", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=60)
        assert not done.stderr, done.stderr
        return sorted(done.stdout.splitlines())


@pytest.fixture
def bash(tmp_path: Path) -> Bash:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    folder = tmp_path / "here"
    (folder / "my songs").mkdir(parents=True)
    (folder / "my take.ogg").touch()
    return Bash(folder)


def test_commands_and_their_sub_commands_are_offered(bash: Bash) -> None:
    assert bash.offers("fee") == ["feed", "feeds"]
    assert bash.offers("feed", "") == ["create", "export", "import", "writers"]
    assert bash.offers("--home", "feed", "gateway", "r") == ["remove", "run"]
    assert {"up", "bench", "simulate", "completion"} <= set(bash.offers(""))


def test_options_are_those_of_the_command(bash: Bash) -> None:
    assert bash.offers("up", "--hel") == ["--hello-interval", "--hello-port", "--help"]
    assert bash.offers("simulate", "--see") == ["--seed", "--seeds"]
    assert bash.offers("publish", "Street music", "--tit") == ["--title"]
    assert "--detached" not in bash.offers("up", "--")


def test_files_are_offered_where_a_path_is_expected(bash: Bash) -> None:
    assert bash.offers("publish", "Street music", "--file", "m") == ["my songs", "my take.ogg"]
    assert bash.offers("--home", "m") == ["my songs"]
    assert bash.offers("status", "--home", "=", "m") == ["my songs"]
    assert bash.offers("feed", "import", "my t") == ["my take.ogg"]
    assert bash.offers("me", "") == ["export", "import", "my songs", "my take.ogg"]
    assert bash.offers("publish", "m") == []


def test_what_is_a_value_is_no_command(bash: Bash) -> None:
    assert bash.offers("up", "--port", "") == []
    assert bash.offers("completion", "") == ["bash", "fish", "zsh"]
    assert "--unlisted" in bash.offers("feed", "create", "feed", "--")


def names_of(parser: argparse.ArgumentParser, name: str = "passerby") -> Iterator[str]:
    yield name
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from names_of(below, f"{name} {word}")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_the_script(shell: str, run: Commands) -> None:
    script = run("completion", shell).out
    for name in {*names_of(build_parser()), *names_of(measuring_parser())}:
        assert f"'{name}'" in script, name


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_its_script(shell: str, run: Commands) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = run("completion", shell).out
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_script_is_made_without_a_home(run: Commands) -> None:
    assert run.json("completion", "bash")["shell"] == "bash"
    assert not run.home.exists()
    assert "choose from" in run.fails("completion", "tcsh", status=2)
