"""Runs commands in this process, each in the same home, and keeps what they said."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import passerby

ROOT = Path(passerby.__file__).parent


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


class Commands:
    """``run("feeds", "--json")`` in the home of the test, or in another one that is given."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def __call__(self, *words: str, home: Path | None = None) -> Ran:
        self._capsys.readouterr()
        status = passerby.main(["--home", str(home or self.home), *words])
        said = self._capsys.readouterr()
        return Ran(status, said.out, said.err)

    def json(self, *words: str, home: Path | None = None) -> Any:
        ran = self(*words, "--json", home=home)
        assert ran.status == 0, ran.err
        return ran.document

    def fails(self, *words: str, home: Path | None = None, status: int = 1) -> str:
        """The one sentence that a failing command says, and nothing else."""
        ran = self(*words, home=home)
        assert (ran.status, ran.out) == (status, ""), ran
        assert ran.err.startswith("passerby: ") and ran.err.count("\n") == 1, ran.err
        assert "Traceback" not in ran.err
        return ran.err.removeprefix("passerby: ").rstrip("\n")


def process(*words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})}
    return subprocess.run(
        [sys.executable, "-P", "-m", "passerby", *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )
