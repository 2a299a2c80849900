"""A hello is read back as it was said, byte-exact, and whatever else comes is refused and nothing more."""

import contextlib
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from contentdb.names import NodeId
from discovery.hello import (
    MAX_GAINED,
    MAX_HELLO_BYTES,
    CompactHello,
    Hello,
    compact,
    decode_compact_hello,
    decode_hello,
    decode_xml_hello,
    encode_compact_hello,
    encode_hello,
    telling,
)

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "hello-v1.json").read_text(encoding="utf-8")
)
HELLO = Hello(NodeId("3f0c" * 10), 40123, "0123456789abcdef", 42, 1.2)
WIRE = encode_hello(HELLO)

hexadecimal = "0123456789abcdef"
hellos = st.builds(
    Hello,
    node=st.text(hexadecimal, min_size=40, max_size=40).map(NodeId),
    port=st.integers(0, 65_535),
    epoch=st.text(hexadecimal, min_size=16, max_size=16),
    revision=st.integers(0, 2**63 - 1),
    next_s=st.integers(100, 3_600_000).map(lambda thousandths: thousandths / 1000),
    can=st.lists(st.from_regex(r"[a-z0-9-]{1,16}", fullmatch=True), max_size=8).map(tuple),
    is_answer=st.booleans(),
    asks=st.booleans(),
    sum=st.just("") | st.text(hexadecimal, min_size=16, max_size=16),
)
gains = st.lists(st.text(hexadecimal, min_size=16, max_size=16), max_size=20).map(tuple)


def hello_of(fields: dict[str, Any]) -> Hello:
    rows = {name: tuple(fields.get(name, ())) for name in ("can", "gained", "of")}
    return Hello(**{**fields, **rows})


@given(hellos)
def test_what_is_said_is_heard(hello: Hello) -> None:
    datagram = encode_hello(hello)
    assert len(datagram) <= MAX_HELLO_BYTES
    assert decode_hello(datagram) == hello


@given(hellos, gains)
def test_as_many_gains_are_told_as_fit_and_the_newest_of_them(hello: Hello, gained: tuple[str, ...]) -> None:
    tags = tuple(gain[:2] for gain in gained)
    told = telling(hello, gained, tags)
    datagram = encode_hello(told)
    assert len(datagram) <= MAX_HELLO_BYTES and decode_hello(datagram) == told
    assert told.gained == gained[len(gained) - len(told.gained) :]
    is_all = len(told.gained) == min(len(gained), MAX_GAINED, hello.revision)
    assert is_all or len(datagram) + 18 + len(' gained="" of=""') > MAX_HELLO_BYTES
    assert told.of == tuple(gain[:2] for gain in told.gained)


@pytest.mark.parametrize("vector", VECTORS["hellos"], ids=lambda vector: vector["name"])
def test_the_vectors_are_byte_exact(vector: dict[str, Any]) -> None:
    hello = hello_of(vector["fields"])
    assert encode_hello(hello) == vector["datagram"].encode()
    assert encode_compact_hello(compact(hello)).hex() == vector["compact"]
    assert decode_compact_hello(bytes.fromhex(vector["compact"])) == compact(hello)


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda vector: vector["name"])
def test_another_spelling_of_the_same_is_read(vector: dict[str, Any]) -> None:
    assert decode_hello(vector["datagram"].encode()) == hello_of(vector["fields"])


@pytest.mark.parametrize("vector", VECTORS["dropped"], ids=lambda vector: vector["name"])
def test_what_must_be_dropped_is_dropped(vector: dict[str, Any]) -> None:
    with pytest.raises(RemoteError):
        decode_hello(bytes.fromhex(vector["bytes"]))


@pytest.mark.parametrize("vector", VECTORS["compact_dropped"], ids=lambda vector: vector["name"])
def test_a_compact_hello_that_must_be_dropped_is_dropped(vector: dict[str, Any]) -> None:
    with pytest.raises(RemoteError):
        decode_compact_hello(bytes.fromhex(vector["bytes"]))


@given(st.binary(max_size=600))
def test_rubbish_is_refused(rubbish: bytes) -> None:
    with pytest.raises(RemoteError):
        decode_hello(rubbish)


@given(st.integers(0, len(WIRE) - 1))
def test_a_truncated_hello_is_refused(length: int) -> None:
    with pytest.raises(RemoteError):
        decode_hello(WIRE[:length])


@given(st.binary(min_size=1, max_size=200).filter(lambda excess: excess.strip(b" \t\r\n") != b""))
def test_excess_behind_a_hello_is_refused_unless_it_is_a_comment(excess: bytes) -> None:
    try:
        assert decode_hello(WIRE + excess) == HELLO
        assert excess.strip().startswith(b"<!--")
    except RemoteError:
        pass


mutations = st.lists(st.tuples(st.integers(0, 511), st.integers(0, 255)), min_size=1, max_size=6)


@given(hellos, mutations)
def test_a_mutated_hello_is_a_hello_or_refused(hello: Hello, changes: list[tuple[int, int]]) -> None:
    datagram = bytearray(encode_hello(hello))
    for position, value in changes:
        datagram[position % len(datagram)] = value
    try:
        decoded = decode_hello(bytes(datagram))
    except RemoteError:
        return
    assert decode_hello(encode_hello(decoded)) == decoded


def as_xml(datagram: bytes) -> Hello | None:
    with contextlib.suppress(RemoteError):
        return decode_xml_hello(datagram)
    return None


@given(hellos, gains, st.data())
def test_a_hello_as_we_write_it_means_what_it_does_as_xml_changed_or_not(
    hello: Hello, gained: tuple[str, ...], data: st.DataObject
) -> None:
    told = telling(hello, gained, data.draw(st.just(()) | st.just(tuple(gain[:2] for gain in gained))))
    datagram = bytearray(encode_hello(told))
    assert decode_hello(bytes(datagram)) == as_xml(bytes(datagram)) == told
    at = data.draw(st.integers(0, len(datagram) - 1))
    end = min(len(datagram), at + data.draw(st.integers(0, 3)))
    datagram[at:end] = data.draw(st.sampled_from([*b'0123456789abcdef<>"&:. =/']).map(lambda c: bytes([c])))
    try:
        decoded = decode_hello(bytes(datagram))
    except RemoteError:
        assert as_xml(bytes(datagram)) is None or len(datagram) > MAX_HELLO_BYTES
    else:
        assert decoded == as_xml(bytes(datagram))


PIECES = [
    *("<message", " xmlns='urn:passerby:1'", " version='1'", ">", "/>", "<node-id>", "</node-id>", "<hello"),
    *(" port='1'", " revision='1'", " next_s='1'", " epoch='0123456789abcdef'", "3f0c" * 10, "</hello>"),
    *("</message>", "<!DOCTYPE a>", "<!--", "-->", "&amp;", "&#0;", "<![CDATA[", "]]>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_pieces_of_hellos_in_any_order_break_nothing(pieces: list[str]) -> None:
    with contextlib.suppress(RemoteError):
        decode_hello("".join(pieces).encode())


@pytest.mark.parametrize(
    "wrong",
    [
        {"node": "3F0C" * 10},
        {"port": 65_536},
        {"port": -1},
        {"epoch": "0123"},
        {"revision": 2**63},
        {"next_s": 0.099},
        {"next_s": 3600.001},
        {"next_s": 1.23456},
        {"next_s": float("nan")},
        {"can": ("a",) * 9},
        {"can": ("Relay",)},
        {"can": ("",)},
    ],
    ids=str,
)
def test_a_wrong_hello_cannot_be_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        replace(HELLO, **wrong)


@given(hellos)
def test_the_compact_form_promises_no_earlier_hello_than_the_long_one(hello: Hello) -> None:
    short = decode_compact_hello(encode_compact_hello(compact(hello)))
    assert hello.next_s <= short.next_s < max(hello.next_s * 2**0.25, 0.1001)
    assert short.prefix == hello.node[:16] and short.revision == hello.revision % 2**48
    digest = sha256(b"passerby epoch v1\0" + bytes.fromhex(hello.epoch)).hexdigest()
    assert short.epoch_check == digest[:8]


@given(st.binary(max_size=30) | st.binary(min_size=19, max_size=19).map(lambda rest: b"\x51" + rest))
def test_any_bytes_are_a_compact_hello_or_refused(data: bytes) -> None:
    with contextlib.suppress(RemoteError):
        assert encode_compact_hello(decode_compact_hello(data)) == data


@pytest.mark.parametrize(
    "wrong", [{"prefix": "0"}, {"epoch_check": "g" * 8}, {"revision": 2**48}, {"step": 62}]
)
def test_a_wrong_compact_hello_cannot_be_made(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"prefix": "0" * 16, "epoch_check": "0" * 8, "revision": 0, "step": 0}
    with pytest.raises(UsageError):
        CompactHello(**{**right, **wrong})
