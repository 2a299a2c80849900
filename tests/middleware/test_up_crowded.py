"""Nodes as people run them, when more want to be served than can be, and some of those do no good."""

from itertools import pairwise
from pathlib import Path

from tests.middleware.town import FEED, LARGE, MB, Person, Town, file_of
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town


def served(person: Person) -> list[tuple[float, float, str]]:
    """Begin, end and peer of each session in which it served somebody."""
    return [
        (fact["now"] - fact["seconds"], fact["now"], fact["peer"])
        for fact in person.facts("session_ended")
        if fact["role"] == "server" and not fact["reason"].startswith("rejected")
    ]


def id_of(person: Person) -> str:
    return str(person.facts("node_started")[0]["node"])


def test_three_are_served_and_the_fourth_is_rejected_until_one_ends(town: Town, tmp_path: Path) -> None:
    file = file_of(LARGE, tmp_path / "large.bin")
    ann = town.person()
    entry = ann.publish(file)
    ann.set("[sessions]\nservice_s = 600\n")
    first, late = [town.reader() for _ in range(3)], town.reader()
    for reader in (*first, late):
        town.lan.isolate(reader.machine)  # they reach her alone, not each other
    ann.slow("4mbit")
    ann.up()
    for reader in first:
        reader.up()
    for reader in first:
        reader.wait(lambda reader=reader: reader.bytes_received() > 200_000)  # type: ignore[misc]
    late.up()
    late.wait_for("session_ended")
    assert not any(reader.facts("enclosure_received") for reader in first)
    ann.quick()
    late.wait_for("enclosure_received")
    for reader in first:
        reader.wait_for("enclosure_received")
    sessions = [fact for fact in late.facts("session_ended") if fact["role"] == "client"]
    assert sessions[0]["reason"] == "rejected: busy"
    # It came back, and no sooner than it was told to: in a second at least.
    assert all(two["now"] - two["seconds"] >= one["now"] + 1.0 for one, two in pairwise(sessions))
    for person in (*first, late, ann):
        person.stop()
    refused = [(fact["peer"], fact["reason"]) for fact in ann.facts("session_refused")]
    assert refused and set(refused) == {(id_of(late), "busy")}
    begin = min(begin for begin, _, peer in served(ann) if peer == id_of(late))
    assert begin >= min(end for _, end, peer in served(ann) if peer != id_of(late))
    late.check(entry, file)


def test_peers_that_are_slow_on_purpose_keep_nobody_from_being_served(town: Town, tmp_path: Path) -> None:
    file = file_of(10 * MB, tmp_path / "bait.bin")
    ann = town.person()
    ann.publish(file)
    ann.up("--port", "40123")
    root = ann.do("entries", FEED)[0]["enclosures"][0]["root"]
    loris = town.person().machine.start("-m", "tests.middleware.loris", "10.78.0.1", "40123", root)
    # They have every place there is.
    loris.wait_for(lambda line: sum(line["proved"].values()) >= 6)
    ben = town.reader()
    ben.up()
    ben.wait_for("enclosure_received")
    assert "rejected: busy" in {fact["reason"] for fact in ben.facts("session_ended")}
    loris.wait_for(lambda line: all(line["thrown_out"].get(kind, 0) for kind in ("mute", "drip", "holder")))
    loris.finish()
    for person in (ann, ben):
        person.stop()
    reasons = {fact["reason"] for fact in ann.facts("session_ended")}
    assert {"half open", "turn"} <= reasons
