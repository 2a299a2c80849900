"""Who must hold what by now: the earliest arrival of an entry over the contacts that were good enough.

This knows nothing of hellos, sessions or stores. A contact counts if nothing spoiled it and nothing was wrong
with either end, and it hands an entry on if it still lasts for the allowance, and for all bytes there are at
a third of its rate. So it finds less than a node may reach, and never more.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

# Hellos back off to one in 16 s; a busy neighbour asks us to come back after 30 s at most, perhaps twice;
# what failed before the contact was good is tried again later and later.
ALLOWANCE_S = 150.0
RATE_SHARE = 3.0


@dataclass(slots=True)
class Contact:
    one: str
    two: str
    begin: float
    rate_bytes_s: float
    end: float = inf
    is_good: bool = True


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something was wrong with a node: it was down, its disk was full, its clock was off."""

    node: str
    begin: float
    end: float


def good_contacts(contacts: Iterable[Contact], troubles: Sequence[Trouble]) -> list[Contact]:
    return [
        contact
        for contact in contacts
        if contact.is_good
        and not any(
            trouble.node in (contact.one, contact.two)
            and trouble.begin < contact.end
            and contact.begin < trouble.end
            for trouble in troubles
        )
    ]


def earliest_arrivals(
    source: str,
    since: float,
    contacts: Sequence[Contact],
    *,
    size: int,
    wants_from: Callable[[str], float],
) -> dict[str, float]:
    """When each node holds at the latest what `source` has since then; only those that certainly do.

    `wants_from` says from when on a node wants it; infinity if never.
    """
    reached: dict[str, float] = {}
    queue = [(since, source)]
    while queue:
        time, node = heappop(queue)
        if node in reached:
            continue
        reached[node] = time
        for contact in contacts:
            if node not in (contact.one, contact.two):
                continue
            other = contact.two if node == contact.one else contact.one
            start = max(time, contact.begin, wants_from(other))
            arrival = start + ALLOWANCE_S + RATE_SHARE * size / contact.rate_bytes_s
            if other not in reached and arrival <= contact.end:
                heappush(queue, (arrival, other))
    return reached
