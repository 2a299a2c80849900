"""What the apps of this node want: entries of feeds, and the files that belong to them."""

from collections.abc import Iterable

from contentdb.names import NodeId, Root
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from discovery.hello import Claim
from discovery.sightings import UNKNOWN
from middleware.coverage import Coverage
from middleware.delivery import Delivery, Stored
from middleware.fairness import Shares
from middleware.sync import Interest
from transport.solicitation.downloads import Downloads
from transport.solicitation.feedtalk import Plan, Want

RESUMED_AT_ONCE = 100  # entries in memory while the list of downloads is made


class Wishes:
    def __init__(self, store: Store, delivery: Delivery, coverage: Coverage) -> None:
        self._store, self._delivery, self._coverage = store, delivery, coverage
        self._shares = Shares()
        self._waiting: dict[Root, list[int]] = {}  # rows of entries, by a file that they wait for
        self._discover: tuple[str, ...] = ()
        self.downloads = Downloads(store.blobs)
        self.interest = Interest()
        store.when_dropped(self._file_dropped)

    # -- what changes them

    def subscriptions_changed(self) -> None:
        every = self._store.subscriptions.all()
        self.interest.newest_subscription = max((each.key for each in every), default=0)
        self._coverage.want(each.feed for each in every)

    def discover(self, selectors: Iterable[str]) -> None:
        before, self._discover = set(self._discover), tuple(selectors)
        # Who asks for less than before need not ask anybody again.
        self.interest.discoveries += not before.issuperset(self._discover)
        self.interest.is_discovering = bool(self._discover)

    def resume(self, subscription: Subscription, at: int) -> None:
        """Put the files that a subscription still lacks on the list."""
        named = self._store.wanting.enclosures(subscription.feed, at)
        is_complete = self._store.blobs.is_complete
        lacking = list(dict.fromkeys(each.key for each in named if not is_complete(each.root)))
        for start in range(0, len(lacking), RESUMED_AT_ONCE):
            for stored in self._delivery.stored(lacking[start : start + RESUMED_AT_ONCE]):
                self._want_files(stored, subscription)

    def entries_stored(self, batch: Iterable[Stored]) -> None:
        """Entries came: their files are wanted as far as any subscription wants them."""
        subscribed = self._delivery.subscribed()
        for stored in batch:
            if stored.entry.enclosures:
                for subscription in subscribed(stored.row.feed):
                    self._want_files(stored, subscription)

    def _want_files(self, stored: Stored, subscription: Subscription) -> None:
        row, entry = stored
        wanted = [each for each in entry.enclosures if subscription.wants_file(each.length)]
        if not wanted or not self._delivery.is_match(subscription, entry):
            return
        for enclosure in wanted:
            if enclosure.root not in self.downloads:
                start = self._start_of(subscription, enclosure.length)
                if not self.downloads.want(enclosure.root, enclosure.length, (start, -row.updated)):
                    continue
                self.interest.downloads_version = self.downloads.version
            waiting = self._waiting.setdefault(enclosure.root, [])
            if row.key not in waiting:
                waiting.append(row.key)
        self.interest.downloads = len(self.downloads)

    def _start_of(self, subscription: Subscription, length: int) -> float:
        """When a file is to be asked for: a subscription that was idle does not come before the others."""
        turn = self.downloads.next_turn
        if turn is None:
            self._shares.settled()
        else:
            self._shares.began(turn[0])
        return self._shares.start_of((subscription.app, subscription.key), length)

    def file_completed(self, root: Root) -> list[int]:
        """A file is here, wherever it came from; returns the rows of the entries that waited for it."""
        self.downloads.forget(root)
        self.interest.downloads = len(self.downloads)
        return self._waiting.pop(root, [])

    def _file_dropped(self, root: Root) -> None:
        """Its last entry was replaced, retracted or evicted: nobody waits for it any more."""
        self.downloads.forget(root)
        self._waiting.pop(root, None)
        self.interest.downloads = len(self.downloads)

    # -- what they come to

    def waiting_for(self, root: Root) -> list[int]:
        """The rows of the entries that wait for this file."""
        return list(self._waiting.get(root, ()))

    def plan(self, node: NodeId, promised: Claim = UNKNOWN) -> Plan:
        """What to ask of this peer, given what we have seen of it before."""
        peer = self._store.peers.get(node)
        is_as_we_know_it = peer is not None and promised.epoch in ("", peer.epoch)
        seen = peer.subscriptions if peer and is_as_we_know_it and not peer.doubt else 0
        wants: dict[tuple[str, str], Want] = {}
        for subscription in self._store.subscriptions.all():
            wants[subscription.feed, subscription.selector] = Want(
                subscription.feed, subscription.selector, is_seen=subscription.key <= seen
            )
        whole = {feed for feed, selector in wants if not selector}
        chosen = tuple(want for want in wants.values() if not want.selector or want.feed not in whole)
        since = (peer.epoch, peer.revision) if peer and peer.epoch and peer.revision is not None else None
        return Plan(chosen, self._discover, since, self._coverage.shared(node, promised))
