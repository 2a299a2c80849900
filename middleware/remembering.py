"""What the ledger learns of a session when it ends: what was kept back, what was offered, why it broke.

Nothing of this is about what was stored, which the store writes down itself.
"""

from collections.abc import Callable, Iterable

from contentdb.intake import Fate, Outcome
from contentdb.ledger import MEETINGS, Event, Happening, about_feed
from contentdb.names import NodeId, Root
from contentdb.store import Store
from middleware.sessions import Session

# A peer may have a whole library twice; the first so many are enough to tell who has what.
MAX_DOUBLES = 1_000
MAX_OFFERED = 100
# The first word of what went wrong in a session that ended by itself, without any fault of ours.
TROUBLES = ("rejected:", "broken:")


def remember_doubles(session: Session, outcomes: Iterable[Outcome]) -> None:
    """The peer brought entries that were here already."""
    for taken in outcomes:
        if taken.fate is Fate.DUPLICATE and taken.entry is not None and len(session.doubles) < MAX_DOUBLES:
            session.doubles[taken.entry.id] = None


def remember(store: Store, session: Session, at: int, *, waiting_for: Callable[[Root], list[int]]) -> None:
    """Write down what a session in which we asked has told; to be called once, at its end."""
    peer = session.stream.peer
    if session.role != "client" or peer is None:
        return
    lines = [
        Happening(about_feed(want.feed), at, Event.WITHHELD, f"{peer} {count} {want.selector}")
        for want, count in session.withheld.items()
    ]
    lines += [Happening(entry, at, Event.OFFERED, peer) for entry in session.doubles]
    lines += _files(store, session, at, waiting_for, peer)
    if session.reason.startswith(TROUBLES):
        lines.append(Happening(MEETINGS, at, Event.REFUSED, f"{peer} {session.reason}"))
    elif session.is_whole:
        store.ledger.strike(MEETINGS, Event.REFUSED, peer)
    if lines:
        store.ledger.renew(lines)


def _files(
    store: Store, session: Session, at: int, waiting_for: Callable[[Root], list[int]], peer: NodeId
) -> list[Happening]:
    """Of files that are complete nobody asks any more who has them."""
    roots = list(session.offered)[:MAX_OFFERED]
    keys = dict.fromkeys(key for root in roots for key in waiting_for(root))
    rows = store.entries.rows(list(keys)[:MAX_OFFERED])
    return [Happening(row.id, at, Event.OFFERED, f"{peer} file") for row in rows]
