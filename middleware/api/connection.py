"""One app's socket: reads lines while the app reads ours, and sends without ever waiting."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable

from middleware.api.messages import MAX_PASSED, MAX_REQUEST_BYTES, Lines, MessageError, encode_error

READ_BYTES = 1 << 16
CAN_PASS = hasattr(socket, "recv_fds")
# An app that leaves so much unread is not read from until it has taken it: it cannot ask for more meanwhile.
PAUSE_ABOVE_BYTES = 1 << 20
# One that takes nothing while entries and news pile up is dropped; it resumes when it comes back.
MAX_UNSENT_BYTES = 128 << 20


# Open files that came and were not used yet, by requests that failed or are still on their way.
MAX_HELD = 2 * MAX_PASSED


class Connection:
    def __init__(
        self,
        number: int,
        sock: socket.socket,
        *,
        loop: asyncio.AbstractEventLoop,
        has_lines: Callable[["Connection"], None],
        is_lost: Callable[["Connection"], None],
        has_passed: Callable[[], None],
    ) -> None:
        self.number, self._sock, self._loop = number, sock, loop
        self._has_lines, self._is_lost, self._has_passed = has_lines, is_lost, has_passed
        self._lines = Lines(MAX_REQUEST_BYTES)
        self.waiting: deque[bytes] = deque()
        self.passed: dict[int, int] = {}  # open files that came through it, by number
        self._passed_count = 0
        self._unsent: deque[memoryview] = deque()
        self.unsent_bytes = 0
        self._is_reading = self._is_writing = self._is_leaving = False
        self.is_open = True
        self.resume()

    # -- reading

    def resume(self) -> None:
        """Read on, if what was read is dealt with and what was sent is taken."""
        wants = not self.waiting and self.unsent_bytes <= PAUSE_ABOVE_BYTES and not self._is_leaving
        if wants and self.is_open and not self._is_reading:
            self._loop.add_reader(self._sock, self._readable)
            self._is_reading = True
        elif self._is_reading and not wants:
            self._loop.remove_reader(self._sock)
            self._is_reading = False

    def _readable(self) -> None:
        try:
            data = self._receive()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        try:
            self.waiting.extend(self._lines.received(data))
        except MessageError as error:
            self.send(encode_error(None, error.code, str(error)))
            self.hang_up()
            return
        if self.waiting:
            self._has_lines(self)

    def _receive(self) -> bytes:
        if not CAN_PASS or self._sock.family != socket.AF_UNIX:
            return self._sock.recv(READ_BYTES)
        data, descriptors, _, _ = socket.recv_fds(
            self._sock, READ_BYTES, MAX_PASSED, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        )
        for descriptor in descriptors:
            self._passed_count += 1
            self.passed[self._passed_count] = descriptor
        while len(self.passed) > MAX_HELD:
            self.drop_passed()
        if descriptors:
            self._has_passed()
        return data

    def drop_passed(self) -> None:
        """Close the open file that has waited longest."""
        os.close(self.passed.pop(next(iter(self.passed))))

    # -- writing

    def send(self, data: bytes) -> None:
        if not self.is_open:
            return
        if not self._unsent:
            try:
                sent = self._sock.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self.close()
                return
            if sent == len(data):
                return
            data = data[sent:]
        self._unsent.append(memoryview(data))
        self.unsent_bytes += len(data)
        if self.unsent_bytes > MAX_UNSENT_BYTES:
            self.close()
        elif not self._is_writing:
            self._loop.add_writer(self._sock, self._writable)
            self._is_writing = True
            self.resume()

    def _writable(self) -> None:
        try:
            while self._unsent:
                sent = self._sock.send(self._unsent[0])
                self.unsent_bytes -= sent
                if sent < len(self._unsent[0]):
                    self._unsent[0] = self._unsent[0][sent:]
                    break
                self._unsent.popleft()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if not self._unsent:
            self._loop.remove_writer(self._sock)
            self._is_writing = False
            if self._is_leaving:
                self.close()
        self.resume()

    # -- the end

    def hang_up(self) -> None:
        """Close when what was said so far is taken."""
        self._is_leaving = True
        self.waiting.clear()
        self.resume()
        if not self._unsent:
            self.close()

    def close(self) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self.waiting.clear()
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        self._unsent.clear()
        for descriptor in self.passed.values():
            os.close(descriptor)
        self.passed.clear()
        self._is_lost(self)
