"""Nodes as people run them, while the addresses under them change."""

from pathlib import Path

from tests.middleware.town import LARGE, Town, file_of
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town


def test_a_contact_and_a_download_outlive_a_change_of_address_on_either_side(
    town: Town, tmp_path: Path
) -> None:
    file = file_of(LARGE, tmp_path / "large.bin")
    ann, ben, entry = town.author_and_reader(file)
    for person in (ann, ben):
        person.set("[sessions]\nsilence_s = 2\n")
        person.up()
        person.slow()
    for number, person in enumerate((ann, ben), 1):
        received = ben.bytes_received()
        ben.wait(lambda received=received: ben.bytes_received() - received > LARGE // 8)  # type: ignore[misc]
        assert not ben.facts("enclosure_received")
        person.machine.ip("address", "add", f"10.78.0.{number + 100}/24", "dev", "eth0")
        person.machine.ip("address", "delete", f"10.78.0.{number}/24", "dev", "eth0")
        person.machine.ip("address", "replace", f"10.78.0.{number + 100}/24", "dev", "eth0")
    ben.wait_for("enclosure_received")
    ann.stop()
    ben.stop()
    ben.check(entry, file)


def test_two_who_want_from_each_other_dial_each_other_at_once(town: Town) -> None:
    people = [town.person(), town.person()]
    for number, person in enumerate(people):
        person.do("feed", "create", f"Diary {number}", "--id", f"urn:example:{number}")
        person.do("publish", f"urn:example:{number}", "--title", "dear diary")
        person.do("subscribe", f"urn:example:{1 - number}")
    for person in people:
        person.up("--hello-interval", "0.1")
    for person in people:
        person.wait_for("entry_received")
        assert person.facts("contact_began") and "twice" not in str(person.facts("session_refused"))
    for person in people:
        person.stop()
