"""Nodes as people run them: processes of ``passerby up`` on machines that share a network, and lose it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.middleware.command import ROOT, process
from tests.middleware.town import FEED, LARGE, MB, PATIENCE_S, SMALL, Person, Town, file_of, settle, stays_so
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return file_of(SMALL, tmp_path / "small.bin")


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return file_of(LARGE, tmp_path / "large.bin")


def test_two_nodes_exchange_an_entry_with_a_file_and_then_say_no_more(town: Town, small: Path) -> None:
    ann, ben, entry = town.author_and_reader(small)
    ann.up()
    ben.up()
    ben.wait_for("enclosure_received")
    ben.wait_for("session_ended")
    ann.wait_for("session_ended")
    # The author may look once at what the reader has become; after that there is nothing to say.
    settle(ann, ben)
    sessions = len(ann.facts("session_ended")), len(ben.facts("session_ended"))
    received = ben.bytes_received()
    stays_so(10.0, lambda: (len(ann.facts("session_ended")), len(ben.facts("session_ended"))) == sessions)
    assert 0 < ben.bytes_received() - received < 20_000  # hellos, and nothing else
    assert not ben.facts("contact_ended")
    ann.stop()
    ben.stop()
    ben.check(entry, small)


def test_both_directions_at_once(town: Town, small: Path, tmp_path: Path) -> None:
    other = file_of(SMALL + 1, tmp_path / "other.bin")
    ann, ben = town.person(), town.person()
    entries = ann.publish(small), ben.publish(other)
    for person in (ann, ben):
        person.do("subscribe", FEED)
        person.up()
    for person in (ann, ben):
        person.wait_for("enclosure_received")
    settle(ann, ben)
    ann.stop()
    ben.stop()
    ann.check(entries[1], other)
    ben.check(entries[0], small)


def test_an_entry_is_carried_to_a_reader_who_never_meets_its_author(town: Town, small: Path) -> None:
    ann, carrier, entry = town.author_and_reader(small)
    reader = town.reader()
    town.lan.part(reader.machine)
    for person in (ann, carrier, reader):
        person.up()
    carrier.wait_for("enclosure_received")
    assert not reader.facts("contact_began")
    town.lan.part(ann.machine)
    town.lan.join(reader.machine)
    reader.wait_for("enclosure_received")
    # Both ran all the time and never met.
    met = {fact["peer"] for fact in reader.facts("contact_began")}
    assert met == {carrier.facts("node_started")[0]["node"]}
    for person in (ann, carrier, reader):
        person.stop()
    reader.check(entry, small)


def test_a_transfer_goes_on_where_a_cut_link_ended_it(town: Town, large: Path) -> None:
    ann, ben, entry = town.author_and_reader(large)
    for person in (ann, ben):
        person.set("[sessions]\nsilence_s = 2\n")
        person.up()
        person.slow()
    ben.wait_until_midway(LARGE)
    town.lan.part(ben.machine)
    ben.wait_for("session_ended")
    before = ben.bytes_received()
    town.lan.join(ben.machine)
    ben.wait_for("enclosure_received")
    assert ben.bytes_received() - before < 0.8 * LARGE  # what it had it did not fetch again
    ann.stop()
    ben.stop()
    ben.check(entry, large)


def test_a_link_that_breaks_again_and_again_is_tried_again_as_long_as_it_helps(
    town: Town, large: Path
) -> None:
    ann, ben, entry = town.author_and_reader(large)
    for person in (ann, ben):
        person.set("[sessions]\nsilence_s = 1\n")
        person.up("--hello-interval", "5")  # so that they stay neighbours while the link is cut
        person.slow("40mbit")
    for cut in range(1, 5):
        received = ben.bytes_received()
        ben.wait(lambda received=received: ben.bytes_received() - received > LARGE // 8)  # type: ignore[misc]
        town.lan.part(ben.machine)
        ben.wait_for("session_ended", cut)
        town.lan.join(ben.machine)
    ben.wait_for("enclosure_received")
    sessions = [fact for fact in ben.facts("session_ended") if fact["chunks"]]
    starts = [fact["now"] - fact["seconds"] for fact in sessions]
    ends = [fact["now"] for fact in sessions]
    pauses = [start - end for start, end in zip(starts[1:], ends, strict=False)]
    assert len(pauses) >= 3 and max(pauses) < 6.0, pauses  # and not 1, 2, 4, 8 seconds
    ann.stop()
    ben.stop()
    ben.check(entry, large)


def test_nodes_find_each_other_again_after_an_interface_was_down(town: Town, small: Path) -> None:
    ann, ben, entry = town.author_and_reader(small)
    ann.up()
    ben.machine.ip("link", "set", "eth0", "down")
    ben.up()
    ben.machine.ip("link", "set", "eth0", "up")
    ben.wait_for("enclosure_received")
    ann.wait_for("contact_began")  # a short exchange may be over before she has heard of him
    ben.machine.ip("link", "set", "eth0", "down")
    ben.wait_for("contact_ended")
    ann.wait_for("contact_ended")
    ben.machine.ip("link", "set", "eth0", "up")
    ben.wait_for("contact_began", 2)
    ann.wait_for("contact_began", 2)
    ann.stop()
    ben.stop()
    ben.check(entry, small)


def test_a_slow_link_is_not_taken_for_silence(town: Town, tmp_path: Path) -> None:
    file = file_of(MB, tmp_path / "slow.bin")
    ann, ben, entry = town.author_and_reader(file)
    for person in (ann, ben):
        person.set("[sessions]\nsilence_s = 2\n")
        person.slow("600kbit")
        person.up()
    ben.wait_for("enclosure_received")
    for person in (ann, ben):
        person.wait_for("session_ended")
        assert {fact["reason"] for fact in person.facts("session_ended")} == {"done"}
        person.stop()
    ben.check(entry, file)


def test_nodes_meet_where_there_is_no_address_but_a_link_local_one(town: Town, small: Path) -> None:
    ann, ben = town.person(has_ipv4=False), town.person(has_ipv4=False)
    entry = ann.publish(small)
    ben.do("subscribe", FEED)
    ann.up()
    ben.up()
    ben.wait_for("enclosure_received")
    ann.stop()
    ben.stop()
    ben.check(entry, small)


def test_a_link_that_is_gone_for_a_moment_ends_nothing(town: Town, large: Path) -> None:
    ann, ben, entry = town.author_and_reader(large)
    for person in (ann, ben):
        person.up()
        person.slow()
    ben.wait_until_midway(LARGE)
    ben.machine.ip("link", "set", "eth0", "down")
    ben.machine.ip("link", "set", "eth0", "up")
    ben.wait_for("enclosure_received")
    ann.stop()
    ben.stop()
    ben.check(entry, large)


@pytest.mark.parametrize("victim", ["author", "reader"])
def test_a_transfer_survives_the_death_of_either_end(town: Town, large: Path, victim: str) -> None:
    ann, ben, entry = town.author_and_reader(large)
    for person in (ann, ben):
        person.up()
        person.slow()
    ben.wait_until_midway(LARGE)
    dead = ann if victim == "author" else ben
    dead.kill()
    before = ben.bytes_received()
    dead.up()
    ben.wait_for("enclosure_received")
    assert ben.bytes_received() - before < 0.8 * LARGE
    ann.stop()
    ben.stop()
    ben.check(entry, large)
    ran = process("--home", str(ann.home), "doctor", "--interface", "lo")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("who", ["author", "reader"])
def test_a_transfer_goes_on_after_either_end_was_stopped(town: Town, large: Path, who: str) -> None:
    ann, ben, entry = town.author_and_reader(large)
    for person in (ann, ben):
        person.up()
        person.slow()
    ben.wait_until_midway(LARGE)
    one = ann if who == "author" else ben
    one.stop()
    before = ben.bytes_received()
    one.up()
    ben.wait_for("enclosure_received")
    assert ben.bytes_received() - before < 0.8 * LARGE
    ann.stop()
    ben.stop()
    ben.check(entry, large)


def test_a_crowd_shares_what_each_brings_and_then_says_no_more(town: Town, tmp_path: Path) -> None:
    files = [file_of(SMALL + number, tmp_path / f"{number}.bin") for number in range(5)]
    crowd = [town.person() for _ in files]
    entries = [person.publish(file) for person, file in zip(crowd, files, strict=True)]
    for person in crowd:
        person.do("subscribe", FEED)
        person.up()
    for person in crowd:
        person.wait_for("enclosure_received", len(crowd) - 1)
    settle(*crowd)
    for person in crowd:
        person.stop()
    for entry, file in zip(entries, files, strict=True):
        crowd[0].check(entry, file)


def test_a_second_node_in_the_same_home_is_refused(town: Town) -> None:
    ann = town.person()
    ann.up()
    sentence = _refused("--home", str(ann.home), "up")
    assert str(ann.home) in sentence
    ann.stop()
    ann.up()  # and afterwards there is room again
    ann.stop()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("[hello", "not valid TOML"),
        ("[helo]\n", "[helo]"),
        ("[hello]\nport = 0\n", "hello.port"),
        ("[sessions]\nserving = 'never'\n", "sessions.serving"),
        ("[hello]\ninterval_s = 'often'\n", "hello.interval_s"),
    ],
)
def test_a_wrong_settings_file_is_refused_by_name(tmp_path: Path, settings: str, why: str) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text(settings)
    sentence = _refused("--home", str(home), "up")
    assert why in sentence and "settings.toml" in sentence


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--hello-interval", "0"), "hello.interval_s"),
        (("--hello-interval", "nan"), "hello.interval_s"),
        (("--hello-port", "70000"), "hello.port"),
        (("--port", "-1"), "sessions.port"),
    ],
)
def test_a_wrong_option_is_refused_by_name(tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    assert why in _refused("--home", str(tmp_path / "home"), "up", *options)


def test_a_port_that_is_taken_is_refused(town: Town) -> None:
    ann = town.person()
    ann.up("--port", "40123")
    ben = Person(ann.home.with_name("other"), ann.machine)
    command = ["ip", "netns", "exec", ben.machine.name, sys.executable, "-P", "-m", "passerby"]
    ran = subprocess.run(
        [*command, "--home", str(ben.home), "up", "--port", "40123"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert "40123" in _sentence(ran)


def _refused(*words: str) -> str:
    return _sentence(process(*words))


def _sentence(ran: "subprocess.CompletedProcess[str]") -> str:
    """The one sentence of a command that could not do what it should."""
    assert (ran.returncode, ran.stdout) == (1, ""), ran
    assert ran.stderr.startswith("passerby: ") and ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr
