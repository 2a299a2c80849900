"""The dialler of the `ip` radio: opens and accepts TCP connections; `transport.tcp_stream` runs them."""

import asyncio
import logging
import socket

from contentdb.errors import UsageError
from contentdb.names import Address, ip_address, ip_endpoint
from transport.radio import Accept, Stream, StreamCore
from transport.tcp_stream import PeerName, TcpStream

DIAL_S = 10.0
NOWHERE = Address("ip:[::]:0")  # of a peer that hung up before we looked

log = logging.getLogger(__name__)


class Tcp:
    """Opens streams to addresses, and accepts those of others; `accept` says what runs on the latter."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._server: asyncio.Server | None = None
        self._dialled: dict[TcpStream, None] = {}
        self._accepted: dict[TcpStream, None] = {}

    async def listen(self, port: int, host: str = "") -> int:
        """Accept streams at this port, or a free one if 0; return the port. Without host: IPv4 and IPv6."""
        try:
            listener = _listener(host, port)
        except OSError as error:
            raise UsageError(
                f"cannot listen on port {port} of {host or 'this machine'}: {error.strerror}; "
                "choose another, or 0 for any that is free"
            ) from None
        self._server = await asyncio.get_running_loop().create_server(self._make, sock=listener)
        return int(listener.getsockname()[1])

    def dial(self, address: Address, core: StreamCore) -> Stream:
        host, port = ip_endpoint(address)
        stream = TcpStream(address, forget=self._forget)
        stream.core = core
        self._dialled[stream] = None
        stream.dialling = asyncio.get_running_loop().create_task(_connect(stream, host, port))
        # Not in the task itself, which never begins if it is cancelled early.
        stream.dialling.add_done_callback(lambda task: _check(stream, task))
        return stream

    @property
    def unproved(self) -> list[Stream]:
        return [stream for stream in self._accepted if stream.core.proved is None]

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for stream in [*self._dialled, *self._accepted]:
            stream.abort()

    def _make(self) -> TcpStream:
        stream = TcpStream(NOWHERE, forget=self._forget)
        stream.accept = self._start
        return stream

    def _start(self, stream: TcpStream, peer: PeerName | None) -> None:
        stream.remote = NOWHERE if peer is None else _address_of(peer)
        stream.core = self._accept(stream)
        self._accepted[stream] = None

    def _forget(self, stream: TcpStream) -> None:
        self._dialled.pop(stream, None)
        self._accepted.pop(stream, None)


def _listener(host: str, port: int) -> socket.socket:
    if host:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def _address_of(peer: PeerName) -> Address:
    host, port, *flow_and_scope = peer
    if flow_and_scope and flow_and_scope[1]:
        host = f"{host.partition('%')[0]}%{socket.if_indextoname(flow_and_scope[1])}"
    return ip_address(host, port)


async def _connect(stream: TcpStream, host: str, port: int) -> None:
    numeric = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    async with asyncio.timeout(DIAL_S):
        await asyncio.get_running_loop().create_connection(lambda: stream, host, port, flags=numeric)


def _check(stream: TcpStream, task: asyncio.Task[None]) -> None:
    """Tell the core of a dial that came to nothing."""
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or error is not None:
        log.debug("dial failed address=%s reason=%s", stream.remote, error or "aborted")
        stream.over()
    if error is not None and not isinstance(error, OSError):
        raise error
