"""What a person says of a feed or an entry before it is signed, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contentdb.errors import UsageError
from contentdb.model import AttributeValue, Content, Enclosure, Entry, Link
from contentdb.names import FeedId
from contentdb.openfile import OpenFile


@dataclass(frozen=True, slots=True)
class FeedDraft:
    """What a person says of a new feed. An owned feed's id is made from the key, so it takes none."""

    title: str
    id: str | None = None
    subtitle: str | None = None
    categories: tuple[str, ...] = ()
    language: str | None = None
    is_owned: bool = False
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person says of a new entry, or of a new version of one if `id` names it."""

    title: str
    id: str | None = None
    summary: str | None = None
    content: Content | None = None
    categories: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    language: str | None = None
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    files: "tuple[Path | Attachment | OpenFile, ...]" = ()
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is not on disk: something a program made."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Ready:
    """An entry whose files are in the store; what is left is to sign it."""

    feed: FeedId
    draft: Draft
    enclosures: tuple[Enclosure, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """An entry that is stored durably; `key` is its row, `is_new` that it replaced none."""

    entry: Entry
    key: int
    is_new: bool


def size_of(file: Path | Attachment | OpenFile) -> int:
    if isinstance(file, Attachment):
        return len(file.data)
    try:
        return (file.status() if isinstance(file, OpenFile) else file.stat()).st_size
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
