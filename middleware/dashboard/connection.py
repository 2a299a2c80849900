"""One connection of a browser: bytes in, requests and bodies out, answers to bytes. h11 knows the protocol.

A core: it never waits. The shell feeds it, asks `next_event`, and writes what the `encode_` methods return.
"""

from http import HTTPStatus

import h11

from middleware.dashboard.web import EVERY_ANSWER, Answer, FileAnswer, Header, Refused, Request, Stream

# Request line and headers together; browsers send one or two kilobytes.
MAX_HEAD_BYTES = 16_384
NEED_MORE = h11.NEED_DATA


class WebConnection:
    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)

    def receive(self, data: bytes) -> None:
        """Take in what came; an empty piece says that the browser will send no more."""
        self._h11.receive_data(data)

    def next_request(self) -> Request | None:
        """The next request; None if more bytes are needed. ConnectionError when there will be none."""
        event = self._next()
        if event is h11.NEED_DATA:
            return None
        if isinstance(event, h11.Request):
            headers = tuple((_text(name).lower(), _text(value)) for name, value in event.headers)
            return Request.read(_text(event.method), _text(event.target), headers)
        raise ConnectionError("the browser has closed")

    def next_piece(self) -> bytes | None:
        """The next piece of the body; empty at its end; None if more bytes are needed."""
        event = self._next()
        if event is h11.NEED_DATA:
            return None
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            return b""
        raise ConnectionError("the browser has closed in the middle of a request")

    def _next(self) -> object:
        try:
            return self._h11.next_event()
        except h11.RemoteProtocolError as error:
            status = HTTPStatus(error.error_status_hint)
            raise Refused(status, f"this is not HTTP as we know it: {error}") from None

    @property
    def awaits_continue(self) -> bool:
        return self._h11.they_are_waiting_for_100_continue

    def encode_continue(self) -> bytes:
        return self._send(h11.InformationalResponse(status_code=100, headers=[]))

    def encode_head(self, reply: Answer | FileAnswer | Stream) -> bytes:
        headers: list[Header] = [("Content-Type", reply.type), *EVERY_ANSWER, *reply.headers]
        if isinstance(reply, Answer):
            headers.append(("Content-Length", str(len(reply.body))))
        elif isinstance(reply, FileAnswer):
            headers.append(("Content-Length", str(reply.length)))
        status = HTTPStatus.OK if isinstance(reply, Stream) else reply.status
        return self._send(h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()))

    def encode_piece(self, piece: bytes) -> bytes:
        return self._send(h11.Data(data=piece))

    def encode_end(self) -> bytes:
        return self._send(h11.EndOfMessage())

    def _send(self, event: h11.Event) -> bytes:
        return self._h11.send(event) or b""

    @property
    def has_answered(self) -> bool:
        """Has the head of an answer gone out? Then a failure can only be told by closing."""
        return self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    def begin_next(self) -> bool:
        """Make ready for another request on this connection; False if it must be closed."""
        if self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
            return False
        self._h11.start_next_cycle()
        return True


def _text(value: bytes) -> str:
    return value.decode("latin-1")
