"""What is announced by mDNS is read back, and what is wrong is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from discovery.announcement import Announcement, decode_announcement, encode_announcement
from tests.discovery.scenes import ANN, EPOCH

RIGHT = {b"v": b"1", b"id": ANN.encode(), b"epoch": EPOCH.encode(), b"revision": b"42"}


def test_an_announcement_is_read_back_and_unknown_fields_are_passed_over() -> None:
    said = Announcement(ANN, EPOCH, 42)
    record = {key.encode(): value.encode() for key, value in encode_announcement(said).items()}
    assert record == RIGHT
    assert decode_announcement({**record, b"colour": b"red", b"flag": None}) == said


@pytest.mark.parametrize("key", sorted(RIGHT))
@pytest.mark.parametrize("value", [None, b"", b"2", b"-1", b"\xff", b"042", b"f" * 17])
def test_a_missing_or_wrong_field_is_refused(key: bytes, value: bytes | None) -> None:
    if (key, value) != (b"revision", b"2"):
        with pytest.raises(RemoteError):
            decode_announcement({**RIGHT, key: value})


@given(st.dictionaries(st.sampled_from(sorted(RIGHT)), st.binary(max_size=50) | st.none()))
def test_rubbish_is_refused(record: dict[bytes, bytes | None]) -> None:
    with pytest.raises(RemoteError):
        decode_announcement(record)


@pytest.mark.parametrize("wrong", [("x", EPOCH, 1), (ANN, "x", 1), (ANN, EPOCH, -1)])
def test_a_wrong_announcement_cannot_be_made(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError):
        Announcement(*wrong)
