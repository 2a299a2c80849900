"""An author key under a passphrase, as text that can be kept on paper, mailed or put on a stick.

Form, version 1: five lines of ASCII, each ended by LF, hexadecimal digits in lower case::

    passerby author key backup v1
    author: <64 digits: the public key>
    scrypt: <log2 of n> <r> <p> <32 digits: the salt>
    sealed: <96 digits>
    end

``sealed`` is ChaCha20-Poly1305 of the 32 secret bytes. Its key is scrypt (RFC 7914, 32 bytes) of the
passphrase in Unicode normalisation form NFKC and UTF-8. Its nonce is zero, as a key is used once: the
salt is fresh for every backup. Its associated data are the first three lines with their LFs, so no
line can be changed. A reader also takes CR LF and white space around the whole, and nothing else.
The author's public key is readable by whoever finds the backup.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from contentdb.errors import UsageError
from contentdb.identity import AuthorSecret
from contentdb.names import AuthorKey

SALT_BYTES = 16
# 64 MiB and a fraction of a second: what a phone can spare for an act this rare.
LOG2_N, R, P = 16, 8, 1
# A hostile backup must not cost more than 256 MiB; a weak one (n below 2^15) must not pass as protected.
LOG2_N_ALLOWED = range(15, 19)
P_ALLOWED = range(1, 5)
MAX_BACKUP_BYTES = 1_024

_FORM = re.compile(
    r"passerby author key backup v1\n"
    r"author: (?P<author>[0-9a-f]{64})\n"
    r"scrypt: (?P<log2_n>[1-9][0-9]?) (?P<r>[1-9][0-9]?) (?P<p>[1-9][0-9]?) (?P<salt>[0-9a-f]{32})\n"
    r"sealed: (?P<sealed>[0-9a-f]{96})\n"
    r"end"
)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that has the right form; whether it is genuine only the passphrase can tell."""

    author: AuthorKey
    log2_n: int
    p: int
    salt: bytes
    sealed: bytes

    def header(self) -> bytes:
        lines = (
            "passerby author key backup v1",
            f"author: {self.author}",
            f"scrypt: {self.log2_n} {R} {self.p} {self.salt.hex()}",
        )
        return "".join(line + "\n" for line in lines).encode("ascii")


def encode_backup(backup: Backup) -> bytes:
    return backup.header() + f"sealed: {backup.sealed.hex()}\nend\n".encode("ascii")


def decode_backup(text: bytes) -> Backup:
    """Read the form and check its bounds, without any costly work; raise UsageError for anything else."""
    if len(text) > MAX_BACKUP_BYTES:
        raise UsageError(f"a key backup has at most {MAX_BACKUP_BYTES} bytes; got {len(text)}")
    normalised = text.decode("ascii", errors="replace").replace("\r\n", "\n").strip(" \t\r\n")
    match = _FORM.fullmatch(normalised)
    if match is None:
        raise UsageError(
            "this is no key backup of version 1: expected the lines author, scrypt, sealed and end after "
            f"'passerby author key backup v1'; it starts {normalised[:40]!r}"
        )
    log2_n, r, p = (int(match[name]) for name in ("log2_n", "r", "p"))
    if log2_n not in LOG2_N_ALLOWED or r != R or p not in P_ALLOWED:
        asked = f"n=2^{log2_n}, r={r}, p={p}"
        raise UsageError(
            f"the backup asks for scrypt with {asked}; allowed are n=2^15 to 2^18, r=8, p=1 to 4"
        )
    salt, sealed = bytes.fromhex(match["salt"]), bytes.fromhex(match["sealed"])
    return Backup(AuthorKey(match["author"]), log2_n, p, salt, sealed)


def seal_backup(secret: AuthorSecret, passphrase: str, entropy: Callable[[int], bytes]) -> bytes:
    """The text of a backup of this key that only the passphrase opens."""
    unsealed = Backup(secret.key, LOG2_N, P, entropy(SALT_BYTES), b"")
    cipher = ChaCha20Poly1305(_stretch(passphrase, unsealed))
    sealed = cipher.encrypt(bytes(12), secret.to_bytes(), unsealed.header())
    return encode_backup(Backup(secret.key, LOG2_N, P, unsealed.salt, sealed))


def open_backup(text: bytes, passphrase: str) -> AuthorSecret:
    """The key inside; UsageError if the passphrase is wrong or the backup was changed or is none."""
    backup = decode_backup(text)
    cipher = ChaCha20Poly1305(_stretch(passphrase, backup))
    try:
        secret = AuthorSecret.from_bytes(cipher.decrypt(bytes(12), backup.sealed, backup.header()))
    except InvalidTag:
        raise UsageError(
            "the passphrase is wrong, or the backup was changed; try the passphrase again"
        ) from None
    if secret.key != backup.author:
        raise UsageError(
            f"the backup holds key {secret.key} but says it is of {backup.author}; do not use it"
        )
    return secret


def _stretch(passphrase: str, backup: Backup) -> bytes:
    if not passphrase:
        raise UsageError("an empty passphrase protects nothing; choose several words")
    try:
        # The same words typed on two systems may come composed or decomposed.
        words = unicodedata.normalize("NFKC", passphrase).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("the passphrase contains half a character; type it again") from None
    return Scrypt(salt=backup.salt, length=32, n=2**backup.log2_n, r=R, p=backup.p).derive(words)
