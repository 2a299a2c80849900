"""Answers requests for cells of a feed's sketch, at a bounded cost."""

from contentdb.names import FeedId
from contentdb.serving import ServedFeed
from contentdb.sketch import MAX_CELLS, Sketch, vectorisable
from contentdb.sketch_codec import encode_cells, encode_summary
from contentdb.sketch_request import LEAST_BLOCK_CELLS, answer_cells, decode_request
from contentdb.store import Store
from transport.messages import CellsReply, Reason
from transport.solicitation.answers import Piece, Refusal, Settings


class CellAnswers:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        # The last long sketch: a client that goes on asking for it must not have it built each time.
        self._long: tuple[FeedId, Sketch] | None = None

    def answer(self, feed: FeedId, served: ServedFeed, body: bytes, at: int) -> Piece:
        """Raises RemoteError for a request nobody may make, Refusal for cells that would be too dear."""
        request = decode_request(body)
        reply = CellsReply(self._store.epoch, self._store.revision)
        ours = self._store.held_sketch(feed, at)
        wanted = answer_cells(request, ours)
        if not wanted:
            return Piece(reply, [encode_summary(ours.fingerprint)])
        if wanted.stop > len(ours):
            ours = self._longer(feed, served, ours, wanted.stop, at)
        end = min(wanted.stop, len(ours))
        if end < min(wanted.stop, wanted.start + max(LEAST_BLOCK_CELLS, wanted.start // 16)):
            raise Refusal(Reason.LIMIT)
        return Piece(reply, [encode_cells(ours, wanted.start, end)])

    def _longer(self, feed: FeedId, served: ServedFeed, ours: Sketch, cells: int, at: int) -> Sketch:
        """A sketch of the same set with at least so many cells, or the one at hand if that is too dear."""
        if self._long is not None and self._long[0] == feed:
            kept = self._long[1]
            if kept.fingerprint == ours.fingerprint and len(kept) >= cells:
                return kept
        most = self._settings.max_rebuilt_ids
        if ours.size > (
            most if vectorisable(ours.size) else most // 10
        ):  # numpy is more than ten times as fast
            return ours
        longer = Sketch.of(
            self._store.serving.held_ids(served.key, at), min(1 << (cells - 1).bit_length(), MAX_CELLS)
        )
        self._long = (feed, longer)
        return longer
