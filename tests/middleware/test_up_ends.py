"""How a node ends, well or badly, and what is left of it: processes of ``passerby up``."""

import signal
import time

import pytest

from tests.middleware.command import process
from tests.middleware.town import Person, Town
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town

FEED = "urn:example:diary"


def ask(person: Person, *words: str) -> str:
    """A command while the node is up."""
    ran = process("--home", str(person.home), *words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def numbers(person: Person) -> list[int]:
    kinds = ("node_started", "entry_published", "hellos_counted", "node_stopped")
    return sorted(fact["seq"] for kind in kinds for fact in person.facts(kind))


def test_a_node_that_was_killed_is_up_again_with_all_that_was_acknowledged(town: Town) -> None:
    ann = town.person()
    ann.up()
    ask(ann, "feed", "create", "Diary", "--id", FEED)
    for number in range(3):
        ask(ann, "publish", FEED, "--title", f"day {number}")  # acknowledged by the running node
    ann.kill()
    began = time.monotonic()
    ann.up()
    print(f"up again after {time.monotonic() - began:.2f} s")
    told = ask(ann, "entries", FEED)
    assert all(f"day {number}" in told for number in range(3))
    first, again = ann.facts("node_started")
    assert first["epoch"] != again["epoch"] and again["seq"] > first["seq"]
    ann.stop()
    assert len(set(numbers(ann))) == len(numbers(ann))  # the logbook went on with its own numbers
    ran = process("--home", str(ann.home), "doctor")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_is_told_to_end_ends_well_and_counts_its_hellos(
    town: Town, number: signal.Signals
) -> None:
    ann, ben = town.person(), town.person()
    for person in (ann, ben):
        person.up()
    for person in (ann, ben):
        person.wait_for("contact_began")
        person.stop(number)
        (stopped,) = person.facts("node_stopped")
        (counted,) = person.facts("hellos_counted")
        assert counted["sent"] and counted["received"] and not counted["dropped"]
        assert stopped["seq"] > counted["seq"]
    ann.up()  # the same state: nothing had to be repaired
    first, again = ann.facts("node_started")
    assert first["epoch"] == again["epoch"]
    ann.stop()
