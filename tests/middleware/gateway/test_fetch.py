"""Fetching over real sockets from servers that lie, stall, drip, swell and send us elsewhere."""

import datetime
import gzip
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from middleware.gateway.addresses import parse_url
from middleware.gateway.answers import (
    MAX_RETRY_S,
    FetchError,
    gunzipped,
    parse_length,
    parse_range,
    parse_retry_after,
    validator,
)
from middleware.gateway.fetch import Fetcher, Request
from tests.middleware.gateway.webserver import Asked, Web, web_server

AT = 1_790_000_000_000
MEGABYTE = 2**20


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


def request(web: Web, path: str, **fields: Any) -> Request:
    given: dict[str, Any] = {"limit_bytes": MEGABYTE, "limit_s": 30.0, "at": AT}
    given["private"] = ("127.0.0.1", web.port)
    return Request(parse_url(web.url(path)), **(given | fields))


def fetch(asked: Request, fetcher: Fetcher | None = None) -> tuple[int, bytes]:
    with (fetcher or Fetcher()).open(asked) as reply:
        return reply.status, b"".join(reply.pieces)


def problem(asked: Request, fetcher: Fetcher | None = None) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(asked, fetcher)
    return caught.value


def test_what_is_there_is_fetched_and_nothing_is_told_but_what_must_be(web: Web) -> None:
    web.serve("/feed", b"words")
    assert fetch(request(web, "/feed")) == (200, b"words")
    ((_path, headers),) = web.asked
    assert headers.keys() == {"Host", "User-Agent", "Connection"}
    assert headers["Host"] == f"127.0.0.1:{web.port}"


def test_loopback_is_refused_unless_the_owner_allows_this_very_place(web: Web) -> None:
    web.serve("/feed", b"words")
    assert "public internet" in str(problem(request(web, "/feed", private=None)))
    assert "public internet" in str(problem(request(web, "/feed", private=("127.0.0.1", web.port + 1))))
    assert web.asked == []


def test_a_name_that_resolves_to_a_private_address_is_refused(web: Web) -> None:
    web.serve("/feed", b"words")
    asked = Request(parse_url(web.url("/feed", host="feeds.example")), MEGABYTE, 30.0, AT)
    for numbers in (["127.0.0.1"], ["::1"], ["10.0.0.1", "169.254.169.254"], ["::ffff:127.0.0.1"]):
        assert "public internet" in str(problem(asked, Fetcher(resolve=lambda host, port, n=numbers: n)))  # type: ignore[misc]
    assert "no address" in str(problem(asked, Fetcher(resolve=lambda host, port: [])))
    assert web.asked == []


def test_a_name_is_resolved_once_so_that_it_cannot_change_its_mind(web: Web) -> None:
    """What a second resolution would find is loopback, where our server listens."""
    web.serve("/feed", b"secret")
    answers = iter([["127.0.0.2"], ["127.0.0.1"]])
    place = parse_url(web.url("/feed", host="feeds.example"))
    # Allowed here by name; at the first number nothing listens, and nobody asks for another one.
    asked = Request(place, MEGABYTE, 30.0, AT, private=place.origin)
    problem(asked, Fetcher(resolve=lambda host, port: next(answers)))
    assert next(answers) == ["127.0.0.1"]
    assert web.asked == []


def test_redirects_are_followed_and_checked_like_first_addresses(web: Web) -> None:
    web.serve("/feed", b"words")
    web.redirect("/old", "/older", 301)
    web.redirect("/older", web.url("/feed"), 308)
    assert fetch(request(web, "/old")) == (200, b"words")
    with web_server() as other:
        other.serve("/admin", b"secret")
        for path, target in (("/a", other.url("/admin")), ("/b", other.url("/admin", host="localhost"))):
            web.redirect(path, target)
            assert "public internet" in str(problem(request(web, path)))
        assert other.asked == []


def test_a_public_source_that_redirects_to_the_local_network_is_refused(web: Web) -> None:
    """The place of the source is allowed for this test only; where it sends us is another place."""
    web.redirect("/feed", f"http://192.168.1.1:{web.port}/")
    assert "public internet" in str(problem(request(web, "/feed")))
    web.redirect("/meta", "http://169.254.169.254/latest")
    assert "public internet" in str(problem(request(web, "/meta")))


def test_circles_long_chains_and_other_schemes_end(web: Web) -> None:
    web.redirect("/a", "/b")
    web.redirect("/b", "/a")
    assert "circle" in str(problem(request(web, "/a")))
    for number in range(20):
        web.redirect(f"/{number}", f"/{number + 1}")
    assert "more than" in str(problem(request(web, "/0")))
    web.redirect("/file", "file:///etc/passwd")
    assert "do not go" in str(problem(request(web, "/file")))


def test_what_was_said_of_a_version_is_said_back_to_that_address_only(web: Web) -> None:
    web.serve("/feed", b"words", ETag='"1"')
    web.redirect("/moved", "/feed")
    said = {"validators": {"If-None-Match": '"1"'}, "validated": web.url("/feed")}
    assert fetch(request(web, "/moved", **said))[0] == 304
    assert ["If-None-Match" in headers for _path, headers in web.asked] == [False, True]


def test_a_body_that_is_announced_too_large_is_not_read(web: Web) -> None:
    web.answers["/huge"] = lambda asked: asked.send_raw("HTTP/1.1 200 OK", "Content-Length: 999999999999")
    assert problem(request(web, "/huge")).is_final


def test_an_endless_body_ends(web: Web) -> None:
    def pour(asked: Asked) -> None:
        asked.send_raw("HTTP/1.1 200 OK", "Connection: close")
        while True:
            asked.wfile.write(bytes(65_536))

    def pour_chunks(asked: Asked) -> None:
        asked.send_raw("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
        while True:
            asked.wfile.write(b"1000\r\n" + bytes(4096) + b"\r\n")

    web.answers |= {"/endless": pour, "/chunks": pour_chunks}
    assert "larger than" in str(problem(request(web, "/endless")))
    assert "larger than" in str(problem(request(web, "/chunks")))


def test_a_bomb_does_not_go_off(web: Web) -> None:
    bomb = gzip.compress(bytes(200 * MEGABYTE))
    assert len(bomb) < MEGABYTE
    web.answers["/bomb"] = lambda asked: asked.reply(bomb, Content_Encoding="gzip")
    web.answers["/fine"] = lambda asked: asked.reply(gzip.compress(b"words"), Content_Encoding="gzip")
    web.answers["/half"] = lambda asked: asked.reply(gzip.compress(b"words")[:-9], Content_Encoding="gzip")
    web.answers["/odd"] = lambda asked: asked.reply(b"?", Content_Encoding="br")
    assert "larger than" in str(problem(request(web, "/bomb")))
    assert fetch(request(web, "/fine")) == (200, b"words")
    assert "middle" in str(problem(request(web, "/half")))
    assert "nobody asked for" in str(problem(request(web, "/odd")))


def test_a_server_that_drips_headers_or_bytes_for_ever_is_left(web: Web) -> None:
    stopped = threading.Event()

    def drip_headers(asked: Asked) -> None:
        asked.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not stopped.wait(0.02):
            asked.wfile.write(b"X: y\r\n")

    def drip_body(asked: Asked) -> None:
        asked.send_raw("HTTP/1.1 200 OK", "Connection: close")
        while not stopped.wait(0.02):
            asked.wfile.write(b".")

    def say_nothing(asked: Asked) -> None:
        stopped.wait()

    web.answers |= {"/headers": drip_headers, "/body": drip_body, "/silent": say_nothing}
    try:
        for path in ("/headers", "/body", "/silent"):
            words = str(problem(request(web, path, limit_s=0.4)))
            assert "too slow" in words or "more than 100 headers" in words
    finally:
        stopped.set()


def test_a_body_that_stops_early_is_noticed(web: Web) -> None:
    web.answers["/short"] = lambda asked: asked.send_raw("HTTP/1.1 200 OK", "Content-Length: 10", "", "abc")
    assert "middle" in str(problem(request(web, "/short")))


def test_a_dead_host_is_one_sentence(web: Web) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    asked = Request(parse_url(f"http://127.0.0.1:{port}/"), 1, 5.0, AT, private=("127.0.0.1", port))
    assert "did not answer" in str(problem(asked))
    missing = Request(parse_url("http://nowhere.invalid/"), 1, 5.0, AT)

    def fail(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert "Name or service not known" in str(problem(missing, Fetcher(resolve=fail)))


RUBBISH = [
    b"",
    b"\0" * 100,
    b"SSH-2.0-x\r\n",
    b"HTTP/1.1 abc\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"x" * 99_999,
]


@pytest.mark.parametrize("rubbish", RUBBISH)
def test_what_is_no_http_is_one_sentence(web: Web, rubbish: bytes) -> None:
    def answer(asked: Asked) -> None:
        asked.wfile.write(rubbish)

    web.answers["/"] = answer
    assert "did not answer" in str(problem(request(web, "/")))


def test_a_status_says_whether_to_try_again_and_when(web: Web) -> None:
    web.answers["/busy"] = lambda asked: asked.reply(b"", 503, Retry_After="120")
    web.answers["/gone"] = lambda asked: asked.reply(b"", 410)
    web.answers["/closed"] = lambda asked: asked.reply(b"", 401, WWW_Authenticate="Basic")
    busy = problem(request(web, "/busy"))
    assert busy.retry_s == 120 and not busy.is_final
    assert problem(request(web, "/gone")).is_final
    assert "credentials" in str(problem(request(web, "/closed")))


# -- TLS


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.9"))]
    built = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "cert.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(*private))
    return folder / "cert.pem", folder / "key.pem"


def test_tls_proves_the_name_though_we_connect_to_a_number(web: Web, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "feeds.example")
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(cert, key)
    web.socket = server_side.wrap_socket(web.socket, server_side=True)
    web.serve("/feed", b"words")

    def asked(host: str) -> Request:
        place = parse_url(f"https://{host}:{web.port}/feed")
        return Request(place, MEGABYTE, 30.0, AT, private=place.origin)

    def loopback(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    trusting = Fetcher(resolve=loopback, tls=ssl.create_default_context(cafile=str(cert)))
    assert fetch(asked("feeds.example"), trusting) == (200, b"words")
    assert "certificate" in str(problem(asked("other.example"), trusting))
    assert "certificate" in str(problem(asked("feeds.example"), Fetcher(resolve=loopback)))


# -- what servers say


@given(st.text(max_size=60))
def test_whatever_headers_say_is_read_with_bounds(text: str) -> None:
    assert 0 <= (parse_retry_after(text, AT) or 0) <= MAX_RETRY_S
    assert (parse_length(text) or 0) >= 0
    found = parse_range(text)
    assert found is None or found[0] >= 0
    said = validator(text)
    assert said is None or (said.isprintable() and said.isascii())


def test_dates_and_ranges_are_understood() -> None:
    assert parse_retry_after("Mon, 21 Sep 2026 14:14:40 GMT", AT) == 80
    assert parse_retry_after("Mon, 21 Sep 2020 14:14:40 GMT", AT) == 0
    assert parse_range("bytes 5-9/10") == (5, 10)
    assert parse_range("bytes 5-9/*") == (5, None)
    assert parse_range("bytes 9-5/10") is None


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_rubbish_is_no_gzip(pieces: list[bytes]) -> None:
    with pytest.raises(FetchError):
        list(gunzipped(pieces, "x"))
