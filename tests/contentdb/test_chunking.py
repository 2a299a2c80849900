"""Chunks and their Merkle tree: what belongs is accepted, and nothing else is."""

import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.chunking import (
    EMPTY_ROOT,
    HASH_BYTES,
    MAX_RANGE_HASHES,
    TreeHasher,
    chunk_count,
    chunk_length,
    chunk_proof,
    hash_chunk,
    leaves_of,
    proof_spans,
    prove,
    range_proof,
    root_of,
    subtree_hash,
    verify_chunk,
    verify_range,
)
from contentdb.errors import RemoteError, UsageError
from contentdb.model import CHUNK_BYTES, MAX_ENCLOSURE_BYTES
from contentdb.names import Root

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "chunks-v1.json").read_text())
sizes = st.one_of(
    st.integers(0, 40 * CHUNK_BYTES),
    st.builds(lambda chunks, off: max(0, chunks * CHUNK_BYTES + off), st.integers(0, 40), st.integers(-1, 1)),
)
full_sizes = sizes.filter(bool)
counts = st.integers(1, 3_000)


def some_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def some_leaves(count: int) -> bytes:
    return random.Random(count).randbytes(count * HASH_BYTES)


def chunk_of(data: bytes, index: int) -> bytes:
    return data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES]


def rfc6962(leaves: list[bytes]) -> bytes:
    """MTH written down as the RFC defines it, to compare with."""
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return sha256(b"\x01" + rfc6962(leaves[:k]) + rfc6962(leaves[k:])).digest()


@given(counts)
def test_the_root_is_the_one_of_rfc_6962(count: int) -> None:
    leaves = some_leaves(count)
    separate = [leaves[at : at + HASH_BYTES] for at in range(0, len(leaves), HASH_BYTES)]
    assert root_of(leaves) == rfc6962(separate).hex()


def test_the_empty_file_has_no_chunks_and_the_hash_of_nothing_as_root() -> None:
    assert chunk_count(0) == 0
    assert root_of(b"") == TreeHasher().root() == EMPTY_ROOT == sha256(b"").hexdigest()


def test_a_file_of_one_chunk_has_its_leaf_as_root() -> None:
    assert root_of(leaves_of(b"x")) == sha256(b"\x00x").hexdigest()


@given(sizes, st.randoms(use_true_random=False))
def test_it_does_not_matter_in_what_pieces_a_file_is_hashed(size: int, dice: random.Random) -> None:
    data, hasher, at = some_bytes(size), TreeHasher(), 0
    while at < size:
        step = dice.choice([1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES])
        hasher.update(data[at : at + step])
        at += step
    chunks = [hash_chunk(chunk_of(data, index)) for index in range(1, chunk_count(size) + 1)]
    assert hasher.leaves() == b"".join(chunks)
    assert (hasher.root(), hasher.length) == (root_of(b"".join(chunks)), size)


@given(sizes)
def test_the_lengths_of_all_chunks_add_up_to_the_file(size: int) -> None:
    lengths = [chunk_length(size, index) for index in range(1, chunk_count(size) + 1)]
    assert sum(lengths) == size
    assert all(length == CHUNK_BYTES for length in lengths[:-1])
    assert all(1 <= length <= CHUNK_BYTES for length in lengths)


@given(full_sizes, st.data())
def test_any_chunk_is_verified_alone(size: int, draw: st.DataObject) -> None:
    data = some_bytes(size)
    leaves = leaves_of(data)
    index = draw.draw(st.integers(1, chunk_count(size)))
    verify_chunk(root_of(leaves), size, index, chunk_of(data, index), chunk_proof(leaves, index))


def changed(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def shortened(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


def lengthened(data: bytes, dice: random.Random) -> bytes:
    return data + dice.randbytes(dice.choice([1, HASH_BYTES, CHUNK_BYTES]))


def swapped(data: bytes, dice: random.Random) -> bytes:
    return data[len(data) // 2 :] + data[: len(data) // 2]


MUTATIONS = [changed, shortened, lengthened, swapped]
Mutation = Callable[[bytes, random.Random], bytes]
mutations = st.sampled_from(MUTATIONS)
dices = st.randoms(use_true_random=False)


@given(full_sizes, mutations, dices)
def test_a_chunk_that_was_tampered_with_is_refused(size: int, mutate: Mutation, dice: random.Random) -> None:
    data = some_bytes(size)
    leaves, index = leaves_of(data), dice.randint(1, chunk_count(size))
    chunk, proof = chunk_of(data, index), chunk_proof(leaves, index)
    wrong = mutate(chunk, dice)
    if wrong != chunk:
        with pytest.raises(RemoteError, match="came"):
            verify_chunk(root_of(leaves), size, index, wrong, proof)


@given(st.integers(CHUNK_BYTES + 1, 40 * CHUNK_BYTES), mutations, dices)
def test_a_proof_that_was_tampered_with_is_refused(size: int, mutate: Mutation, dice: random.Random) -> None:
    data = some_bytes(size)
    leaves, index = leaves_of(data), dice.randint(1, chunk_count(size))
    proof = chunk_proof(leaves, index)
    wrong = mutate(proof, dice)
    if wrong != proof:
        with pytest.raises(RemoteError, match="came"):
            verify_chunk(root_of(leaves), size, index, chunk_of(data, index), wrong)


@given(st.integers(2 * CHUNK_BYTES, 40 * CHUNK_BYTES), st.data())
def test_a_chunk_under_the_number_of_another_is_refused(size: int, draw: st.DataObject) -> None:
    data = some_bytes(size)
    leaves = leaves_of(data)
    index = draw.draw(st.integers(1, chunk_count(size)))
    claimed = draw.draw(st.integers(-1, chunk_count(size) + 2).filter(lambda other: other != index))
    with pytest.raises(RemoteError, match="came"):
        verify_chunk(root_of(leaves), size, claimed, chunk_of(data, index), chunk_proof(leaves, index))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("lie", [-CHUNK_BYTES, -1, 1, CHUNK_BYTES])
def test_the_last_chunk_is_refused_under_a_length_that_is_not_the_files(count: int, lie: int) -> None:
    data = some_bytes(count * CHUNK_BYTES - 100)
    leaves = leaves_of(data)
    with pytest.raises(RemoteError):
        verify_chunk(
            root_of(leaves), len(data) + lie, count, chunk_of(data, count), chunk_proof(leaves, count)
        )


def test_a_node_is_never_taken_for_a_leaf() -> None:
    leaves = some_leaves(4)
    inner = subtree_hash(leaves[:64]) + subtree_hash(leaves[64:])
    assert root_of(inner) == root_of(leaves)  # so only the domains keep a 64-byte chunk from posing as a node
    with pytest.raises(RemoteError):
        verify_chunk(root_of(leaves), CHUNK_BYTES + 64, 2, leaves[64:], subtree_hash(leaves[:64]))


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int, int, int]:
    count = draw(counts)
    first = draw(st.integers(1, count))
    return count, first, draw(st.integers(first, min(count, first + MAX_RANGE_HASHES - 1)))


@given(ranges())
def test_any_range_of_leaf_hashes_is_verified_alone(drawn: tuple[int, int, int]) -> None:
    count, first, last = drawn
    leaves = some_leaves(count)
    hashes = leaves[(first - 1) * HASH_BYTES : last * HASH_BYTES]
    proof = range_proof(leaves, first, last)
    assert verify_range(root_of(leaves), count * CHUNK_BYTES, first, hashes, proof) == hashes
    assert len(proof) <= 2 * HASH_BYTES * count.bit_length()


@given(ranges(), mutations, dices)
def test_a_range_that_was_tampered_with_is_refused(
    drawn: tuple[int, int, int], mutate: Mutation, dice: random.Random
) -> None:
    count, first, last = drawn
    leaves = some_leaves(count)
    hashes = leaves[(first - 1) * HASH_BYTES : last * HASH_BYTES]
    wrong = mutate(hashes, dice)
    if wrong != hashes:
        with pytest.raises(RemoteError, match="came"):
            verify_range(root_of(leaves), count * CHUNK_BYTES, first, wrong, range_proof(leaves, first, last))


@given(st.binary(max_size=200), st.binary(max_size=200), st.integers(-2, 2**43), st.integers(-2, 2**43))
def test_rubbish_is_refused_as_the_peers_fault(hashes: bytes, proof: bytes, length: int, first: int) -> None:
    with pytest.raises(RemoteError):
        verify_range(EMPTY_ROOT, length, first, hashes, proof)


def test_a_range_above_the_bound_is_refused_before_it_is_hashed() -> None:
    count = MAX_RANGE_HASHES + 1
    leaves = some_leaves(count)
    with pytest.raises(RemoteError, match="1 to 2048 hashes"):
        verify_range(root_of(leaves), count * CHUNK_BYTES, 1, leaves, b"")
    with pytest.raises(UsageError, match="at most 2048"):
        range_proof(leaves, 1, count)


def test_the_largest_enclosure_costs_a_proof_of_a_few_nodes() -> None:
    count = chunk_count(MAX_ENCLOSURE_BYTES)
    assert len(proof_spans(count, count // 2, count // 2 + 1)) == 54
    proof = prove(count, 5, 5, lambda span: bytes(HASH_BYTES))
    with pytest.raises(RemoteError, match="under root"):
        verify_range(EMPTY_ROOT, MAX_ENCLOSURE_BYTES, 5, bytes(HASH_BYTES), proof)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (1, 11), (-3, -1), (11, 11)])
def test_a_range_that_does_not_exist_cannot_be_proved(first: int, last: int) -> None:
    with pytest.raises(UsageError, match="1 to 10"):
        range_proof(some_leaves(10), first, last)


def test_leaves_of_a_broken_size_have_no_root() -> None:
    with pytest.raises(UsageError, match="32 bytes each"):
        root_of(bytes(33))


def vector_bytes(length: int) -> bytes:
    """The content all vectors use, as docs/protocol/chunks-v1.md defines it."""
    return bytes(at % 251 for at in range(length))


@pytest.mark.parametrize("vector", VECTORS["files"], ids=lambda v: str(v["length"]))
def test_files_hash_as_the_vectors_say(vector: dict[str, object]) -> None:
    length = int(str(vector["length"]))
    leaves = leaves_of(vector_bytes(length))
    assert leaves.hex() == "".join(map(str, vector["leaves"]))  # type: ignore[call-overload]
    assert root_of(leaves) == vector["root"]


@pytest.mark.parametrize("vector", VECTORS["proofs"], ids=lambda v: f"{v['length']}:{v['first']}-{v['last']}")
def test_proofs_are_the_bytes_the_vectors_say(vector: dict[str, object]) -> None:
    length, first, last = (int(str(vector[name])) for name in ("length", "first", "last"))
    leaves = leaves_of(vector_bytes(length))
    proof = bytes.fromhex("".join(map(str, vector["proof"])))  # type: ignore[call-overload]
    assert range_proof(leaves, first, last) == proof
    verify_range(
        Root(str(vector["root"])), length, first, leaves[(first - 1) * HASH_BYTES : last * HASH_BYTES], proof
    )


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda v: str(v["why"]))
def test_what_the_vectors_refuse_is_refused(vector: dict[str, object]) -> None:
    hashes, proof = (bytes.fromhex(str(vector[name])) for name in ("hashes", "proof"))
    with pytest.raises(RemoteError):
        verify_range(
            Root(str(vector["root"])), int(str(vector["length"])), int(str(vector["first"])), hashes, proof
        )
