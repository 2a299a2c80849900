"""One node of the simulated world: the product's core, an in-memory store, and effects done by the world."""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from contentdb.arrivals import verify_and_read
from contentdb.errors import RemoteError
from contentdb.identity import AuthorSecret, NodeSecret
from contentdb.library import Attachment, Draft, FeedDraft, Library
from contentdb.model import Entry, Feed
from contentdb.names import Address, EntryId, FeedId, Root
from contentdb.store import Store
from contentdb.subscriptions import Subscription
from discovery.hello import Hello, decode_hello, encode_hello
from middleware.config import Settings
from middleware.effects import (
    Broadcast,
    CloseStream,
    Deliver,
    Effect,
    FeedsDiscovered,
    OpenStream,
    SendTo,
    Verify,
    Wake,
)
from middleware.logbook import Logbook
from middleware.node import Node

if TYPE_CHECKING:
    from evaluation.simulator.radio import Pipe
    from evaluation.simulator.world import World

PORT = 4747


class SimNode:
    def __init__(self, name: str, host: str, world: "World", settings: Settings, rng: Random) -> None:
        self.name, self._world = name, world
        self.hello_address = Address(f"ip:{host}:{PORT}")
        entropy = rng.randbytes
        self.store = Store.open(None, entropy=entropy, limits=settings.storage)
        self.author = AuthorSecret.generate(entropy)
        self.library = Library(self.store, self.author, entropy=entropy, name=name)
        secret = NodeSecret.generate(entropy)
        self.core = Node(
            self.store, secret, settings, rng=rng, entropy=entropy, logbook=Logbook(secret.node_id)
        )
        self.is_running = False
        self.deliveries: list[tuple[str, FeedId, EntryId, bytes]] = []
        self.found: list[FeedId] = []
        self._pipes: dict[int, Pipe] = {}
        self._armed = float("inf")
        self._said: Hello | None = None
        self._datagram = b""

    # -- what people do

    def start(self) -> None:
        if not self.is_running:
            self.is_running = True
            self._perform(self.core.started(PORT, self._world.now, self._world.at))
            for subscription in self.store.subscriptions.all():  # apps come back
                self._perform(self.core.subscribed(subscription, self._world.now, self._world.at))

    def create_feed(self, title: str) -> Feed:
        feed = self.library.create_feed(FeedDraft(title), self._world.at)
        self._tick()
        return feed

    def publish(
        self,
        feed: FeedId,
        title: str,
        file: bytes | None = None,
        *,
        replaces: EntryId | None = None,
        **attributes: object,
    ) -> Entry:
        files = () if file is None else (Attachment("file.bin", file),)
        draft = Draft(title, id=replaces, attributes=attributes, files=files)  # type: ignore[arg-type]
        return self._told(self.library.publish(feed, draft, self._world.at))

    def retract(self, entry: Entry) -> Entry:
        return self._told(self.library.retract(entry.key, self._world.at))

    def _told(self, entry: Entry) -> Entry:
        row = self.store.entries.by_key(entry.key)
        assert row is not None
        if self.is_running:
            self._perform(self.core.published(row.key, self._world.now, self._world.at))
        return entry

    def subscribe(
        self, feed: FeedId, where: str = "", *, app: str = "test", files: str = "all"
    ) -> Subscription:
        made = self.store.subscriptions.add(Subscription(0, app, feed, where, files=files))
        if self.is_running:
            self._perform(self.core.subscribed(made, self._world.now, self._world.at))
        return made

    def delivered(self, feed: FeedId) -> list[EntryId]:
        return [entry for _, of, entry, _ in self.deliveries if of == feed]

    def has_file(self, root: Root) -> bool:
        return self.store.blobs.is_complete(root)

    # -- what the world does to it

    def datagram_received(self, data: bytes, source: Address) -> None:
        if self.is_running:
            try:
                hello = decode_hello(data)
            except RemoteError:
                return
            effects = self.core.hello_received(hello, source, self._world.now, self._world.at)
            # Nearly all hellos say what was said before, and set no timer but perhaps that of a neighbour.
            if effects or self.core.neighbourhood.next_timer() < self._armed:
                self._perform(effects)

    def stream_accepted(self, pipe: "Pipe", address: Address) -> int | None:
        if not self.is_running:
            return None
        number, effects = self.core.stream_accepted(address, self._world.now, self._world.at)
        self._pipes[number] = pipe
        self._perform(effects)
        return number

    def stream_opened(self, pipe: "Pipe", number: int) -> None:
        self._pipes[number] = pipe
        self._perform(self.core.stream_opened(number, self._world.now, self._world.at))

    def stream_lost(self, number: int, why: str) -> None:
        self._pipes.pop(number, None)
        self._perform(self.core.stream_lost(number, why, self._world.now, self._world.at))

    def bytes_received(self, number: int, data: bytes) -> None:
        self._perform(self.core.bytes_received(number, data, self._world.now, self._world.at))

    def next_output(self, number: int) -> bytes | None:
        return self.core.next_output(number, self._world.now, self._world.at)

    def wants_close(self, number: int) -> bool:
        return self.core.wants_close(number)

    def _tick(self) -> None:
        if self.is_running:
            self._perform(self.core.timer_fired(self._world.now, self._world.at))

    def _perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Broadcast(hello):
                    if hello is not self._said:  # a core that has nothing new to say gives the same again
                        self._said, self._datagram = hello, encode_hello(hello)
                    self._world.broadcast(self, self._datagram)
                case SendTo(hello, to):
                    self._world.send_to(self, encode_hello(hello), to)
                case OpenStream(session, address):
                    self._world.open_stream(self, session, address)
                case Wake(session):
                    self._later(session, lambda pipe: pipe.wake(self))
                case CloseStream(session, _):
                    self._later(session, lambda pipe: pipe.cut())
                case Verify(session, batch):
                    arrivals = verify_and_read(batch)
                    self._world.after(0, lambda s=session, a=arrivals: self._verified(s, a))  # type: ignore[misc]
                case Deliver(due):
                    row = due.entry
                    self.deliveries.append((due.subscription.app, row.feed, row.id, row.version))
                    self.core.delivered(due)
                case FeedsDiscovered(descriptors, _):
                    self.found += [FeedId(str(len(descriptors)))]
        self._arm()

    def _later(self, session: int, do: "Callable[[Pipe], None]") -> None:
        pipe = self._pipes.get(session)
        if pipe is not None:
            self._world.after(0, lambda: do(pipe))

    def _verified(self, session: int, arrivals: list) -> None:  # type: ignore[type-arg]
        self._perform(self.core.verified(session, arrivals, self._world.now, self._world.at))

    def _arm(self) -> None:
        due = self.core.next_timer()
        if self.is_running and due < self._armed:
            self._armed = due
            self._world.when(due, partial(self._timer, due))

    def _timer(self, due: float) -> None:
        if due == self._armed:  # else one was set for earlier, and has set the next already
            self._armed = float("inf")
            self._tick()
