"""One node of the simulated world: the product's core, an in-memory store, and effects done by the world."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeVar, cast

from contentdb.arrivals import verify_and_read
from contentdb.errors import RemoteError, StoreError
from contentdb.library import Attachment, Draft, FeedDraft, Library
from contentdb.model import AttributeValue, Entry, Feed
from contentdb.names import Address, EntryId, FeedId, Root
from contentdb.subscriptions import Subscription
from discovery.hello import Hello, decode_hello, encode_hello
from evaluation.simulator.machine import Crash, Given, Machine
from middleware.config import Settings
from middleware.delivery import Due
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
from middleware.node import Node

if TYPE_CHECKING:
    from evaluation.simulator.radio import Pipe
    from evaluation.simulator.world import World

PORT = 4747
Answer = TypeVar("Answer")


class SimNode:
    """One run of a node's process. When it is killed, another takes its place on the same machine."""

    def __init__(
        self,
        name: str,
        host: str,
        world: "World",
        settings: Settings,
        rng: Random,
        machine: Machine | None = None,
    ) -> None:
        self.name, self.host, self.settings, self.rng, self._world = name, host, settings, rng, world
        self.hello_address = Address(f"ip:{host}:{PORT}")
        entropy = rng.randbytes
        self.machine = machine or Machine(entropy)
        self.author = self.machine.author
        self.store = self.machine.open_store(entropy, settings.storage)
        self.library = Library(self.store, self.author, entropy=entropy, name=name)
        secret = self.machine.secret
        logbook = self.machine.logbook
        self.core = Node(self.store, secret, settings, rng=rng, entropy=entropy, logbook=logbook)
        self.is_running = self.is_over = False
        self.began = world.now
        self.failed = ""  # why it had to stop
        self.dialled = self.lines = 0
        self.found: list[FeedId] = []
        self._pipes: dict[int, Pipe] = {}
        self._armed = float("inf")
        self._said: Hello | None = None
        self._datagram = b""

    @property
    def at(self) -> int:
        """What its wall clock shows."""
        return self._world.at + self.machine.clock_ms

    @property
    def deliveries(self) -> list[tuple[str, FeedId, EntryId, bytes]]:
        return [(given.app, given.feed, given.entry, given.version) for given in self.machine.given]

    # -- what people do

    def start(self) -> None:
        if not self.is_running and not self.is_over:
            self.is_running = True
            self._happened(self.core.started, PORT)
            subscriptions = self._run(self.store.subscriptions.all) if self.is_running else None
            for subscription in subscriptions or ():  # apps come back
                self._app_came(subscription)

    def stop(self) -> None:
        """End as a service does that was told to: nothing is open any more, and the store says so."""
        if self.is_running:
            with suppress(StoreError):
                self.core.stopping(self._world.now, self.at)
                self.store.close()
            self._gone()

    def killed(self) -> None:
        """End without a warning, in the middle of whatever it was doing."""
        self.machine.killed()
        self._gone()

    def power_failed(self, rng: Random) -> None:
        """End with the whole machine: nobody is told, and what was not flushed is lost."""
        self.machine.power_failed(rng)
        self._gone(is_silent=True)

    def _gone(self, *, is_silent: bool = False) -> None:
        """The process has ended, for whatever reason: its streams break, and nothing reaches it any more."""
        self.is_running, self.is_over = False, True
        pipes, self._pipes = list(self._pipes.values()), {}
        for pipe in pipes:
            pipe.vanish() if is_silent else pipe.cut()
        self._world.node_ended(self)

    def create_feed(self, title: str) -> Feed:
        feed = self._command(lambda: self.library.create_feed(FeedDraft(title), self.at))
        self._tick()
        return feed

    def publish(
        self,
        feed: FeedId,
        title: str,
        file: bytes | None = None,
        *,
        replaces: EntryId | None = None,
        expires: int | None = None,
        **attributes: object,
    ) -> Entry:
        files = () if file is None else (Attachment("file.bin", file),)
        values = cast(Mapping[str, AttributeValue], attributes)
        draft = Draft(title, id=replaces, attributes=values, files=files, expires=expires)
        return self._told(self._command(lambda: self.library.publish(feed, draft, self.at)))

    def retract(self, entry: Entry) -> Entry:
        return self._told(self._command(lambda: self.library.retract(entry.key, self.at)))

    def _command(self, do: Callable[[], Answer]) -> Answer:
        """What a person asks of it and waits for: a StoreError is theirs, a crash ends the process."""
        try:
            return do()
        except Crash:
            self.killed()
            raise

    def _told(self, entry: Entry) -> Entry:
        row = self._command(lambda: self.store.entries.by_key(entry.key))
        assert row is not None
        self._happened(self.core.published, {row.key: entry})
        return entry

    def subscribe(
        self, feed: FeedId, where: str = "", *, app: str = "test", files: str = "all"
    ) -> Subscription:
        wanted = Subscription(0, app, feed, where, files=files)
        made = self._command(lambda: self.store.subscriptions.add(wanted))
        self._app_came(made)
        return made

    def _app_came(self, subscription: Subscription) -> None:
        self._happened(self.core.subscribed, subscription)
        if self.is_running:
            due = self._run(lambda: list(self.core.delivery.due_now(subscription, self.at)))
            self._perform(map(Deliver, due or ()))

    def take_lines(self) -> list[str]:
        """What its logbook says since the last call."""
        lines = self.core.logbook.take_lines()
        self.lines += len(lines)
        return lines

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
            if not self.core.heard_again(hello, source, self._world.now):
                self._happened(self.core.hello_received, hello, source)

    def stream_accepted(self, pipe: "Pipe", address: Address) -> int | None:
        if not self.is_running:
            return None
        number, effects = self.core.stream_accepted(address, self._world.now, self.at)
        self._pipes[number] = pipe
        self._perform(effects)
        return number if self.is_running else None

    def stream_opened(self, pipe: "Pipe", number: int) -> None:
        self._pipes[number] = pipe
        self._happened(self.core.stream_opened, number)

    def stream_lost(self, number: int, why: str) -> None:
        self._pipes.pop(number, None)
        self._happened(self.core.stream_lost, number, why)

    def bytes_received(self, number: int, data: bytes) -> None:
        self._happened(self.core.bytes_received, number, data)

    def next_output(self, number: int) -> bytes | None:
        return self._ask(self.core.next_output, number) if self.is_running else None

    def wants_close(self, number: int) -> bool:
        return self.core.wants_close(number)

    def _happened(self, tell: Callable[..., list[Effect]], *what: object) -> None:
        """Tell the core, and do what it wants done; nothing happens to a process that has ended."""
        if self.is_running:
            self._perform(self._ask(tell, *what) or ())

    def _ask(self, ask: Callable[..., Answer], *what: object) -> Answer | None:
        return self._run(ask, *what, self._world.now, self.at)

    def _run(self, do: Callable[..., Answer], *what: object) -> Answer | None:
        try:
            answer = do(*what)
            if self._world.history is not None:
                self._world.history.note(self._world.now, self.name, do.__name__, *what, answer)
            return answer
        except Crash:
            self.killed()
        except StoreError as error:
            self.failed = str(error)
            self.stop()
        return None

    def _tick(self) -> None:
        self._happened(self.core.timer_fired)

    def _perform(self, effects: Iterable[Effect]) -> None:
        dues: list[Due] = []
        for effect in effects:
            match effect:
                case Broadcast(hello):
                    if hello is not self._said:  # a core that has nothing new to say gives the same again
                        self._said, self._datagram = hello, encode_hello(hello)
                    self._world.broadcast(self, self._datagram)
                case SendTo(hello, to):
                    self._world.send_to(self, encode_hello(hello), to)
                case OpenStream(session, address):
                    self.dialled += 1
                    self._world.open_stream(self, session, address)
                case Wake(session):
                    self._later(session, lambda pipe: pipe.wake(self))
                case CloseStream(session, _):
                    self._later(session, lambda pipe: pipe.cut())
                case Verify(session, batch):
                    arrivals = verify_and_read(batch)
                    self._world.after(0, partial(self._happened, self.core.verified, session, [arrivals]))
                case Deliver(due):
                    dues.append(due)
                case FeedsDiscovered(descriptors, _):
                    self.found += [FeedId(str(len(descriptors)))]
            if not self.is_running:
                return
        if dues:
            self._give(dues)
        self._arm()

    def _later(self, session: int, do: "Callable[[Pipe], None]") -> None:
        pipe = self._pipes.get(session)
        if pipe is not None:
            self._world.after(0, lambda: do(pipe))

    def _give(self, dues: list[Due]) -> None:
        """Apps take what comes at once as one batch, as they do over the local socket."""
        batch = [
            Given(due.subscription.app, due.entry.feed, due.entry.id, due.entry.version, is_excused=True)
            for due in dues
        ]
        self.machine.given += batch
        self._ask(self.core.delivered, dues)
        for given in batch:
            given.is_excused = not self.is_running  # else the app is done with it, and it is marked

    def _arm(self) -> None:
        due = self.core.next_timer()
        if self.is_running and due < self._armed:
            self._armed = due
            self._world.when(due, partial(self._timer, due))

    def _timer(self, due: float) -> None:
        if due == self._armed:  # else one was set for earlier, and has set the next already
            self._armed = float("inf")
            self._tick()
