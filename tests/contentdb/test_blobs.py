"""What every keeper of enclosure bytes promises, on disk and in memory alike."""

import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.blobs import Blobs, DiskBlobs, MemoryBlobs
from contentdb.blobs_bitmap import clear_from, full_bitmap, has_bit, ranges_of, set_run
from contentdb.chunking import EMPTY_ROOT, HASH_BYTES, leaves_of, root_of, verify_range
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.model import CHUNK_BYTES, MAX_ENCLOSURE_BYTES
from contentdb.names import Root

UNKNOWN = Root("ab" * 32)


@pytest.fixture(params=["disk", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    made: Blobs = DiskBlobs(tmp_path / "blobs") if request.param == "disk" else MemoryBlobs()
    yield made
    made.close()


def some_bytes(chunks: float, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(int(chunks * CHUNK_BYTES))


def chunk_of(data: bytes, index: int) -> bytes:
    return data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES]


def begun(blobs: Blobs, data: bytes) -> Root:
    """An enclosure whose leaf hashes are known and none of whose chunks is there."""
    leaves = leaves_of(data)
    root = root_of(leaves)
    blobs.begin(root, len(data))
    blobs.set_leaves(root, 1, leaves)
    return root


def content(blobs: Blobs, root: Root) -> bytes:
    return b"".join(blobs.read_chunk(root, index) for run in blobs.have(root) for index in run)


@pytest.mark.parametrize("chunks", [0, 0.01, 1, 1.5, 2, 40.2])
def test_a_published_file_is_complete_at_once(blobs: Blobs, tmp_path: Path, chunks: float) -> None:
    data = some_bytes(chunks)
    (tmp_path / "file").write_bytes(data)
    root, length = blobs.add_file(tmp_path / "file")
    assert (root, length) == (root_of(leaves_of(data)), len(data))
    assert blobs.is_complete(root) and blobs.received(root) == blobs.length(root) == length
    assert content(blobs, root) == data
    assert blobs.missing(root) == blobs.missing_leaves(root) == []


def test_bytes_are_published_like_a_file(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(some_bytes(3.5))
    assert blobs.add_bytes(some_bytes(3.5)) == blobs.add_file(tmp_path / "file")


def test_the_same_content_is_kept_once(blobs: Blobs) -> None:
    blobs.add_bytes(some_bytes(9))
    before = blobs.size_bytes()
    root, _ = blobs.add_bytes(some_bytes(9))
    assert blobs.roots() == [root]
    assert blobs.size_bytes() == before


def test_publishing_says_how_far_it_is(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(some_bytes(40))
    seen: list[tuple[int, int]] = []
    blobs.add_file(tmp_path / "file", progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == (40 * CHUNK_BYTES, 40 * CHUNK_BYTES)
    assert len(seen) > 1 and seen == sorted(seen)


def test_what_is_no_plain_file_cannot_be_published(blobs: Blobs, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name, why in [
            ("", "folder"),
            ("pipe", "plain"),
            ("socket", "plain"),
            ("none", "no file"),
            ("a\0b", "read"),
        ]:
            with pytest.raises(UsageError, match=why):
                blobs.add_file(tmp_path / name)
    assert blobs.roots() == []


def test_an_unreadable_file_cannot_be_published(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "secret").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises((UsageError, StoreError)) as caught:
            MemoryBlobs().add_file(tmp_path / "secret")
    finally:
        if is_root:
            os.seteuid(0)
    assert "cannot be read" in str(caught.value)


@pytest.mark.parametrize("change", ["longer", "same size", "replaced", "removed"])
def test_a_file_that_changes_while_it_is_published_is_refused(
    blobs: Blobs, tmp_path: Path, change: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(some_bytes(40))

    def meddle(done: int, whole: int) -> None:
        if change == "longer":
            with path.open("ab") as file:
                file.write(b"x")
        elif change == "same size":
            os.utime(path, ns=(1, 1))
        else:
            path.unlink(missing_ok=True)
            if change == "replaced":
                path.write_bytes(some_bytes(40, seed=2))

    with pytest.raises(UsageError, match="changed while"):
        blobs.add_file(path, progress=meddle)
    assert blobs.roots() == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 12 * CHUNK_BYTES), st.randoms(use_true_random=False))
def test_chunks_in_any_order_and_twice_make_the_enclosure(size: int, dice: random.Random) -> None:
    data, blobs = dice.randbytes(size), MemoryBlobs()
    root = begun(blobs, data) if size else EMPTY_ROOT
    assert blobs.begin(root, size) is (size == 0)
    order = [index for run in blobs.missing(root) for index in run] * 2
    dice.shuffle(order)
    completions = [blobs.write_chunk(root, index, chunk_of(data, index)) for index in order]
    assert sum(completions) == (size > 0)
    assert content(blobs, root) == data


def test_receiving_in_any_order_completes_exactly_once(blobs: Blobs) -> None:
    data = some_bytes(20.3)
    root = begun(blobs, data)
    order = list(range(1, 22)) * 2
    random.Random(5).shuffle(order)
    completions = [blobs.write_chunk(root, index, chunk_of(data, index)) for index in order]
    assert sum(completions) == 1
    assert blobs.is_complete(root) and content(blobs, root) == data


def test_what_is_here_and_what_is_missing_is_told_in_ranges(blobs: Blobs) -> None:
    data = some_bytes(9.5)
    root = begun(blobs, data)
    for index in (1, 2, 5, 10):
        blobs.write_chunk(root, index, chunk_of(data, index))
    assert blobs.have(root) == [range(1, 3), range(5, 6), range(10, 11)]
    assert blobs.missing(root) == [range(3, 5), range(6, 10)]
    assert blobs.received(root) == 3 * CHUNK_BYTES + CHUNK_BYTES // 2
    assert blobs.has_chunk(root, 5) and not blobs.has_chunk(root, 6) and not blobs.has_chunk(root, 0)
    assert blobs.has_chunk(root, 11) is False and blobs.is_complete(root) is False


def test_an_enclosure_of_one_chunk_needs_no_hashes(blobs: Blobs) -> None:
    root = root_of(leaves_of(b"short"))
    assert blobs.begin(root, 5) is False
    assert blobs.missing_leaves(root) == []
    assert blobs.write_chunk(root, 1, b"short") is True


def test_the_empty_enclosure_is_complete_from_the_beginning(blobs: Blobs) -> None:
    assert blobs.begin(EMPTY_ROOT, 0) is True
    assert blobs.is_complete(EMPTY_ROOT) and blobs.have(EMPTY_ROOT) == [] and blobs.received(EMPTY_ROOT) == 0
    assert blobs.verify(EMPTY_ROOT) == []


def test_a_chunk_with_a_wrong_byte_is_refused_and_the_right_one_still_fits(blobs: Blobs) -> None:
    data = some_bytes(3)
    root = begun(blobs, data)
    wrong = bytearray(chunk_of(data, 2))
    wrong[77] ^= 1
    with pytest.raises(RemoteError, match="another hash"):
        blobs.write_chunk(root, 2, bytes(wrong))
    assert blobs.have(root) == []
    blobs.write_chunk(root, 2, chunk_of(data, 2))
    assert blobs.read_chunk(root, 2) == chunk_of(data, 2)


@pytest.mark.parametrize(
    ("index", "size"), [(0, 16384), (4, 16384), (1, 16383), (1, 16385), (3, 16384), (3, 0)]
)
def test_a_chunk_of_a_wrong_number_or_size_is_refused(blobs: Blobs, index: int, size: int) -> None:
    root = begun(blobs, some_bytes(2.5))
    with pytest.raises(RemoteError, match="came"):
        blobs.write_chunk(root, index, bytes(size))


def test_two_swapped_chunks_are_refused(blobs: Blobs) -> None:
    data = some_bytes(2)
    root = begun(blobs, data)
    with pytest.raises(RemoteError, match="another hash"):
        blobs.write_chunk(root, 1, chunk_of(data, 2))


def test_a_chunk_without_a_known_hash_is_refused(blobs: Blobs) -> None:
    data = some_bytes(3)
    root = root_of(leaves_of(data))
    blobs.begin(root, len(data))
    blobs.set_leaves(root, 2, leaves_of(data)[32:64])
    blobs.write_chunk(root, 2, chunk_of(data, 2))
    with pytest.raises(RemoteError, match="before its leaf hash"):
        blobs.write_chunk(root, 1, chunk_of(data, 1))
    assert blobs.missing_leaves(root) == [range(1, 2), range(3, 4)]


def test_beginning_again_goes_on_where_it_stopped(blobs: Blobs) -> None:
    data = some_bytes(3)
    root = begun(blobs, data)
    blobs.write_chunk(root, 1, chunk_of(data, 1))
    assert blobs.begin(root, len(data)) is False
    assert blobs.missing(root) == [range(2, 4)]


def test_another_number_of_chunks_is_refused_once_something_was_verified(blobs: Blobs) -> None:
    data = some_bytes(3)
    root = begun(blobs, data)
    for other in (len(data) + 1, len(data) - CHUNK_BYTES):
        with pytest.raises(RemoteError, match="as far as"):
            blobs.begin(root, other)
    whole, length = blobs.add_bytes(b"whole")
    with pytest.raises(RemoteError, match="as far as"):
        blobs.begin(whole, length + 1)


def test_of_two_lengths_with_as_many_chunks_the_last_chunk_decides(blobs: Blobs) -> None:
    data = some_bytes(2.5)
    root = root_of(leaves_of(data))
    blobs.begin(root, len(data) + 1)  # the same tree of hashes fits both
    blobs.set_leaves(root, 1, leaves_of(data))
    blobs.write_chunk(root, 1, chunk_of(data, 1))
    assert not blobs.begin(root, len(data)) and blobs.missing(root) == [range(2, 4)]
    blobs.write_chunk(root, 3, chunk_of(data, 3))
    with pytest.raises(RemoteError, match="as far as"):
        blobs.begin(root, len(data) + 1)
    assert blobs.write_chunk(root, 2, chunk_of(data, 2)) and content(blobs, root) == data


def test_a_length_that_was_corrected_is_still_right_after_a_restart(tmp_path: Path) -> None:
    data = some_bytes(2.5)
    root = root_of(leaves_of(data))
    first = DiskBlobs(tmp_path)
    first.begin(root, len(data) + 1)
    first.begin(root, len(data))
    first.close()
    second = DiskBlobs(tmp_path)
    assert second.recover() == [] and second.length(root) == len(data)
    second.close()


def test_a_length_that_was_only_claimed_does_not_shut_out_the_right_one(blobs: Blobs) -> None:
    data = some_bytes(3)
    root = root_of(leaves_of(data))
    blobs.begin(root, 2**40)
    assert begun(blobs, data) == root
    assert blobs.length(root) == len(data)


@pytest.mark.parametrize("length", [-1, MAX_ENCLOSURE_BYTES + 1])
def test_an_impossible_length_is_refused(blobs: Blobs, length: int) -> None:
    with pytest.raises(UsageError, match="0 to"):
        blobs.begin(UNKNOWN, length)


def test_an_empty_file_with_another_root_is_refused_and_so_is_the_reverse(blobs: Blobs) -> None:
    for root, length in ((UNKNOWN, 0), (EMPTY_ROOT, 1)):
        with pytest.raises(RemoteError, match="cannot have the root"):
            blobs.begin(root, length)


def test_hashes_are_served_with_a_proof_that_verifies(blobs: Blobs) -> None:
    data = some_bytes(21.5)
    root, length = blobs.add_bytes(data)
    for first, last in ((1, 22), (1, 1), (5, 19), (22, 22)):
        hashes, proof = blobs.hashes(root, first, last)
        assert verify_range(root, length, first, hashes, proof) == blobs.leaves(root, first, last)


def test_a_proof_needs_all_hashes(blobs: Blobs) -> None:
    data = some_bytes(3)
    root = root_of(leaves_of(data))
    blobs.begin(root, len(data))
    blobs.set_leaves(root, 1, leaves_of(data)[:64])
    assert blobs.leaves(root, 1, 2) == leaves_of(data)[:64]
    with pytest.raises(UsageError, match="not known yet"):
        blobs.hashes(root, 1, 1)
    with pytest.raises(UsageError, match="hash 3 is not known yet"):
        blobs.leaves(root, 2, 3)


@pytest.mark.parametrize(("first", "size"), [(0, 32), (3, 64), (4, 32), (1, 0), (1, 33)])
def test_hashes_that_do_not_fit_the_enclosure_are_refused(blobs: Blobs, first: int, size: int) -> None:
    root = root_of(leaves_of(some_bytes(3)))
    blobs.begin(root, 3 * CHUNK_BYTES)
    with pytest.raises(UsageError):
        blobs.set_leaves(root, first, bytes(size))


def test_what_was_never_begun_is_not_here(blobs: Blobs) -> None:
    assert not blobs.is_complete(UNKNOWN) and not blobs.has_chunk(UNKNOWN, 1) and blobs.received(UNKNOWN) == 0
    for ask in (blobs.have, blobs.missing, blobs.missing_leaves, blobs.length, blobs.verify):
        with pytest.raises(UsageError, match="begin it first"):
            ask(UNKNOWN)
    with pytest.raises(UsageError, match="begin it first"):
        blobs.write_chunk(UNKNOWN, 1, b"x")
    blobs.remove(UNKNOWN)


def test_content_that_should_be_here_and_is_not_says_what_to_do(blobs: Blobs, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="subscribe again"):
        blobs.path(UNKNOWN)
    with pytest.raises(StoreError, match="subscribe again"):
        blobs.copy_out(UNKNOWN, tmp_path, "name")


def test_an_incomplete_enclosure_cannot_be_copied_out(blobs: Blobs, tmp_path: Path) -> None:
    root = begun(blobs, some_bytes(3))
    with pytest.raises(UsageError, match="3 of 3 chunks are missing"):
        blobs.copy_out(root, tmp_path, "name")
    with pytest.raises(UsageError, match="is not here"):
        blobs.read_chunk(root, 1)


def test_a_removed_enclosure_leaves_nothing_and_can_come_again(blobs: Blobs) -> None:
    empty = blobs.size_bytes()
    data = some_bytes(3)
    blobs.remove(blobs.add_bytes(data)[0])
    assert blobs.roots() == [] and blobs.size_bytes() == empty
    root = begun(blobs, data)
    assert blobs.missing(root) == [range(1, 4)]


def test_roots_are_listed_in_order(blobs: Blobs) -> None:
    added = [blobs.add_bytes(bytes([number]))[0] for number in range(20)]
    assert blobs.roots() == sorted(added)


def test_sound_content_verifies(blobs: Blobs) -> None:
    root, length = blobs.add_bytes(some_bytes(3.5))
    seen: list[tuple[int, int]] = []
    assert blobs.verify(root, progress=lambda done, whole: seen.append((done, whole))) == []
    assert seen[-1] == (length, length)
    blobs.flush()
    assert blobs.recover() == []
    assert blobs.is_complete(root)


def test_more_enclosures_than_may_be_open_are_received_side_by_side(blobs: Blobs) -> None:
    files = [some_bytes(2, seed) for seed in range(50)]
    roots = [begun(blobs, data) for data in files]
    for index in (1, 2):
        for root, data in zip(roots, files, strict=True):
            assert blobs.write_chunk(root, index, chunk_of(data, index)) is (index == 2)
    assert [content(blobs, root) for root in roots] == files


@given(st.lists(st.booleans(), max_size=70))
def test_ranges_cover_exactly_the_set_bits(bits: list[bool]) -> None:
    bitmap = bytearray(-(-len(bits) // 8))
    for index in [at + 1 for at, bit in enumerate(bits) if bit]:
        set_run(bitmap, index, index)
    for wanted in (True, False):
        inside = [index for run in ranges_of(bitmap, len(bits), wanted) for index in run]
        assert inside == [at + 1 for at, bit in enumerate(bits) if bit is wanted]


@given(st.integers(0, 70), st.integers(1, 80))
def test_clearing_from_a_chunk_on_keeps_those_before(count: int, index: int) -> None:
    bitmap = full_bitmap(count)
    clear_from(bitmap, index)
    assert [has_bit(bitmap, at) for at in range(1, count + 1)] == [at < index for at in range(1, count + 1)]
    assert len(bitmap) * 8 >= count > len(bitmap) * 8 - 8 and HASH_BYTES == 32
