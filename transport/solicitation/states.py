"""The client's side of a solicitation session as a table; what is not in it ends the session."""

from enum import Enum

from transport.messages import (
    Answer,
    Ask,
    BloomReply,
    BloomRequest,
    BySketch,
    CellsReply,
    ChunksReply,
    ChunksRequest,
    EntriesReply,
    FeedRequest,
    FeedsReply,
    FeedsRequest,
    HashesReply,
    HashesRequest,
)


class State(Enum):
    OPENING = "opening"  # the peer is proved; it has neither admitted nor rejected us
    DISCOVERY = "discovery"  # we ask what it has
    DOWNLOAD = "download"  # we collect entries and chunks
    OVER = "over"


NEXT: dict[tuple[State, type[Answer]], State] = {
    (State.DISCOVERY, BloomReply): State.DISCOVERY,
    (State.DISCOVERY, FeedsReply): State.DISCOVERY,
    (State.DISCOVERY, CellsReply): State.DISCOVERY,
    (State.DISCOVERY, EntriesReply): State.DOWNLOAD,
    (State.DISCOVERY, HashesReply): State.DOWNLOAD,
    (State.DISCOVERY, ChunksReply): State.DOWNLOAD,
    (State.DOWNLOAD, EntriesReply): State.DOWNLOAD,
    (State.DOWNLOAD, HashesReply): State.DOWNLOAD,
    (State.DOWNLOAD, ChunksReply): State.DOWNLOAD,
    (State.DOWNLOAD, BloomReply): State.DISCOVERY,
    (State.DOWNLOAD, FeedsReply): State.DISCOVERY,
    (State.DOWNLOAD, CellsReply): State.DISCOVERY,
}

_ANSWERS: dict[type[Ask], type[Answer]] = {
    BloomRequest: BloomReply,
    FeedsRequest: FeedsReply,
    FeedRequest: EntriesReply,
    HashesRequest: HashesReply,
    ChunksRequest: ChunksReply,
}


def answer_to(ask: Ask) -> type[Answer] | None:
    """The kind of answer that fits this question; anything else ends the session."""
    if isinstance(ask, FeedRequest) and isinstance(ask.how, BySketch):
        return CellsReply
    return _ANSWERS.get(type(ask))
