"""Who signed what: keys, domains, refused keys, ids and fingerprints."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from contentdb.identity import (
    AuthorSecret,
    NodeSecret,
    check_author_key,
    node_id_of,
    verify_batch,
    verify_descriptor,
    verify_entry,
)
from contentdb.model import Signed
from contentdb.names import AuthorKey, NodeId, fingerprint

ALICE = AuthorSecret.from_bytes(bytes(range(32)))
BOB = AuthorSecret.from_bytes(bytes(range(1, 33)))
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
# RFC 8032, section 7.1, test 1: the key pair.
RFC_SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
RFC_PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def test_a_key_pair_is_the_one_of_rfc_8032() -> None:
    assert AuthorSecret.from_bytes(bytes.fromhex(RFC_SECRET)).key == RFC_PUBLIC


def test_a_signature_covers_the_domain_and_exactly_the_bytes() -> None:
    signed = ALICE.sign_entry(b"<entry/>")
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(ALICE.key))
    public.verify(signed.signature, b"passerby entry v1\0<entry/>")
    signed = ALICE.sign_descriptor(b"<feed/>")
    public.verify(signed.signature, b"passerby feed v1\0<feed/>")


@given(st.binary(min_size=1, max_size=300))
def test_what_an_author_signed_verifies(data: bytes) -> None:
    verify_entry(ALICE.sign_entry(data))
    verify_descriptor(ALICE.sign_descriptor(data))


@given(st.binary(min_size=1, max_size=300), st.data())
def test_one_changed_bit_anywhere_is_noticed(data: bytes, draw: st.DataObject) -> None:
    signed = ALICE.sign_entry(data)
    both = bytearray(signed.signature + data)
    at = draw.draw(st.integers(0, len(both) * 8 - 1))
    both[at // 8] ^= 1 << at % 8
    with pytest.raises(RemoteError, match="signature does not fit"):
        verify_entry(Signed(ALICE.key, bytes(both[:64]), bytes(both[64:])))


def test_an_entry_is_not_a_descriptor_and_the_other_way_round() -> None:
    with pytest.raises(RemoteError):
        verify_descriptor(ALICE.sign_entry(b"x"))
    with pytest.raises(RemoteError):
        verify_entry(ALICE.sign_descriptor(b"x"))


def test_nobody_signs_in_the_name_of_somebody_else() -> None:
    with pytest.raises(RemoteError):
        verify_entry(replace(ALICE.sign_entry(b"x"), author=BOB.key))


def test_a_batch_says_which_entries_verify_in_their_order() -> None:
    good, bad = ALICE.sign_entry(b"x"), replace(BOB.sign_entry(b"y"), data=b"z")
    no_key = replace(good, author=AuthorKey("rubbish"))
    assert verify_batch([good, bad, good, no_key, BOB.sign_entry(b"y")]) == [True, False, True, False, True]
    assert verify_batch([]) == []


def test_batches_verify_on_several_threads_at_once() -> None:
    authors = [AuthorSecret.from_bytes(bytes([n]) * 32) for n in range(20)]
    batch = [author.sign_entry(b"%d" % n) for n, author in enumerate(authors)]
    with ThreadPoolExecutor(4) as pool:
        assert all(all(result) for result in pool.map(verify_batch, [batch] * 8))


def small_order_keys() -> list[bytes]:
    """Every spelling of a point of order 1, 2, 4 or 8, computed from the curve's equation."""
    # Order 8 means that doubling gives y = 0, which is d*y^4 + 2*y^2 - 1 = 0.
    root = pow(D + 1, (P + 3) // 8, P)
    if root * root % P != (D + 1) % P:
        root = root * pow(2, (P - 1) // 4, P) % P
    squares = [(-1 + sign * root) * pow(D, -1, P) % P for sign in (1, -1)]
    square = next(s for s in squares if pow(s, (P - 1) // 2, P) == 1)
    y = pow(square, (P + 3) // 8, P)
    if y * y % P != square:
        y = y * pow(2, (P - 1) // 4, P) % P
    assert (D * pow(y, 4, P) + 2 * y * y - 1) % P == 0
    canonical = [0, 1, P - 1, y, P - y]
    spellings = canonical + [value + P for value in canonical if value + P < 2**255]
    return [(value | sign << 255).to_bytes(32, "little") for value in spellings for sign in (0, 1)]


def test_a_key_of_small_order_vouches_for_nothing() -> None:
    # R = the neutral element, s = 0: OpenSSL accepts this for some or all messages under such keys.
    forged = bytes([1]) + bytes(63)
    keys = small_order_keys()
    assert len(keys) == 14
    for key in keys:
        with pytest.raises(RemoteError, match="not one that can vouch"):
            check_author_key(key.hex())
        assert not any(verify_batch([Signed(AuthorKey(key.hex()), forged, b"%d" % n) for n in range(16)]))


@given(st.text(max_size=70) | st.binary(max_size=40).map(bytes.hex))
def test_rubbish_in_place_of_an_author_key_never_verifies(text: str) -> None:
    if text == ALICE.key:
        return
    assert verify_batch([replace(ALICE.sign_entry(b"x"), author=AuthorKey(text))]) == [False]


def test_a_key_is_spelt_in_lower_case_only() -> None:
    with pytest.raises(RemoteError, match="lower case"):
        check_author_key(RFC_PUBLIC.upper())
    assert check_author_key(RFC_PUBLIC) == RFC_PUBLIC


def test_secrets_come_from_the_entropy_that_was_given() -> None:
    assert AuthorSecret.generate(Random(7).randbytes).key == AuthorSecret.generate(Random(7).randbytes).key
    assert (
        NodeSecret.generate(Random(7).randbytes).node_id != NodeSecret.generate(Random(8).randbytes).node_id
    )


@pytest.mark.parametrize("kind", [AuthorSecret, NodeSecret])
def test_a_secret_survives_its_bytes_and_refuses_other_lengths(
    kind: type[AuthorSecret] | type[NodeSecret],
) -> None:
    assert kind.from_bytes(bytes(range(32))).to_bytes() == bytes(range(32))
    for length in (0, 31, 33):
        with pytest.raises(UsageError, match="32 bytes"):
            kind.from_bytes(bytes(length))


def test_a_secret_does_not_print_itself() -> None:
    for secret in (ALICE, NodeSecret.from_bytes(bytes(range(32)))):
        assert secret.to_bytes().hex() not in repr(secret)


def test_a_node_id_is_derived_from_the_public_key_alone() -> None:
    # The key is Alice's of RFC 7748, section 6.1; the id was computed with sha256sum.
    public = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    assert node_id_of(public) == "ec172ebf94c7f198b0a9cd8fdb530600cfecf9ca"
    node = NodeSecret.from_bytes(bytes(range(32)))
    assert node_id_of(node.public) == node.node_id


def test_a_node_key_of_small_order_or_a_second_spelling_is_refused() -> None:
    order_8 = 0xB8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0
    for u in (0, 1, P - 1, P, P + 1, order_8, 2**255 - 1, 9 | 1 << 255):
        with pytest.raises(RemoteError, match="full order"):
            node_id_of(u.to_bytes(32, "little"))
    for wrong in (b"", bytes(31), b"\x09" + bytes(32)):
        with pytest.raises(RemoteError, match="32 bytes"):
            node_id_of(wrong)


def test_a_fingerprint_is_eight_groups_that_differ_between_keys() -> None:
    assert fingerprint(AuthorKey(RFC_PUBLIC)) == "4ed8 0ce4 aa67 de6c fcf0 8876 bc37 cb15"  # by sha256sum
    assert fingerprint(ALICE.key) != fingerprint(BOB.key)
    assert len(fingerprint(NodeId("0" * 40)).split(" ")) == 8
