"""Distinct types for the names of things, and the one place that checks their form."""

import ipaddress
import re
from typing import NamedTuple, NewType

from contentdb.errors import UsageError

NodeId = NewType("NodeId", str)  # 40 hex digits: hash of the node's static key
AuthorKey = NewType("AuthorKey", str)  # 64 hex digits: an Ed25519 public key
FeedId = NewType("FeedId", str)  # an absolute IRI
EntryId = NewType("EntryId", str)  # an absolute IRI
Root = NewType("Root", str)  # 64 hex digits: Merkle root of an enclosure
Address = NewType("Address", str)  # tagged by radio: "ip:192.0.2.7:4747", "ip:[fe80::1%eth0]:4747"

# Long enough for any IRI met in practice, short enough that ten thousand of them are no burden.
MAX_IRI_CHARACTERS = 2048
OWNED_FEED_PREFIX = "urn:passerby:owned:"

_HEX64 = re.compile(r"[0-9a-f]{64}")
_HEX40 = re.compile(r"[0-9a-f]{40}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# RFC 3987 leaves these out of an IRI; spaces and controls would also break lines in logs, and the
# marks of writing direction (its section 4.1) would show one name as another.
_NOT_IN_IRI = re.compile(
    r'[\x00-\x20\x7f-\x9f<>"{}|\\^`\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]'
    r"|%(?![0-9A-Fa-f]{2})"
)
_OWNED = re.compile(OWNED_FEED_PREFIX + r"([0-9a-f]{64}):([a-z0-9-]{1,64})")
_ADDRESS = re.compile(r"[a-z]{2,8}:[!-~]{1,120}")
# A scope is the name of an interface, without which a link-local address means nothing.
_IP_ADDRESS = re.compile(
    r"ip:(?:\[([0-9A-Fa-f:.]{2,45}(?:%[!-$&-\[^-~]{1,64})?)\]|([0-9.]{7,15})):([0-9]{1,5})"
)


class ChunkId(NamedTuple):
    """Where a chunk belongs: the enclosure's root and the chunk's number, counted from 1."""

    root: Root
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of a chunk


class EntryKey(NamedTuple):
    """What makes an entry that entry: only the same author replaces it."""

    feed: FeedId
    author: AuthorKey
    id: EntryId


def is_iri(text: str) -> bool:
    """An absolute IRI with a scheme and something behind it, no character that RFC 3987 forbids."""
    scheme = _SCHEME.match(text)
    return (
        scheme is not None
        and scheme.end() < len(text) <= MAX_IRI_CHARACTERS
        and _NOT_IN_IRI.search(text) is None
    )


def parse_feed_id(text: str) -> FeedId:
    if not is_iri(text):
        raise UsageError(f"a feed id must be an absolute IRI such as urn:uuid:...; got {text[:80]!r}")
    # In any case: a URN is the same in capitals, and must not be a free id that looks like an owned one.
    if text[: len(OWNED_FEED_PREFIX)].lower() == OWNED_FEED_PREFIX and _OWNED.fullmatch(text) is None:
        raise UsageError(f"{text[:80]!r} starts like an owned feed's id but names no key and label")
    return FeedId(text)


def parse_entry_id(text: str) -> EntryId:
    if not is_iri(text):
        raise UsageError(f"an entry id must be an absolute IRI such as urn:uuid:...; got {text[:80]!r}")
    return EntryId(text)


def parse_author_key(text: str) -> AuthorKey:
    if _HEX64.fullmatch(text) is None:
        raise UsageError(f"an author key is 64 hexadecimal digits in lower case; got {text[:80]!r}")
    return AuthorKey(text)


def parse_root(text: str) -> Root:
    if _HEX64.fullmatch(text) is None:
        raise UsageError(f"an enclosure's root is 64 hexadecimal digits in lower case; got {text[:80]!r}")
    return Root(text)


def parse_node_id(text: str) -> NodeId:
    if _HEX40.fullmatch(text) is None:
        raise UsageError(f"a node id is 40 hexadecimal digits in lower case; got {text[:80]!r}")
    return NodeId(text)


def parse_address(text: str) -> Address:
    if _ADDRESS.fullmatch(text) is None:
        raise UsageError(f"an address is tagged by its radio, such as ip:192.0.2.7:4747; got {text[:80]!r}")
    return Address(text)


def ip_address(host: str, port: int) -> Address:
    """The address of the `ip` radio for a numeric host, such as "192.0.2.7" or "fe80::1%eth0"."""
    # How a socket for both families spells an IPv4 peer; one machine must not have two addresses for it.
    host = host.removeprefix("::ffff:") if "." in host else host
    return Address(f"ip:[{host}]:{port}" if ":" in host else f"ip:{host}:{port}")


def parse_ip_address(text: str, default_port: int) -> Address:
    """The address somebody typed: host:port, [host]:port or the tagged form; the port may be left out."""
    bare = text.strip().removeprefix("ip:")
    match = re.fullmatch(r"\[([^\[\]]+)\](?::([0-9]{1,5}))?|([^:\[\]]+)(?::([0-9]{1,5}))?", bare)
    host, port = (
        ("", 0) if match is None else (match[1] or match[3], int(match[2] or match[4] or default_port))
    )
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        ip = None
    if ip is None or not 0 < port < 65_536 or (ip.version == 6) is not bare.startswith("["):
        raise UsageError(
            f"expected a numeric address such as 192.0.2.7:4747 or [fe80::1%eth0]:4747; got {text[:80]!r}"
        )
    if ip.is_multicast or ip.is_unspecified or str(ip) == "255.255.255.255":
        raise UsageError(f"{text[:80]!r} is not the address of one machine")
    if ip.version == 6 and ip.is_link_local and not ip.scope_id:
        raise UsageError(f"a link-local address needs its interface, as in [{ip}%eth0]:{port}")
    address = ip_address(str(ip), port)
    ip_endpoint(address)
    return address


def ip_endpoint(address: Address) -> tuple[str, int]:
    """Host and port of an address of the `ip` radio; UsageError for any other."""
    match = _IP_ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 65_536:
        raise UsageError(
            "expected a numeric address such as ip:192.0.2.7:4747 or ip:[fe80::1%eth0]:4747; "
            f"got {address[:80]!r}"
        )
    return match[1] or match[2], int(match[3])


def owned_feed_id(owner: AuthorKey, label: str) -> FeedId:
    """The id of an owned feed says whose it is, so nobody else can claim it."""
    text = f"{OWNED_FEED_PREFIX}{owner}:{label}"
    if _OWNED.fullmatch(text) is None:
        raise UsageError(f"an owned feed's label is 1 to 64 of a-z, 0-9 and -; got {label[:80]!r}")
    return FeedId(text)


def owner_of(feed: FeedId) -> AuthorKey | None:
    """The key an owned feed's id was derived from; None for an open feed."""
    match = _OWNED.fullmatch(feed)
    return AuthorKey(match.group(1)) if match else None


def fingerprint(key: AuthorKey | NodeId) -> str:
    """Eight groups of four hex digits that two people can compare aloud, e.g. ``3f2a 9c01 ...``."""
    import hashlib  # here, since most short commands compare no fingerprints

    digits = hashlib.sha256(b"passerby fingerprint v1\0" + key.encode("ascii")).hexdigest()
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))
