"""A new user follows the README's first screen literally, in a fresh clone with its own .venv."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.transcript import Session, follow

ROOT = Path(__file__).parent.parent
PATIENCE_S = 600  # of which the first command takes about one minute to set up .venv


class NewUser(Session):
    """Runs `./passerby` of the clone, where the page's other commands run in this process."""

    checkout: Path

    def _passerby(self, arguments: list[str]) -> str:
        starts_node = self.namespace is not None and "up" in arguments
        inside = ["ip", "netns", "exec", str(self.namespace)] if starts_node else []
        done = subprocess.run(
            [*inside, "./passerby", *arguments],
            cwd=self.checkout,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        self.status = done.returncode
        return self._as_shown(re.sub(r"\Apasserby: setting up .*\n", "", done.stdout))


@pytest.fixture
def user(tmp_path: Path) -> Iterator[NewUser]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no git checkout, or git is missing, so there is nothing to clone")
    with mock.patch.dict(os.environ), NewUser(tmp_path.resolve()) as user:
        for name in ("PASSERBY_HOME", "PYTHONPATH"):
            os.environ.pop(name, None)
        user.checkout = tmp_path.resolve() / "passerby"
        subprocess.run(
            ["git", "clone", "--quiet", str(ROOT), str(user.checkout)], check=True, timeout=PATIENCE_S
        )
        yield user


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="nodes need a namespace, made by root, to be alone in"
)
def test_the_first_screen_works_in_a_fresh_clone(user: NewUser) -> None:
    page = (user.checkout / "README.md").read_text(encoding="utf-8")
    first_screen = page[: page.index("\n## Status")]
    assert "./passerby demo" in first_screen and "./passerby get" in first_screen
    follow(user, first_screen)
    assert not (user.folder / "you").exists()  # it was cleared up, as the page says


def test_the_app_of_the_first_screen_runs(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert len(program.splitlines()) <= 10
    (tmp_path / "app.py").write_text(program, encoding="utf-8")
    (tmp_path / "take1.ogg").write_bytes(b"la la la")
    surroundings = {**os.environ, "PASSERBY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-m", "passerby"]
    alone = ["up", "--detach", "--interface", "lo", "--hello-port", "24748"]
    subprocess.run([*command, *alone], env=surroundings, check=True, capture_output=True)
    try:
        app = subprocess.Popen(
            [sys.executable, "-u", "app.py"],
            cwd=tmp_path,
            env=surroundings,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert app.stdout is not None
        title, _, path = app.stdout.readline().rstrip("\n").rpartition(" ")
        app.send_signal(signal.SIGKILL)  # it would wait for more
        app.communicate()
        assert (title, Path(path).read_bytes()) == ("Corner of 5th", b"la la la")
    finally:
        subprocess.run([*command, "down"], env=surroundings, check=True, capture_output=True)
