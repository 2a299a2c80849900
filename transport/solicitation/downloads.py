"""Which chunks to ask of whom: one book for all sessions, so that several neighbours serve one enclosure.

A session calls `next_ask` while it has room, and says what came or that it is over; what a session leaves
unanswered is free again. Nothing here is kept: what is missing is read from the blobs, so that after a
restart, or with another neighbour, it goes on where it stopped.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from contentdb.blobs import Blobs
from contentdb.chunking import MAX_RANGE_HASHES, verify_range
from contentdb.errors import RemoteError
from contentdb.names import NodeId, Root
from transport.messages import ChunksRequest, HashesRequest
from transport.solicitation.runs import Runs, cut

# A request for so many chunks is small against what it brings, and little is asked twice after a cut.
CHUNKS_A_REQUEST = 8
# With fewer sources, chunks in order let an app begin with the first; with more, the last would stay rare.
RAREST_FIRST_FROM = 3
# Enough for every enclosure of a thousand entries; the rest is put on the list when there is room again.
MAX_WANTED = 10_000
# As many as there may be neighbours.
MAX_TURNED_AWAY = 1_024


@dataclass(slots=True)
class Wanted:
    """An enclosure on its way."""

    root: Root
    length: int
    turn: tuple[float, ...]  # the lowest is asked for first
    refused_by: set[NodeId] = field(default_factory=set)
    hashes: Runs = field(default_factory=Runs)  # leaf hashes that are missing and not asked for
    chunks: Runs = field(
        default_factory=Runs
    )  # chunks that are missing, have a leaf hash, and are not asked for


class Downloads:
    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        # Grows whenever there is something to ask for that was not there before: then a peer that was of no
        # use may be, since what it has was perhaps being asked of somebody else.
        self.version = 0
        self._wanted: dict[Root, Wanted] = {}
        self._turns: list[tuple[tuple[float, ...], Root]] = []  # all of them, in order
        self._ready: list[tuple[tuple[float, ...], Root]] = []  # those with something to ask for, in order
        # What a neighbour with a session has of an enclosure, as far as it said; no runs if it has nothing.
        self._have: dict[NodeId, dict[Root, Runs]] = {}
        self._asked: dict[NodeId, list[HashesRequest | ChunksRequest]] = {}
        # Who got nothing to do while others were being asked; they may have what those turn out to lack.
        self._turned_away: dict[NodeId, None] = {}

    # -- what is wanted

    def want(self, root: Root, length: int, turn: tuple[float, ...] = ()) -> bool:
        """Put an enclosure on the list; False if it is complete, or the list is full."""
        if root in self._wanted:
            return True
        if len(self._wanted) >= MAX_WANTED or self._blobs.begin(root, length):
            return False
        wanted = self._wanted[root] = Wanted(root, length, turn)
        insort(self._turns, (turn, root))
        wanted.hashes = Runs(
            (missing.start, missing.stop - 1) for missing in self._blobs.missing_leaves(root)
        )
        wanted.chunks = Runs((missing.start, missing.stop - 1) for missing in self._blobs.missing(root))
        for first, last in wanted.hashes:
            wanted.chunks.remove(first, last)
        self._file(wanted)
        self.version += 1
        return True

    def forget(self, root: Root) -> None:
        wanted = self._wanted.pop(root, None)
        if wanted is not None:
            wanted.hashes, wanted.chunks = Runs(), Runs()
            self._file(wanted)
            del self._turns[bisect_left(self._turns, (wanted.turn, root))]

    def _file(self, wanted: Wanted) -> None:
        """Put it among those that have something to ask for, or take it away from them."""
        place = (wanted.turn, wanted.root)
        at = bisect_left(self._ready, place)
        is_there = at < len(self._ready) and self._ready[at] == place
        if bool(len(wanted.hashes) or len(wanted.chunks)) == is_there:
            return
        if is_there:
            del self._ready[at]
        else:
            self._ready.insert(at, place)

    def wanted(self) -> list[tuple[Root, int]]:
        """Root and length of each enclosure on the list, those to be asked for first in front."""
        return [(root, self._wanted[root].length) for _turn, root in self._turns]

    @property
    def next_turn(self) -> tuple[float, ...] | None:
        """The lowest of what is wanted, also of what is on its way or nobody here has; None if nothing is."""
        return self._turns[0][0] if self._turns else None

    def __contains__(self, root: Root) -> bool:
        return root in self._wanted

    def __len__(self) -> int:
        return len(self._wanted)

    # -- sessions

    def opened(self, peer: NodeId) -> None:
        self._have[peer] = {}
        self._asked[peer] = []

    def closed(self, peer: NodeId) -> None:
        """The session is over: what was asked of this peer and did not come is free again."""
        unanswered = self._asked.pop(peer, [])
        for ask in unanswered:
            self._release(ask)
        self.version += bool(unanswered)
        self._have.pop(peer, None)

    def next_ask(self, peer: NodeId) -> HashesRequest | ChunksRequest | None:
        """The next thing to ask of this peer, which counts as asked from now on; None if there is nothing."""
        for _turn, root in self._ready:
            wanted = self._wanted[root]
            ask = self._hashes(wanted, peer) or self._chunks(wanted, peer)
            if ask is not None:
                self._asked[peer].append(ask)
                self._file(wanted)
                return ask
        if any(asked for other, asked in self._asked.items() if other != peer):
            if len(self._turned_away) >= MAX_TURNED_AWAY:
                del self._turned_away[next(iter(self._turned_away))]
            self._turned_away[peer] = None
        return None

    def _hashes(self, wanted: Wanted, peer: NodeId) -> HashesRequest | None:
        have = self._have[peer].get(wanted.root)
        if have is not None and not len(have):
            return None
        for first, last in wanted.hashes:
            # Ranges that begin at a multiple need the shortest proof.
            end = (first - 1) // MAX_RANGE_HASHES * MAX_RANGE_HASHES + MAX_RANGE_HASHES
            ask = HashesRequest(wanted.root, first, min(last, end))
            wanted.hashes.remove(ask.first, ask.last)
            return ask
        return None

    def _chunks(self, wanted: Wanted, peer: NodeId) -> ChunksRequest | None:
        have = self._have[peer].get(wanted.root)
        runs: Iterator[tuple[int, int]] = iter(wanted.chunks) if have is None else wanted.chunks.common(have)
        is_rarest_first = len(self._have) >= RAREST_FIRST_FROM
        run = self._rarest(wanted.root, runs) if is_rarest_first else next(runs, None)
        if run is None:
            return None
        ask = ChunksRequest(wanted.root, run[0], min(run[1], run[0] + CHUNKS_A_REQUEST - 1))
        wanted.chunks.remove(ask.first, ask.last)
        return ask

    def _rarest(self, root: Root, runs: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
        """The first of those chunks that fewest have, up to where others have more or fewer of them."""
        told = [have[root] for have in self._have.values() if root in have]
        rarest, fewest = None, len(told) + 1
        for run in runs:
            for first, last in cut(run, told):
                count = sum(first in have for have in told)
                if count < fewest:
                    rarest, fewest = (first, last), count
        return rarest

    def _release(self, ask: HashesRequest | ChunksRequest) -> None:
        wanted = self._wanted.get(ask.root)
        if wanted is None:
            return
        if isinstance(ask, HashesRequest):
            wanted.hashes.add(ask.first, ask.last)
        else:
            self._free(wanted, ask.first, ask.last)
        self._file(wanted)

    def _free(self, wanted: Wanted, first: int, last: int) -> None:
        for missing in self._blobs.missing(wanted.root):
            wanted.chunks.add(max(first, missing.start), min(last, missing.stop - 1))

    # -- what comes

    def hashes_received(
        self, peer: NodeId, ask: HashesRequest, have: tuple[tuple[int, int], ...], body: bytes
    ) -> None:
        """Leaf hashes with their proof. Raises RemoteError if they do not lead to the root."""
        wanted = self._answered(peer, ask)
        if wanted is None:
            return
        size = (ask.last - ask.first + 1) * 32
        try:
            hashes = verify_range(ask.root, wanted.length, ask.first, body[:size], body[size:])
        except RemoteError:
            self._release(ask)
            raise
        self._blobs.set_leaves(ask.root, ask.first, hashes)
        self.heard(peer, ask.root, have)
        self._free(wanted, ask.first, ask.last)
        self._file(wanted)

    def heard(self, peer: NodeId, root: Root, have: tuple[tuple[int, int], ...]) -> None:
        """The peer has these chunks of it, and of those it did not tell about, none."""
        known = self._have[peer].setdefault(root, Runs())
        for first, last in have:
            known.add(first, last)

    def chunk_received(self, root: Root, index: int, data: bytes | memoryview) -> bool:
        """True if the enclosure is complete by this chunk. RemoteError if it is not what was signed."""
        if root not in self._wanted:
            return False
        if self._blobs.write_chunk(root, index, data):
            self.forget(root)
            return True
        return False

    def answered(self, peer: NodeId, ask: ChunksRequest, *, is_whole: bool) -> None:
        """All that will come for this request has come; if that is not all of it, the rest is free again."""
        if self._answered(peer, ask) is not None and not is_whole:
            self._release(ask)

    def refused(self, peer: NodeId, ask: HashesRequest | ChunksRequest) -> None:
        """The peer has not got it: others may be asked, this one not again in this session."""
        wanted = self._answered(peer, ask)
        if wanted is not None:
            self._have[peer][ask.root] = Runs()
            self._release(ask)
            # Each counts once, or two that lack it would be asked for ever; who was turned away has not said.
            unheard = [other for other in self._turned_away if other not in wanted.refused_by]
            if peer not in wanted.refused_by or unheard:
                wanted.refused_by.add(peer)
                self.version += 1
            for other in unheard:
                del self._turned_away[other]

    def _answered(self, peer: NodeId, ask: HashesRequest | ChunksRequest) -> Wanted | None:
        self._asked[peer].remove(ask)
        return self._wanted.get(ask.root)
