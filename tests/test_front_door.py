"""The script that opens a checkout, run for real in a folder of its own; its Python only takes notes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parent.parent
SHELLS = [shell for shell in ("sh", "dash", "bash", "busybox") if shutil.which(shell)]
TOOLS = ["sh", "readlink", "cmp", "mkdir", "rm", "cp", "mv", "tail", "id"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the front door is a POSIX script")

# Answers the questions the script asks of a Python, makes "environments" that hold a copy of itself, and
# writes down what it was asked to install. It prints the rest, so that a test sees what was run, and where.
FAKE_PYTHON = """#!/bin/sh
case "$*" in
    *"import sys;"*) exit ${FAKE_TOO_OLD:-0} ;;
    *"import ensurepip"*) exit ${FAKE_NO_VENV:-0} ;;
    *get_platform*) exit ${FAKE_UNFIT:-0} ;;
    *purelib*) exit 0 ;;
    *fcntl*) exit 0 ;;
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip --version") exit 0 ;;
    "-m pip install "*)
        echo "$*" >>"$FAKE_NOTES"
        [ -z "${FAKE_PIP_FAILS:-}" ] || { echo "no such package"; exit 1; }
        ;;
    "-m ruff format"*) exit ${FAKE_FORMAT:-0} ;;
    *) echo "ran $* in $(pwd -P)" ;;
esac
"""


@dataclass
class Checkout:
    folder: Path
    tools: Path
    notes: Path

    def run(
        self,
        *arguments: str,
        script: Path | None = None,
        cwd: Path | None = None,
        fakes: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(script or self.folder / "passerby"), *arguments],
            cwd=cwd or self.folder,
            env={"PATH": str(self.tools), "FAKE_NOTES": str(self.notes), **fakes},
            capture_output=True,
            text=True,
            timeout=30,
        )

    @property
    def installed(self) -> list[str]:
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [line.split("--editable ")[1].split()[0] for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder, tools = tmp_path / "a checkout", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    shutil.copy(ROOT / "passerby", folder)
    (folder / "pyproject.toml").write_text("first\n")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, f"this test needs {tool}"
        (tools / tool).symlink_to(found)
    (tools / "python3").write_text(FAKE_PYTHON)
    (tools / "python3").chmod(0o755)
    return Checkout(folder, tools, tmp_path / "notes")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_can_read_the_script(shell: str) -> None:
    command = ["busybox", "sh"] if shell == "busybox" else [shell]
    done = subprocess.run([*command, "-n", str(ROOT / "passerby")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_scripts_may_be_run() -> None:
    assert os.access(ROOT / "passerby", os.X_OK)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_first_command_sets_up_in_one_line_and_runs(checkout: Checkout) -> None:
    done = checkout.run("status", "--json")
    assert done.returncode == 0
    assert done.stdout.startswith("ran -P -m passerby status --json in ")
    assert done.stderr.startswith("passerby: setting up .venv for 'status'")
    assert done.stderr.count("\n") == 1
    assert checkout.installed == ["."]


def test_the_second_command_says_and_installs_nothing(checkout: Checkout) -> None:
    checkout.run("status")
    done = checkout.run("feeds")
    assert (done.returncode, done.stderr) == (0, "")
    assert checkout.installed == ["."]


def test_arguments_arrive_as_they_were_given(checkout: Checkout) -> None:
    done = checkout.run("feeds", "title = 'it''s  a * here'")
    assert "feeds title = 'it''s  a * here' in" in done.stdout


def test_commands_run_where_the_user_stands(checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert checkout.run("status", cwd=elsewhere).stdout.rstrip().endswith(f"in {elsewhere.resolve()}")
    assert not (elsewhere / ".venv").exists()


def test_it_is_found_through_links_to_links(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "absolute").symlink_to(checkout.folder / "passerby")
    (tmp_path / "bin" / "relative").symlink_to("../absolute")
    done = checkout.run("status", script=tmp_path / "bin" / "relative", cwd=tmp_path)
    assert done.returncode == 0
    assert (checkout.folder / ".venv" / "bin" / "python").exists()


def test_it_is_found_on_the_path(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.tools / "passerby").symlink_to(checkout.folder / "passerby")
    done = checkout.run("-c", "passerby status", script=checkout.tools / "sh", cwd=tmp_path)
    assert "ran -P -m passerby status" in done.stdout


def test_changed_dependencies_are_installed_again(checkout: Checkout) -> None:
    checkout.run("status")
    (checkout.folder / "pyproject.toml").write_text("second\n")
    assert "setting up" in checkout.run("status").stderr
    assert checkout.run("status").stderr == ""
    assert checkout.installed == [".", "."]


def test_tests_need_more_and_what_they_need_is_enough_for_the_rest(checkout: Checkout) -> None:
    done = checkout.run("test", "-k", "bloom")
    assert done.stdout == f"ran -m pytest -k bloom in {checkout.folder.resolve()}\n"
    checkout.run("status")
    assert checkout.installed == [".[dev]"]


def test_an_option_before_the_verb_does_not_hide_it(checkout: Checkout) -> None:
    checkout.run("--home", "somewhere", "bench")
    assert checkout.installed == [".[dev]"]


def test_a_checkout_that_was_moved_is_set_up_again(checkout: Checkout) -> None:
    checkout.run("status")
    checkout.folder = checkout.folder.rename(checkout.folder.with_name("moved"))
    assert "setting up" in checkout.run("status").stderr


def test_an_installation_that_fails_shows_why_and_is_tried_again(checkout: Checkout) -> None:
    done = checkout.run("status", fakes={"FAKE_PIP_FAILS": "yes"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "no such package" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("passerby: setting up failed; all of its output is in ")
    assert checkout.run("status").returncode == 0


def test_an_environment_left_half_made_is_not_trusted(checkout: Checkout) -> None:
    checkout.run("status")
    (checkout.folder / ".venv" / "passerby-unfinished").touch()
    (checkout.folder / ".venv" / "lib").mkdir()
    assert checkout.run("status").returncode == 0
    assert not (checkout.folder / ".venv" / "lib").exists()
    assert checkout.run("status").stderr == ""


@pytest.mark.parametrize(
    ("fakes", "advice"),
    [
        ({"FAKE_TOO_OLD": "1"}, "Python 3.11 or newer is needed and was not found; install python3"),
        ({"FAKE_NO_VENV": "1"}, "python3 lacks the venv module; install it"),
    ],
)
def test_an_unfit_python_is_refused_with_advice(
    checkout: Checkout, fakes: dict[str, str], advice: str
) -> None:
    done = checkout.run("status", fakes=fakes)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"passerby: {advice}")
    assert not (checkout.folder / ".venv").exists()


def test_no_python_at_all_is_said_in_one_line(checkout: Checkout) -> None:
    (checkout.tools / "python3").unlink()
    done = checkout.run("up")
    expected = "passerby: Python 3.11 or newer is needed and was not found; install python3\n"
    assert (done.returncode, done.stderr) == (1, expected)


@pytest.mark.parametrize("blocked", ["passerby-lock", "passerby-unwritten"])
def test_an_environment_that_cannot_be_written_is_one_sentence(checkout: Checkout, blocked: str) -> None:
    checkout.run("status")
    (checkout.folder / ".venv" / "bin" / "python").unlink()
    (checkout.folder / ".venv" / "passerby-lock").unlink()
    (checkout.folder / ".venv" / blocked).mkdir()
    done = checkout.run("status")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("passerby: cannot write in ")


@pytest.mark.parametrize("verb", ["test", "check", "fuzz"])
def test_a_home_before_the_scripts_own_verbs_is_misuse(checkout: Checkout, verb: str) -> None:
    done = checkout.run("--home", "somewhere", verb)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"passerby: {verb} comes first and knows no --home: ./passerby {verb}\n"


def test_a_newer_python_under_its_own_name_is_found(checkout: Checkout) -> None:
    (checkout.tools / "python3").rename(checkout.tools / "python3.13")
    assert "with python3.13;" in checkout.run("status").stderr


def unpack_wheels(checkout: Checkout) -> None:
    (checkout.folder / "wheels").mkdir()
    (checkout.folder / "wheels" / "requirements.txt").write_text("x==1\n")
    (checkout.folder / "wheels" / "fits").write_text("3.11 linux-x86_64\n")


def test_a_bundle_is_set_up_from_its_wheels_alone(checkout: Checkout) -> None:
    unpack_wheels(checkout)
    assert checkout.run("up").returncode == 0
    (line,) = checkout.notes.read_text().splitlines()
    assert "--no-index" in line and f"--find-links {checkout.folder.resolve()}/wheels" in line
    assert (checkout.run("up").stderr, len(checkout.notes.read_text().splitlines())) == ("", 1)


def test_a_bundle_for_another_python_says_so_and_asks_the_internet(checkout: Checkout) -> None:
    unpack_wheels(checkout)
    done = checkout.run("up", fakes={"FAKE_UNFIT": "1"})
    assert "this bundle is for Python 3.11 linux-x86_64, which is not here" in done.stderr
    assert checkout.installed == ["."]


def test_tests_need_more_than_a_bundle_has(checkout: Checkout) -> None:
    unpack_wheels(checkout)
    checkout.run("check")
    assert checkout.installed == [".[dev]"]


def test_check_runs_every_step_and_remembers_what_failed(checkout: Checkout) -> None:
    done = checkout.run("check", fakes={"FAKE_FORMAT": "1"})
    assert done.returncode == 1
    assert "-m mypy" in done.stdout
    assert "-m pytest -q tests/test_architecture.py" in done.stdout
    assert checkout.run("check").returncode == 0


def test_check_takes_no_arguments(checkout: Checkout) -> None:
    assert checkout.run("check", "contentdb").returncode == 2
