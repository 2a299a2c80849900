"""Signed items in a body: nothing is lost on the way, and nothing is read that is cut or too long."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError
from contentdb.model import MAX_SIGNED_BYTES, Signed
from contentdb.names import AuthorKey
from tests.transport.examples import ITEMS, VECTORS
from transport.items import HEADER, decode_items, encode_items

signed = st.builds(
    Signed,
    st.binary(min_size=32, max_size=32).map(lambda raw: AuthorKey(raw.hex())),
    st.binary(min_size=64, max_size=64),
    st.binary(min_size=1, max_size=200),
)


@given(st.lists(signed, max_size=8))
def test_items_come_back_as_they_went(items: list[Signed]) -> None:
    assert decode_items(encode_items(items), len(items)) == items


def test_the_layout_is_byte_exact() -> None:
    filed = json.loads(VECTORS.read_text(encoding="utf-8"))["items"]
    assert encode_items(ITEMS).hex() == filed["body"]
    assert decode_items(bytes.fromhex(filed["body"]), len(filed["items"])) == ITEMS


@given(st.lists(signed, min_size=1, max_size=4), st.data())
def test_a_body_that_is_cut_is_refused(items: list[Signed], data: st.DataObject) -> None:
    body = encode_items(items)
    with pytest.raises(RemoteError):
        decode_items(body[: data.draw(st.integers(0, len(body) - 1))], len(items))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_items_than_said_is_refused(count: int) -> None:
    with pytest.raises(RemoteError):
        decode_items(encode_items(ITEMS), count)


@pytest.mark.parametrize("size", [0, MAX_SIGNED_BYTES + 1, 2**32 - 1])
def test_an_item_of_no_allowed_length_is_refused(size: int) -> None:
    body = HEADER.pack(bytes(32), bytes(64), size) + bytes(min(size, MAX_SIGNED_BYTES + 1))
    with pytest.raises(RemoteError, match="claims"):
        decode_items(body, 1)


def test_the_longest_item_is_read() -> None:
    longest = Signed(AuthorKey("00" * 32), bytes(64), bytes(MAX_SIGNED_BYTES))
    assert decode_items(encode_items([longest]), 1) == [longest]


@given(st.binary(max_size=400), st.integers(0, 5))
def test_rubbish_gives_nothing_but_a_remote_error(body: bytes, count: int) -> None:
    try:
        items = decode_items(body, count)
    except RemoteError:
        return
    assert encode_items(items) == body
