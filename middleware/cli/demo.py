"""The command that shows what passerby does: three nodes here, one of which carries for the others.

They are real: processes as `passerby up` starts them, each with a home of its own in a temporary folder. Each
listens on a hello port of its own on loopback, so that two of them meet only when one is given the address of
the other.
"""

import argparse
import hashlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from contentdb.errors import UsageError
from middleware.cli.desk import Desk
from middleware.cli.noted import FOLDER, Notes
from middleware.cli.tune import write_tune
from middleware.client.connection import Connection
from middleware.client.conversation import Inbox

SETTINGS = "[hello]\nmdns = false\n"  # which would bring all three together
LOOPBACK = ("lo", "lo0")
# Each step takes under a second; who waits longer than this waits in vain.
PATIENCE_S = 30.0
PAUSE_S = 6.0
TITLE, SONG = "Corner of 5th", "corner.wav"


class Person:
    """A home, the node that runs in it, and a connection to that node as an app has it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.home, self._said = name, folder / name.lower(), folder / f"{name.lower()}.said"
        self.port, self.node_id = _free_port(), ""
        self._process: subprocess.Popen[str] | None = None
        self._app: Connection | None = None

    def start(self, interface: str) -> None:
        self.home.mkdir(mode=0o700)
        (self.home / "settings.toml").write_text(SETTINGS)
        command = [sys.executable, "-P", "-m", "passerby", "--home", str(self.home), "up"]
        command += ["--interface", interface, "--hello-port", str(self.port), "--hello-interval", "0.5"]
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,  # Ctrl-C is for us; we end the nodes one by one
            )

    def ready(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        self.node_id = self._process.stdout.readline().strip()
        if not self.node_id:
            said = self._said.read_text(errors="replace").strip().rpartition("\n")[2]
            raise UsageError(f"{self.name}'s node did not start: {said.removeprefix('passerby: ')}")
        self._app = Connection(str(self.home), "demo")
        self.call("me", name=self.name)

    @property
    def app(self) -> Connection:
        assert self._app is not None
        return self._app

    def call(self, method: str, **params: Any) -> Any:
        return self.app.call(method, params)

    @property
    def is_up(self) -> bool:
        return self._app is not None

    @property
    def has_it(self) -> bool:
        return self.is_up and any(each["complete"] for each in self.call("entries")["entries"])

    def met(self) -> set[str]:
        """The nodes it was in contact with, by its own logbook."""
        return {
            fact["peer"] for fact in Notes(self.home / FOLDER).unread() if fact["kind"] == "contact_began"
        }

    def stop(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None


class Stage:
    """Tells what happens, step by step, and keeps it for JSON."""

    def __init__(self, desk: Desk, people: list[Person], pause_s: float) -> None:
        self._desk, self._people, self._pause_s = desk, people, pause_s
        self._began = time.monotonic()
        self.steps: list[dict[str, Any]] = []
        self._had: dict[str, bool] = {}

    def step(self, told: str, *, met: tuple[str, ...] = ()) -> None:
        """One sentence, and a picture of who has the song and who is in touch with whom."""
        self._had |= {person.name: person.has_it for person in self._people if person.is_up}
        seconds = round(time.monotonic() - self._began, 2)
        self.steps.append({"told": told, "seconds": seconds, "has": dict(self._had), "met": list(met)})
        self.say(f"{len(self.steps)}. {told}", "", f"      {self._picture(met)}", "")
        time.sleep(self._pause_s)

    def say(self, *lines: str) -> None:
        if not self._desk.as_json:
            self._desk.show(None, lines)
            sys.stdout.flush()

    def _picture(self, met: tuple[str, ...]) -> str:
        note, dot = _drawn("♪", "*"), _drawn("·", "-")
        line, gap = _drawn("◄────►", "<---->"), " " * 6
        shown = ""
        for person in self._people:
            between = line if len(met) == 2 and person.name == met[1] else gap
            mark = note if self._had[person.name] else dot
            told = f" {person.name} {mark} " if person.is_up else f"({person.name} {mark})"
            shown += (between if shown else "") + told
        return shown.rstrip()


def demo(desk: Desk, options: argparse.Namespace) -> int:
    """Whatever happens, also Ctrl-C: no process and no file stays."""
    interface = _loopback()
    with ExitStack() as cleared:
        former = signal.signal(signal.SIGTERM, _interrupted)
        cleared.callback(signal.signal, signal.SIGTERM, former)
        folder = Path(cleared.enter_context(tempfile.TemporaryDirectory(prefix="passerby-demo-")))
        people = [Person(name, folder) for name in ("Ada", "Bob", "Carol")]
        for person in people:
            cleared.callback(person.stop)
            person.start(interface)
        stage = Stage(desk, people, PAUSE_S if options.slow else 0.0)
        document = _perform(stage, people, folder, is_slow=options.slow)
    stage.say(
        "Three real nodes, signed entries, encrypted sessions; they and their files are gone now.",
        "Your turn: passerby up",
    )
    return desk.show(document) if desk.as_json else 0


def _perform(stage: Stage, people: list[Person], folder: Path, *, is_slow: bool) -> dict[str, Any]:
    ada, bob, carol = people
    for person in people:
        person.ready()
    if is_slow:
        stage.say(
            *(f"{each.name}'s dashboard: {each.call('status')['dashboard'] or '-'}" for each in people), ""
        )
    stage.step("Ada, Bob and Carol run a node each. Nobody is near anybody.")
    feed = ada.call("create_feed", title="Street music", categories=["music"])["id"]
    song = write_tune(folder / SONG)
    entry = ada.call("publish", feed=feed, title=TITLE, files=[str(song)])
    stage.step(
        f"Ada publishes “{TITLE}”, a song of {song.stat().st_size // 1000} kB, to her feed “Street music”."
    )
    waiting = {each.name: each.app.open_inbox(Inbox("subscribe", {"feed": feed})) for each in (bob, carol)}
    stage.step("Bob and Carol subscribe to that feed. They wait: Ada is not near.")
    took_s = _meet(bob, ada, waiting)
    stage.step(f"Ada and Bob meet. Bob has the song {took_s:.1f} s later.", met=("Ada", "Bob"))
    ada.stop()
    stage.step("They part: Ada goes home, and her node stops (hence the brackets).")
    took_s = _meet(carol, bob, waiting)
    stage.step(f"Bob and Carol meet. Carol has the song {took_s:.1f} s later.", met=("Bob", "Carol"))
    got = carol.call("entry", entry=entry["id"], into=str(folder / "carol-songs"))
    same = _digest(Path(got["enclosures"][0]["path"])) == _digest(song)
    if not same or got["author"] != entry["author"]:
        raise UsageError("what Carol has is not what Ada published; please report this")
    stage.step("Carol's copy is Ada's, byte for byte, and carries Ada's signature; Bob only carried it.")
    return _told(stage, people, feed, entry["id"])


def _meet(guest: Person, host: Person, waiting: dict[str, Inbox]) -> float:
    """One is given the address of the other, and waits for the song; the seconds that took."""
    began = time.monotonic()
    guest.call("meet", address=f"127.0.0.1:{host.port}")
    if guest.app.take(lambda: [waiting[guest.name]], PATIENCE_S) is None:
        raise UsageError(f"{guest.name} waited {PATIENCE_S:.0f} s for the song; is loopback filtered here?")
    return time.monotonic() - began


def _told(stage: Stage, people: list[Person], feed: str, entry: str) -> dict[str, Any]:
    """Whom each has met is read from the logbooks, which are complete when the nodes have ended."""
    for person in people:
        person.stop()
    names = {person.node_id: person.name for person in people}
    met = {each.name: sorted(names.get(node, node) for node in each.met()) for each in people}
    if met != {"Ada": ["Bob"], "Bob": ["Ada", "Carol"], "Carol": ["Bob"]}:
        raise UsageError(f"others met than should have; is another demo running? {met}")
    stage.say(
        "Their logbooks agree: Ada has met Bob, and Bob has met Carol. Ada and Carol have never met.", ""
    )
    return {"feed": feed, "entry": entry, "steps": stage.steps, "met": met}


def _drawn(sign: str, plainly: str) -> str:
    """The sign, if this output can show it."""
    try:
        sign.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return plainly
    return sign


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _loopback() -> str:
    for _number, name in socket.if_nameindex():
        if name in LOOPBACK:
            return name
    raise UsageError("this machine has no loopback interface, on which the three nodes would meet")


def _interrupted(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
