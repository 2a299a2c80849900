"""Nodes as people run them, on a network where somebody floods everybody with hellos that are not true."""

from tests.middleware.town import Person, Town
from tests.middleware.town import lan as lan
from tests.middleware.town import town as town

FEED = "urn:example:news"


def author_and_reader(town: Town) -> tuple[Person, Person]:
    author, reader = town.person(), town.person()
    author.do("feed", "create", "News", "--id", FEED)
    author.do("publish", FEED, "--title", "one")
    reader.do("subscribe", FEED)
    return author, reader


def test_real_neighbours_are_found_and_synchronised_in_a_flood_of_invented_and_forged_ones(
    town: Town,
) -> None:
    ann, ben = author_and_reader(town)
    ann.up()
    ben.up()
    ben.wait_for("entry_received")
    ids = [person.facts("node_started")[0]["node"] for person in (ann, ben)]
    ann.stop()
    ann.do("publish", FEED, "--title", "two")
    late = town.person()
    late.do("subscribe", FEED)
    flooder = town.person().machine.start("-m", "tests.middleware.flooder", "10.78.0.255", "4747", *ids)
    flooder.wait_for(lambda line: line.get("sent", 0) >= 3000)
    ann.up()
    ben.wait_for("entry_received", 2)  # somebody whom it has met before
    late.up()
    late.wait_for("entry_received", 2)  # and somebody who has met nobody yet
    dialled, before = _dials(ben), flooder.wait_for(lambda line: "sent" in line)["sent"]
    flooder.wait_for(lambda line: line.get("sent", 0) >= before + 20_000)
    assert _dials(ben) - dialled <= 100  # of twenty thousand that were claimed
    flooder.finish()
    for person in (ann, ben, late):
        person.stop()


def _dials(person: Person) -> int:
    return sum(fact["role"] == "client" for fact in person.facts("session_ended"))
