"""Answers requests for leaf hashes and chunks of enclosures that some entry served here names."""

from collections.abc import Iterator

from contentdb.chunking import MAX_RANGE_HASHES, chunk_count
from contentdb.store import Store
from transport.messages import (
    MAX_CHUNKS_ASKED,
    MAX_HAVE_RANGES,
    ChunksReply,
    ChunksRequest,
    HashesReply,
    HashesRequest,
    Reason,
)
from transport.solicitation.answers import Piece, Refusal, Settings


class EnclosureAnswers:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def hashes(self, ask: HashesRequest, at: int) -> Piece:
        if ask.last - ask.first >= MAX_RANGE_HASHES:
            raise Refusal(Reason.LIMIT)
        blobs = self._store.blobs
        if not self._store.serving.is_named(ask.root, at) or not blobs.received(ask.root):
            raise Refusal(Reason.UNKNOWN)
        if ask.last > chunk_count(blobs.length(ask.root)) or blobs.missing_leaves(ask.root):
            raise Refusal(Reason.UNKNOWN)
        have = [span for span in blobs.have(ask.root) if span.stop > ask.first][:MAX_HAVE_RANGES]
        reply = HashesReply(
            ask.root, ask.first, ask.last, tuple((span.start, span.stop - 1) for span in have)
        )
        return Piece(reply, list(blobs.hashes(ask.root, ask.first, ask.last)))

    def chunks(self, ask: ChunksRequest, at: int) -> Iterator[Piece]:
        if ask.last - ask.first >= MAX_CHUNKS_ASKED:
            raise Refusal(Reason.LIMIT)
        if not self._store.serving.is_named(ask.root, at):
            raise Refusal(Reason.UNKNOWN)
        blobs, step = self._store.blobs, self._settings.chunks_per_reply
        for first in range(ask.first, ask.last + 1, step):
            last = min(first + step - 1, ask.last)
            body: list[bytes] = []
            for index in range(first, last + 1):
                if not blobs.has_chunk(ask.root, index):
                    break
                body.append(blobs.read_chunk(ask.root, index))
            is_short = len(body) <= last - first
            if body:
                more = is_short or last < ask.last
                yield Piece(ChunksReply(ask.root, first, first + len(body) - 1), body, more)
            if is_short:
                raise Refusal(Reason.UNKNOWN)
