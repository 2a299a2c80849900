"""Keeps the author key and the node key in files that only their owner can read.

``<home>/keys/`` has mode 0700 and its files 0600. A key file is three lines of text: what it is, the
secret, and the SHA-256 of these two lines, so that a damaged file is noticed and not used. The first
use creates a key; it is on disk before anybody learns it. Author keys that were replaced stay beside
the current one under the name ``author-<public key>.key``.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from contentdb.errors import StoreError, UsageError
from contentdb.identity import SECRET_BYTES, AuthorSecret, NodeSecret
from contentdb.keybackup import open_backup, seal_backup
from contentdb.names import AuthorKey

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

AUTHOR_TITLE = "passerby author key v1"
NODE_TITLE = "passerby node key v1"
DASHBOARD_TITLE = "passerby dashboard key v1"
# A key file has about 160 bytes. What is longer is something else and not read to its end.
MAX_FILE_BYTES = 512


class Keystore:
    """The keys of one node's home. Several processes may use the same home; all see the same keys."""

    def __init__(self, home: Path, entropy: Callable[[int], bytes]) -> None:
        self._folder = home / "keys"
        self._entropy = entropy

    def author(self) -> AuthorSecret:
        """The author key, made now if there is none yet. StoreError if it is exposed or damaged."""
        return AuthorSecret.from_bytes(self._read_or_create("author.key", AUTHOR_TITLE))

    def node(self) -> NodeSecret:
        """The node key, made now if there is none yet. StoreError if it is exposed or damaged."""
        return NodeSecret.from_bytes(self._read_or_create("node.key", NODE_TITLE))

    def dashboard(self) -> bytes:
        """The secret of which the dashboard makes its tokens, made now if there is none yet."""
        return self._read_or_create("dashboard.key", DASHBOARD_TITLE)

    def problems(self) -> list[str]:
        """What is wrong with the keys that are here; makes none."""
        found = []
        keys = {"author.key": AUTHOR_TITLE, "node.key": NODE_TITLE, "dashboard.key": DASHBOARD_TITLE}
        for name, title in keys.items():
            if _exists(self._folder / name):
                try:
                    self._read_or_create(name, title)
                except StoreError as error:
                    found.append(str(error))
        return found

    def export_author(self, passphrase: str) -> bytes:
        """A backup of the author key that the passphrase opens; see keybackup for its form."""
        return seal_backup(self.author(), passphrase, self._entropy)

    def import_author(self, backup: bytes, passphrase: str, *, replace: bool = False) -> AuthorKey:
        """Make the key in this backup the author key of this home.

        A different key that is already here is replaced only with ``replace=True``, and is kept under
        another name. UsageError otherwise, and for a wrong passphrase or a backup that is none.
        """
        secret = open_backup(backup, passphrase)
        path = self._folder / "author.key"
        with _translated(path), self._locked():
            if not _exists(path):
                _write(path, encode_key_file(AUTHOR_TITLE, secret.to_bytes()))
                return secret.key
            present = AuthorSecret.from_bytes(decode_key_file(AUTHOR_TITLE, _read(path), path))
            if present.key == secret.key:
                return secret.key
            if not replace:
                raise UsageError(
                    f"this home already writes as {present.key}; ask for replacement to change that"
                )
            # The old key is safe under its new name before the current name changes hands.
            kept = self._folder / f"author-{present.key}.key"
            _write(kept, encode_key_file(AUTHOR_TITLE, present.to_bytes()))
            _write(path, encode_key_file(AUTHOR_TITLE, secret.to_bytes()))
        return secret.key

    def _read_or_create(self, name: str, title: str) -> bytes:
        path = self._folder / name
        with _translated(path):
            if _exists(path):
                _check_folder(self._folder)
                return decode_key_file(title, _read(path), path)
            with self._locked():
                if not _exists(path):
                    _write(path, encode_key_file(title, self._entropy(SECRET_BYTES)))
                return decode_key_file(title, _read(path), path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Only one process at a time creates or replaces keys in this folder."""
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._folder.mkdir(mode=0o700)
            _sync_folder(self._folder.parent)
        except FileExistsError:
            pass
        _check_folder(self._folder)
        # Not a lock on the folder itself: network file systems lock only what is open for writing.
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | _SAFE_FLAGS, 0o600)
        try:
            if sys.platform == "win32":
                msvcrt.locking(lock, msvcrt.LK_LOCK, 1)
            else:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


# A link could make us read or overwrite a file elsewhere; a pipe would make us wait for ever.
_SAFE_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def encode_key_file(title: str, secret: bytes) -> bytes:
    lines = f"{title}\n{secret.hex()}\n".encode("ascii")
    return lines + hashlib.sha256(lines).hexdigest().encode("ascii") + b"\n"


def decode_key_file(title: str, text: bytes, path: Path) -> bytes:
    """The secret in the file; StoreError unless it is, to the last byte, what we would write."""
    try:
        secret = bytes.fromhex(text.split(b"\n")[1].decode("ascii"))
    except (IndexError, ValueError):
        raise _damaged(path) from None
    if len(secret) != SECRET_BYTES or text != encode_key_file(title, secret):
        raise _damaged(path)
    return secret


def _damaged(path: Path) -> StoreError:
    return StoreError(
        f"{path} is not a complete key file of version 1; nothing was changed. "
        "Bring it back from a copy, or move it away to start with a new key"
    )


def _exists(path: Path) -> bool:
    """Whether the name is taken, be it by a link that leads nowhere."""
    return os.path.lexists(path)


def _read(path: Path) -> bytes:
    if path.is_symlink():
        raise StoreError(f"{path} is a symbolic link; put the key file itself there")
    descriptor = os.open(path, os.O_RDONLY | _SAFE_FLAGS)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{path} is not a regular file; move it away")
        _check_private(path, found, "600")
        return os.read(descriptor, MAX_FILE_BYTES)
    finally:
        os.close(descriptor)


def _check_folder(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise StoreError(f"{folder} is not a folder of its own; a link or a file stands there: move it away")
    _check_private(folder, found, "700")


def _check_private(path: Path, found: os.stat_result, mode: str) -> None:
    if sys.platform == "win32":
        return  # mode bits say nothing there; the profile folder's access list protects the keys
    if found.st_uid != os.geteuid():
        raise StoreError(f"{path} belongs to user {found.st_uid}, not to user {os.geteuid()} who runs this")
    if found.st_mode & 0o077:
        bits = f"{stat.S_IMODE(found.st_mode):o}"
        raise StoreError(
            f"{path} is open to other users (mode {bits}), so they may know the secret; "
            f"if you are sure they do not, run: chmod {mode} '{path}'"
        )


def _write(path: Path, text: bytes) -> None:
    """Put the text there at once or not at all, and durably. The caller holds the lock."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)  # left by a process that was killed; its key was never used
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE_FLAGS, 0o600)
    with open(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    os.replace(new, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # folders cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot use {path}: {error.strerror or error}") from error
