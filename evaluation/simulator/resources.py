"""What no node may use more of than its bounds say, whatever others do to it."""

from collections.abc import Iterator, Sequence

from discovery.neighbourhood import MAX_NEIGHBOURS
from evaluation.simulator.simnode import SimNode
from middleware.sessions import MAX_HALF_OPEN

# A neighbour's claims are believed once a second, and some bursts come on top.
DIALS_PER_S, DIALS_AT_ONCE = 4.0, 100
# Two lines for each contact, of which strangers invent 64 a second at most, and one for each session.
LINES_PER_S, LINES_AT_ONCE = 140.0, 1_000
# Everything a core holds in lists, dicts and the like, its store and its logbook aside.
MAX_HELD = 20_000


def excesses(nodes: Sequence[SimNode], now: float) -> list[str]:
    return [f"{node.name}: {wrong}" for node in nodes if not node.is_over for wrong in _excesses(node, now)]


def _excesses(node: SimNode, now: float) -> Iterator[str]:
    settings, seconds = node.settings.sessions, now - node.began
    sessions = list(node.core.sessions)
    clients = sum(session.claimed is not None for session in sessions)
    if clients > settings.clients:
        yield f"{clients} sessions as a client, {settings.clients} are allowed"
    served = sum(s.claimed is None and s.proved is not None and not s.is_leaving for s in sessions)
    # Those that were rejected read why, and are gone.
    if served > settings.servers + MAX_HALF_OPEN:
        yield f"{served} sessions as a server, {settings.servers} are allowed"
    if len(sessions) - clients - served > 2 * MAX_HALF_OPEN:
        yield f"{len(sessions) - clients - served} streams that proved nothing or were told to go"
    if len(node.core.neighbourhood.neighbours()) > MAX_NEIGHBOURS:
        yield "more neighbours than it may remember"
    if node.dialled > DIALS_AT_ONCE + DIALS_PER_S * seconds:
        yield f"dialled {node.dialled} times in {seconds:.0f} s"
    if node.lines > LINES_AT_ONCE + LINES_PER_S * seconds:
        yield f"wrote {node.lines} lines in {seconds:.0f} s"
