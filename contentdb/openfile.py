"""A file that somebody handed over open."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenFile:
    """It is read from its beginning, wherever its owner stands in it. Whoever was given it closes it."""

    name: str
    descriptor: int

    def status(self) -> os.stat_result:
        return os.fstat(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)

    def __str__(self) -> str:
        return self.name
