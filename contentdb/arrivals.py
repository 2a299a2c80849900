"""The heavy half of taking entries in: verifying and reading. It needs no store and runs on any thread."""

from collections.abc import Sequence
from typing import NamedTuple

from contentdb.atom import read_signed_entry
from contentdb.errors import RemoteError
from contentdb.identity import verify_batch
from contentdb.model import Entry, Signed
from contentdb.rows import short_id_of, version_of


class Arrival(NamedTuple):
    """A signed entry that was read, or what is wrong with it."""

    signed: Signed
    entry: Entry | None
    version: bytes
    short_id: int
    problem: str = ""


def verify_and_read(batch: Sequence[Signed]) -> list[Arrival]:
    """What a stranger delivered: a forged signature is found before anything is parsed."""
    return [
        _read(signed) if valid else Arrival(signed, None, b"", 0, "signature")
        for signed, valid in zip(batch, verify_batch(batch), strict=True)
    ]


def read_verified(batch: Sequence[Signed]) -> list[Arrival]:
    """What we signed ourselves, or have verified before."""
    return [_read(signed) for signed in batch]


def arrival_of(signed: Signed, entry: Entry) -> Arrival:
    """What we signed just now, and `entry` as it was read from those bytes."""
    version = version_of(signed.data)
    return Arrival(signed, entry, version, short_id_of(version))


def _read(signed: Signed) -> Arrival:
    data = signed.data
    try:
        entry = read_signed_entry(data)
    except RemoteError as error:
        return Arrival(signed, None, b"", 0, f"malformed: {error}")
    if entry.author != signed.author:
        return Arrival(signed, None, b"", 0, "malformed: the key inside is not the key that signed")
    return arrival_of(signed, entry)
