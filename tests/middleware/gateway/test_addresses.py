"""Where a gateway goes, and where it never goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from middleware.gateway.addresses import MAX_REDIRECTS, Route, is_public, may_connect, parse_url

HIDDEN = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.0.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "239.255.47.47", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fec0::1",
    "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1",
    "2002:7f00:1::1", "2002:a00:1::1", "2001:db8::1", "2001:0:7f00:1::1", "100::1",
    "4000::1", "localhost", "", "1",
]  # fmt: skip


@pytest.mark.parametrize("address", HIDDEN)
def test_addresses_of_no_public_machine_are_known_in_every_spelling(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["9.9.9.9", "193.0.6.139", "2606:4700::1111", "64:ff9b::909:909"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_every_address_is_judged(address: object) -> None:
    assert is_public(str(address)) in (True, False)


@given(st.ip_addresses(v=4))
def test_ipv4_inside_ipv6_is_as_public_as_it_is_alone(address: object) -> None:
    number = int(address)  # type: ignore[call-overload]
    assert is_public(f"64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}") == is_public(str(address))
    assert not is_public(f"::ffff:{address}")  # a socket that is given this speaks IPv4; nobody needs it


def test_only_the_place_that_the_owner_allowed_may_be_private() -> None:
    printer = parse_url("http://printer.lan/feed")
    assert not may_connect(printer, "192.168.1.9", None)
    assert may_connect(printer, "192.168.1.9", printer.origin)
    assert not may_connect(parse_url("http://printer.lan:8080/feed"), "192.168.1.9", printer.origin)
    assert not may_connect(parse_url("http://router.lan/"), "192.168.1.1", printer.origin)


SPELLINGS = [
    ("HTTP://Example.ORG", "http://example.org/"),
    ("https://example.org:443/a b?q=ü#part", "https://example.org/a%20b?q=%C3%BC"),
    ("http://example.org.:8080/x", "http://example.org:8080/x"),
    ("https://bücher.example/feed", "https://xn--bcher-kva.example/feed"),
    ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
]


@pytest.mark.parametrize(("text", "url"), SPELLINGS)
def test_an_address_has_one_spelling(text: str, url: str) -> None:
    assert parse_url(text).url == url
    assert parse_url(url).url == url


WRONG = ["ftp://x.example/", "file:///etc/passwd", "http://", "http:///x", "example.org", "javascript:1",
         "http://u:p@x.example/", "http://x.example:99999/", "http://[::1/",
         "http://" + "a" * 3000]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_address_of_the_web_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_url(text)


@given(st.text(max_size=80))
def test_rubbish_is_refused_or_understood_for_good(text: str) -> None:
    try:
        url = parse_url("http://" + text).url
    except UsageError:
        return
    assert parse_url(url).url == url
    assert url.isascii() and url.isprintable() and " " not in url


def test_a_route_ends_in_a_circle_after_many_redirects_and_where_encryption_would() -> None:
    route = Route(parse_url("https://a.example/1"))
    assert route.follow("/2").url == "https://a.example/2"
    with pytest.raises(RemoteError, match="circle"):
        route.follow("https://a.example/1")
    with pytest.raises(RemoteError, match="https to http"):
        route.follow("http://a.example/3")
    with pytest.raises(RemoteError, match="where we do not go"):
        route.follow("file:///etc/passwd")
    with pytest.raises(RemoteError, match="without saying"):
        route.follow(None)
    with pytest.raises(RemoteError, match="more than"):
        for number in range(3, MAX_REDIRECTS + 5):
            route.follow(f"/{number}")
