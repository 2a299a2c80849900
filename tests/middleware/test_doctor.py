"""The doctor on real networks that are in order, cut off or filtered, with a node and without."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contentdb.names import Address
from contentdb.store import Store
from tests.contentdb.makers import NOW, entropy, node
from tests.middleware.command import ROOT
from tests.netns import Lan, Machine, Process
from tests.netns import lan as lan

NFT = shutil.which("nft") or shutil.which("nft", path="/usr/sbin")
TAKER = """
import json, socket, sys
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.bind(("", 4747))
print(json.dumps({"taken": True}), flush=True)
sys.stdin.read()
"""


def examine(machine: Machine, home: Path, *options: str) -> tuple[int, Any]:
    command = [sys.executable, "-P", "-m", "passerby", "--home", str(home), "doctor", "--json", *options]
    ran = subprocess.run(
        ["ip", "netns", "exec", machine.name, *command],
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def texts(document: Any, check: str) -> str:
    return "\n".join(
        f"{each['level']}: {each['text']}" for each in document["checks"] if each["check"] == check
    )


def firewall(machine: Machine, chain: str, rule: str) -> None:
    if NFT is None:
        pytest.skip("needs the command nft of nftables")
    table = f"add table inet t; add chain inet t c {{ type filter hook {chain} priority 0; }}; "
    words = ["ip", "netns", "exec", machine.name, NFT, f"{table} add rule inet t c {rule}"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nft does not work here: {done.stderr.strip()}")


@pytest.fixture
def machine(lan: Lan) -> Iterator[Machine]:
    yield lan.machine(ipv4="10.77.0.1/24")


def test_a_network_in_order_is_heard_by_every_way(machine: Machine, tmp_path: Path) -> None:
    status, found = examine(machine, tmp_path / "home")
    assert (status, found["problems"]) == (0, [])
    assert texts(found, "network") == "good: eth0: broadcast, multicast sent and heard"


def test_link_local_ipv6_is_tried_too(lan: Lan, tmp_path: Path) -> None:
    machine = lan.machine(has_ipv6=True)
    # An address that is still being checked for duplicates cannot be sent from.
    machine.ip("link", "set", "eth0", "down")
    machine.sysctl("net.ipv6.conf.eth0.accept_dad", 0)
    machine.ip("link", "set", "eth0", "up")
    _, found = examine(machine, tmp_path / "home")
    assert texts(found, "network") == "good: eth0: IPv6 multicast sent and heard"


def test_without_a_network_it_proposes_how_to_make_one(machine: Machine, tmp_path: Path) -> None:
    machine.ip("link", "set", "eth0", "down")
    status, found = examine(machine, tmp_path / "home")
    told = texts(found, "network")
    assert status == 0 and told.startswith("note: this machine is on no network (eth0 is down")
    assert "hotspot" in told and "cable" in told


def test_without_broadcast_multicast_is_enough(lan: Lan, tmp_path: Path) -> None:
    machine = lan.machine(ipv4="10.77.0.1/32")
    assert texts(examine(machine, tmp_path / "home")[1], "network") == "good: eth0: multicast sent and heard"


def test_multicast_that_is_filtered_is_named_and_broadcast_is_enough(
    machine: Machine, tmp_path: Path
) -> None:
    firewall(machine, "input", "ip daddr 239.255.47.47 drop")
    status, found = examine(machine, tmp_path / "home")
    told = texts(found, "network")
    assert status == 0 and told.startswith("note: eth0: multicast does not work, broadcast does")
    assert "drops packets" in texts(found, "firewall")


def test_a_firewall_that_drops_all_is_a_problem(machine: Machine, tmp_path: Path) -> None:
    firewall(machine, "input", "udp dport 1-65535 drop")
    status, found = examine(machine, tmp_path / "home")
    assert status == 1 and "allow incoming UDP port 4747" in found["problems"][0]


def test_a_firewall_that_forbids_sending_is_a_problem(machine: Machine, tmp_path: Path) -> None:
    firewall(machine, "output", "udp dport 1-65535 drop")
    status, found = examine(machine, tmp_path / "home")
    assert status == 1 and "firewall forbids sending" in found["problems"][0]


def test_a_port_that_somebody_keeps_for_himself_is_a_problem(machine: Machine, tmp_path: Path) -> None:
    taker: Process = machine.start("-c", TAKER)
    taker.wait_for(lambda line: line["taken"])
    status, found = examine(machine, tmp_path / "home")
    assert status == 1 and "UDP port 4747 is not free for hellos" in found["problems"][0]


def test_an_interface_that_is_not_there_is_a_problem(machine: Machine, tmp_path: Path) -> None:
    status, found = examine(machine, tmp_path / "home", "--interface", "wlan7")
    assert status == 1 and "there is no interface wlan7 that is up" in found["problems"][0]


def test_a_wrong_settings_file_is_named_and_the_rest_is_examined(machine: Machine, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text("rubbish = [")
    status, found = examine(machine, home)
    assert status == 1 and "settings.toml" in found["problems"][0] and len(found["problems"]) == 1
    assert "sent and heard" in texts(found, "network")


def test_an_access_point_that_answers_while_everybody_else_is_silent_is_suspected(
    lan: Lan, machine: Machine, tmp_path: Path
) -> None:
    lan.machine(ipv4="10.77.0.254/24")
    machine.ip("route", "add", "default", "via", "10.77.0.254")
    with Store.open(tmp_path / "home", entropy=entropy(1)) as store:
        store.peers.met(node(1), NOW, Address("ip:10.77.0.9:40000"))
    status, found = examine(machine, tmp_path / "home")
    assert status == 0 and "or it keeps its clients apart" in texts(found, "isolation")
    lan.machine(ipv4="10.77.0.9/24")
    assert texts(examine(machine, tmp_path / "home")[1], "isolation") == ""
