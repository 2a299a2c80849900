"""Calls about the node itself and whom it meets."""

from discovery.sightings import Neighbour
from middleware.api.documents import Document
from middleware.api.home import Home
from middleware.diary import DAY_MS
from middleware.sessions import Session
from transport.solicitation.streams import ClientStream

LOGBOOK_FOLDER = "logbook"
MAX_CONTACTS = 500


def status(home: Home, app: str) -> Document:
    node, store = home.node, home.store
    (feeds, entries), used = store.feeds.counts.numbers(), store.feeds.usage()
    return {
        "node_id": node.id,
        "epoch": store.epoch,
        "revision": store.revision,
        "feeds": feeds,
        "entries": entries,
        "neighbours": len(node.neighbourhood.neighbours()),
        "sessions": sum(session.proved is not None for session in node.sessions),
        "storage": {"used": used, "limit": store.limits.max_bytes},
        "dashboard": home.dashboard,
        "metrics_token": home.metrics_token,
    }


def neighbours(home: Home, app: str) -> list[Document]:
    now, at = home.monotonic(), home.at()
    return [neighbour_document(each, now, at) for each in home.node.neighbourhood.neighbours()]


def neighbour_document(neighbour: Neighbour, now: float, at: int) -> Document:
    return {
        "node_id": neighbour.node,
        "address": neighbour.addresses[0] if neighbour.addresses else None,
        "revision": neighbour.revision,
        "since": at - round((now - neighbour.since) * 1000),
        "last_seen": at - round((now - neighbour.last_heard) * 1000),
        "proved": neighbour.is_proved,
        "sources": list(neighbour.sources),
    }


def sessions(home: Home, app: str) -> list[Document]:
    """Who is being talked to, with the bytes that went either way."""
    return [session_document(session, home.monotonic()) for session in home.node.sessions]


def session_document(session: Session, now: float) -> Document:
    stream = session.stream
    return {
        "id": session.number,
        "node_id": stream.peer or session.claimed,
        "address": session.address,
        "role": session.role,
        "seconds": round(now - session.began, 3),
        "received": stream.bytes_in,
        "sent": stream.bytes_out,
        "entries": stream.tally.entries if isinstance(stream, ClientStream) else 0,
    }


def transfers(home: Home, app: str) -> list[Document]:
    """Enclosures that are wanted and not complete, with what is here of each."""
    received, name_of = home.store.blobs.received, home.store.wanting.name_of
    return [
        {"root": root, "name": name_of(root), "length": length, "received": received(root)}
        for root, length in home.node.wishes.downloads.wanted()
    ]


def meet(home: Home, app: str, *, address: str) -> Document:
    """Look for somebody at this address, such as 192.0.2.7:4747, from now on, also after a restart."""
    home.effects += home.node.meet(address, home.monotonic(), home.at())
    return {"address": address}


def contacts(home: Home, app: str) -> list[Document]:
    """Whom the node met in the last day, those that began last first."""
    found = home.node.diary.since(home.at() - DAY_MS)[:MAX_CONTACTS]
    return [{"node_id": each.peer, "began": each.began, "ended": each.ended} for each in found]


def logbook(home: Home, app: str) -> Document:
    return {"folder": str(home.path / LOGBOOK_FOLDER)}


def stop(home: Home, app: str) -> Document:
    """Ask the node to end; it answers first."""
    home.node  # noqa: B018
    home.is_stopping = True
    return {"node_id": home.node.id}
