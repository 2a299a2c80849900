"""Who is in range of whom, and when: contacts as intervals, and the same as a series of changes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, order=True)
class Contact:
    """Two nodes are in range from one moment to another. The lesser name comes first."""

    start_s: float
    end_s: float  # infinity: to the end
    one: str
    two: str


class Change(NamedTuple):
    """Two nodes come into range of each other, or go out of it. Of one moment, partings come first."""

    time: float
    is_up: bool
    one: str
    two: str


def merged(contacts: Iterable[Contact]) -> list[Contact]:
    """Contacts of one pair that touch or overlap made one; in the order of time."""
    pairs: dict[tuple[str, str], list[Contact]] = {}
    for each in sorted(contacts):
        row = pairs.setdefault((each.one, each.two), [])
        if row and each.start_s <= row[-1].end_s:
            row[-1] = Contact(row[-1].start_s, max(row[-1].end_s, each.end_s), each.one, each.two)
        else:
            row.append(each)
    return sorted(each for row in pairs.values() for each in row)


def changes(contacts: Iterable[Contact], until_s: float) -> Iterator[Change]:
    """What happens up to that time, in order; contacts that last longer are left open."""
    happen: list[Change] = []
    for each in contacts:
        happen.append(Change(each.start_s, True, each.one, each.two))
        happen.append(Change(each.end_s, False, each.one, each.two))
    return (change for change in sorted(happen) if change.time <= until_s)


def nodes_of(contacts: Iterable[Contact]) -> list[str]:
    return sorted({name for each in contacts for name in (each.one, each.two)})
