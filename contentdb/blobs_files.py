"""The few ways in which enclosure bytes touch the disk: private, durable, never over somebody's file."""

import errno
import os
import secrets
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contentdb.chunking import TreeHasher
from contentdb.errors import StoreError, UsageError
from contentdb.openfile import OpenFile

Progress = Callable[[int, int], None]  # bytes done, bytes in all

# Sixteen chunks at a time: the cost of a call no longer counts, and memory stays small.
PIECE_BYTES = 262_144
FICLONE = 0x40049409  # Linux: let two files share their blocks until one is changed
# Room for " (2)" and for file systems that encrypt names and then allow less than 255 bytes.
MAX_NAME_BYTES = 140
# What Windows keeps for devices, with any ending.
RESERVED_NAMES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [device + number for device in ("COM", "LPT") for number in "0123456789¹²³"]
)
_BINARY = getattr(os, "O_BINARY", 0)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)

# The length of a file is metadata that fdatasync keeps too; macOS has only fsync.
flush: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def store_error(error: OSError, doing: str) -> StoreError:
    """One clear sentence for what the operating system refused, and what to do about it."""
    if error.errno in _FULL:
        advice = "the disk is full; free some space and try again, nothing that was kept is lost"
    elif error.errno in _FORBIDDEN:
        advice = "the folder may not be written; give its owner the right to, or choose another home"
    elif error.errno == errno.EIO:
        advice = "the disk reports an input/output error; check the disk, then start again"
    else:
        advice = f"{error.strerror or error}; check that the folder is there and start again"
    return StoreError(f"{doing} failed: {advice}")


@contextmanager
def disk(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise store_error(error, doing) from error


def open_private(path: Path, flags: int) -> int:
    return os.open(path, flags | _BINARY, 0o600)


def make_folder(folder: Path) -> None:
    """Create the folder and what is missing above it, each durable in the one above."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    if os.name == "nt":  # there a folder cannot be opened, and renames are in the journal anyway
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


if hasattr(os, "pwrite"):
    _pread, _pwrite = os.pread, os.pwrite
else:  # Windows; callers hold a lock, so nobody moves the position in between

    def _pread(fd: int, length: int, offset: int, /) -> bytes:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, length)

    def _pwrite(fd: int, data: bytes, offset: int, /) -> int:  # type: ignore[misc]
        os.lseek(fd, offset, os.SEEK_SET)
        return os.write(fd, data)


read_at = _pread


def write_at(fd: int, data: bytes | bytearray | memoryview, at: int) -> None:
    written = _pwrite(fd, data, at)
    while written < len(data):  # a nearly full disk takes a part first and says so at the next call
        written += _pwrite(fd, memoryview(data)[written:], at + written)


def append(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def used_bytes(path: Path) -> int:
    """What the file really takes: holes count nothing. A file that just went away takes nothing."""
    with suppress(FileNotFoundError):
        found = path.stat()
        return int(getattr(found, "st_blocks", -(-found.st_size // 512))) * 512
    return 0


def open_source(path: Path | OpenFile) -> int:
    """Open a file that somebody wants to publish; anything but a readable plain file is a UsageError."""
    try:
        if isinstance(path, OpenFile):
            if not stat.S_ISREG(path.status().st_mode):
                raise UsageError(f"{path} is not a plain file; only plain files can be published")
            return os.dup(path.descriptor)
        if not stat.S_ISREG(path.stat().st_mode):  # looked at first: opening a pipe would wait for its writer
            kind = "a folder" if path.is_dir() else "not a plain file"
            raise UsageError(f"{path} is {kind}; only plain files can be published")
        return os.open(path, os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be read: {reason}") from error


def read_pieces(source: int, path: Path | OpenFile) -> Iterator[bytes]:
    done = 0  # not by the descriptor's own position, which whoever handed it over shares
    while True:
        try:
            piece = read_at(source, PIECE_BYTES, done)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        if not piece:
            return
        done += len(piece)
        yield piece


def hash_source(
    path: Path | OpenFile, keep: Callable[[bytes], None], progress: Progress | None, target: int | None = None
) -> TreeHasher:
    """Hash a file and give its pieces to ``keep``; refuse one that changes meanwhile.

    Where the open and empty ``target`` can share the file's blocks, it does, and nothing has to be kept.
    Then the shared copy is hashed, because nobody can change that one any more.
    """
    source = open_source(path)
    try:
        before = os.fstat(source)
        is_shared = target is not None and clone(source, target)
        hasher = TreeHasher()
        for piece in read_pieces(target if target is not None and is_shared else source, path):
            hasher.update(piece)
            if not is_shared:
                keep(piece)
            if hasher.length > before.st_size:  # one that grows as fast as it is read would never end
                break
            if progress is not None:
                progress(hasher.length, before.st_size)
        if hasher.length != before.st_size or _identity(path) != _marks(before):
            raise UsageError(f"{path} changed while it was read; publish it again when nobody writes to it")
        return hasher
    finally:
        os.close(source)


def _identity(path: Path | OpenFile) -> tuple[int, ...] | None:
    try:
        return _marks(path.status() if isinstance(path, OpenFile) else path.stat())
    except OSError:
        return None


def _marks(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def clone(source: int, target: int) -> bool:
    """Let the target share the source's blocks, where the file system can; says whether it did."""
    try:
        import fcntl

        fcntl.ioctl(target, FICLONE, source)
    except (ImportError, OSError):
        return False
    return True


def copy_content(source: int, target: int, length: int) -> None:
    """Copy without bringing the bytes into this process, where the system can; all of them or StoreError."""
    if not clone(source, target):
        _copy_pieces(source, target)
    if os.fstat(target).st_size != length:
        raise StoreError("the file was cut short while it was copied; restart to fetch the rest again")


def _copy_pieces(source: int, target: int) -> None:
    done = 0
    if hasattr(os, "copy_file_range"):
        with suppress(OSError):  # across some file systems it is refused; the loop below then does it all
            while step := os.copy_file_range(source, target, 2**30, done, done):
                done += step
    while piece := read_at(source, PIECE_BYTES, done):
        write_at(target, piece, done)
        done += len(piece)


def safe_name(name: str) -> str:
    """A display name from a stranger as a file name that does no harm on any system."""
    kept = "".join(map(_safe_character, unicodedata.normalize("NFC", name)))
    # A leading dot hides a file, a leading hyphen makes it an option; Windows drops dots at the end.
    kept = kept.strip().lstrip(".- ").rstrip(". ")
    if kept.split(".")[0].rstrip().upper() in RESERVED_NAMES:
        kept = "_" + kept
    stem, dot, ending = kept.rpartition(".")
    if not stem or len(ending.encode()) > 20:
        stem, dot, ending = kept, "", ""
    return (_shortened(stem, MAX_NAME_BYTES - len((dot + ending).encode())) + dot + ending) or "file"


def _safe_character(character: str) -> str:
    # Joiners belong to words of some scripts; the other invisible characters only help to deceive.
    if character in "\u200c\u200d":
        return character
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return ""
    return "_" if character in '/\\<>:"|?*' else character


def _shortened(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore").rstrip(". ") if len(text.encode()) > limit else text


def place(folder: Path, name: str, fill: Callable[[int], None]) -> Path:
    """Put a new file into somebody's folder under a safe name that is free; never replace one.

    The file appears whole or not at all. The name gets " (2)" and so on while it is taken.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; create it first")
    with disk(f"writing to {folder}"):
        # Not a private file: it is the caller's now, with the rights the caller's other files get.
        temporary = folder / f".passerby-{secrets.token_hex(8)}"
        target = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        try:
            try:
                fill(target)
                flush(target)
            finally:
                os.close(target)
            placed = _link_free(temporary, folder, safe_name(name))
        finally:
            temporary.unlink(missing_ok=True)
        flush_folder(folder)
        return placed


def _link_free(temporary: Path, folder: Path, name: str) -> Path:
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    number = 1
    while True:
        target = folder / (name if number == 1 else f"{stem} ({number}){dot}{ending}")
        with suppress(FileExistsError):
            _rename_new(temporary, target)
            return target
        number += 1


def _rename_new(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        # No hard links here (memory cards): claim the name with an empty file of ours, then replace that.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        os.replace(source, target)
