"""The handshake against other people's vectors, and against peers that do not keep to it."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contentdb.errors import RemoteError, UsageError
from contentdb.identity import KeyPair
from transport.noise import NAME, Cipher, Handshake

VECTORS = Path(__file__).parents[3] / "shared" / "data" / "noise-vectors"
P = 2**255 - 19
# All u coordinates of small order, the twist included, in every spelling of 32 bytes: RFC 7748 reduces them
# by P and masks the top bit.
SMALL_ORDER = [
    u + extra + top
    for u in (
        0,
        1,
        P - 1,
        0xB8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
        0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
    )
    for extra in (0, P)
    for top in (0, 2**255)
    if u + extra < 2**255
]


def matching(file: str) -> Iterator[dict[str, Any]]:
    for vector in json.loads(gzip.decompress((VECTORS / file).read_bytes()))["vectors"]:
        # The name has the psk modifiers in it: equal means without.
        if vector["protocol_name"] == NAME.decode():
            yield vector


def pair_of(vector: dict[str, Any]) -> tuple[Handshake, Handshake]:
    def side(who: str) -> Handshake:
        ephemeral = bytes.fromhex(vector[f"{who}_ephemeral"])
        return Handshake(
            KeyPair.from_bytes(bytes.fromhex(vector[f"{who}_static"])),
            is_initiator=who == "init",
            prologue=bytes.fromhex(vector[f"{who}_prologue"]),
            entropy=lambda count: ephemeral[:count],
        )

    return side("init"), side("resp")


def fresh_pair() -> tuple[Handshake, Handshake]:
    def side(number: int) -> Handshake:
        static = KeyPair.from_bytes(bytes([number]) * 32)
        return Handshake(static, is_initiator=number == 1, prologue=b"", entropy=bytes([number + 2]).__mul__)

    return side(1), side(2)


@pytest.mark.skipif(not VECTORS.exists(), reason=f"the public vectors are not at {VECTORS}")
@pytest.mark.parametrize("file", ["cacophony.json.gz", "snow.json.gz"])
def test_every_public_vector_of_our_protocol_agrees_in_each_byte(file: str) -> None:
    vectors = list(matching(file))
    assert vectors, f"{file} has no vector of {NAME.decode()}"
    for vector in vectors:
        check(vector)


def check(vector: dict[str, Any]) -> None:
    sides = pair_of(vector)
    messages = [(bytes.fromhex(m["payload"]), bytes.fromhex(m["ciphertext"])) for m in vector["messages"]]
    for step, (payload, ciphertext) in enumerate(messages[:3]):
        assert sides[step % 2].write(payload) == ciphertext
        assert sides[1 - step % 2].read(ciphertext) == payload
    assert sides[0].hash == sides[1].hash
    assert "handshake_hash" not in vector or sides[0].hash.hex() == vector["handshake_hash"]
    ciphers = [side.split() for side in sides]
    # The vectors go on in turn: after the initiator's last handshake message it is the responder's.
    for step, (payload, ciphertext) in enumerate(messages[3:], start=1):
        assert ciphers[step % 2][0].encrypt(payload) == ciphertext
        assert ciphers[1 - step % 2][1].decrypt(memoryview(ciphertext)) == payload


def test_each_side_learns_the_static_key_of_the_other() -> None:
    client, server = fresh_pair()
    server.read(client.write())
    client.read(server.write())
    server.read(client.write())
    assert client.remote_static == KeyPair.from_bytes(b"\2" * 32).public
    assert server.remote_static == KeyPair.from_bytes(b"\1" * 32).public


def test_different_prologues_do_not_meet() -> None:
    secret = KeyPair.from_bytes(b"\1" * 32)
    client = Handshake(secret, is_initiator=True, prologue=b"v1", entropy=b"\2".__mul__)
    server = Handshake(secret, is_initiator=False, prologue=b"v2", entropy=b"\3".__mul__)
    server.read(client.write())
    with pytest.raises(RemoteError, match="does not decrypt"):
        client.read(server.write())


@pytest.mark.parametrize("u", SMALL_ORDER)
def test_an_ephemeral_key_of_small_order_is_refused_in_every_spelling(u: int) -> None:
    _, server = fresh_pair()
    server.read(u.to_bytes(32, "little"))
    with pytest.raises(RemoteError, match="full order"):
        server.write()


@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_a_message_of_another_length_is_refused(length: int) -> None:
    client, server = fresh_pair()
    server.read(client.write())
    with pytest.raises(RemoteError):
        client.read(server.write()[:length])


@pytest.mark.parametrize("step", [1, 2])
def test_one_changed_byte_of_a_sealed_message_is_noticed(step: int) -> None:
    for at in range([96, 64][step - 1]):
        client, server = fresh_pair()
        server.read(client.write())
        message = server.write()
        if step == 2:
            client.read(message)
            message = client.write()
        changed = message[:at] + bytes([message[at] ^ 1]) + message[at + 1 :]
        with pytest.raises(RemoteError):
            (client if step == 1 else server).read(changed)


def test_speaking_out_of_turn_is_our_own_mistake() -> None:
    client, server = fresh_pair()
    with pytest.raises(UsageError, match="turn"):
        server.write()
    with pytest.raises(UsageError, match="turn"):
        client.read(b"")
    with pytest.raises(UsageError, match="not over"):
        client.split()


def test_a_message_decrypts_once_and_in_its_place() -> None:
    ours, theirs = Cipher(bytes(32)), Cipher(bytes(32))
    first, second = ours.encrypt(b"first"), ours.encrypt(b"second")
    with pytest.raises(RemoteError, match="message 0 of 22 bytes"):
        theirs.decrypt(second)
    assert theirs.decrypt(first) == b"first"
    with pytest.raises(RemoteError, match="message 1"):
        theirs.decrypt(first)
