"""Real processes on real networks find each other by each way there is, and again when a link is back."""

from collections.abc import Callable

from tests.netns import Lan, Line, Machine, Process
from tests.netns import lan as lan


def announce(machine: Machine, number: int, *options: str) -> Process:
    return machine.start("-m", "tests.discovery.announcer", "--node", str(number), *options)


def by_mdns_alone(machine: Machine, number: int) -> Process:
    return announce(machine, number, "--mdns", "--port", str(20_000 + number))


def found(number: int) -> Callable[[Line], bool]:
    return lambda line: line.get("event") == "NeighbourFound" and line["node"] == number


def lost(number: int) -> Callable[[Line], bool]:
    return lambda line: line.get("event") == "NeighbourLost" and line["node"] == number


def has_said(number: int, revision: int) -> Callable[[Line], bool]:
    return lambda line: (line.get("node"), line.get("revision")) == (number, revision)


def all_find_each_other(processes: list[Process]) -> list[list[Line]]:
    """The processes have the numbers from 1."""
    return [
        [process.wait_for(found(other)) for other in range(1, len(processes) + 1) if other != number]
        for number, process in enumerate(processes, 1)
    ]


def test_three_machines_find_each_other_by_broadcast_alone(lan: Lan) -> None:
    machines = [lan.machine(ipv4=f"10.77.0.{number}/24") for number in (1, 2, 3)]
    for machine in machines:
        machine.ip("link", "set", "eth0", "multicast", "off")
    processes = [announce(machine, number) for number, machine in enumerate(machines, 1)]
    for process in processes:
        process.wait_for(lambda line: "eth0" in line.get("links", []))
    # In the order of their numbers each waits for the others, whoever was first.
    for number, process in enumerate(processes, 1):
        seen = set[int]()
        while len(seen) < 2:
            line = process.wait_for(lambda line: line.get("event") == "NeighbourFound")
            assert line["addresses"] == [f"ip:10.77.0.{line['node']}:40123"]
            seen.add(line["node"])
        assert seen == {1, 2, 3} - {number}


def test_two_machines_find_each_other_by_multicast_alone(lan: Lan) -> None:
    # A prefix of 32 bits has no broadcast address.
    machines = [lan.machine(ipv4=f"10.77.0.{number}/32") for number in (1, 2)]
    for machine in machines:
        machine.ip("route", "add", "10.77.0.0/24", "dev", "eth0")
    ((line,), _) = all_find_each_other([announce(machine, n) for n, machine in enumerate(machines, 1)])
    assert line["addresses"] == ["ip:10.77.0.2:40123"]


def test_two_machines_find_each_other_by_ipv6_alone(lan: Lan) -> None:
    machines = [lan.machine(has_ipv6=True) for _ in (1, 2)]
    ((line,), _) = all_find_each_other([announce(machine, n) for n, machine in enumerate(machines, 1)])
    (address,) = line["addresses"]
    assert address.startswith("ip:[fe80::") and address.endswith("%eth0]:40123")


def test_two_nodes_of_one_machine_find_each_other_on_loopback(lan: Lan) -> None:
    machine = lan.machine(is_joined=False)
    ((line,), _) = all_find_each_other([announce(machine, 1), announce(machine, 2)])
    assert line["addresses"] == ["ip:127.0.0.1:40123"]


def test_two_nodes_of_one_machine_and_one_of_another_all_find_each_other(lan: Lan) -> None:
    here, there = (lan.machine(ipv4=f"10.77.0.{n}/24", has_ipv6=True) for n in (1, 2))
    processes = [announce(here, 1), announce(here, 2), announce(there, 3)]
    for process in processes[:2]:
        process.wait_for(found(3))
    seen = {processes[2].wait_for(lambda line: line.get("event") == "NeighbourFound")["node"] for _ in (1, 2)}
    assert seen == {1, 2}


def test_a_changed_pair_is_heard(lan: Lan) -> None:
    ann, ben = (announce(lan.machine(ipv4=f"10.77.0.{n}/24"), n) for n in (1, 2))
    all_find_each_other([ann, ben])
    ann.say("revision 42")
    ben.wait_for(has_said(1, 42))


def test_neighbours_are_lost_when_an_interface_goes_down_and_found_when_it_comes_up(lan: Lan) -> None:
    machines = [lan.machine(ipv4=f"10.77.0.{n}/24", has_ipv6=True) for n in (1, 2)]
    ann, ben = processes = [announce(machine, n) for n, machine in enumerate(machines, 1)]
    all_find_each_other(processes)
    machines[0].ip("link", "set", "eth0", "down")
    ann.wait_for(lost(2))
    ben.wait_for(lost(1))
    machines[0].ip("link", "set", "eth0", "up")
    all_find_each_other(processes)


def test_an_interface_that_appears_later_is_used(lan: Lan) -> None:
    machines = [lan.machine(), lan.machine(ipv4="10.77.0.2/24")]
    processes = [announce(machine, n) for n, machine in enumerate(machines, 1)]
    for process in processes:
        process.wait_for(lambda line: "lo" in line.get("links", []))
    machines[0].ip("address", "add", "10.77.0.1/24", "dev", "eth0")
    all_find_each_other(processes)


def test_two_machines_find_each_other_by_mdns_alone_and_say_goodbye(lan: Lan) -> None:
    machines = [lan.machine(ipv4=f"10.77.0.{n}/24", has_ipv6=True) for n in (1, 2)]
    ann, ben = processes = [by_mdns_alone(m, n) for n, m in enumerate(machines, 1)]
    ((line,), _) = all_find_each_other(processes)
    assert line["sources"] == ["mdns"]
    ann.say("revision 42")
    ben.wait_for(has_said(1, 42))
    ann.finish()
    ben.wait_for(lost(1))


def test_mdns_works_over_ipv6_alone(lan: Lan) -> None:
    machines = [lan.machine(has_ipv6=True) for _ in (1, 2)]
    ((line,), _) = all_find_each_other([by_mdns_alone(m, n) for n, m in enumerate(machines, 1)])
    assert line["addresses"][0].endswith("%eth0]:40123")
