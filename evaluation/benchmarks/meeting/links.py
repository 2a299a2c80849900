"""How much of a slow link a file fills, between two nodes that meet through an emulated one."""

import os
import socket
import statistics
import threading
import time
from functools import partial

from evaluation.benchmarks.harness import Row, interleaved, row
from evaluation.benchmarks.meeting.emulator import LOOPBACK, EmulatedLink, Introduction, LinkModel
from evaluation.benchmarks.meeting.nodes import Place, client_session, free_port

# With the file whose transfer takes long enough for the opening of a session to be a small part of it.
LINKS = (
    (LinkModel(100e6, 0.005), 50_000_000),
    (LinkModel(20e6, 0.020), 20_000_000),
    (LinkModel(1e6, 0.100), 4_000_000),
)
LEAST_SHARE = 0.93
MOST_ROUNDS = 3
QUICK_SHARE = 20


def run(rounds: int, quick: bool) -> list[Row]:
    rows = []
    for model, size in LINKS:
        length = size // QUICK_SHARE if quick else size
        share = partial(_percent, model, length)
        rates = interleaved(
            {
                "plain": lambda model=model, length=length, share=share: share(plain_seconds(model, length)),  # type: ignore[misc]
                "ours": lambda model=model, length=length, share=share: share(our_seconds(model, length)),  # type: ignore[misc]
            },
            min(rounds, MOST_ROUNDS),
        )
        is_kept = statistics.median(rates["ours"]) >= 100 * LEAST_SHARE
        rows += [
            row(f"link of {model.name}: a plain stream, which checks the emulator", rates["plain"], "%"),
            row(
                f"link of {model.name}: {length / 1e6:g} MB between two nodes", rates["ours"], "%",
                promise=f"at least {100 * LEAST_SHARE:.0f} % of the link", kept=is_kept,
            ),
        ]  # fmt: skip
    return rows


def _percent(model: LinkModel, length: int, seconds: float) -> float:
    return 100 * length * 8 / seconds / model.bits_per_second


def plain_seconds(model: LinkModel, length: int) -> float:
    """From connection to the last byte of a stream that waits for nothing."""
    listener = socket.create_server((LOOPBACK, 0))

    def send() -> None:
        stream, _ = listener.accept()
        with stream:
            stream.sendall(bytes(length))

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    with EmulatedLink(model, listener.getsockname()[1]) as link:
        started = time.perf_counter()
        with socket.create_connection((LOOPBACK, link.port)) as stream:
            left = length
            while left:
                left -= len(stream.recv(65_536))
        took = time.perf_counter() - started
    sender.join()
    listener.close()
    return took


def our_seconds(model: LinkModel, length: int) -> float:
    """From connection to the file complete, by the client's logbook."""
    with Place() as place:
        port = free_port()
        file = place.folder / "file"
        file.write_bytes(os.urandom(length))
        ada = place.home("ada", settings=f"mdns = false\n[sessions]\nport = {port}")
        bob = place.home("bob", hello_port=free_port(socket.SOCK_DGRAM))
        feed = ada.do("feed", "create", "Bench")
        ada.do("publish", feed, "--title", "File", "--file", str(file))
        bob.do("subscribe", feed)
        ada.up()
        bob.up()
        with EmulatedLink(model, port) as link, Introduction(ada, link.port, [bob]):
            complete = bob.wait_for("enclosure_received")[0]
            session = client_session(bob)
        return float(complete["now"] - (session["now"] - session["seconds"]))
