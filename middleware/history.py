"""What a whole session tells about its peer, kept so that the next one is not opened for nothing."""

from contentdb.names import NodeId
from contentdb.peers import Doubt
from contentdb.store import Store
from middleware.coverage import Coverage
from middleware.sync import Interest
from transport.messages import SessionHello


class History:
    def __init__(self, store: Store, interest: Interest, coverage: Coverage) -> None:
        self._peers, self._interest, self._coverage = store.peers, interest, coverage

    def asked(self, node: NodeId, seen: SessionHello, doubt: Doubt, subscriptions: int, at: int) -> None:
        """We have seen all of this peer up to its pair that subscriptions up to this key want."""
        self._coverage.saw(node, seen.epoch, seen.revision, seen.sum)
        self._peers.synchronised(
            node,
            epoch=seen.epoch,
            revision=seen.revision,
            subscriptions=subscriptions,
            doubt=doubt,
            at=at,
        )

    def served(self, node: NodeId, hello: SessionHello, at: int) -> None:
        """If all that the client gained came from us, its new pair is one that we have seen."""
        peer = self._peers.get(node)
        if hello.base is None or peer is None:
            return
        has_seen = peer.epoch == hello.epoch and peer.revision is not None and peer.revision >= hello.base
        if has_seen or hello.base == 0:
            self._coverage.saw(node, hello.epoch, hello.revision, hello.sum)
            self._peers.synchronised(
                node,
                epoch=hello.epoch,
                revision=hello.revision,
                subscriptions=peer.subscriptions if has_seen else self._interest.newest_subscription,
                doubt=peer.doubt if has_seen else Doubt.NONE,
                at=at,
            )
