"""One connection to a node, as bytes: opens it, sends lines, and waits for lines without a thread."""

import os
import select
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from contentdb.errors import UsageError
from middleware.api.address import read_pointer, read_token
from middleware.api.messages import MAX_ANSWER_BYTES, MAX_PASSED, Lines
from middleware.client.errors import NodeGone, NodeNotRunning

READ_BYTES = 1 << 18
CONNECT_TIMEOUT_S = 10.0


def open_socket(home: str) -> tuple[socket.socket, bool]:
    """A socket to the node of this home, and whether it wants a token."""
    pointer = read_pointer(home)
    if pointer is None:
        raise NodeNotRunning(home)
    try:
        if "socket" in pointer:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(CONNECT_TIMEOUT_S)
            sock.connect(str(pointer["socket"]))
            return sock, False
        address = (str(pointer["host"]), int(str(pointer["port"])))
        sock = socket.create_connection(address, CONNECT_TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock, True
    except (OSError, KeyError, ValueError):
        raise NodeNotRunning(home) from None


def token_for(home: str, app: str) -> str:
    return os.environ.get("PASSERBY_TOKEN") or read_token(home, app)


class Handed(NamedTuple):
    """An open file on its way to the node."""

    descriptor: int
    name: str


def numbered(params: dict[str, Any], passed: int, *, can_pass: bool) -> tuple[dict[str, Any], list[int]]:
    """A request without its open files: these go beside it, and it names them by their numbers."""
    descriptors: list[int] = []
    files: list[Any] = []
    for file in params["files"] or ():
        if isinstance(file, Handed):
            descriptors.append(file.descriptor)
            file = {"descriptor": passed + len(descriptors), "name": file.name}
        files.append(file)
    if descriptors and not can_pass:
        raise UsageError(
            "open files can be handed over through a Unix socket of connect() only; give their paths"
        )
    if len(descriptors) > MAX_PASSED:
        raise UsageError(f"at most {MAX_PASSED} open files go with one entry; got {len(descriptors)}")
    return {**params, "files": files} if descriptors else params, descriptors


class Wire:
    """Not for several threads at once, but one may send while another one waits to receive."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.can_pass = hasattr(socket, "send_fds") and sock.family == socket.AF_UNIX
        self.passed = 0  # open files, so far
        sock.setblocking(False)
        self._lines = Lines(MAX_ANSWER_BYTES)
        self._bell, self._rope = socket.socketpair()  # pulling the one rings the other
        self._bell.setblocking(False)

    def send(self, data: bytes, received: "list[bytes] | None", descriptors: Sequence[int] = ()) -> None:
        """Send all of it, with these open files.

        If the node does not take it, it may wait for us: lines that come are kept.
        """
        view = memoryview(data)
        while view:
            try:
                if descriptors:
                    view = view[socket.send_fds(self._sock, [view], descriptors) :]
                    self.passed += len(descriptors)
                    descriptors = ()
                else:
                    view = view[self._sock.send(view) :]
            except BlockingIOError:
                self._wait(is_reading=received is not None, is_writing=True, timeout_s=None)
                if received is not None:
                    received += self._read()
            except OSError as error:
                raise _gone(error) from None

    def receive(self, timeout_s: float | None = None) -> list[bytes]:
        """The next lines; none if the time is over first. NodeGone if there will be no more."""
        if not self._wait(is_reading=True, is_writing=False, timeout_s=timeout_s):
            return []
        return self._read()

    def wake(self) -> None:
        """Let whoever is in `receive` come back with nothing."""
        with suppress(OSError):
            self._rope.send(b"!")

    def _read(self) -> list[bytes]:
        try:
            data = self._sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError as error:
            raise _gone(error) from None
        if not data:
            raise NodeGone("the node has ended; it may be started again with `passerby up`")
        return self._lines.received(data)

    def _wait(self, *, is_reading: bool, is_writing: bool, timeout_s: float | None) -> bool:
        reading = [self._sock, self._bell] if is_reading else []
        try:
            readable, writable, _ = select.select(reading, [self._sock] if is_writing else [], [], timeout_s)
            if self._bell in readable:
                self._bell.recv(100)
        except (OSError, ValueError) as error:  # closed meanwhile
            raise _gone(error) from None
        return bool(readable or writable)

    def close(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes whoever waits for it
        self._sock.close()
        self._bell.close()
        self._rope.close()


def _gone(error: Exception) -> NodeGone:
    return NodeGone(f"the connection to the node broke: {error}")
