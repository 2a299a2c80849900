"""What the core of the local API wants done by its shell."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Send:
    connection: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Hang:
    """Send what is left and close."""

    connection: int


@dataclass(frozen=True, slots=True)
class CopyFiles:
    """Copy and hash these files on a worker (`Library.enclose`), and call `files_copied`."""

    job: int
    files: tuple[Path, ...]


ApiEffect: TypeAlias = Send | Hang | CopyFiles
