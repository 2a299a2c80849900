"""A filter never forgets a member, is read only if an honest peer can have built it, and is byte-exact."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.bloom import (
    HEADER,
    MAGIC,
    MAX_ERROR_RATE,
    MAX_FILTER_BYTES,
    MIN_ERROR_RATE,
    SALT_BYTES,
    VECTORISE_FROM,
    Filter,
    decode_filter,
    encode_filter,
    sized_for,
)
from contentdb.errors import RemoteError, UsageError

SALT = b"\x00\x01\x02\x03\x04\x05\x06\x07"
VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "bloom-v1.json").read_text(encoding="utf-8")
)
ids = st.lists(st.text(max_size=40) | st.binary(max_size=40), max_size=60)
salts = st.binary(min_size=8, max_size=8)
rates = st.floats(MIN_ERROR_RATE, MAX_ERROR_RATE)


def header(slices: int, width: int, count: int, *, magic: bytes = MAGIC, hash_id: int = 1) -> bytes:
    return HEADER.pack(magic, hash_id, slices, SALT, width, count)


def numbered(start: int, stop: int) -> list[str]:
    return [f"urn:example:{number}" for number in range(start, stop)]


def spelled_out(members: list[str], salt: bytes, slices: int, width: int) -> bytes:
    """The filter computed word by word from the specification, with nothing of the product."""
    bits = bytearray((slices * width + 7) // 8)
    for member in members:
        digest = blake2b(member.encode("utf-8"), digest_size=16, key=salt).digest()
        a, b = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big") | 1
        x = a
        for j in range(slices):
            position = j * width + (x // 2**32) * width // 2**32
            bits[position // 8] |= 1 << position % 8
            x = (x * 0x9E3779B97F4A7C15 + b) % 2**64
    return bytes(bits)


@given(ids, salts, rates)
def test_a_member_is_always_found_also_after_the_wire(
    members: list[str | bytes], salt: bytes, rate: float
) -> None:
    received = decode_filter(encode_filter(Filter.build(members, salt, rate)))
    assert all(member in received for member in members)
    assert all(received.contains_many(members))


@given(ids, salts, rates)
def test_encoding_what_was_decoded_gives_the_same_bytes(
    members: list[str | bytes], salt: bytes, rate: float
) -> None:
    data = encode_filter(Filter.build(members, salt, rate))
    assert encode_filter(decode_filter(data)) == data


@given(st.integers(0, 100_000), rates)
def test_an_honest_filter_is_never_too_crowded_to_be_read(count: int, rate: float) -> None:
    assert 4 * count <= 3 * sized_for(count, rate).bits_per_slice


def test_a_string_and_its_utf8_bytes_are_the_same_id() -> None:
    assert "urn:köln" in Filter.build(["urn:köln".encode()], SALT)
    assert "urn:köln".encode() in Filter.build(["urn:köln"], SALT)


def test_strangers_are_found_about_as_often_as_the_error_rate_says() -> None:
    built = Filter.build(numbered(0, 5_000), SALT, 0.01)
    found = sum(stranger in built for stranger in numbered(5_000, 15_000))
    assert 50 <= found <= 150
    assert 0.005 <= built.error_rate <= 0.015
    assert 0.45 <= built.fill <= 0.55


def test_a_new_salt_reveals_what_the_old_one_hid() -> None:
    known, wanted = numbered(0, 2_000), numbered(2_000, 4_000)
    before, after = Filter.build(known, SALT, 0.05), Filter.build(known, b"8 others", 0.05)
    hidden = [id for id in wanted if id in before]
    again = [id for id in hidden if id in after]
    assert hidden
    assert len(again) < len(hidden) / 4


def test_very_many_ids_give_the_same_bits_as_one_by_one() -> None:
    members = numbered(0, VECTORISE_FROM)
    built = Filter.build(members, SALT, 0.1)
    expected = spelled_out(members, SALT, built.slices, built.bits_per_slice)
    assert encode_filter(built)[HEADER.size :] == expected
    strangers = numbered(VECTORISE_FROM, 2 * VECTORISE_FROM)
    assert built.contains_many(strangers) == [id in built for id in strangers]


@pytest.mark.parametrize("count", [1, 5, 20, 100])
def test_a_sharp_filter_of_few_ids_is_as_sharp_as_it_says(count: int) -> None:
    # Seed 1199 of the simulator: an entry was hidden by a filter that promised one stranger in a million.
    members, strangers = numbered(0, count), numbered(count, count + 2_000)
    found = 0
    for number in range(10):
        built = Filter.build(members, number.to_bytes(SALT_BYTES), 1e-6)
        found += sum(built.contains_many(strangers))
    assert found <= 1


def test_an_empty_filter_holds_nothing() -> None:
    received = decode_filter(encode_filter(Filter.build([], SALT)))
    assert len(received) == 0
    assert "urn:example:1" not in received


@pytest.mark.parametrize("case", VECTORS["filters"], ids=lambda case: str(case["name"]))
def test_a_filter_equals_its_frozen_vector(case: dict[str, Any]) -> None:
    salt = bytes.fromhex(case["salt"])
    built = Filter.build(case["ids"], salt, case["error_rate"])
    assert encode_filter(built).hex() == case["encoded"]
    body = spelled_out(case["ids"], salt, case["slices"], case["bits_per_slice"])
    assert (
        case["encoded"]
        == (
            HEADER.pack(MAGIC, 1, case["slices"], salt, case["bits_per_slice"], len(case["ids"])) + body
        ).hex()
    )


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: str(case["reason"]))
def test_a_frozen_bad_filter_is_refused(case: dict[str, str]) -> None:
    with pytest.raises(RemoteError):
        decode_filter(bytes.fromhex(case["encoded"]))


def test_a_filter_that_claims_everything_is_refused() -> None:
    with pytest.raises(RemoteError, match="bits set"):
        decode_filter(header(7, 64, 48) + b"\xff" * 56)
    with pytest.raises(RemoteError, match="too small"):
        decode_filter(header(7, 64, 64) + b"\xff" * 56)


@pytest.mark.parametrize(
    "data",
    [
        header(0, 8, 1) + b"\x01",
        header(21, 8, 1) + bytes(21),
        header(255, 2**32 - 1, 1),
        header(20, 2**32 - 1, 2**32 - 1),
        header(1, MAX_FILTER_BYTES * 8 + 8, 1) + bytes(MAX_FILTER_BYTES + 1),
        header(1, 0, 0),
        header(1, 4, 1) + b"\x10",
        header(1, 8, 1, magic=b"PBF2") + b"\x01",
        header(1, 8, 1, hash_id=2) + b"\x01",
    ],
)
def test_a_header_out_of_bounds_is_refused_before_anything_is_allocated(data: bytes) -> None:
    with pytest.raises(RemoteError):
        decode_filter(data)


@given(st.binary(max_size=200))
def test_rubbish_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteError):
        decode_filter(data)


@given(st.binary(max_size=60), st.integers(0, 25), st.integers(0, 200), st.integers(0, 100))
@settings(max_examples=200)
def test_a_plausible_header_over_any_body_is_refused_or_bounded(
    body: bytes, slices: int, width: int, count: int
) -> None:
    try:
        received = decode_filter(header(slices, width, count) + body)
    except RemoteError:
        return
    assert received.fill <= 0.75


def test_truncated_and_surplus_bytes_are_refused() -> None:
    data = encode_filter(Filter.build(numbered(0, 20), SALT))
    for cut in range(len(data)):
        with pytest.raises(RemoteError):
            decode_filter(data[:cut])
    with pytest.raises(RemoteError):
        decode_filter(data + b"\x00")


def test_a_caller_hears_what_is_wrong_with_salt_rate_and_size() -> None:
    with pytest.raises(UsageError, match="salt"):
        Filter.build([], b"short")
    for rate in (0.0, 0.6, float("nan")):
        with pytest.raises(UsageError, match="error rate"):
            Filter.build([], SALT, rate)
    with pytest.raises(UsageError, match="greater error rate"):
        sized_for(4_000_000, 0.01)
