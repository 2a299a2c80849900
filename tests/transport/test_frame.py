"""Frames to pieces and back; what a decoder makes of pieces that no encoder writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from transport.frame import (
    MAX_HEADER_BYTES,
    MAX_LENGTH,
    RECORD_BYTES,
    FrameDecoder,
    FrameReceived,
    encode_frame,
)

BODY_LENGTHS = st.one_of(
    st.integers(0, 300),
    # Around each number of records, and the longest.
    st.builds(lambda records, by: records * RECORD_BYTES - 7 + by, st.integers(1, 3), st.integers(-2, 2)),
    st.just(MAX_LENGTH - 2 - 50),
)


def first_record(length: int, header_bytes: int, rest: int) -> bytes:
    return length.to_bytes(4, "big") + header_bytes.to_bytes(2, "big") + bytes(rest)


def decode(pieces: list[bytes]) -> list[FrameReceived]:
    decoder = FrameDecoder()
    return [frame for piece in pieces if (frame := decoder.record_received(piece))]


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=50), BODY_LENGTHS), max_size=4))
def test_frames_come_back_as_they_were(frames: list[tuple[bytes, int]]) -> None:
    pieces = [bytes(piece) for header, length in frames for piece in encode_frame(header, b"x" * length)]
    assert [(frame.header, len(frame.body)) for frame in decode(pieces)] == frames


def test_a_body_may_come_in_parts() -> None:
    parts = (b"one", memoryview(b"two"), bytearray(b"three"), b"")
    assert encode_frame(b"h", *parts) == encode_frame(b"h", b"onetwothree")


@pytest.mark.parametrize(
    ("body", "lengths"),
    [
        (0, [7]),
        (RECORD_BYTES - 7, [RECORD_BYTES]),
        (RECORD_BYTES - 6, [RECORD_BYTES, 1]),
        (2 * RECORD_BYTES - 7, [RECORD_BYTES, RECORD_BYTES]),
        (MAX_LENGTH - 3, [RECORD_BYTES] * 16 + [276]),
    ],
)
def test_all_pieces_but_the_last_are_full(body: int, lengths: list[int]) -> None:
    assert [len(piece) for piece in encode_frame(b"h", bytes(body))] == lengths


def test_the_body_of_a_frame_of_one_piece_is_not_copied() -> None:
    (piece,) = encode_frame(b"header", b"body")
    assert isinstance(piece, bytes)
    (frame,) = decode([piece])
    assert frame.body.obj is piece and bytes(frame.body) == b"body"


@pytest.mark.parametrize("header", [0, MAX_HEADER_BYTES + 1])
def test_we_write_no_header_that_may_not_be_read(header: int) -> None:
    with pytest.raises(UsageError, match="header of 1 to 8192"):
        encode_frame(bytes(header))


def test_we_write_no_frame_that_may_not_be_read() -> None:
    with pytest.raises(UsageError, match="1048576 in all"):
        encode_frame(b"h", bytes(MAX_LENGTH - 2))


@pytest.mark.parametrize(
    ("piece", "complaint"),
    [
        (b"", "less than its lengths"),
        (first_record(3, 1, 1)[:5], "less than its lengths"),
        (first_record(0, 0, 0), "header of 0"),
        (first_record(1, 1, 0), "header of 1"),
        (first_record(2, 0, 0), "header of 0"),
        (first_record(3, 2, 1), "header of 2"),
        (first_record(3, 0, 1), "header of 0"),
        (first_record(10_000, 8_193, 9_998), "header of 8193"),
        (first_record(MAX_LENGTH + 1, 1, RECORD_BYTES - 6), "frame of 1048577"),
        (first_record(2**32 - 1, 1, RECORD_BYTES - 6), "frame of 4294967295"),
        (first_record(3, 1, 2), "has 8 bytes of a frame where 7"),
        (first_record(4, 1, 1), "has 7 bytes of a frame where 8"),
        (first_record(100_000, 1, RECORD_BYTES - 7), "where 65519"),
    ],
)
def test_a_first_piece_that_breaks_a_bound_is_refused(piece: bytes, complaint: str) -> None:
    with pytest.raises(RemoteError, match=complaint):
        FrameDecoder().record_received(piece)


@pytest.mark.parametrize(
    "length", [0, 1, 99_999 + 4 - RECORD_BYTES, 100_001 + 4 - RECORD_BYTES, RECORD_BYTES]
)
def test_a_later_piece_of_another_length_is_refused(length: int) -> None:
    decoder = FrameDecoder()
    decoder.record_received(first_record(100_000, 1, RECORD_BYTES - 6))
    with pytest.raises(RemoteError, match=f"has {length} bytes of a frame where 34485"):
        decoder.record_received(bytes(length))


@given(st.lists(st.binary(max_size=80), max_size=5))
def test_rubbish_gives_frames_within_bounds_or_a_remote_error(pieces: list[bytes]) -> None:
    try:
        frames = decode(pieces)
    except RemoteError:
        return
    assert all(1 <= len(frame.header) <= MAX_HEADER_BYTES for frame in frames)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1), st.integers(0, 64))
def test_any_lengths_are_kept_or_refused(length: int, header_bytes: int, rest: int) -> None:
    try:
        frame = FrameDecoder().record_received(first_record(length, header_bytes, rest))
    except RemoteError:
        return
    assert frame is not None and len(frame.header) == header_bytes and len(frame.body) == rest - header_bytes
