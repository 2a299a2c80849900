"""What the client of a session was opened for, what it wants done, and what it counts."""

from dataclasses import dataclass
from typing import TypeAlias

from contentdb.intake import Outcome
from contentdb.model import Signed
from contentdb.names import Root
from contentdb.peers import Doubt
from transport.messages import Ask, Message, SessionHello
from transport.solicitation.feedtalk import FeedTalk, Want


@dataclass(frozen=True, slots=True)
class Send:
    message: Message
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class VerifyEntries:
    """Verify and read these, and call `verified` with what came of it; in the order of the tickets.

    Several at once, if they are done: one commit for many entries costs half of many for few.
    """

    ticket: int
    batch: tuple[Signed, ...]


@dataclass(frozen=True, slots=True)
class EntriesStored:
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class EntriesWithheld:
    """The peer has so many entries more that our selector kept away."""

    want: Want
    count: int


@dataclass(frozen=True, slots=True)
class FileOffered:
    """The peer has this file, or a part of it."""

    root: Root


@dataclass(frozen=True, slots=True)
class FeedsFound:
    descriptors: tuple[Signed, ...]


@dataclass(frozen=True, slots=True)
class EnclosureCompleted:
    root: Root


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing more to ask. `seen` is what the peer said of itself, up to which we have all we want of it."""

    seen: SessionHello
    doubt: Doubt


Effect: TypeAlias = (
    Send
    | VerifyEntries
    | EntriesStored
    | EntriesWithheld
    | FileOffered
    | FeedsFound
    | EnclosureCompleted
    | Finished
)


@dataclass(slots=True)
class Tally:
    """What a session moved, for the logbook."""

    entries: int = 0
    entry_bytes: int = 0  # of those that were new
    useless_entries: int = 0
    chunks: int = 0
    chunk_bytes: int = 0
    false_positives: int = 0
    withheld: int = 0

    def took(self, size: int, is_new: bool) -> None:
        """An entry of so many bytes came, and the store had no use for it or did."""
        self.entries += is_new
        self.entry_bytes += size if is_new else 0
        self.useless_entries += not is_new


@dataclass(slots=True)
class Asked:
    """A request that is not answered to its end."""

    ask: Ask
    talk: FeedTalk | None = None
    chunks: int = 0  # that are still to come for it
