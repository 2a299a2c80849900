"""What a node wants done by its shell."""

from dataclasses import dataclass
from typing import TypeAlias

from contentdb.model import Signed
from contentdb.names import Address, NodeId
from discovery.hello import Hello
from middleware.delivery import Due


@dataclass(frozen=True, slots=True)
class Broadcast:
    hello: Hello


@dataclass(frozen=True, slots=True)
class SendTo:
    hello: Hello
    to: Address


@dataclass(frozen=True, slots=True)
class OpenStream:
    session: int
    address: Address


@dataclass(frozen=True, slots=True)
class Wake:
    """There may be output for this session: pull it with `next_output` while it can be sent."""

    session: int


@dataclass(frozen=True, slots=True)
class CloseStream:
    """Close after what was pulled is sent; with `abort` at once."""

    session: int
    abort: bool = False


@dataclass(frozen=True, slots=True)
class Verify:
    """Verify and read this batch on a worker and call `verified`; those of one session in their order."""

    session: int
    batch: tuple[Signed, ...]


@dataclass(frozen=True, slots=True)
class Deliver:
    due: Due


@dataclass(frozen=True, slots=True)
class EntryGained:
    """An entry is in the store now, in this row; `peer` brought it, or it was published here."""

    key: int
    peer: NodeId | None = None


@dataclass(frozen=True, slots=True)
class FeedsDiscovered:
    descriptors: tuple[Signed, ...]
    peer: NodeId


Effect: TypeAlias = (
    Broadcast | SendTo | OpenStream | Wake | CloseStream | Verify | Deliver | EntryGained | FeedsDiscovered
)
