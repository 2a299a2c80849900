"""Reads datagrams from several sockets, a bounded number in each turn of the loop and in each second."""

import asyncio
import socket
from collections.abc import Callable

Source = tuple[str | int, ...]

# So many of one socket before others, and the rest of the node, get their turn.
DATAGRAMS_PER_TURN = 32
# Twice what a thousand neighbours say; beyond it the kernel drops, whoever sent it.
DATAGRAMS_PER_S = 6000


class DatagramReader:
    """Hands over what comes, cut off behind `max_bytes` + 1, by which an oversize datagram is known."""

    def __init__(self, received: Callable[[bytes, Source], None], max_bytes: int) -> None:
        self._received, self._max_bytes = received, max_bytes
        self._loop = asyncio.get_running_loop()
        self._sockets: dict[socket.socket, None] = {}
        self._left, self._window_at = DATAGRAMS_PER_S, self._loop.time()
        self._pause: asyncio.TimerHandle | None = None

    def add(self, sock: socket.socket) -> None:
        self._sockets[sock] = None
        if self._pause is None:
            self._loop.add_reader(sock, self._readable, sock)

    def remove(self, sock: socket.socket) -> None:
        del self._sockets[sock]
        self._loop.remove_reader(sock)

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        for sock in list(self._sockets):
            self.remove(sock)

    def _readable(self, sock: socket.socket) -> None:
        now = self._loop.time()
        if now - self._window_at >= 1.0:
            self._left, self._window_at = DATAGRAMS_PER_S, now
        for _ in range(min(DATAGRAMS_PER_TURN, self._left)):
            try:
                datagram, source = sock.recvfrom(self._max_bytes + 1)
            except OSError:
                return  # nothing left, or an ICMP error about something we sent
            self._left -= 1
            self._received(datagram, source)
            if sock not in self._sockets:
                return  # closed by whoever was told
        if self._left <= 0 and self._pause is None:
            for other in self._sockets:
                self._loop.remove_reader(other)
            self._pause = self._loop.call_at(self._window_at + 1.0, self._resume)

    def _resume(self) -> None:
        self._pause = None
        for sock in self._sockets:
            self._loop.add_reader(sock, self._readable, sock)
