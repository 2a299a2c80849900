"""Cells and requests for them on the wire: byte-exact, and checked before anything is allocated."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from contentdb.sketch import MASK, MAX_CELLS, MAX_IDS, Cells, SetFingerprint, Sketch
from contentdb.sketch_codec import (
    CELL_BYTES,
    HEADER,
    MAX_BLOCK_CELLS,
    decode_cells,
    encode_cells,
    encode_summary,
)
from contentdb.sketch_decoder import Decoder, Progress
from contentdb.sketch_request import (
    TALLIES_END,
    TALLIES_FIRST,
    answer_cells,
    decode_request,
    encode_continuation,
    encode_opening,
)

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "sketch-v1.json").read_text(encoding="utf-8")
)
id_sets = st.sets(st.integers(0, MASK), max_size=60).map(sorted)


def numbers(written: list[str]) -> list[int]:
    return [int(id, 16) for id in written]


def header(first: int, number: int, size: int = 0, *, version: int = 1) -> bytes:
    return HEADER.pack(version, first, number, size, 1, 2)


@given(id_sets, st.integers(1, 300), st.data())
def test_cells_come_out_of_the_wire_as_they_went_in(ids: list[int], cells: int, data: st.DataObject) -> None:
    sketch = Sketch.of(ids, cells)
    first = data.draw(st.integers(0, cells - 1))
    end = data.draw(st.integers(first + 1, cells))
    encoded = encode_cells(sketch, first, end)
    assert len(encoded) == HEADER.size + CELL_BYTES * (end - first)
    block, part = decode_cells(encoded), sketch.cells.part(first, end)
    assert (block.first, block.end, block.fingerprint) == (first, end, sketch.fingerprint)
    assert (block.cells.ids, block.cells.checks, block.cells.counts) == (part.ids, part.checks, part.counts)


@given(id_sets)
def test_a_summary_has_no_cells(ids: list[int]) -> None:
    block = decode_cells(encode_summary(SetFingerprint.of(ids)))
    assert (block.first, block.end, block.fingerprint) == (0, 0, SetFingerprint.of(ids))


@given(id_sets, st.integers(1, MAX_CELLS - 1), st.integers(1, MAX_BLOCK_CELLS))
def test_requests_come_out_of_the_wire_as_they_went_in(ids: list[int], first: int, number: int) -> None:
    sketch = Sketch.of(ids, TALLIES_END)
    opening = decode_request(encode_opening(sketch))
    assert (opening.first, opening.number, opening.fingerprint) == (0, 0, sketch.fingerprint)
    assert opening.tallies == bytes(sketch.cells.counts[TALLIES_FIRST:])
    end = min(first + number, MAX_CELLS)
    going_on = decode_request(encode_continuation(sketch.fingerprint, first, end))
    assert (going_on.first, going_on.first + going_on.number, going_on.tallies) == (first, end, b"")


@given(st.binary(max_size=200))
def test_rubbish_is_refused_or_is_a_block_of_exactly_its_length(data: bytes) -> None:
    for version in (data[:1], b"\x01"):
        try:
            block = decode_cells(version + data[1:])
        except RemoteError:
            continue
        assert len(data) == HEADER.size + CELL_BYTES * len(block.cells)


@given(st.binary(max_size=200))
def test_a_rubbish_request_is_refused_or_within_bounds(data: bytes) -> None:
    for version in (data[:1], b"\x01"):
        try:
            request = decode_request(version + data[1:])
        except RemoteError:
            continue
        cells = answer_cells(request, Sketch(TALLIES_END))
        assert len(cells) <= MAX_BLOCK_CELLS and cells.stop <= MAX_CELLS


def test_truncated_and_surplus_bytes_are_refused() -> None:
    sketch = Sketch.of(range(50), TALLIES_END)
    block, opening = encode_cells(sketch, 0, 9), encode_opening(sketch)
    going_on = encode_continuation(sketch.fingerprint, 9, 20)
    for data, decode in ((block, decode_cells), (opening, decode_request), (going_on, decode_request)):
        for cut in range(len(data)):
            with pytest.raises(RemoteError):
                decode(data[:cut])
        with pytest.raises(RemoteError):
            decode(data + b"\x00")


@pytest.mark.parametrize(
    "data",
    [
        header(0, MAX_BLOCK_CELLS + 1),
        header(0, 65_535),
        header(65_535, 2) + bytes(2 * CELL_BYTES),
        header(5, 0),
        header(0, 1, 3) + bytes(CELL_BYTES),
        header(0, 0, version=0),
        header(0, 1, version=2) + bytes(CELL_BYTES),
    ],
)
def test_a_header_out_of_bounds_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteError):
        decode_cells(data)


@pytest.mark.parametrize("kind", ["refused_blocks", "refused_requests"])
def test_what_the_vectors_refuse_is_refused(kind: str) -> None:
    decode = decode_cells if kind == "refused_blocks" else decode_request
    for case in VECTORS[kind]:
        with pytest.raises(RemoteError):
            decode(bytes.fromhex(case["encoded"]))


def test_a_whole_exchange_equals_its_frozen_vector() -> None:
    case = VECTORS["exchange"]
    ours, theirs = (Sketch.of(numbers(case[side]), TALLIES_END) for side in ("ours", "theirs"))
    assert encode_opening(ours).hex() == case["opening"]
    cells = answer_cells(decode_request(bytes.fromhex(case["opening"])), theirs)
    assert encode_cells(theirs, cells.start, cells.stop).hex() == case["answer"]
    decoder = Decoder(ours)
    assert decoder.feed(decode_cells(bytes.fromhex(case["answer"]))) is Progress.DECODED
    assert sorted(decoder.only_local) == numbers(case["only_ours"])
    assert sorted(decoder.only_remote) == numbers(case["only_theirs"])


def test_a_continuation_and_a_summary_equal_their_frozen_vectors() -> None:
    case = VECTORS["continuation"]
    fingerprint = SetFingerprint.of(numbers(case["ids"]))
    assert encode_continuation(fingerprint, case["first"], case["end"]).hex() == case["encoded"]
    case = VECTORS["summary"]
    assert encode_summary(SetFingerprint.of(numbers(case["ids"]))).hex() == case["encoded"]


def test_a_server_that_has_nearly_enough_cells_answers_with_those() -> None:
    ids = [Random(3).getrandbits(64) ^ number for number in range(70)]
    request = decode_request(encode_opening(Sketch(TALLIES_END)))
    plenty = answer_cells(request, Sketch.of(ids, 1_024))
    assert 128 < plenty.stop < 1_024
    assert answer_cells(request, Sketch.of(ids, 128)) == range(128)


def test_a_caller_hears_what_cannot_be_sent() -> None:
    sketch = Sketch(200)
    for first, end in ((0, 201), (5, 5), (-1, 5), (0, 0)):
        with pytest.raises(UsageError, match="longer sketch"):
            encode_cells(sketch, first, end)
    for first, end in ((0, 5), (5, 5), (1, MAX_CELLS + 1), (1, MAX_BLOCK_CELLS + 2)):
        with pytest.raises(UsageError, match="one may ask"):
            encode_continuation(sketch.fingerprint, first, end)
    for size in (-1, MAX_IDS + 1):
        impossible = Sketch.restored(Cells.zero(8), SetFingerprint(size, 0, 0))
        with pytest.raises(UsageError, match="0 to"):
            encode_cells(impossible, 0, 8)
    for call in (encode_opening, lambda short: answer_cells(decode_request(encode_opening(sketch)), short)):
        with pytest.raises(UsageError, match="at least 128"):
            call(Sketch.of([1], 64))
