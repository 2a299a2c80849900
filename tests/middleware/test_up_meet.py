"""Nodes as people run them meet where neither broadcast nor multicast passes, at an address they know."""

import os

from contentdb.names import Address
from contentdb.store import Store
from tests.middleware.town import Person, Town, stays_so
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town


def routed(town: Town) -> tuple[Person, Person]:
    """An author and a reader on networks of their own, a router between them that passes only unicast."""
    router = town.lan.machine(ipv4="10.80.1.254/24")
    router.ip("address", "add", "10.80.2.254/24", "dev", "eth0")
    router.sysctl("net.ipv4.ip_forward", 1)
    people = []
    for number in (1, 2):
        person = town.person(ipv4=f"10.80.{number}.1/24")
        person.machine.ip("link", "set", "eth0", "multicast", "off")
        person.machine.ip("route", "add", "default", "via", f"10.80.{number}.254")
        people.append(person)
    author, reader = people
    author.do("feed", "create", "News", "--id", "urn:example:news")
    author.do("publish", "urn:example:news", "--title", "one")
    reader.do("subscribe", "urn:example:news")
    return author, reader


def give(person: Person, *addresses: str) -> None:
    """What `Node.meet` keeps."""
    with Store.open(person.home, entropy=os.urandom) as store:
        for address in addresses:
            store.peers.give(Address(address))


def test_without_an_address_they_do_not_meet(town: Town) -> None:
    ann, ben = routed(town)
    ann.up()
    ben.up()
    stays_so(5.0, lambda: not ben.facts("contact_began") and not ann.facts("contact_began"))
    ann.stop()
    ben.stop()


def test_a_given_address_is_enough_and_the_contact_lasts_and_comes_back_after_a_restart(town: Town) -> None:
    ann, ben = routed(town)
    give(ben, "ip:10.80.9.9:4747", "ip:10.80.1.1:4747")  # at the first there is nobody
    ann.up()
    ben.up()
    ben.wait_for("entry_received")
    ann.wait_for("contact_began")
    sessions = len(ben.facts("session_ended"))
    stays_so(6.0, lambda: not ben.facts("contact_ended") and not ann.facts("contact_ended"))
    assert len(ben.facts("session_ended")) <= sessions + 1
    ben.stop()
    ann.wait_for("contact_ended")
    ben.up()
    ben.wait_for("contact_began", 2)
    ann.stop()
    ben.stop()


def test_an_address_for_sessions_does_too_where_hellos_are_filtered(town: Town) -> None:
    ann, ben = routed(town)
    give(ben, "ip:10.80.1.1:40123")
    ann.up("--port", "40123", "--hello-port", "20001")
    ben.up()
    ben.wait_for("entry_received")
    ben.wait_for("contact_began")
    ann.stop()
    ben.stop()


def test_somebody_who_was_met_once_is_found_again_at_the_same_host(town: Town) -> None:
    ann, ben = routed(town)
    give(ben, "ip:10.80.1.1:4747")
    ann.up()
    ben.up()
    ben.wait_for("session_ended")
    ben.stop()
    with Store.open(ben.home, entropy=os.urandom) as store:
        assert [address.rpartition(":")[0] for address in store.peers.addresses(9)] == ["ip:10.80.1.1"]
    give(ben, *(f"ip:10.80.9.{number}:4747" for number in range(64)))  # what was given before is forgotten
    ann.stop()
    ann.up()  # its sessions have another port now
    ben.up()
    ben.wait_for("contact_began", 2)
    ann.stop()
    ben.stop()
