"""What the doctor makes of datagrams that come back or do not: words that promise no more than was seen."""

from discovery.interfaces import Link
from discovery.trials import (
    Level,
    Trial,
    judge_company,
    judge_isolation,
    judge_links,
    judge_listeners,
    judge_port,
    judge_rules,
)

ETH0 = Link("eth0", 2, "10.77.0.1", 24, "10.77.0.255", True)


def test_on_no_network_the_ways_to_make_one_are_proposed() -> None:
    (finding,) = judge_links([], [], 4747, idle=["wlan0"])
    assert finding.level is Level.NOTE
    assert all(word in finding.text for word in ("wlan0", "hotspot", "ad hoc", "cable"))


def test_one_way_that_works_is_enough_and_none_is_wrong() -> None:
    heard, silent = Trial(ETH0, "broadcast", is_heard=True), Trial(ETH0, "multicast")
    assert [f.level for f in judge_links([ETH0], [heard], 4747)] == [Level.GOOD]
    (some,) = judge_links([ETH0], [heard, silent], 4747)
    assert some.level is Level.NOTE and "multicast does not work, broadcast does" in some.text
    (none,) = judge_links([ETH0], [silent], 4747)
    assert none.level is Level.WRONG and "allow incoming UDP port 4747" in none.text
    forbidden = Trial(ETH0, "broadcast", error="Operation not permitted", is_forbidden=True)
    assert "firewall forbids sending" in judge_links([ETH0], [forbidden], 4747)[0].text
    failed = Trial(ETH0, "broadcast", error="Network is unreachable")
    assert "sending fails: Network is unreachable" in judge_links([ETH0], [failed], 4747)[0].text


def test_an_interface_without_broadcast_and_multicast_leaves_addresses() -> None:
    assert "passerby meet" in judge_links([ETH0], [], 4747)[0].text


def test_an_access_point_that_answers_alone_may_keep_its_clients_apart() -> None:
    gateway, met = "10.77.0.254", ["10.77.0.7", "10.77.0.8"]
    silent = {gateway: True, "10.77.0.7": False, "10.77.0.8": False}
    (finding,) = judge_isolation(gateway, silent, met, has_neighbours=False)
    assert "they have left, or it keeps its clients apart" in finding.text
    assert judge_isolation(gateway, silent, met, has_neighbours=True) == []
    assert judge_isolation(gateway, {**silent, "10.77.0.8": True}, met, has_neighbours=False) == []
    assert judge_isolation(gateway, {**silent, gateway: False}, met, has_neighbours=False) == []
    assert judge_isolation(gateway, {gateway: True}, met, has_neighbours=False) == []
    assert judge_isolation(gateway, silent, [], has_neighbours=False) == []


def test_ports_nodes_and_rules() -> None:
    assert judge_port(4747, "").level is Level.GOOD
    assert judge_port(4747, "Address already in use").level is Level.WRONG
    assert judge_listeners(4747, 1, is_running=True).level is Level.GOOD
    assert judge_listeners(4747, 2, is_running=True).text.startswith("1 other program has")
    assert judge_listeners(4747, 2, is_running=False).text.startswith("2 other programs have")
    assert judge_rules(None, 4747) == judge_rules("policy accept", 4747) == []
    assert judge_rules("policy drop; udp dport 4747 accept", 4747) == []
    assert judge_rules("policy drop", 4747)[0].level is Level.NOTE


def test_company() -> None:
    assert judge_company(None) == []
    assert judge_company(2)[0].level is Level.GOOD
    assert "hotspot" in judge_company(0)[0].text
