"""The shell that talks to servers of the web: connects to addresses that were checked, and to no other.

The standard library's client reads and writes HTTP; the connection is ours. The name is resolved once, the
numbers are checked, and the socket goes to a number that passed, so that a name that resolves differently a
moment later (DNS rebinding) leads nowhere. TLS still proves the name. Proxies, cookies, credentials and
referrers are unknown here.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from contentdb.errors import RemoteError
from middleware.gateway.addresses import Origin, Place, Route, may_connect
from middleware.gateway.answers import FetchError, bounded, gunzipped, parse_length, status_problem

CONNECT_S = 10.0
SILENCE_S = 20.0  # a server that says nothing for so long has forgotten us
MAX_TRIED = 4  # numbers of one name
PIECE_BYTES = 65_536
USER_AGENT = "passerby-gateway (mirrors feeds for people without internet)"
REDIRECTS = (301, 302, 303, 307, 308)

Resolver = Callable[[str, int], Sequence[str]]


def system_resolver(host: str, port: int) -> Sequence[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask for, and how much of an answer to take."""

    place: Place
    limit_bytes: int
    limit_s: float
    at: int
    headers: Mapping[str, str] = field(default_factory=dict)
    validators: Mapping[str, str] = field(default_factory=dict)  # said only to `validated`
    validated: str = ""
    private: Origin | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    place: Place
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class _Timed(io.RawIOBase):
    """What a socket receives until a moment, however slowly it drips."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("too slow")
        self._sock.settimeout(min(left, SILENCE_S))
        return self._sock.recv_into(buffer)


class _TimedSocket:
    """What http.client asks of a socket, and no more. Whoever opened the connection closes it."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Timed(self._sock, self._deadline))

    def sendall(self, data: bytes) -> None:
        self._sock.sendall(data)

    def close(self) -> None:
        pass


class Fetcher:
    def __init__(self, *, resolve: Resolver = system_resolver, tls: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve
        self._tls = tls

    @contextmanager
    def open(self, request: Request) -> Iterator[Reply]:
        """The answer behind all redirects: 200, 206, 304 or 416. Raises FetchError for everything else."""
        deadline = time.monotonic() + request.limit_s
        route = Route(request.place)
        while True:
            place = route.place
            with _told(place):
                sock = self._connect(place, request.private, deadline)
            with closing(sock):
                with _told(place):
                    response = _ask(sock, place, request, deadline)
                    if response.status in REDIRECTS:
                        route.follow(response.headers.get("Location"))
                        continue
                yield _reply(response, place, request)
                return

    def _connect(self, place: Place, private: Origin | None, deadline: float) -> socket.socket:
        numbers = list(dict.fromkeys(self._resolve(place.host, place.port)))
        allowed = [number for number in numbers if may_connect(place, number, private)]
        if not allowed:
            raise FetchError(
                f"{place.url} is not in the public internet; if it is yours, add it with --allow-private"
                if numbers
                else f"{place.host} has no address"
            )
        failure: OSError = OSError("no address")
        for number in allowed[:MAX_TRIED]:
            left = deadline - time.monotonic()
            try:
                sock = socket.create_connection((number, place.port), max(0.001, min(left, CONNECT_S)))
            except OSError as error:
                failure = error
                continue
            return self._secured(sock, place) if place.scheme == "https" else sock
        raise failure

    def _secured(self, sock: socket.socket, place: Place) -> socket.socket:
        self._tls = self._tls or ssl.create_default_context()
        try:
            return self._tls.wrap_socket(sock, server_hostname=place.host)
        except BaseException:
            sock.close()
            raise


def _ask(sock: socket.socket, place: Place, request: Request, deadline: float) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(place.host, place.port)
    connection.sock = _TimedSocket(sock, deadline)  # all that it uses is there
    headers = {"Host": place.authority, "User-Agent": USER_AGENT, "Connection": "close", **request.headers}
    if request.validated == place.url:
        headers |= request.validators
    connection.putrequest("GET", place.target, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse()


def _reply(response: http.client.HTTPResponse, place: Place, request: Request) -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    if response.status not in (200, 206, 304, 416):
        raise status_problem(place.url, response.status, headers.get("retry-after"), request.at)
    if (parse_length(headers.get("content-length")) or 0) > request.limit_bytes:
        raise FetchError(f"{place.url} is larger than {request.limit_bytes} bytes", is_final=True)
    pieces = bounded(_pieces(response, place), request.limit_bytes, place.url)
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding in ("gzip", "x-gzip"):
        pieces = bounded(gunzipped(pieces, place.url), request.limit_bytes, place.url)
    elif coding not in ("identity", ""):
        raise FetchError(f"{place.url} is encoded as {coding[:40]!r}, which nobody asked for")
    return Reply(response.status, place, headers, pieces)


def _pieces(response: http.client.HTTPResponse, place: Place) -> Iterator[bytes]:
    left = response.length
    while True:
        with _told(place):
            piece = response.read(PIECE_BYTES)
        if not piece:
            break
        left = None if left is None else left - len(piece)
        yield piece
    if left:  # the library says nothing of it when reading in pieces
        raise FetchError(f"{place.url} stopped in the middle")


@contextmanager
def _told(place: Place) -> Iterator[None]:
    """Whatever goes wrong with a server becomes one sentence about it."""
    try:
        yield
    except FetchError:
        raise
    except RemoteError as error:
        raise FetchError(str(error)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(f"{place.url} did not answer: {_words(error)}") from error


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "too slow"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
