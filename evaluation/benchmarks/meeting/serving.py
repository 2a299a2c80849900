"""Serving several clients at once, or one after the other, over one link that they share."""

import os
import socket
import statistics

from evaluation.benchmarks.harness import Row, row
from evaluation.benchmarks.meeting.emulator import EmulatedLink, Introduction, LinkModel
from evaluation.benchmarks.meeting.nodes import Place, free_port

LINK = LinkModel(20e6, 0.005)
CLIENTS = (1, 2, 3, 6)
FULL_BYTES, QUICK_BYTES = 2_500_000, 250_000  # one second of the link


def run(_rounds: int, quick: bool) -> list[Row]:
    """One round each: what is compared takes many seconds, and the link decides it."""
    size = QUICK_BYTES if quick else FULL_BYTES
    rows = []
    for clients in CLIENTS[:2] if quick else CLIENTS:
        for mode in ("concurrent", "sequential"):
            took = sorted(seconds(mode, clients, size))
            what = f"{mode} serving, {clients} clients, {size / 1e6:g} MB each over {LINK.name}"
            rows.append(row(f"{what}: mean time to complete", [statistics.mean(took)], "s"))
            rows.append(row(f"{what}: the last is complete after", [took[-1]], "s"))
    return rows


def seconds(mode: str, clients: int, size: int) -> list[float]:
    """For each client, from the first contact of any until its file is complete."""
    with Place() as place:
        port = free_port()
        file = place.folder / "file"
        file.write_bytes(os.urandom(size))
        settings = f'mdns = false\n[sessions]\nport = {port}\nserving = "{mode}"'
        ada = place.home("ada", settings=settings)
        feed = ada.do("feed", "create", "Bench")
        ada.do("publish", feed, "--title", "File", "--file", str(file))
        readers = [
            place.home(f"reader{number}", hello_port=free_port(socket.SOCK_DGRAM))
            for number in range(clients)
        ]
        for home in readers:
            home.do("subscribe", feed)
        for home in (ada, *readers):
            home.up()
        with EmulatedLink(LINK, port) as link, Introduction(ada, link.port, readers):
            done = [float(home.wait_for("enclosure_received")[0]["now"]) for home in readers]
        began = min(float(home.facts("contact_began")[0]["now"]) for home in readers)
    return [moment - began for moment in done]
