"""The shell of the local API: accepts apps, passes their lines to `apps.Apps`, and does what it says."""

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from middleware.api.apps import Apps
from middleware.api.connection import Connection
from middleware.api.effects import ApiEffect, Hang, Send, Work
from middleware.api.home import Home
from middleware.api.listening import Listening
from middleware.effects import Effect

# How long apps are served before hellos and sessions get their turn.
TURN_S = 0.005
# Open files that wait to be named, of all apps: a process has a thousand descriptors, and needs others too.
MAX_PASSED_BY_ALL = 256
# How often those who watch are told how far things are.
TICK_S = 0.5


class ApiServer:
    def __init__(
        self, home: Home, listening: Listening, *, tell_node: Callable[[Iterable[Effect]], None],
        stop: Callable[[], None],
    ) -> None:  # fmt: skip
        self._home, self._listening = home, listening
        self._tell_node, self._stop = tell_node, stop
        self._loop = asyncio.get_running_loop()
        self._apps = Apps(home)
        self._connections: dict[int, Connection] = {}
        self._next = 1
        self._busy: deque[Connection] = deque()  # with lines to serve, in turn
        self._is_turning = False
        self._ticking: asyncio.TimerHandle | None = None
        self._workers = ThreadPoolExecutor(2, "work")
        self._loop.add_reader(listening.socket, self._accept)

    def close(self) -> None:
        self._loop.remove_reader(self._listening.socket)
        if self._ticking is not None:
            self._ticking.cancel()
        for connection in list(self._connections.values()):
            connection.close()
        self._listening.close()
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._apps.close()

    def reported(self, effects: Iterable[Effect]) -> None:
        """The node has something for apps."""
        self._perform(self._apps.reported(effects))
        self._turn_soon()

    # -- connections

    def _accept(self) -> None:
        try:
            sock, _ = self._listening.socket.accept()
        except OSError:  # it has gone again, or there are no descriptors: the next one tries again
            return
        sock.setblocking(False)
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number, self._next = self._next, self._next + 1
        self._connections[number] = Connection(
            number,
            sock,
            loop=self._loop,
            has_lines=self._has_lines,
            is_lost=self._lost,
            has_passed=self._passed,
        )
        self._perform(self._apps.connected(number, needs_token=self._listening.needs_token))

    def _lost(self, connection: Connection) -> None:
        self._connections.pop(connection.number, None)
        self._apps.lost(connection.number)

    def _has_lines(self, connection: Connection) -> None:
        self._busy.append(connection)
        connection.resume()  # which stops reading until these are served
        self._turn_soon()

    def _passed(self) -> None:
        """Who has handed over most loses some first, so that one app alone cannot use up what there is."""
        while sum(len(each.passed) for each in self._connections.values()) > MAX_PASSED_BY_ALL:
            max(self._connections.values(), key=lambda each: len(each.passed)).drop_passed()

    # -- turns

    def _turn_soon(self) -> None:
        if not self._is_turning and (self._busy or self._apps.has_work):
            self._is_turning = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Serve what has come, each connection in turn, for a moment; then store and send what gathered."""
        self._is_turning = False
        until = time.monotonic() + TURN_S
        effects: list[ApiEffect] = []
        while self._busy and time.monotonic() < until:
            connection = self._busy.popleft()
            try:
                if connection.waiting:
                    line = connection.waiting.popleft()
                    effects += self._apps.line_received(connection.number, line, connection.passed)
            except BaseException:
                # A bug of ours: this app learns of it by the end of its connection, all others by nothing.
                self._perform(effects)
                connection.close()
                self._turn_soon()
                raise
            if connection.waiting:
                self._busy.append(connection)
            else:
                connection.resume()
        effects += self._apps.turn()
        self._perform(effects)
        node_effects = self._home.take_effects()
        if node_effects:
            self._tell_node(node_effects)
        self._tick_soon()
        if self._home.is_stopping:
            self._stop()
        self._turn_soon()

    def _tick_soon(self) -> None:
        if self._ticking is None and self._apps.wants_ticks:
            self._ticking = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        self._perform(self._apps.tick())
        self._tick_soon()

    def _perform(self, effects: Iterable[ApiEffect]) -> None:
        outgoing: dict[int, list[bytes]] = {}
        leaving: list[int] = []
        for effect in effects:
            match effect:
                case Send(number, data):
                    outgoing.setdefault(number, []).append(data)
                case Hang(number):
                    leaving.append(number)
                case Work(job, do):
                    self._work(job, do)
        for number, pieces in outgoing.items():
            if number in self._connections:
                self._connections[number].send(b"".join(pieces))
        for number in leaving:
            if number in self._connections:
                self._connections[number].hang_up()

    # -- what takes long

    def _work(self, job: int, do: Callable[[], Any]) -> None:
        future = self._workers.submit(do)

        def done(finished: "Future[Any]") -> None:
            if not finished.cancelled():
                self._loop.call_soon_threadsafe(self._worked, job, _result_of(finished))

        future.add_done_callback(done)

    def _worked(self, job: int, result: Any) -> None:
        self._perform(self._apps.worked(job, result))
        node_effects = self._home.take_effects()
        if node_effects:
            self._tell_node(node_effects)
        self._turn_soon()


def _result_of(finished: "Future[Any]") -> Any:
    error = finished.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return error or finished.result()
