"""Neighbours as the synchroniser sees them: what they claim, and how it went with each."""

from dataclasses import dataclass
from enum import StrEnum

from contentdb.names import Address
from discovery.hello import Claim
from middleware.backoff import FIRST_BACKOFF_S, MAX_BACKOFF_S

# Waits double with each failure; beyond so many they have long reached their most, and numbers stay small.
MAX_COUNTED = 16


class Reason(StrEnum):
    NEW = "new content"
    SUBSCRIPTION = "new subscription"
    DOWNLOAD = "unfinished download"
    DISCOVERY = "discovery"


@dataclass(slots=True)
class Sight:
    """A neighbour as its hellos show it, and how it went with it."""

    addresses: tuple[Address, ...]
    claim: Claim
    due: float | None = None  # when to dial; None: nothing to gain
    hoped_until: float = 0.0  # until then somebody else may bring it first
    promised: Claim | None = None  # what made us want to dial
    reason: Reason = Reason.NEW
    failures: int = 0
    falsehoods: int = 0  # how often it sent what is not true: wrong chunks, say. Not forgiven in this contact
    vain: int = 0  # sessions in a row that a claim caused and that found its pair unchanged
    before: tuple[str | None, int | None] = (None, None)  # its pair as we knew it when we dialled
    not_before: float = 0.0
    lacks: tuple[Claim, int] | None = None  # its claim and our downloads when it had nothing for them

    def failed(self, *, has_gained: bool, is_false: bool) -> float:
        """A session with it broke off; how long to leave it alone.

        A link that breaks again and again, but brings something each time, is worth the next try. Not so a
        peer that mixes wrong chunks with right ones: each falsehood doubles its rest.
        """
        self.failures = 1 if has_gained else min(self.failures + 1, MAX_COUNTED)
        self.falsehoods = min(self.falsehoods + is_false, MAX_COUNTED)
        counted = max(self.failures, self.falsehoods)
        return min(FIRST_BACKOFF_S * 2.0 ** (counted - 1), MAX_BACKOFF_S)
