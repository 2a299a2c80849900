"""What a contact costs: nothing when nothing is new, little when little is, and how soon it is delivered."""

import shutil
import statistics
import time

from evaluation.benchmarks.harness import Row, row
from evaluation.benchmarks.meeting.content import publish_entries
from evaluation.benchmarks.meeting.emulator import EmulatedLink, Flight, Introduction, LinkModel
from evaluation.benchmarks.meeting.nodes import Home, Place, Reader, free_port
from transport.items import HEADER

FULL_LIBRARY, QUICK_LIBRARY = 100_000, 2_000
NEW = 10
MOST_CONTROL_BYTES = 2_000
MOST_ROUND_TRIPS = 1
MOST_DELIVERY_S = 0.030
QUIET_S = 5.0
# Flights of bytes that cross are told apart by it; otherwise it does not matter.
NEAR = LinkModel(1e9, 0.010)
HANDSHAKE_FLIGHTS = 3  # the third of them takes the first request along


def run(rounds: int, quick: bool) -> list[Row]:
    return [*known_neighbour(quick), *delivery(rounds)]


def known_neighbour(quick: bool) -> list[Row]:
    """Two nodes with the same large feed meet again, first with nothing new, then with ten new entries."""
    library = QUICK_LIBRARY if quick else FULL_LIBRARY
    with Place() as place:
        port = free_port()
        ada = place.home("ada", settings=f"mdns = false\n[sessions]\nport = {port}")
        feed = ada.do("feed", "create", "Bench")
        publish_entries(ada, feed, library)
        # Bob begins with a copy of what Ada has, under keys of his own, and a first meeting.
        bob = place.home("bob", hello_port=free_port())
        shutil.copy(ada.path / "passerby.sqlite", bob.path / "passerby.sqlite")
        bob.do("subscribe", feed)
        _meet(ada, bob, port, sessions=1)
        quiet = _quiet(ada, bob, port)
        wanted = publish_entries(ada, feed, NEW, seed=2) + NEW * HEADER.size
        flights = _meet(ada, bob, port, sessions=1)
    control = sum(size for _, size in flights) - wanted
    trips = round_trips(flights, wanted)
    what = f"second contact, {NEW} new among {library:,} entries"
    return [
        *quiet,
        row(
            f"{what}: control traffic, handshake included", [control], "B",
            promise=f"at most {MOST_CONTROL_BYTES} B", kept=control <= MOST_CONTROL_BYTES,
        ),
        row(
            f"{what}: round trips after the handshake's before the first wanted byte", [trips], "",
            promise=f"at most {MOST_ROUND_TRIPS}", kept=trips <= MOST_ROUND_TRIPS,
        ),
    ]  # fmt: skip


def round_trips(flights: list[Flight], wanted: int) -> float:
    """How often we asked before the flight came that brought the entries, by far the largest one."""
    first = next(number for number, (is_down, size) in enumerate(flights) if is_down and size > wanted // 2)
    return (first - HANDSHAKE_FLIGHTS) / 2 + 1


def _meet(ada: Home, bob: Home, port: int, sessions: int) -> list[Flight]:
    """Both come up, meet through a link, and part; what passed on it."""
    for home in (ada, bob):
        home.up()
    done = len(bob.facts("session_ended"))
    with EmulatedLink(NEAR, port) as link, Introduction(ada, link.port, [bob]):
        bob.wait_for("session_ended", done + sessions)
        flights = link.take_flights()
    for home in (ada, bob):
        home.stop()
    return flights


def _quiet(ada: Home, bob: Home, port: int) -> list[Row]:
    """They meet again, each as the other left it; what happens in some seconds after they have found out."""
    before = sum(len(home.facts("session_ended")) for home in (ada, bob))
    for home in (ada, bob):
        home.up()
    met = len(bob.facts("contact_began"))
    with EmulatedLink(NEAR, port) as link, Introduction(ada, link.port, [bob]):
        bob.wait_for("contact_began", met + 1)
        time.sleep(QUIET_S)
        flights = link.take_flights()
    for home in (ada, bob):
        home.stop()
    sessions = sum(len(home.facts("session_ended")) for home in (ada, bob)) - before
    passed = sum(size for _, size in flights)
    what = f"nothing new, {QUIET_S:.0f} s in contact"
    return [
        row(f"{what}: connections", [float(sessions)], "", promise="none", kept=sessions == 0),
        row(f"{what}: bytes beyond hellos", [float(passed)], "B", promise="none", kept=passed == 0),
    ]


def delivery(rounds: int) -> list[Row]:
    """From the hello that tells of a neighbour to an app that has read its entry of 1 kB."""
    took = []
    with Place() as place:
        for number in range(rounds):
            port = free_port()
            ada = place.home(f"ada{number}", settings=f"mdns = false\n[sessions]\nport = {port}")
            bob = place.home(f"bob{number}", hello_port=free_port())
            feed = ada.do("feed", "create", "Bench")
            publish_entries(ada, feed, 1)
            for home in (ada, bob):
                home.up()
            reader = Reader(bob, feed, 1)
            with Introduction(ada, port, [bob]):
                last = reader.last_read()
            took.append(1000 * (last - float(bob.wait_for("contact_began")[0]["now"])))
            for home in (ada, bob):
                home.forget()
    is_kept = statistics.median(took) <= 1000 * MOST_DELIVERY_S
    promise = f"at most {1000 * MOST_DELIVERY_S:.0f} ms"
    return [row("hello received to entry of 1 kB read by an app", took, "ms", promise=promise, kept=is_kept)]
