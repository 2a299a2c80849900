"""The messages of a solicitation session as values (docs/protocol/solicitation-v1.md).

A message is a header, which is one of these, and a body of bytes. `transport.xmlcodec` writes and reads them;
what stands in bodies is said beside each kind. Every value here keeps the bounds of the specification.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from contentdb.names import EntryId, FeedId, NodeId, Root

MAX_OPEN_REQUESTS = 64
MAX_ANSWER_BYTES = 1_048_576
MAX_HEADER_BYTES = 8_192
# What a frame of 1,048,576 bytes leaves beside two bytes of length and the longest header.
MAX_BODY_BYTES = 1_048_576 - 2 - MAX_HEADER_BYTES
MAX_CHUNKS_ASKED = 64
MAX_IDS_ASKED = 8_192
MAX_HAVE_RANGES = 64
# An id as it is written in XML; two of them, or one and a selector, still fit into a header.
MAX_ID_BYTES = 3_072
MAX_NUMBER = 2**63 - 1


# -- what a client asks


@dataclass(frozen=True, slots=True)
class BloomRequest:
    """Which of the ids that I know do you have? Answered by BloomReply."""


@dataclass(frozen=True, slots=True)
class FeedsRequest:
    """Which feeds match? Answered by FeedsReply."""

    selector: str = ""
    after: FeedId | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """What a feed gained after a revision of the server's."""

    epoch: str
    revision: int


@dataclass(frozen=True, slots=True)
class Except:
    """What the filter in the request's body does not hold, after a revision of the server's."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class BySketch:
    """Cells as the request for cells in the body asks."""


@dataclass(frozen=True, slots=True)
class Ids:
    """The entries whose short ids stand in the body, 8 bytes each, after a revision of the server's."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class OneEntry:
    """All versions held of one entry id, of every author, after a revision of the server's."""

    id: EntryId
    after: int = 0


How: TypeAlias = Since | Except | BySketch | Ids | OneEntry


@dataclass(frozen=True, slots=True)
class FeedRequest:
    """About one feed; answered by EntriesReply, or by CellsReply if `how` is BySketch."""

    feed: FeedId
    how: How
    selector: str | None = None  # with Since and Except only
    sequence: int | None = None  # of the descriptor we have


@dataclass(frozen=True, slots=True)
class HashesRequest:
    root: Root
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ChunksRequest:
    root: Root
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class UnknownRequest:
    """Something of a later version: answered by Reject. Nobody here sends it."""


Ask: TypeAlias = BloomRequest | FeedsRequest | FeedRequest | HashesRequest | ChunksRequest | UnknownRequest


@dataclass(frozen=True, slots=True)
class Request:
    id: int
    ask: Ask


# -- what a server answers


@dataclass(frozen=True, slots=True)
class BloomReply:
    """Body: a filter."""


@dataclass(frozen=True, slots=True)
class FeedsReply:
    """Body: signed descriptors."""

    count: int
    withheld: int = 0
    next: FeedId | None = None


@dataclass(frozen=True, slots=True)
class EntriesReply:
    """Body: a signed descriptor if `descriptor`, then `count` signed entries.

    `withheld` counts what the selector left out since the reply before; `next` stands in a last reply only.
    """

    count: int
    epoch: str
    revision: int
    withheld: int = 0
    next: int | None = None
    descriptor: bool = False


@dataclass(frozen=True, slots=True)
class CellsReply:
    """Body: cells. The pair is the server's when it made them."""

    epoch: str
    revision: int


@dataclass(frozen=True, slots=True)
class HashesReply:
    """Body: leaf hashes `first` to `last`, then their proof."""

    root: Root
    first: int
    last: int
    have: tuple[tuple[int, int], ...] = ()  # ranges of chunks that the server has, ends included


@dataclass(frozen=True, slots=True)
class ChunksReply:
    """Body: the chunks `first` to `last`, each whole."""

    root: Root
    first: int
    last: int


Answer: TypeAlias = BloomReply | FeedsReply | EntriesReply | CellsReply | HashesReply | ChunksReply


@dataclass(frozen=True, slots=True)
class Reply:
    to: int
    answer: Answer
    more: bool = False


@dataclass(frozen=True, slots=True)
class SessionHello:
    """The server's first message, and the client's last, which has `base`. `sum` is that of hello-v1."""

    epoch: str
    revision: int
    base: int | None = None
    sum: str = ""


class Reason(StrEnum):
    BUSY = "busy"
    TWICE = "twice"
    TURN = "turn"
    UNKNOWN = "unknown"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Reject:
    """To one request, or with `to` None to the whole session. `reason` is a Reason, or a later version's."""

    reason: str
    to: int | None = None
    retry_s: int | None = None


Message: TypeAlias = SessionHello | Request | Reply | Reject


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message with who says it sent it; the channel knows who really did."""

    node: NodeId
    message: Message
