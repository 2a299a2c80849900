"""Runs the console blocks of a document as one session, and compares what it prints with what the page shows.

In a ```console block, a line that starts with `$ ` is a command and what follows is its output. Ids, keys and
times differ from run to run: the first time the page shows one, it is tied to what really came, and from then
on stands for it, in commands as well. A line `...` stands for any lines, and /tmp for a folder of the test's
own. Nodes that a page starts run in a network namespace of the session's own, or only on loopback where none
can be made.

When the output of a command was changed on purpose, this writes what is new into the pages:

    .venv/bin/python -m tests.transcript README.md docs/cli.md
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Self
from unittest import mock

import passerby

FENCE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
FINGERPRINT = r"(?:[0-9a-f]{4} ){7}[0-9a-f]{4}"
SHORT_FINGERPRINT = r"\b[0-9a-f]{4} [0-9a-f]{4}\b"
NAME = re.compile(rf"{UUID}|{FINGERPRINT}|{SHORT_FINGERPRINT}|\b[0-9a-f]{{20,}}\b")
# What says only when, or how SQLite and the disk round up: any other value of that form will do.
PASSING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?|\b1[6-9]\d{11}\b|(?<=\"database\": )\d+|(?<=\"enclosures\": )\d+"
    r"|(?<=database )[\d.]+ \w+(?=,)|(?<=enclosures )[\d.]+ \w+(?=,)|127\.0\.0\.1:\d+/#token=[\w-]+"
    r"|\d+\.\d s later"
)
SETTING = re.compile(r"([A-Z_]+)=(.*)", re.DOTALL)
COMMAND_LINE = re.compile(r"\A((?:.*\\\n)*.*\n)")
FRONT_DOOR = "./passerby"
LEFT_OUT = "...\n"  # stands for any number of lines
LOOKING = ("discover", "entries", "neighbours", "status")
PATIENCE_S = 30.0  # only who waits for something that never comes waits so long


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    output: str


def steps(text: str) -> Iterator[Step]:
    for block in FENCE.findall(text):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield Step(command, output)


def without_passing(text: str) -> str:
    return PASSING.sub("(some)", text)


@dataclass(slots=True)
class Session:
    folder: Path
    status: int = 0
    real: dict[str, str] = field(default_factory=dict)
    namespace: str | None = None

    def __enter__(self) -> Self:
        name = f"passerby-page-{os.getpid()}"
        command = f"ip netns add {name} && ip -n {name} link set lo up"
        if os.geteuid() == 0 and subprocess.run(["sh", "-c", command], capture_output=True).returncode == 0:
            self.namespace = name
        return self

    def __exit__(self, *_: object) -> None:
        if self.namespace is not None:
            subprocess.run(["ip", "netns", "delete", self.namespace], check=True)

    def perform(self, command: str) -> str:
        """Run a line as a shell in this folder would; returns what it prints, errors included."""
        words = shlex.split(self._translated(command))
        settings = [match for match in map(SETTING.fullmatch, words) if match]
        if command == "echo $?":
            status, self.status = self.status, 0
            return f"{status}\n"
        if words[0] == "export":
            os.environ.update({match[1]: match[2] for match in settings})
            return ""
        if FRONT_DOOR not in words[: len(settings) + 1]:
            return self._shell(self._translated(command))
        with mock.patch.dict(os.environ, {match[1]: match[2] for match in settings}):
            return self._passerby(words[words.index(FRONT_DOOR) + 1 :])

    def performed(self, step: Step) -> str:
        """What it prints. Who only looks may look again: what neighbours bring takes a moment to come."""
        give_up_at = time.monotonic() + PATIENCE_S
        while True:
            printed = self.perform(step.command)
            is_looking = any(f"{FRONT_DOOR} {verb}" in step.command for verb in LOOKING)
            if not is_looking or self.agrees(step.output, printed) or time.monotonic() > give_up_at:
                return printed
            time.sleep(0.2)

    def _translated(self, command: str) -> str:
        for shown, real in self.real.items():
            command = command.replace(shown, real)
        return re.sub(r"/tmp(?=/)", str(self.folder), command)

    def _passerby(self, arguments: list[str]) -> str:
        if "up" in arguments:
            return self._node(arguments)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            self.status = passerby.main(arguments)
        return self._as_shown(printed.getvalue())

    def _node(self, arguments: list[str]) -> str:
        inside, only = ["ip", "netns", "exec", str(self.namespace)], ["--interface", "lo"]
        command = [sys.executable, "-P", "-m", "passerby", *arguments]
        command = [*command, *only] if self.namespace is None else [*inside, *command]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.status = done.returncode
        return self._as_shown(done.stderr + done.stdout)

    def _shell(self, command: str) -> str:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=self.folder)
        self.status = done.returncode
        return self._as_shown(done.stdout + done.stderr)

    def _as_shown(self, printed: str) -> str:
        return printed.replace(str(self.folder), "/tmp")

    def agrees(self, shown: str, printed: str) -> bool:
        """Is this what the page shows? Names that it shows for the first time are tied to the real ones."""
        self._tie(NAME.findall(shown), NAME.findall(printed))
        expected = NAME.sub(lambda name: self.real.get(name[0], name[0]), shown)
        beginning, left_out, end = without_passing(expected).partition(LEFT_OUT)
        printed = without_passing(printed)
        if not left_out:
            return printed == beginning
        return printed.startswith(beginning) and printed.endswith(end)

    def _tie(self, shown: list[str], came: list[str]) -> None:
        if [len(name) for name in shown] != [len(name) for name in came]:
            return  # something else was printed; its names say nothing about those of the page
        for mine, real in zip(shown, came, strict=True):
            self.real.setdefault(mine, real)
            for whole, beginning in ((UUID, 8), (FINGERPRINT, 9)):
                if re.fullmatch(whole, mine):
                    self.real.setdefault(mine[:beginning], real[:beginning])

    def renewed(self, block: str) -> str:
        """The block with what its commands print now; what still agrees stays as it is."""
        parts = []
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, output = COMMAND_LINE.split(part, maxsplit=1)[1:]
            printed = self.performed(Step(command.replace("\\\n", "").strip(), output))
            if not self.agrees(output, printed):
                shown = {real: name for name, real in self.real.items()}
                for real in NAME.findall(printed):
                    printed = printed.replace(real, shown.get(real, real))
                output = printed
            parts.append(f"$ {command}{output}")
        return "".join(parts)


def follow(session: Session, text: str) -> None:
    """Each command prints what the text shows, and works, unless the page goes on to show its status."""
    wanted = [*steps(text), Step("true", "")]
    for step, following in pairwise(wanted):
        printed = session.performed(step)
        assert session.agrees(step.output, printed), f"`{step.command}` prints\n{printed}"
        assert session.status == 0 or following.command == "echo $?", f"`{step.command}` fails:\n{printed}"


def renew(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    with mock.patch.dict(os.environ), tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with Session(folder) as session:
            text = FENCE.sub(lambda block: f"```console\n{session.renewed(block[1])}```", text)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(Path(name))
