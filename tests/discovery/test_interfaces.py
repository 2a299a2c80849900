"""Links are those that are up, and what became of them is seen by comparing."""

import pytest

from contentdb.names import Address
from discovery.interfaces import (
    Link,
    changes,
    current_links,
    dialable_address,
    ip_address,
    split_ip_address,
)

WLAN = Link("wlan0", 3, "192.0.2.7", 24, "192.0.2.255", True)
WLAN6 = Link("wlan0", 3, "fe80::7", 64, "", True)
LO = Link("lo", 1, "127.0.0.1", 8, "127.255.255.255", False)


def test_what_came_and_what_went_is_told_in_order() -> None:
    moved = Link("wlan0", 3, "192.0.2.8", 24, "192.0.2.255", True)
    assert changes(frozenset({WLAN, WLAN6, LO}), frozenset({LO, moved})) == ([WLAN, WLAN6], [moved])
    assert changes(frozenset({LO}), frozenset({LO})) == ([], [])


def test_an_answer_goes_out_where_the_hello_came_in() -> None:
    assert WLAN.reaches("192.0.2.99", "") and not WLAN.reaches("198.51.100.1", "")
    assert LO.reaches("127.0.0.1", "") and not LO.reaches("192.0.2.99", "")
    assert WLAN6.reaches("fe80::1", "wlan0") and not WLAN6.reaches("fe80::1", "eth0")
    assert not WLAN6.reaches("192.0.2.99", "") and not WLAN.reaches("fe80::1", "wlan0")


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("ip:192.0.2.7:4747", ("192.0.2.7", "", 4747)),
        ("ip:[fe80::1%eth0]:4747", ("fe80::1", "eth0", 4747)),
        ("ip:[2001:db8::1]:1", ("2001:db8::1", "", 1)),
        ("ble:00:11:22:33:44:55", None),
        ("ip:example.org:80", None),
        ("ip:192.0.2.7", None),
    ],
)
def test_an_address_is_taken_apart_and_put_together(address: str, parts: tuple[str, str, int] | None) -> None:
    assert split_ip_address(Address(address)) == parts
    if parts is not None:
        host, name, port = parts
        assert ip_address(host, port, name=name) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.7", "ip:192.0.2.7:99"),
        ("2001:db8::1", "ip:[2001:db8::1]:99"),
        ("fe80::1%wlan7", "ip:[fe80::1%wlan7]:99"),
        ("fe80::1%999999", None),
        ("fe80::1", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("0.0.0.0", None),
        ("239.255.47.47", None),
    ],
)
def test_what_means_no_other_machine_is_not_dialled(text: str, address: str | None) -> None:
    assert dialable_address(text, 99) == address


def test_loopback_is_a_link_with_a_broadcast_address() -> None:
    links = [link for link in current_links() if link.address == "127.0.0.1"]
    assert [link.broadcast for link in links] in ([], ["127.255.255.255"])
    assert all(link.index > 0 for link in links)
