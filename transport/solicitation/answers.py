"""What all answers of a server have in common: bounds, how they are refused, and in which pieces they go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from contentdb.errors import RemoteError, UsageError
from contentdb.selector import Selector, SelectorError, parse
from transport.messages import MAX_CHUNKS_ASKED, Answer, Reason

Body: TypeAlias = list[bytes]  # one behind the other; not joined, since a frame joins them anyway


class Piece(NamedTuple):
    """One reply of an answer: `more` says that another follows."""

    answer: Answer
    body: Body
    more: bool = False


class Refusal(Exception):
    """The request gets `reject` with this reason, instead of the rest of its answer."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Settings:
    """How much a server does for one request, and in which portions it sends what it found."""

    # A frame with three chunks is one record of the channel; with four it would be two.
    chunks_per_reply: int = 3
    # Likewise: 65,535 bytes of a record, less its tag, two lengths and the header.
    part_bytes: int = 65_000
    # A tenth of a second of evaluating for a stranger, on a laptop.
    max_evaluated: int = 20_000
    # Of this, so much before a reply goes out with what was found, be it nothing: others get their turn then.
    evaluated_per_reply: int = 2_000
    # Each costs the reading of a descriptor, which is twenty times an entry's evaluation.
    max_feeds_evaluated: int = 1_000
    feeds_per_reply: int = 100
    # Building more cells of a sketch than are kept up to date takes a fifth of a second for so many ids.
    max_rebuilt_ids: int = 200_000
    # A filter is dear to build and changes with each entry; what it hides by chance, it hides as long.
    bloom_s: int = 300

    def __post_init__(self) -> None:
        if not 1 <= self.chunks_per_reply < MAX_CHUNKS_ASKED:
            raise UsageError(f"chunks_per_reply is 1 to {MAX_CHUNKS_ASKED - 1}; got {self.chunks_per_reply}")
        for name in (
            "part_bytes",
            "max_evaluated",
            "evaluated_per_reply",
            "max_feeds_evaluated",
            "feeds_per_reply",
        ):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1; got {getattr(self, name)}")


def read_selector(text: str) -> Selector:
    """A peer's selector; one that cannot be parsed is the peer's fault and not our caller's."""
    try:
        return parse(text)
    except SelectorError as error:
        raise RemoteError(f"a selector that cannot be read: {error}") from None


def work_of(selector: Selector, seen: Mapping[str, object]) -> int:
    """What an evaluation counts for: 1, and more for a long selector over long texts.

    Without this, a selector of four thousand characters over summaries of a hundred thousand would keep a
    node busy for minutes within its twenty thousand evaluations.
    """
    characters = sum([len(value) for value in seen.values() if isinstance(value, str)])
    return (1 + len(selector.text) // 64) * (1 + characters // 128)
