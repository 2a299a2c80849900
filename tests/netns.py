"""Network namespaces joined by a bridge: machines on one network, for tests with real processes.

    def test_something(lan: Lan) -> None:
        ann, ben = lan.machine(ipv4="10.77.0.1/24"), lan.machine(ipv4="10.77.0.2/24")
        process = ann.start("-m", "tests.discovery.announcer", ...)

The bridge has a namespace of its own, so nothing of this touches the machine that runs the tests. A test
module gets the fixture by ``from tests.netns import lan as lan``.
"""

import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
# Only who waits for something that never comes waits so long.
PATIENCE_S = 60.0
_numbers = itertools.count(1)

Line = dict[str, Any]


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Process:
    """A Python process that prints JSON lines and ends when its standard input does."""

    def __init__(self, command: list[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        self._rest = b""
        self.lines: list[Line] = []

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def wait_for(self, is_it: Callable[[Line], bool]) -> Line:
        """The first line for which this is true, printed or to come; it and those before are used up."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for number, line in enumerate(self.lines):
                if is_it(line):
                    del self.lines[: number + 1]
                    return line
            self._read(deadline)

    def _read(self, deadline: float) -> None:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        more = os.read(self._process.stdout.fileno(), 65_536) if ready else b""
        if not more:
            raise AssertionError(f"waited in vain after {self.lines}; {self.end()}")
        *whole, self._rest = (self._rest + more).split(b"\n")
        self.lines += [json.loads(line) for line in whole]

    def finish(self) -> None:
        """Close its standard input and wait until it has ended by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE_S) == 0

    def end(self) -> str:
        """Stop it, whatever it is doing; its last words."""
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def close(self) -> None:
        for file in (self._process.stdin, self._process.stdout, self._errors):
            if file is not None:
                file.close()


class Machine:
    """A namespace with an interface ``eth0`` on the bridge, if it has one, and ``lo``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.processes: list[Process] = []

    def ip(self, *words: str) -> None:
        ip("-n", self.name, *words)

    def sysctl(self, key: str, value: int) -> None:
        path = "/proc/sys/" + key.replace(".", "/")
        subprocess.run(["ip", "netns", "exec", self.name, "sh", "-c", f"echo {value} > {path}"], check=True)

    def start(self, *arguments: str) -> Process:
        process = Process(["ip", "netns", "exec", self.name, sys.executable, *arguments])
        self.processes.append(process)
        return process


class Lan:
    """Machines on one bridge; `close` takes everything away."""

    def __init__(self) -> None:
        self._prefix = f"passerby-{os.getpid()}-{next(_numbers)}"
        self._machines: list[Machine] = []
        self._hub = self._namespace("hub")

    def open(self) -> None:
        self._hub.ip("link", "add", "bridge", "type", "bridge")
        self._hub.ip("link", "set", "bridge", "up")

    def machine(self, *, ipv4: str = "", has_ipv6: bool = False, is_joined: bool = True) -> Machine:
        """A machine whose loopback is up, and its eth0 with this address; IPv6 is link-local."""
        number = len(self._machines)
        machine = self._namespace(str(number))
        machine.sysctl("net.ipv6.conf.all.disable_ipv6", 0 if has_ipv6 else 1)
        machine.sysctl("net.ipv6.conf.default.disable_ipv6", 0 if has_ipv6 else 1)
        machine.ip("link", "set", "lo", "up")
        if is_joined:
            port = f"port{number}"
            machine.ip("link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self._hub.name)
            self._hub.ip("link", "set", port, "master", "bridge", "up")
            if ipv4:
                machine.ip("address", "add", ipv4, "dev", "eth0")
            machine.ip("link", "set", "eth0", "up")
        return machine

    def part(self, machine: Machine) -> None:
        """It is out of range from now on: what it sends gets lost, and its own interface does not notice."""
        self._hub.ip("link", "set", self._port(machine), "nomaster")

    def join(self, machine: Machine) -> None:
        """It is in range again."""
        self._hub.ip("link", "set", self._port(machine), "master", "bridge")

    def isolate(self, machine: Machine) -> None:
        """It reaches only those who are not isolated."""
        self._hub.ip("link", "set", self._port(machine), "type", "bridge_slave", "isolated", "on")

    def _port(self, machine: Machine) -> str:
        return f"port{self._machines.index(machine)}"

    def close(self) -> None:
        try:
            for process in [process for machine in self._machines for process in machine.processes]:
                process.end()
                process.close()
        finally:
            for machine in self._machines:
                subprocess.run(["ip", "netns", "delete", machine.name], capture_output=True)

    def _namespace(self, label: str) -> Machine:
        machine = Machine(f"{self._prefix}-{label}")
        ip("netns", "add", machine.name)
        self._machines.append(machine)
        return machine


def reason_against() -> str:
    """Why namespaces cannot be had here; "" if they can."""
    if not sys.platform.startswith("linux") or shutil.which("ip") is None:
        return "needs the command ip of iproute2"
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    name = f"passerby-{os.getpid()}-try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return f"cannot make network namespaces: {done.stderr.strip()}" if done.returncode else ""


@pytest.fixture
def lan() -> Iterator[Lan]:
    reason = reason_against()
    if reason:
        pytest.skip(reason)
    lan = Lan()
    try:
        lan.open()
        yield lan
    finally:
        lan.close()
