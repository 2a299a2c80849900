"""How fast a file crosses between two real nodes on loopback, against the bare pipeline of the same bytes."""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from contentdb.model import CHUNK_BYTES
from evaluation.benchmarks.harness import Row, interleaved, row

FULL_BYTES, QUICK_BYTES = 100_000_000, 4_000_000
LEAST_SHARE = 0.7
PIECE = 3 * CHUNK_BYTES  # what our nodes put into one record
DEADLINE_S = 60.0
LENGTH_BYTES = 4


def run(rounds: int, quick: bool) -> list[Row]:
    size = QUICK_BYTES if quick else FULL_BYTES
    folder = Path(tempfile.mkdtemp(prefix="passerby-bench-"))
    try:
        (folder / "file").write_bytes(os.urandom(size))
        measured: dict[str, Callable[[], float]] = {
            "bare": lambda: size / bare_seconds(folder / "file", folder / "copy") / 1e6,
            "ours": lambda: size / our_seconds(folder) / 1e6,
        }
        rates = interleaved(measured, rounds)
    finally:
        shutil.rmtree(folder)
    ratio = statistics.median(rates["ours"]) / statistics.median(rates["bare"])
    what = f"{size // 1_000_000} MB between two processes on loopback"
    return [
        row(f"{what}: receive, decrypt, SHA-256, pwrite", rates["bare"], "MB/s"),
        row(
            f"{what}: two nodes, from connection to file complete", rates["ours"], "MB/s",
            promise=f"at least {LEAST_SHARE} x bare", ratio=ratio, kept=ratio >= LEAST_SHARE,
        ),
    ]  # fmt: skip


# -- the bare pipeline


def bare_seconds(source: Path, copy: Path) -> float:
    """From connection to the last byte on disk: encrypted by one process, checked and written by another."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = multiprocessing.get_context("fork").Process(target=send_bare, args=(listener, source))
    sender.start()
    started = time.perf_counter()
    with socket.create_connection(listener.getsockname()) as stream:
        receive_bare(stream, copy)
    took = time.perf_counter() - started
    sender.join()
    listener.close()
    return took


def send_bare(listener: socket.socket, source: Path) -> None:
    cipher = ChaCha20Poly1305(bytes(32))
    stream, _ = listener.accept()
    with stream, source.open("rb") as file:
        number = 0
        while piece := file.read(PIECE):
            sealed = cipher.encrypt(number.to_bytes(12), piece, None)
            stream.sendall(len(sealed).to_bytes(LENGTH_BYTES) + sealed)
            number += 1


def receive_bare(stream: socket.socket, copy: Path) -> None:
    cipher = ChaCha20Poly1305(bytes(32))
    file = os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        at = 0
        for number, sealed in enumerate(_frames(stream)):
            piece = cipher.decrypt(number.to_bytes(12), sealed, None)
            for start in range(0, len(piece), CHUNK_BYTES):
                chunk = piece[start : start + CHUNK_BYTES]
                sha256(b"\0" + chunk).digest()
                at += os.pwrite(file, chunk, at)
        os.fdatasync(file)  # our nodes do it as well when a file is complete
    finally:
        os.close(file)


def _frames(stream: socket.socket) -> Iterator[memoryview]:
    buffer, start, end = bytearray(4 * PIECE), 0, 0
    view = memoryview(buffer)
    while True:
        while end - start >= LENGTH_BYTES:
            size = int.from_bytes(view[start : start + LENGTH_BYTES])
            if end - start < LENGTH_BYTES + size:
                break
            yield view[start + LENGTH_BYTES : start + LENGTH_BYTES + size]
            start += LENGTH_BYTES + size
        view[: end - start] = bytes(view[start:end])
        start, end = 0, end - start
        got = stream.recv_into(view[end:])
        if got == 0:
            return
        end += got


# -- two nodes


def our_seconds(folder: Path) -> float:
    """What the client's logbook says from its connection to the file's last chunk."""
    homes = [folder / "ada", folder / "bob"]
    try:
        feed = passerby(homes[0], "feed", "create", "Bench").strip()
        passerby(homes[0], "publish", feed, "--title", "File", "--file", str(folder / "file"))
        passerby(homes[1], "subscribe", feed)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        options = ("up", "--interface", "lo", "--hello-port", port)
        nodes = [started(home, *options) for home in homes]
        try:
            return transfer_seconds(homes[1] / "logbook")
        finally:
            for node in nodes:
                node.send_signal(signal.SIGTERM)
                node.wait()
    finally:
        for home in homes:
            shutil.rmtree(home, ignore_errors=True)


def started(home: Path, *words: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(home, *words), stdout=quiet, stderr=quiet)


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "passerby", "--home", str(home), *words]


def passerby(home: Path, *words: str) -> str:
    return subprocess.run(command(home, *words), check=True, capture_output=True, text=True).stdout


def transfer_seconds(logbook: Path) -> float:
    give_up_at = time.monotonic() + DEADLINE_S
    while time.monotonic() < give_up_at:
        lines = [
            json.loads(line) for path in logbook.glob("*.jsonl") for line in path.read_text().splitlines()
        ]
        complete = [line for line in lines if line["kind"] == "enclosure_received"]
        ended = [line for line in lines if line["kind"] == "session_ended" and line["role"] == "client"]
        if complete and ended:
            began = ended[0]["now"] - ended[0]["seconds"]
            return float(complete[0]["now"] - began)
        time.sleep(0.05)
    raise TimeoutError(f"the file did not arrive within {DEADLINE_S:.0f} s")
