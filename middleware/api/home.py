"""What calls work on: the content of one home, its keys, the clock, and the node if one runs there."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from contentdb.blobs import Progress
from contentdb.keystore import Keystore
from contentdb.library import Library
from contentdb.model import Entry
from contentdb.names import FeedId
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from middleware.api.messages import CallError, Code
from middleware.api.tokens import Tokens
from middleware.config import Settings
from middleware.effects import Effect
from middleware.node import Node


class Home:
    """The same calls run in a node, behind its socket, and in a command while no node runs.

    What a call makes the node do gathers in `effects`, which the node's shell performs after the call.
    """

    def __init__(
        self,
        path: Path,
        store: Store,
        keys: Keystore,
        *,
        at: Callable[[], int],
        monotonic: Callable[[], float],
        entropy: Callable[[int], bytes],
        node: Node | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.path, self.store, self.keys = path, store, keys
        self.at, self.monotonic, self.entropy = at, monotonic, entropy
        self.settings = settings
        self.dashboard: str | None = None  # its address, once it is served
        self.metrics_token: str | None = None
        self.is_stopping = False
        self.progress: Progress | None = None  # of files that are published, where somebody watches
        self.effects: list[Effect] = []
        self.renewed_feeds: list[FeedId] = []  # got entries by another way than being published or received
        self._node = node
        self.tokens = Tokens(path, entropy)
        self.revoked: list[str] = []  # apps whose connections must end

    @cached_property
    def library(self) -> Library:
        return Library(self.store, self.keys.author(), entropy=self.entropy, name=self.store.owner_name)

    def owner_changed(self) -> None:
        """Another name or another key: what is signed from now on bears it."""
        self.__dict__.pop("library", None)

    @property
    def has_node(self) -> bool:
        return self._node is not None

    @property
    def node(self) -> Node:
        if self._node is None:
            raise not_running(self.path)
        return self._node

    def take_effects(self) -> list[Effect]:
        effects, self.effects = self.effects, []
        return effects

    # -- what the node must hear of

    def published(self, read: Mapping[int, Entry]) -> None:
        """These own entries are stored, by row."""
        if self._node is not None and read:
            self.effects += self._node.published(read, self.monotonic(), self.at())

    def subscribed(self, subscription: Subscription) -> None:
        if self._node is not None:
            self.effects += self._node.subscribed(subscription, self.monotonic(), self.at())

    def unsubscribed(self) -> None:
        if self._node is not None:
            self.effects += self._node.unsubscribed(self.monotonic(), self.at())

    def imported(self, feed: FeedId) -> None:
        self.renewed_feeds.append(feed)
        self.changed()

    def changed(self) -> None:
        """The store has something else to offer, or wants something else."""
        if self._node is not None:
            self.effects += self._node.sighted((), self.monotonic(), self.at())


def not_running(home: Path) -> CallError:
    return CallError(f"no node runs in {home}; start one with `passerby up`", Code.NOT_RUNNING)
