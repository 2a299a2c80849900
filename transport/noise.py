"""Noise_XX_25519_ChaChaPoly_SHA256, as revision 34 of the Noise specification has it.

Nothing here is ours but the code: two parties exchange three messages, prove their static keys to each other
under keys that nobody can recover afterwards, and end with one cipher for each direction.

    initiator                         responder
    e                           ──►
                                ◄──   e, ee, s, es
    s, se                       ──►

`transport.channel` says what passerby puts around it.
"""

import hashlib
import hmac
from collections.abc import Callable
from struct import Struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from contentdb.errors import RemoteError, UsageError
from contentdb.identity import KeyPair

NAME = b"Noise_XX_25519_ChaChaPoly_SHA256"
KEY_BYTES = 32
TAG_BYTES = 16
MAX_MESSAGE_BYTES = 65_535

# What each of the three messages does, in order. Two letters: agree on a secret by the initiator's key of the
# first letter and the responder's of the second.
PATTERN = (("e",), ("e", "ee", "s", "es"), ("s", "se"))

_NONCE = Struct("<4xQ").pack


class Cipher:
    """One direction: a key, and how many messages it has seen."""

    __slots__ = ("_cipher", "_count")

    def __init__(self, key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(key)
        self._count = 0

    def encrypt(self, plaintext: bytes | bytearray | memoryview, associated: bytes | None = None) -> bytes:
        ciphertext = self._cipher.encrypt(_NONCE(self._count), plaintext, associated)
        self._count += 1
        return ciphertext

    def decrypt(self, ciphertext: bytes | memoryview, associated: bytes | None = None) -> bytes:
        try:
            plaintext = self._cipher.decrypt(_NONCE(self._count), ciphertext, associated)
        except InvalidTag:
            raise RemoteError(
                f"message {self._count} of {len(ciphertext)} bytes does not decrypt: "
                "it was changed on the way, or is not from this session"
            ) from None
        self._count += 1
        return plaintext


class Handshake:
    """One side of the three messages. Call `write` and `read` in turn, then `split`.

    After a RemoteError the handshake is over; there is no way back into it.
    """

    def __init__(
        self, static: KeyPair, *, is_initiator: bool, prologue: bytes, entropy: Callable[[int], bytes]
    ) -> None:
        self.is_initiator = is_initiator
        self.step = 0  # messages so far
        self.remote_static: bytes | None = (
            None  # claimed from the moment it is read, proved when we may split
        )
        self._static = static
        self._ephemeral: KeyPair | None = None
        self._remote_ephemeral: bytes | None = None
        self._entropy = entropy
        self._cipher: Cipher | None = None
        self._chaining_key = self.hash = NAME  # exactly as long as a hash, so it is not hashed
        self._mix_hash(prologue)

    @property
    def is_finished(self) -> bool:
        return self.step == len(PATTERN)

    @property
    def is_our_turn(self) -> bool:
        return not self.is_finished and self.is_initiator == (self.step % 2 == 0)

    def write(self, payload: bytes = b"") -> bytes:
        """Return our next message."""
        if not self.is_our_turn:
            raise UsageError("it is the peer's turn in the handshake; read its message first")
        message = b""
        for token in PATTERN[self.step]:
            if token == "e":
                self._ephemeral = KeyPair.generate(self._entropy)
                message += self._ephemeral.public
                self._mix_hash(self._ephemeral.public)
            elif token == "s":
                message += self._encrypt_and_hash(self._static.public)
            else:
                self._mix_key(self._shared(token))
        self.step += 1
        return message + self._encrypt_and_hash(payload)

    def read(self, message: bytes) -> bytes:
        """Take the peer's next message and return its payload."""
        if self.is_our_turn or self.is_finished:
            raise UsageError("it is our turn in the handshake, or it is over; no message can be read")
        for token in PATTERN[self.step]:
            if token == "e":
                self._remote_ephemeral, message = _cut(message, KEY_BYTES)
                self._mix_hash(self._remote_ephemeral)
            elif token == "s":
                sealed, message = _cut(message, KEY_BYTES + TAG_BYTES)
                self.remote_static = self._decrypt_and_hash(sealed)
            else:
                self._mix_key(self._shared(token))
        self.step += 1
        return self._decrypt_and_hash(message)

    def split(self) -> tuple[Cipher, Cipher]:
        """The cipher for what we send and the one for what we receive."""
        if not self.is_finished:
            raise UsageError("the handshake is not over; its keys would prove nothing")
        first, second = _derive(self._chaining_key, b"")
        ours, theirs = (first, second) if self.is_initiator else (second, first)
        return Cipher(ours), Cipher(theirs)

    def _shared(self, token: str) -> bytes:
        ours, theirs = (token[0], token[1]) if self.is_initiator else (token[1], token[0])
        own = self._ephemeral if ours == "e" else self._static
        remote = self._remote_ephemeral if theirs == "e" else self.remote_static
        assert own is not None and remote is not None, "the pattern brings each key before it is used"
        return own.agree(remote)

    def _mix_hash(self, data: bytes) -> None:
        self.hash = hashlib.sha256(self.hash + data).digest()

    def _mix_key(self, shared: bytes) -> None:
        self._chaining_key, key = _derive(self._chaining_key, shared)
        self._cipher = Cipher(key)

    def _encrypt_and_hash(self, plaintext: bytes) -> bytes:
        sealed = self._cipher.encrypt(plaintext, self.hash) if self._cipher else plaintext
        self._mix_hash(sealed)
        return sealed

    def _decrypt_and_hash(self, sealed: bytes) -> bytes:
        plaintext = self._cipher.decrypt(sealed, self.hash) if self._cipher else sealed
        self._mix_hash(sealed)
        return plaintext


def _derive(chaining_key: bytes, shared: bytes) -> tuple[bytes, bytes]:
    """HKDF of the Noise specification, with two outputs."""
    temporary = hmac.digest(chaining_key, shared, "sha256")
    first = hmac.digest(temporary, b"\x01", "sha256")
    return first, hmac.digest(temporary, first + b"\x02", "sha256")


def _cut(message: bytes, length: int) -> tuple[bytes, bytes]:
    if len(message) < length:
        raise RemoteError(f"a handshake message ends {length - len(message)} bytes too early")
    return message[:length], message[length:]
