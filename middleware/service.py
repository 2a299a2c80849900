"""The shell of a node: sockets, timers, a worker and signals around `middleware.node`, which decides."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from contentdb.errors import StoreError
from contentdb.identity import NodeSecret
from contentdb.keystore import Keystore
from contentdb.store import Store
from middleware.api.home import Home
from middleware.api.listening import Listening
from middleware.api.server import ApiServer
from middleware.beacons import Beacons
from middleware.bridge import Bridge
from middleware.config import Settings
from middleware.device.desktop import Desktop
from middleware.diary import Diary
from middleware.effects import (
    Broadcast,
    CloseStream,
    Deliver,
    Effect,
    EntryGained,
    FeedsDiscovered,
    OpenStream,
    SendTo,
    Verify,
    Wake,
)
from middleware.logbook import Logbook
from middleware.logfile import LogbookFile
from middleware.node import Node
from middleware.samples import Samples
from middleware.verifying import Batches, Verifier
from transport.radio import Stream
from transport.tcp import Tcp

if TYPE_CHECKING:  # loaded only where it is wanted
    from middleware.dashboard.dashboard import Dashboard

log = logging.getLogger(__name__)
LOOK_EVERY_S = 1.0
# They need no token from anybody where there is only TCP.
OWN_APPS = ("cli", "dashboard")


class Service:
    """One node, from `run` until `stop`. Whoever makes it opens and closes the store."""

    def __init__(self, home: Path, store: Store, secret: NodeSecret, settings: Settings) -> None:
        self._home, self._settings, self._store = home, settings, store
        self._file = LogbookFile(home / "logbook", settings.logbook.keep_days)
        rng = SystemRandom()
        self._first_seq = self._file.next_seq()
        logbook = Logbook(secret.node_id, self._first_seq)
        self.node = Node(store, secret, settings, rng=rng, entropy=os.urandom, logbook=logbook)
        self._streams: dict[int, Stream] = {}
        self._unsent: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._armed = float("inf")
        self._api: ApiServer | None = None
        self._stopped = asyncio.Event()
        self._failure: StoreError | None = None
        self.port = 0

    async def run(self, ready: Callable[["Service"], None] = lambda _: None) -> None:
        """Serve until `stop`, or until somebody sends SIGINT or SIGTERM. A StoreError ends it, too."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._went_wrong)
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self.stop)
        self._verifier = Verifier(self._verified)
        self._tcp = Tcp(self._accept)
        self.port = await self._tcp.listen(self._settings.sessions.port)
        self._beacons = Beacons(self.node, self._settings.hello, self._perform, _at)
        self._samples = Samples(
            self.node.logbook, lambda: self._beacons.counts, Desktop().battery, self._now()
        )
        self._perform(self.node.started(self.port, self._now(), _at()))
        self._api = self._open_api()
        dashboard = await self._open_dashboard()
        looking = self._loop.create_task(self._look())
        looking.add_done_callback(self._look_ended)
        ready(self)
        announcing = self._loop.create_task(self._beacons.start_mdns())
        recalling = self._loop.create_task(self._recall())
        try:
            await self._stopped.wait()
        finally:
            looking.cancel()
            announcing.cancel()
            recalling.cancel()
            if dashboard is not None:
                await dashboard.close()
            await self._beacons.close()
            self._close()
        if self._failure is not None:
            raise self._failure

    def _look_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._went_wrong(self._loop, {"message": "looking after the node failed", "exception": error})

    def _went_wrong(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Something failed in a callback. A store that cannot be written keeps nothing: end cleanly."""
        error = context.get("exception")
        if isinstance(error, StoreError):
            self._failure = self._failure or error
            self.stop()
        else:
            loop.default_exception_handler(context)

    async def _open_dashboard(self) -> "Dashboard | None":
        if not self._settings.dashboard.enabled:
            return None
        from middleware.dashboard.dashboard import Dashboard

        dashboard = Dashboard(
            self._home,
            self._store.blobs,
            Desktop(),
            max_bytes=self._settings.storage.max_bytes,
            entropy=os.urandom,
        )
        address = await dashboard.start(self._settings.dashboard.port, self.home.keys.dashboard())
        self.home.dashboard, self.home.metrics_token = address, dashboard.metrics_token
        return dashboard

    async def _recall(self) -> None:
        """Read whom earlier runs met, for the page, while the node is at work already."""
        lines = await asyncio.to_thread(self._file.recent_lines, _at())
        self.node.diary.precede(await asyncio.to_thread(Diary.recalled, lines, self._first_seq))

    def _open_api(self) -> ApiServer:
        self.home = home = Home(
            self._home,
            self._store,
            Keystore(self._home, os.urandom),
            at=_at,
            monotonic=self._now,
            entropy=os.urandom,
            node=self.node,
            settings=self._settings,
        )
        settings = self._settings.api
        listening = Listening(self._home, use_tcp=settings.tcp, port=settings.port)
        if listening.needs_token:
            for app in OWN_APPS:
                home.tokens.make(app)
        return ApiServer(home, listening, tell_node=self._perform, stop=self.stop)

    def stop(self) -> None:
        self._stopped.set()

    def _close(self) -> None:
        if self._api is not None:
            self._api.close()
        self._tcp.close()
        self._verifier.close()
        if self._timer is not None:
            self._timer.cancel()
        with suppress(StoreError):  # a disk that failed is most likely what we stop for
            self._samples.take(self._now(), _at())
            self.node.stopping(self._now(), _at())
            self._file.write(self.node.logbook.take_lines(), _at())
        self._file.close()

    def _now(self) -> float:
        return self._loop.time()

    # -- what happens

    def _accept(self, stream: Stream) -> Bridge:
        number, effects = self.node.stream_accepted(stream.remote, self._now(), _at())
        bridge = Bridge(self.node, number, self._perform, self._now, _at)
        self._streams[number] = stream
        self._loop.call_soon(self._perform, effects)
        return bridge

    def _verified(self, session: int, batches: Batches) -> None:
        self._perform(self.node.verified(session, batches, self._now(), _at()))

    def _fired(self) -> None:
        self._timer, self._armed = None, float("inf")
        self._perform(self.node.timer_fired(self._now(), _at()))

    # -- what is to be done

    def _perform(self, effects: Iterable[Effect]) -> None:
        for_apps: list[Effect] = []
        for effect in effects:
            match effect:
                case Deliver() | EntryGained() | FeedsDiscovered():
                    for_apps.append(effect)
                case Broadcast(hello):
                    self._beacons.send_hello(hello)
                case SendTo(hello, to):
                    self._beacons.send_to(hello, to)
                case OpenStream(session, address):
                    bridge = Bridge(self.node, session, self._perform, self._now, _at)
                    self._streams[session] = self._tcp.dial(address, bridge)
                case Wake(session) if session in self._streams:
                    self._streams[session].wake()
                case CloseStream(session, _) if session in self._streams:
                    self._streams[session].abort()
                case Verify(session, batch):
                    self._verifier.submit(session, batch)
        if for_apps and self._api is not None:
            self._api.reported(for_apps)
        self._forget_ended()
        self._arm()

    def _forget_ended(self) -> None:
        for number in [number for number in self._streams if self.node.sessions.get(number) is None]:
            del self._streams[number]

    def _arm(self) -> None:
        """A timer that fires too early does no harm, so only an earlier one replaces it."""
        due = self.node.next_timer()
        if due < self._armed:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._armed = self._loop.call_at(due, self._fired), due

    async def _look(self) -> None:
        """Now and then: keep what was noted, and see whose peers still take what was sent."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._samples.look(self._now(), _at())
            self._file.write(self.node.logbook.take_lines(), _at())
            before, self._unsent = self._unsent, {n: stream.unsent for n, stream in self._streams.items()}
            for number, unsent in self._unsent.items():
                if unsent < before.get(number, 0):
                    self.node.stream_drains(number, self._now())


def _at() -> int:
    return time.time_ns() // 1_000_000
