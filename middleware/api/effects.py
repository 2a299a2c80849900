"""What the core of the local API wants done by its shell."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Send:
    connection: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Hang:
    """Send what is left and close."""

    connection: int


@dataclass(frozen=True, slots=True)
class Work:
    """Have a worker call this, which takes long, and pass what it returns or raises to `worked`."""

    job: int
    do: Callable[[], Any]


ApiEffect: TypeAlias = Send | Hang | Work
