"""Where a gateway may go: addresses of the web in one spelling, and which machines behind them are public."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from contentdb.errors import RemoteError, UsageError
from contentdb.names import MAX_IRI_CHARACTERS, is_iri

PORTS = {"http": 80, "https": 443}
# Podcasts count their listeners by chains of redirects, three or four of them.
MAX_REDIRECTS = 8
# Of IPv6, only this is routed in the public; the rest is local, reserved or another name for IPv4.
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: an IPv4 address seen through NAT64

Origin = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """One address of the web, taken apart. Equal addresses are spelt the same."""

    scheme: str
    host: str
    port: int
    target: str  # path and query

    @property
    def origin(self) -> Origin:
        return self.host, self.port

    @property
    def authority(self) -> str:
        """As it stands in an address and in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str) -> Place:
    """An http or https address without credentials; anything else is a UsageError."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except ValueError:
        raise UsageError(f"this is no address of the web: {text[:200]!r}") from None
    if parts.scheme not in PORTS or not host:
        raise UsageError(f"only http:// and https:// addresses are fetched; got {text[:200]!r}")
    if "@" in parts.netloc:
        raise UsageError("an address with a user name or password in it is not fetched: leave that out")
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        target += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]")
    place = Place(parts.scheme, host.lower().rstrip("."), port or PORTS[parts.scheme], target)
    if not is_iri(place.url):
        raise UsageError(
            f"an address has at most {MAX_IRI_CHARACTERS} characters and no odd ones: {text[:80]!r}"
        )
    return place


def is_url(text: str) -> bool:
    return text.strip().lower().startswith(("http://", "https://"))


def is_public(address: str) -> bool:
    """Does this number lead to a machine in the public internet, whichever way it is written?"""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:  # also one with a scope, which is of this machine's links only
        return False
    if isinstance(number, ipaddress.IPv4Address):
        return number.is_global and not number.is_multicast and not number.is_reserved
    if number in _TRANSLATED:
        return is_public(str(ipaddress.IPv4Address(int(number) & 0xFFFF_FFFF)))
    inner = [number.ipv4_mapped, number.sixtofour, *(number.teredo or ())]
    if any(each is not None and not is_public(str(each)) for each in inner):
        return False
    return number in _GLOBAL_V6 and number.is_global and not number.is_multicast


def may_connect(place: Place, address: str, private: Origin | None) -> bool:
    """May we connect to this number for that address? `private` is the one place the owner allowed by name.

    What a feed or a redirect names is never the owner's word; nothing else on the local network is reached.
    """
    return is_public(address) or place.origin == private


class Route:
    """The way from an address to what answers: redirects are followed, and never twice to one place."""

    def __init__(self, start: Place) -> None:
        self.place = start
        self._seen = {start.url}

    def follow(self, location: str | None) -> Place:
        """Raises RemoteError where the way ends."""
        if not location:
            raise RemoteError(f"{self.place.url} redirects without saying where to")
        try:
            there = parse_url(urljoin(self.place.url, location.strip()))
        except (UsageError, ValueError) as error:
            raise RemoteError(f"{self.place.url} redirects to where we do not go: {error}") from None
        if there.url in self._seen:
            raise RemoteError(f"{there.url} redirects in a circle")
        if len(self._seen) > MAX_REDIRECTS:
            raise RemoteError(f"{there.url} is behind more than {MAX_REDIRECTS} redirects")
        if self.place.scheme == "https" and there.scheme == "http":
            raise RemoteError(f"{self.place.url} redirects from https to http, where anybody could change it")
        self._seen.add(there.url)
        self.place = there
        return there
