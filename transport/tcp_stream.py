"""Runs a stream core on one TCP connection: feeds it what comes in, sends what it gives, as much as fits."""

import asyncio
import logging
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from contentdb.errors import RemoteError
from contentdb.names import Address
from transport.radio import StreamCore

if sys.platform != "win32":
    from fcntl import ioctl
    from termios import TIOCOUTQ

RECEIVE_BYTES = 262_144  # read at once: five records of three chunks
SEND_BYTES = 262_144  # written and not yet taken by the kernel; above this the core is asked for no more
TURN_BYTES = 1_048_576  # sent in one go, before hellos and other streams get their turn
TURN_S = 0.02  # likewise: answers that are hard to find have few bytes
CLOSE_S = 15.0  # for the peer to take what was sent and to close too

PeerName: TypeAlias = (
    tuple[str, int] | tuple[str, int, int, int]
)  # as sockets say it: IPv4, or IPv6 with scope

log = logging.getLogger(__name__)


class TcpStream(asyncio.BufferedProtocol):
    """One connection and its core, which is set by whoever dials, or by `accept` if somebody else did."""

    core: StreamCore

    def __init__(self, remote: Address, *, forget: Callable[["TcpStream"], None]) -> None:
        self.remote = remote
        self.accept: Callable[[TcpStream, PeerName | None], None] | None = None
        self.dialling: asyncio.Task[None] | None = None
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._buffer = memoryview(bytearray(RECEIVE_BYTES))
        self._transport: asyncio.Transport | None = None
        self._is_full = False  # the peer does not take what we send
        self._has_ended = False  # we have said that nothing more will come
        self._is_over = False
        self._turn: asyncio.Handle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def unsent(self) -> int:
        if self._transport is None or self._transport.is_closing():
            return 0
        held = bytes(4)
        if sys.platform != "win32":  # there nobody tells what the kernel still holds
            with suppress(OSError):
                held = ioctl(self._transport.get_extra_info("socket").fileno(), TIOCOUTQ, held)
        return self._transport.get_write_buffer_size() + int(struct.unpack("i", held)[0])

    def wake(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        try:
            self._exchange(self._transport)
        except RemoteError as error:
            self._refuse(error)

    def abort(self) -> None:
        if self.dialling is not None:
            self.dialling.cancel()
        if self._transport is not None:
            self._transport.abort()

    def over(self) -> None:
        """Nothing happens on this stream any more; tells the core, once."""
        if self._is_over:
            return
        self._is_over = True
        for timer in (self._turn, self._deadline):
            if timer is not None:
                timer.cancel()
        self._forget(self)
        self.core.lost(self._loop.time())

    def _exchange(self, transport: asyncio.Transport) -> None:
        is_drained = self._has_ended or self._send(transport)
        if self.core.wants_close:
            self._close_soon(transport)
            if is_drained and not self._has_ended:
                # Our direction only. Were the socket closed while bytes come in, the kernel would reset the
                # connection, and the peer lose what it has not read yet. If it has gone, reading will say so.
                self._has_ended = True
                with suppress(OSError):
                    transport.write_eof()
        if self.core.wants_pause and not self.core.wants_close:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _send(self, transport: asyncio.Transport) -> bool:
        """Write what can be written in one turn; True if the core has no more."""
        sent, ends = 0, self._loop.time() + TURN_S
        while not self._is_full and sent < TURN_BYTES and self._loop.time() < ends:
            output = self.core.next_output()
            if output is None:
                return True
            transport.write(output)
            sent += len(output)
        if not self._is_full and self._turn is None:
            self._turn = self._loop.call_soon(self._next_turn)
        return False

    def _next_turn(self) -> None:
        self._turn = None
        self.wake()

    def _close_soon(self, transport: asyncio.Transport) -> None:
        if self._deadline is None:
            self._deadline = self._loop.call_later(CLOSE_S, transport.abort)

    def _refuse(self, error: RemoteError) -> None:
        log.debug("stream aborted peer=%s reason=%s", self.remote, error)
        self.abort()

    # -- called by asyncio

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        transport.set_write_buffer_limits(high=SEND_BYTES)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.accept is not None:
            self.accept(self, transport.get_extra_info("peername"))
        self.core.connected(self._loop.time())
        self.wake()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, count: int) -> None:
        if self.core.wants_close:
            return
        try:
            self.core.bytes_received(self._buffer[:count], self._loop.time())
        except RemoteError as error:
            self._refuse(error)
        else:
            self.wake()

    def eof_received(self) -> None:
        if self._transport is not None:
            self._close_soon(self._transport)  # what is written still goes out, if the peer takes it in time

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self.wake()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            log.debug("stream lost peer=%s reason=%s", self.remote, error)
        self.over()
