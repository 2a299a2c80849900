"""What a neighbour says it has against what we know: is there anything to ask for, and how much is ours?

A hello names the last gains of its sender. Where there were more than it can name, their sum tells whether
they are those that came to us too, as they are when many hand on the same, in whatever order.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from contentdb.gains import feed_tag
from contentdb.names import FeedId, NodeId
from contentdb.peers import Doubt, Peer
from discovery.hello import Claim

# As many as there may be neighbours. Whom we forget is asked again, which is little if nothing is new.
MAX_SUMS = 1024
# Known versions that are named in a question, at most: 2 kB. What is not named comes again, which costs more.
MAX_SHARED, SPARE = 256, 16
NOTHING = "0" * 16  # the sum before the first gain


class Gains(Protocol):
    """What our store has gained, and what it knows."""

    def has_seen(self, gains: tuple[str, ...]) -> bool: ...
    def has_seen_any(self, gains: tuple[str, ...]) -> bool: ...
    def came_together(self, count: int, before: str, after: str) -> bool: ...


class Coverage:
    """`peer_of` says what we know of a node from sessions."""

    def __init__(self, peer_of: Callable[[NodeId], Peer | None], gains: Gains) -> None:
        self.peer_of, self._gains = peer_of, gains
        self._tags: set[str] = set()
        self._sums: dict[NodeId, Claim] = {}  # with the pair of our last session

    def want(self, feeds: Iterable[FeedId]) -> None:
        """Gains of other feeds than these are no reason to ask; nor files, which entries tell of."""
        self._tags = {feed_tag(feed) for feed in feeds}

    def saw(self, node: NodeId, epoch: str, revision: int, sum: str) -> None:
        """A session has seen all of a neighbour up to this pair, when its gains had this sum."""
        self._sums.pop(node, None)
        self._sums[node] = Claim(epoch, revision, sum=sum)
        if len(self._sums) > MAX_SUMS:
            del self._sums[next(iter(self._sums))]

    def is_complete(
        self, node: NodeId, claim: Claim, newest_subscription: int, coming: frozenset[str] = frozenset()
    ) -> bool:
        """Whether we have seen all that the neighbour says it has, or it is coming."""
        peer = self.peer_of(node)
        if peer is not None and peer.epoch and peer.subscriptions >= newest_subscription:
            if not claim.epoch:
                return True  # of a source that only knows where it is; one session is enough
            more = _more(peer, claim)
            if more <= 0:
                return True
            if peer.doubt < Doubt.REAL:
                if more <= len(claim.gained):
                    return self._has_seen(claim, more, coming)
                if self._is_ours(node, peer, claim):
                    return True
        # All that it ever gained: then it does not matter whether we have met, nor when we subscribed.
        if claim.epoch and claim.revision == len(claim.gained):
            return self._has_seen(claim, claim.revision, coming)
        return bool(claim.sum) and self._gains.came_together(claim.revision, NOTHING, claim.sum)

    def _has_seen(self, claim: Claim, count: int, coming: frozenset[str]) -> bool:
        return self._gains.has_seen(tuple(gain for gain in self._wanted(claim, count) if gain not in coming))

    def _wanted(self, claim: Claim, count: int) -> Iterator[str]:
        """Of the last so many gains those that may be of a feed we want."""
        start = max(len(claim.gained) - count, 0)
        for at in range(start, len(claim.gained)):
            if not claim.of or claim.of[at] in self._tags:
                yield claim.gained[at]

    def _is_ours(self, node: NodeId, peer: Peer, claim: Claim) -> bool:
        """Whether what it gained since our last session is what we gained, too."""
        seen = self._sums.get(node)
        if seen is None or not seen.sum or not claim.sum:
            return False
        if (seen.epoch, seen.revision) != (peer.epoch, peer.revision) or seen.epoch != claim.epoch:
            return False
        return self._gains.came_together(claim.revision - seen.revision, seen.sum, claim.sum)

    def is_burst(self, node: NodeId, claim: Claim) -> bool:
        """Whether it has gained more since our last session, or ever, than its hello can name."""
        return _more(self.peer_of(node), claim) > len(claim.gained)

    def shared(self, node: NodeId, claim: Claim) -> int:
        """How many of our last versions to name, since some of what is new there may have come to us, too."""
        peer = self.peer_of(node)
        if peer is None or peer.epoch != claim.epoch:
            return 0
        more = _more(peer, claim)
        new = tuple(self._wanted(claim, max(more, 0)))
        if more <= len(claim.gained) and not self._gains.has_seen_any(new):
            return 0
        return min(more + SPARE, MAX_SHARED)


def _more(peer: Peer | None, claim: Claim) -> int:
    """How much it gained since our last session, as far as we know."""
    if peer is None or peer.epoch != claim.epoch:
        return claim.revision
    return claim.revision - (peer.revision or 0)
