"""Nodes as people run them are found by mDNS too, and are none the worse where there is none."""

import os
from pathlib import Path

from tests.middleware.command import ROOT
from tests.middleware.town import Person, Town, settle, stays_so
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town


def author_and_reader(town: Town) -> tuple[Person, Person]:
    author = town.person()
    author.do("feed", "create", "News", "--id", "urn:example:news")
    author.do("publish", "urn:example:news", "--title", "one")
    reader = town.person()
    reader.do("subscribe", "urn:example:news")
    return author, reader


def test_nodes_that_cannot_hear_each_others_hellos_meet_by_mdns(town: Town) -> None:
    ann, ben = author_and_reader(town)
    ann.up("--hello-port", "20001")
    ben.up("--hello-port", "20002")
    ben.wait_for("entry_received")
    ann.stop()  # and its goodbye is heard
    ben.wait_for("contact_ended")
    ben.stop()


def test_hellos_and_mdns_make_one_contact_and_no_further_sessions(town: Town) -> None:
    ann, ben = author_and_reader(town)
    ann.up()
    ben.up()
    ben.wait_for("entry_received")
    settle(ann, ben)
    sessions = len(ben.facts("session_ended"))
    stays_so(8.0, lambda: len(ben.facts("session_ended")) == sessions)
    for person in (ann, ben):
        assert len(person.facts("contact_began")) == 1 and not person.facts("contact_ended")
        person.stop()


def test_an_interface_that_comes_later_is_announced_by_mdns(town: Town) -> None:
    ann, ben = author_and_reader(town)
    ben.machine.ip("link", "set", "eth0", "down")
    ann.up("--hello-port", "20001")
    ben.up("--hello-port", "20002")
    ben.machine.ip("link", "set", "eth0", "up")
    ben.wait_for("entry_received")
    ann.stop()
    ben.stop()


def test_a_node_whose_zeroconf_is_broken_says_so_in_one_line_and_goes_on(town: Town, tmp_path: Path) -> None:
    (tmp_path / "zeroconf.py").write_text("raise OSError('no such luck')\n")
    ann, ben = author_and_reader(town)
    ann.up()
    ben.environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    ben.up()
    ben.wait_for("entry_received")
    ben.wait(lambda: "no such luck" in ben.said())
    assert ben.said().count("mDNS is not available") == 1
    ann.stop()
    ben.stop()


def test_a_node_is_up_and_exchanges_while_zeroconf_is_still_being_loaded(town: Town, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "zeroconf.py").write_text(f"open({str(gate)!r}).read()\n")
    ann, ben = author_and_reader(town)
    ann.up()
    ben.environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    ben.up()
    ben.wait_for("entry_received")
    gate.write_text("")
    ben.wait(lambda: "mDNS is not available" in ben.said())  # for this zeroconf has nothing in it
    ann.stop()
    ben.stop()


def test_mdns_can_be_switched_off(town: Town) -> None:
    ann, ben = author_and_reader(town)
    for person in (ann, ben):
        person.set("[hello]\nmdns = false\n")
    ann.up("--hello-port", "20001")
    ben.up("--hello-port", "20002")
    stays_so(8.0, lambda: not ben.facts("contact_began"))
    ann.stop()
    ben.stop()
