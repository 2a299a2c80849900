"""Reads signed documents back from the store. They were verified on their way in, so damage is ours alone."""

from collections.abc import Callable
from typing import TypeVar

from contentdb.atom import read_signed_descriptor, read_signed_entry
from contentdb.errors import RemoteError, StoreError
from contentdb.model import Entry, Feed

Document = TypeVar("Document", Entry, Feed)


def stored_entry(data: bytes) -> Entry:
    return _read(read_signed_entry, data)


def stored_descriptor(data: bytes) -> Feed:
    return _read(read_signed_descriptor, data)


def _read(read: Callable[[bytes], Document], data: bytes) -> Document:
    try:
        return read(data)
    except RemoteError as error:
        # To a caller, a RemoteError would mean that a neighbour has done something wrong.
        raise StoreError(
            f"a stored document was damaged on the disk ({error}); run `passerby doctor` to see which, "
            "and docs/recovery.md for what to do"
        ) from error
