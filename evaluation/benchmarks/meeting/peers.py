"""Other people's programs to compare with: iperf3 and Syncthing, as Debian packages them, on loopback."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evaluation.benchmarks.meeting.nodes import LOOK_AGAIN_S, PATIENCE_S, BenchmarkFailed, free_port

PEERS = ("iperf3", "syncthing")
IPERF_S = 3
# It flushes each file: where a flush takes long, ten thousand of them take minutes.
SYNCTHING_PATIENCE_S = 600.0
INSTALL = "./passerby bench --peers installs it"
KEY = "benchmark"
EVENTS = "/rest/events?since=0&timeout=1&events=DeviceConnected,StateChanged"


def is_missing(peer: str) -> str:
    """What to say if it is not here; "" if it is."""
    return "" if shutil.which(peer) else f"{peer} is not installed; {INSTALL}"


def install_peers() -> str:
    """Install what is missing by apt; returns why that failed, or ""."""
    missing = [peer for peer in PEERS if is_missing(peer)]
    if not missing:
        return ""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"{' and '.join(missing)} cannot be installed: that needs root and apt-get"
    sys.stderr.write(f"passerby: installing {' and '.join(missing)} ...\n")
    for words in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
        ran = subprocess.run(["apt-get", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if ran.returncode != 0:
            return f"apt-get {words[0]} failed: {ran.stderr.strip().splitlines()[-1:]}"
    return ""


def iperf3_bytes_per_second(seconds: int = IPERF_S) -> float:
    port = str(free_port())
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "--forceflush", "-B", "127.0.0.1", "-p", port],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline().lower():
            if server.poll() is not None:
                raise BenchmarkFailed("iperf3 -s ended before it listened")
        words = ["-c", "127.0.0.1", "-p", port, "-l", "16K", "-t", str(seconds), "-J"]
        ran = subprocess.run(["iperf3", *words], capture_output=True, text=True, timeout=PATIENCE_S)
        return float(json.loads(ran.stdout)["end"]["sum_received"]["bits_per_second"]) / 8
    finally:
        server.kill()
        server.wait()


# -- Syncthing


@dataclass(frozen=True, slots=True)
class Device:
    """One Syncthing with a home of its own, that talks to nobody but the other one."""

    home: Path
    folder: Path
    id: str
    port: int
    gui: int


def syncthing_seconds(place: Path, fill: Callable[[Path], None], files: int) -> float:
    """From connection until all files are there, by the receiver's own events; fsync as it comes, on."""
    place.mkdir()
    devices = [_device(place, name) for name in ("sender", "receiver")]
    fill(devices[0].folder)
    sender, receiver = devices
    _configure(sender, receiver, is_dialler=False)
    _configure(receiver, sender, is_dialler=True)
    running = [_start(device) for device in devices]
    try:
        # Both have read their folders before they meet: the receiver dials when it is told to.
        for device in devices:
            _wait(lambda device=device: _is_scanned(device), "Syncthing did not read its folder")  # type: ignore[misc]
        _ask(receiver, EVENTS)  # from now on they are kept for us
        _ask(receiver, f"/rest/system/resume?device={sender.id}", method="POST")
        _wait(lambda: _has_all(receiver, files), "Syncthing did not finish")
        return _took(_ask(receiver, EVENTS))
    finally:
        for process in running:
            process.terminate()
            process.wait()
        shutil.rmtree(place, ignore_errors=True)


def _took(events: list[dict[str, Any]]) -> float:
    """From `DeviceConnected` until the folder was last done with fetching."""
    connected = next(_time(event) for event in events if event["type"] == "DeviceConnected")
    done = [
        _time(event)
        for event in events
        if event["type"] == "StateChanged" and event["data"]["from"] == "syncing"
    ]
    if not done:
        raise BenchmarkFailed("Syncthing did not say when it was done")
    return done[-1] - connected


def _time(event: dict[str, Any]) -> float:
    # Nanoseconds are more than Python reads.
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", event["time"])).timestamp()


def _device(place: Path, name: str) -> Device:
    home, folder = place / name, place / f"{name}-files"
    folder.mkdir()
    ran = subprocess.run(
        ["syncthing", "generate", "--no-default-folder", f"--home={home}"],
        env=_quiet(), capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    found = re.search(r'<device id="([A-Z0-9-]+)"', (home / "config.xml").read_text())
    if ran.returncode != 0 or found is None:
        raise BenchmarkFailed(f"syncthing generate failed: {ran.stderr.strip()[-200:]}")
    return Device(home, folder, found[1], free_port(), free_port())


def _configure(device: Device, other: Device, *, is_dialler: bool) -> None:
    address = f"tcp://127.0.0.1:{other.port}" if is_dialler else "tcp://127.0.0.1:1"
    paused = "true" if is_dialler else "false"
    (device.home / "config.xml").write_text(f"""<configuration version="36">
<folder id="bench" label="bench" path="{device.folder}" type="sendreceive" rescanIntervalS="0"
 fsWatcherEnabled="false" ignorePerms="false" autoNormalize="true"><filesystemType>basic</filesystemType>
<device id="{device.id}"/><device id="{other.id}"/><minDiskFree unit="%">0</minDiskFree></folder>
<device id="{device.id}" name="a"><address>dynamic</address></device>
<device id="{other.id}" name="b"><address>{address}</address><paused>{paused}</paused></device>
<gui enabled="true" tls="false"><address>127.0.0.1:{device.gui}</address><apikey>{KEY}</apikey></gui>
<options><listenAddress>tcp://127.0.0.1:{device.port}</listenAddress>
<globalAnnounceEnabled>false</globalAnnounceEnabled><localAnnounceEnabled>false</localAnnounceEnabled>
<relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled><urAccepted>-1</urAccepted>
<autoUpgradeIntervalH>0</autoUpgradeIntervalH><startBrowser>false</startBrowser>
<crashReportingEnabled>false</crashReportingEnabled><reconnectionIntervalS>1</reconnectionIntervalS>
<stunKeepaliveStartS>0</stunKeepaliveStartS></options></configuration>
""")


def _start(device: Device) -> "subprocess.Popen[bytes]":
    words = ["serve", f"--home={device.home}", "--no-browser", "--no-restart", "--no-upgrade"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(["syncthing", *words], env=_quiet(), stdout=quiet, stderr=quiet)


def _quiet() -> dict[str, str]:
    return {**os.environ, "STNOUPGRADE": "1", "STNODEFAULTFOLDER": "1"}


def _ask(device: Device, path: str, method: str = "GET") -> Any:
    url = f"http://127.0.0.1:{device.gui}{path}"
    asked = urllib.request.Request(url, headers={"X-API-Key": KEY}, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def _is_scanned(device: Device) -> bool:
    state = _ask(device, "/rest/db/status?folder=bench")
    return state["state"] == "idle" and bool(state["stateChanged"]) and not state.get("errors")


def _has_all(device: Device, files: int) -> bool:
    state = _ask(device, "/rest/db/status?folder=bench")
    return bool(state["state"] == "idle" and state["localFiles"] >= files and not state["needFiles"])


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    give_up_at = time.monotonic() + SYNCTHING_PATIENCE_S
    while time.monotonic() < give_up_at:
        try:
            if is_so():
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass  # it is starting
        time.sleep(5 * LOOK_AGAIN_S)
    raise BenchmarkFailed(f"{otherwise} within {SYNCTHING_PATIENCE_S:.0f} s")
