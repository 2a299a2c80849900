"""Requests as bytes, ranges, and the headers that every answer has."""

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import UsageError
from middleware.dashboard.connection import MAX_HEAD_BYTES, WebConnection
from middleware.dashboard.web import EVERY_ANSWER, Answer, Refused, byte_range


def received(data: bytes) -> WebConnection:
    connection = WebConnection()
    connection.receive(data)
    return connection


def test_a_request_is_read_with_its_query_and_body() -> None:
    connection = received(b"POST /upload?name=a%20b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
    request = connection.next_request()
    assert request is not None
    assert (request.method, request.path, request.query) == ("POST", "/upload", {"name": "a b"})
    assert request.header("host") == "x"
    assert (connection.next_piece(), connection.next_piece()) == (b"abc", b"")


def test_a_request_that_comes_byte_by_byte_is_the_same() -> None:
    connection = WebConnection()
    data = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    for position in range(len(data) - 1):
        connection.receive(data[position : position + 1])
        assert connection.next_request() is None
    connection.receive(data[-1:])
    request = connection.next_request()
    assert request is not None
    assert request.path == "/"


def test_endless_headers_are_refused() -> None:
    connection = received(b"GET / HTTP/1.1\r\nA: " + b"x" * (MAX_HEAD_BYTES + 1))
    with pytest.raises(Refused) as refused:
        connection.next_request()
    assert refused.value.status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


@given(st.binary(max_size=400))
def test_rubbish_is_refused_or_needs_more_and_nothing_else(data: bytes) -> None:
    connection = received(data)
    try:
        while connection.next_request() is not None:
            while connection.next_piece():
                pass
            if not connection.begin_next():
                break
    except (Refused, ConnectionError):
        pass


def test_too_many_fields_are_refused() -> None:
    connection = received(b"GET /?" + b"a=1&" * 50 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    with pytest.raises(Refused):
        connection.next_request()


def test_every_answer_carries_the_protecting_headers() -> None:
    connection = received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    connection.next_request()
    head = connection.encode_head(Answer(HTTPStatus.OK, b"hello")).decode("latin-1").lower()
    for name, value in EVERY_ANSWER:
        assert f"{name}: {value}\r\n".lower() in head
    assert "access-control-allow-origin" not in head


@pytest.mark.parametrize(
    ("header", "part"),
    [
        (None, None),
        ("bytes=0-", (0, 100)),
        ("bytes=10-19", (10, 10)),
        ("bytes=90-500", (90, 10)),
        ("bytes=-30", (70, 30)),
        ("bytes=-300", (0, 100)),
        ("bytes=0-0", (0, 1)),
        ("bytes=1-2,5-6", None),
        ("lines=1-2", None),
        ("bytes=a-b", None),
        ("bytes=٣-", None),
    ],
)
def test_a_range_is_what_the_file_has_of_it(header: str | None, part: tuple[int, int] | None) -> None:
    assert byte_range(header, 100) == part


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=20-10", "bytes=-0", f"bytes={'9' * 30}-"])
def test_a_range_outside_of_the_file_is_refused(header: str) -> None:
    with pytest.raises(UsageError):
        byte_range(header, 100)


@given(st.text(), st.integers(0, 1 << 40))
def test_any_range_stays_inside_the_file(text: str, length: int) -> None:
    try:
        part = byte_range(f"bytes={text}", length)
    except UsageError:
        return
    if part is not None:
        first, wanted = part
        assert 0 <= first < first + wanted <= length
