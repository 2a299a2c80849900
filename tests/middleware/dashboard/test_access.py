"""Who gets in: the right address, the right token, and media paths that prove themselves."""

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.names import Root
from middleware.dashboard.access import MEDIA_S, Access, Media
from middleware.dashboard.web import Refused, Request

PORT = 4748
ACCESS = Access(bytes(32), PORT)
SONG = Media(Root("ab" * 32), "take 1.ogg", "audio/ogg")
HOST = ("host", f"127.0.0.1:{PORT}")


def asked(path: str = "/", *headers: tuple[str, str], host: tuple[str, str] = HOST) -> Request:
    return Request.read("GET", path, (host, *headers))


def status_of(check: object, request: Request) -> HTTPStatus:
    with pytest.raises(Refused) as refused:
        check(request)  # type: ignore[operator]
    return refused.value.status


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}"])
def test_its_own_names_are_let_in(host: str) -> None:
    ACCESS.check_origin(asked(host=("host", host)))


@pytest.mark.parametrize(
    "host", ["", "evil.example", f"evil.example:{PORT}", "127.0.0.1", "localhost", f"127.0.0.1.evil:{PORT}"]
)
def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    assert status_of(ACCESS.check_origin, asked(host=("host", host))) == HTTPStatus.MISDIRECTED_REQUEST


def test_two_hosts_are_none() -> None:
    request = asked("/", HOST)
    assert status_of(ACCESS.check_origin, request) == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize(
    "header",
    [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", f"https://127.0.0.1:{PORT}"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ],
)
def test_another_page_is_refused(header: tuple[str, str]) -> None:
    assert status_of(ACCESS.check_origin, asked("/", header)) == HTTPStatus.FORBIDDEN


def test_the_page_itself_is_let_in() -> None:
    ACCESS.check_origin(asked("/", ("origin", f"http://127.0.0.1:{PORT}"), ("sec-fetch-site", "same-origin")))


def test_each_token_opens_its_own_door_only() -> None:
    page = asked("/call", ("authorization", f"Bearer {ACCESS.page_token}"))
    metrics = asked("/metrics", ("authorization", f"Bearer {ACCESS.metrics_token}"))
    ACCESS.check_page(page)
    ACCESS.check_metrics(metrics)
    assert status_of(ACCESS.check_page, metrics) == HTTPStatus.UNAUTHORIZED
    assert status_of(ACCESS.check_metrics, page) == HTTPStatus.UNAUTHORIZED


@given(st.text())
def test_no_other_token_opens(token: str) -> None:
    if token != ACCESS.page_token:
        request = asked("/call", ("authorization", f"Bearer {token}"))
        assert status_of(ACCESS.check_page, request) == HTTPStatus.UNAUTHORIZED


def test_another_secret_gives_other_tokens() -> None:
    assert Access(bytes([1]) * 32, PORT).page_token != ACCESS.page_token


def test_a_media_path_stands_for_what_it_was_given_for() -> None:
    assert ACCESS.media(asked(ACCESS.media_path(SONG, 1_000)), 1_000 + MEDIA_S) == SONG


def test_a_media_path_expires() -> None:
    request = asked(ACCESS.media_path(SONG, 1_000))
    with pytest.raises(Refused) as refused:
        ACCESS.media(request, 1_001 + MEDIA_S)
    assert refused.value.status == HTTPStatus.GONE


@pytest.mark.parametrize(
    ("old", "new"),
    [("ab" * 32, "cd" * 32), ("take+1.ogg", "x.html"), ("audio%2Fogg", "text%2Fhtml"), ("until=", "until=9")],
)
def test_a_changed_media_path_proves_nothing(old: str, new: str) -> None:
    path = ACCESS.media_path(SONG, 1_000)
    assert old in path
    with pytest.raises(Refused) as refused:
        ACCESS.media(asked(path.replace(old, new)), 1_000)
    assert refused.value.status == HTTPStatus.NOT_FOUND


@given(st.text(), st.text(), st.text(), st.text())
def test_no_two_media_share_a_proof(name: str, type_: str, other_name: str, other_type: str) -> None:
    if (name, type_) != (other_name, other_type):
        one = ACCESS.media_path(Media(SONG.root, name, type_), 1).rpartition("proof=")[2]
        other = ACCESS.media_path(Media(SONG.root, other_name, other_type), 1).rpartition("proof=")[2]
        assert one != other


@pytest.mark.parametrize(
    "kind", ["text/html", "image/svg+xml", "application/pdf", "audio/ogg; x", "", "AUDIO/OGG"]
)
def test_only_listed_types_are_shown_in_place(kind: str) -> None:
    media = Media(SONG.root, 'a"\r\nb.html', kind)
    assert media.shown_type == "application/octet-stream"
    assert media.disposition == "attachment; filename*=UTF-8''a%22%0D%0Ab.html"


def test_a_song_plays_in_place() -> None:
    assert SONG.shown_type == "audio/ogg"
    assert SONG.disposition.startswith("inline;")
