"""Key pairs, the ids derived from them, and signing and verifying what authors publish.

A signature is Ed25519 over a domain prefix followed by exactly the bytes that are stored and forwarded.
The prefixes keep a signed entry from being shown as a feed's descriptor, or the other way round.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from contentdb.errors import RemoteError, UsageError
from contentdb.model import Signed
from contentdb.names import AuthorKey, NodeId, parse_author_key

ENTRY_DOMAIN = b"passerby entry v1\0"
DESCRIPTOR_DOMAIN = b"passerby feed v1\0"
NODE_DOMAIN = b"passerby node v1\0"
SECRET_BYTES = 32

# The keys of a busy place fit; a flood of new ones costs no more than loading each of them again.
CACHED_KEYS = 4_096

_P = 2**255 - 19
# OpenSSL verifies against points of small order, for which anybody can write signatures that fit many
# messages. These are the y coordinates of all eight on edwards25519 (two points share a y).
_SMALL_ORDER_Y = frozenset(
    {
        0,
        1,
        _P - 1,
        2707385501144840649318225287225658788936804267575313519463743609750303402022,
        _P - 2707385501144840649318225287225658788936804267575313519463743609750303402022,
    }
)
# The same for X25519 (u coordinates, the twist included): a session key agreed with one of these is
# known to everybody.
_SMALL_ORDER_U = frozenset(
    {
        0,
        1,
        _P - 1,
        0xB8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
        0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
    }
)


class AuthorSecret:
    """The private half of an author key: whoever has it writes in that author's name."""

    __slots__ = ("_secret", "key")

    def __init__(self, secret: Ed25519PrivateKey) -> None:
        self._secret = secret
        self.key = AuthorKey(secret.public_key().public_bytes_raw().hex())

    @classmethod
    def generate(cls, entropy: Callable[[int], bytes]) -> Self:
        return cls.from_bytes(entropy(SECRET_BYTES))

    @classmethod
    def from_bytes(cls, secret: bytes) -> Self:
        _check_secret(secret)
        return cls(Ed25519PrivateKey.from_private_bytes(secret))

    def to_bytes(self) -> bytes:
        return self._secret.private_bytes_raw()

    def sign_entry(self, data: bytes) -> Signed:
        return Signed(self.key, self._secret.sign(ENTRY_DOMAIN + data), data)

    def sign_descriptor(self, data: bytes) -> Signed:
        return Signed(self.key, self._secret.sign(DESCRIPTOR_DOMAIN + data), data)

    def __repr__(self) -> str:
        return f"AuthorSecret(key={self.key})"


class KeyPair:
    """An X25519 key pair to agree on secrets with: a node's own, or one for a single handshake."""

    __slots__ = ("_secret", "public")

    def __init__(self, secret: X25519PrivateKey) -> None:
        self._secret = secret
        self.public = secret.public_key().public_bytes_raw()

    @classmethod
    def generate(cls, entropy: Callable[[int], bytes]) -> Self:
        return cls.from_bytes(entropy(SECRET_BYTES))

    @classmethod
    def from_bytes(cls, secret: bytes) -> Self:
        _check_secret(secret)
        return cls(X25519PrivateKey.from_private_bytes(secret))

    def agree(self, public: bytes) -> bytes:
        """The secret shared with the owner of `public`; RemoteError if that would be known to everybody."""
        try:
            return self._secret.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:  # not 32 bytes; or the secret would be zero, as with every point of small order
            raise RemoteError(f"{public[:32].hex()} is no public key of full order") from None


class NodeSecret(KeyPair):
    """The private half of a node key; it never leaves the device."""

    __slots__ = ("node_id",)

    def __init__(self, secret: X25519PrivateKey) -> None:
        super().__init__(secret)
        self.node_id = node_id_of(self.public)

    def to_bytes(self) -> bytes:
        return self._secret.private_bytes_raw()

    def __repr__(self) -> str:
        return f"NodeSecret(node_id={self.node_id})"


def verify_entry(signed: Signed) -> None:
    """Return if the author signed exactly these bytes as an entry; raise RemoteError otherwise."""
    if not _is_signed(signed, ENTRY_DOMAIN):
        raise RemoteError(f"an entry's signature does not fit its bytes and author {signed.author[:64]}")


def verify_descriptor(signed: Signed) -> None:
    """Return if the author signed exactly these bytes as a feed's descriptor; raise RemoteError otherwise."""
    if not _is_signed(signed, DESCRIPTOR_DOMAIN):
        raise RemoteError(f"a descriptor's signature does not fit its bytes and author {signed.author[:64]}")


def verify_batch(entries: Iterable[Signed]) -> list[bool]:
    """Which of these entries verify, in order. Meant for a worker thread: verifying releases the GIL."""
    return [_is_signed(signed, ENTRY_DOMAIN) for signed in entries]


def check_author_key(text: str) -> AuthorKey:
    """Return a key that an honest author can have; RemoteError for a wrong form or a point of small order."""
    try:
        key = parse_author_key(text)
    except UsageError as error:
        raise RemoteError(str(error)) from None
    # The top bit is the sign of x. A y of p or more would be a second spelling of the same key.
    y = int.from_bytes(bytes.fromhex(key), "little") & (2**255 - 1)
    if y >= _P or y in _SMALL_ORDER_Y:
        raise RemoteError(f"author key {key} is not one that can vouch for anything")
    return key


def node_id_of(public: bytes) -> NodeId:
    """The id of the node with this static key: 40 hex digits of a hash of it."""
    u = int.from_bytes(public, "little")
    if len(public) != 32 or u >= _P or u in _SMALL_ORDER_U:
        raise RemoteError(
            f"a node's public key is 32 bytes that name a point of full order; got {public[:32].hex()}"
        )
    return NodeId(hashlib.sha256(NODE_DOMAIN + public).digest()[:20].hex())


def _is_signed(signed: Signed, domain: bytes) -> bool:
    try:
        _public_key(signed.author).verify(signed.signature, domain + signed.data)
    except (InvalidSignature, RemoteError):
        return False
    return True


# Loading a key costs part of a verification; entries mostly come from few authors. A pure function of
# its argument, so keeping results is not state. Keys that are refused are not kept.
@lru_cache(maxsize=CACHED_KEYS)
def _public_key(author: str) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(check_author_key(author)))


def _check_secret(secret: bytes) -> None:
    if len(secret) != SECRET_BYTES:
        raise UsageError(f"a private key has {SECRET_BYTES} bytes; got {len(secret)}")
