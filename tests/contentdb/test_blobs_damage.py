"""Enclosures survive power cuts, full disks, lost and cut files, and several who add the same."""

import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from contentdb.blobs import DiskBlobs
from contentdb.chunking import leaves_of, root_of
from contentdb.errors import StoreError
from contentdb.model import CHUNK_BYTES
from contentdb.names import Root


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow beyond this size: what writing to a full disk looks like, without one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def some_bytes(chunks: float, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(int(chunks * CHUNK_BYTES))


def chunk_of(data: bytes, index: int) -> bytes:
    return data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES]


def begun(blobs: DiskBlobs, data: bytes) -> Root:
    leaves = leaves_of(data)
    blobs.begin(root_of(leaves), len(data))
    blobs.set_leaves(root_of(leaves), 1, leaves)
    return root_of(leaves)


def write(blobs: DiskBlobs, root: Root, data: bytes, *indexes: int) -> list[bool]:
    return [blobs.write_chunk(root, index, chunk_of(data, index)) for index in indexes]


def in_file(folder: Path, root: Root, ending: str = "") -> Path:
    return folder / root[:2] / root[2:4] / f"{root}{ending}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


def after_power_cut(folder: Path, spoil: Callable[[Path], None]) -> DiskBlobs:
    """The folder as a power cut leaves it: as it is now, but for what never reached the disk."""
    copy = folder.with_name("after")
    shutil.copytree(folder, copy)
    spoil(copy)
    return DiskBlobs(copy)


def test_bytes_that_never_reached_the_disk_are_fetched_again_and_no_others(folder: Path) -> None:
    data, blobs = some_bytes(8), DiskBlobs(folder)
    root = begun(blobs, data)
    write(blobs, root, data, 1, 2, 3)
    blobs.flush()
    write(blobs, root, data, 4, 5, 6)

    def spoil(copy: Path) -> None:
        with in_file(copy, root, ".part").open("r+b") as part:
            part.seek(4 * CHUNK_BYTES)
            part.write(bytes(CHUNK_BYTES))

    later = after_power_cut(folder, spoil)
    assert [repair.lost for repair in later.recover()] == [1]
    assert later.have(root) == [range(1, 5), range(6, 7)]
    assert write(later, root, data, 5, 7, 8) == [False, False, True]
    assert later.path(root).read_bytes() == data


def test_a_partial_file_that_lost_its_end_is_fetched_from_there_on(folder: Path) -> None:
    data, blobs = some_bytes(8), DiskBlobs(folder)
    root = begun(blobs, data)
    write(blobs, root, data, *range(1, 8))
    blobs.close()
    os.truncate(in_file(folder, root, ".part"), 3 * CHUNK_BYTES + 5)
    blobs = DiskBlobs(folder)
    assert [repair.lost for repair in blobs.recover()] == [4]
    assert blobs.have(root) == [range(1, 4)]


def test_a_complete_file_that_was_cut_short_keeps_its_sound_chunks(folder: Path) -> None:
    data, blobs = some_bytes(5.5), DiskBlobs(folder)
    root, _ = blobs.add_bytes(data)
    blobs.close()
    os.truncate(blobs.path(root), 2 * CHUNK_BYTES + 1)
    blobs.close()
    with pytest.raises(StoreError, match="restart"):
        blobs.read_chunk(root, 1)
    blobs = DiskBlobs(folder)
    assert [repair.root for repair in blobs.recover()] == [root, root]
    assert blobs.have(root) == [range(1, 3)]
    assert write(blobs, root, data, 3, 4, 5, 6)[-1] is True
    assert blobs.path(root).read_bytes() == data


def test_a_file_cut_short_under_an_open_descriptor_is_told_as_such(folder: Path) -> None:
    blobs = DiskBlobs(folder)
    root, _ = blobs.add_bytes(some_bytes(3))
    blobs.read_chunk(root, 1)
    os.truncate(blobs.path(root), CHUNK_BYTES)
    with pytest.raises(StoreError, match="cut short"):
        blobs.read_chunk(root, 3)


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_file_that_somebody_deleted_is_missing_and_can_be_fetched_again(
    folder: Path, is_complete: bool
) -> None:
    data, blobs = some_bytes(3), DiskBlobs(folder)
    root = begun(blobs, data)
    write(blobs, root, data, *((1, 2, 3) if is_complete else (1, 2)))
    blobs.close()
    in_file(folder, root, "" if is_complete else ".part").unlink()
    blobs = DiskBlobs(folder)
    with pytest.raises(StoreError, match="missing"):
        blobs.read_chunk(root, 1)
    assert "missing" in blobs.recover()[0].what
    assert blobs.missing(root) == [range(1, 4)]
    assert write(blobs, root, data, 1, 2, 3) == [False, False, True]
    assert blobs.path(root).read_bytes() == data


@pytest.mark.parametrize("damage", ["removed", "cut", "rubbish", "empty"])
def test_a_complete_file_speaks_for_itself_when_its_sidecar_is_lost(folder: Path, damage: str) -> None:
    data, blobs = some_bytes(3.5), DiskBlobs(folder)
    root, _ = blobs.add_bytes(data)
    blobs.close()
    sidecar = in_file(folder, root, ".state")
    whole = sidecar.read_bytes()
    sidecar.unlink()
    if damage != "removed":
        sidecar.write_bytes({"cut": whole[:-9], "rubbish": bytes(len(whole)), "empty": b""}[damage])
    blobs = DiskBlobs(folder)
    assert "rebuilt" in blobs.recover()[0].what
    assert blobs.is_complete(root) and blobs.verify(root) == []
    assert sidecar.read_bytes() == whole


def test_a_changed_byte_is_found_by_verifying_and_only_its_chunk_is_fetched_again(folder: Path) -> None:
    data, blobs = some_bytes(4), DiskBlobs(folder)
    root, _ = blobs.add_bytes(data)
    with in_file(folder, root).open("r+b") as file:
        file.seek(CHUNK_BYTES + 7)
        file.write(bytes([data[CHUNK_BYTES + 7] ^ 1]))
    assert blobs.verify(root) == [2]
    assert blobs.missing(root) == [range(2, 3)]
    assert write(blobs, root, data, 2) == [True]
    assert blobs.path(root).read_bytes() == data


def test_a_full_disk_refuses_a_chunk_and_takes_it_when_there_is_room(folder: Path) -> None:
    data, blobs = some_bytes(8), DiskBlobs(folder)
    root = begun(blobs, data)
    with full_disk(5 * CHUNK_BYTES + 100):
        write(blobs, root, data, 1, 2, 5)
        for index in (6, 8):
            with pytest.raises(StoreError, match="disk is full"):
                write(blobs, root, data, index)
        assert blobs.read_chunk(root, 5) == chunk_of(data, 5)
    assert blobs.have(root) == [range(1, 3), range(5, 6)]
    assert write(blobs, root, data, 3, 4, 6, 7, 8)[-1] is True
    assert blobs.path(root).read_bytes() == data


def test_a_full_disk_refuses_a_publication_and_leaves_nothing_of_it(folder: Path, tmp_path: Path) -> None:
    blobs = DiskBlobs(folder)
    kept, _ = blobs.add_bytes(some_bytes(2))
    (tmp_path / "big").write_bytes(some_bytes(8, seed=2))
    before = blobs.size_bytes()
    with full_disk(5 * CHUNK_BYTES):
        with pytest.raises(StoreError, match="disk is full"):
            blobs.add_bytes(some_bytes(8, seed=2))
        with pytest.raises(StoreError, match="disk is full"):
            blobs.add_file(tmp_path / "big")
    assert (blobs.roots(), blobs.size_bytes()) == ([kept], before)
    assert blobs.add_file(tmp_path / "big") == blobs.add_bytes(some_bytes(8, seed=2))


def test_a_really_full_disk_behaves_the_same(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(small)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mounting, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        data, blobs = some_bytes(60), DiskBlobs(small / "blobs")
        root = begun(blobs, data)
        with pytest.raises(StoreError, match="disk is full"):
            write(blobs, root, data, *range(1, 61))
        had = blobs.have(root)
        with pytest.raises(StoreError, match="disk is full"):
            blobs.add_bytes(data)
        assert had and blobs.have(root) == had and blobs.verify(root) == []
        blobs.close()
        blobs = DiskBlobs(small / "blobs")
        blobs.recover()
        assert blobs.have(root) == had
        blobs.close()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_many_who_add_the_same_content_at_once_keep_it_once(folder: Path, tmp_path: Path) -> None:
    data, blobs = some_bytes(20.5), DiskBlobs(folder)
    (tmp_path / "file").write_bytes(data)
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda _: blobs.add_file(tmp_path / "file"), range(16)))
    root = root_of(leaves_of(data))
    assert added == [(root, len(data))] * 16
    assert blobs.roots() == [root] and blobs.verify(root) == []
    assert not any((folder / "tmp").iterdir())
    assert blobs.size_bytes() < 2 * len(data)


def test_publishing_what_is_being_received_completes_it_for_both(folder: Path) -> None:
    data, blobs = some_bytes(6), DiskBlobs(folder)
    root = begun(blobs, data)
    write(blobs, root, data, 1, 2)
    assert blobs.add_bytes(data) == (root, len(data))
    assert write(blobs, root, data, 3, 4) == [False, False]
    assert blobs.begin(root, len(data)) is True
    blobs.flush()
    blobs.close()
    blobs = DiskBlobs(folder)
    assert blobs.recover() == []
    assert blobs.path(root).read_bytes() == data
    assert not in_file(folder, root, ".part").exists()


def test_publishing_again_repairs_a_file_that_was_changed_at_equal_size(folder: Path) -> None:
    blobs, data = DiskBlobs(folder), some_bytes(3)
    root, length = blobs.add_bytes(data)
    in_file(folder, root).write_bytes(b"\0" * length)
    assert blobs.add_bytes(data) == (root, length)
    assert in_file(folder, root).read_bytes() == data
    assert blobs.verify(root) == []
    blobs.close()


@pytest.mark.parametrize("left", [0, 10_000, None])
def test_a_file_that_was_cut_or_deleted_is_not_handed_out(
    folder: Path, tmp_path: Path, left: int | None
) -> None:
    blobs = DiskBlobs(folder)
    root, _ = blobs.add_bytes(some_bytes(3))
    assert blobs.is_complete(root)  # and so it is open
    in_file(folder, root).unlink() if left is None else os.truncate(in_file(folder, root), left)
    with pytest.raises(StoreError, match="is missing from" if left is None else "was cut short"):
        blobs.path(root)
    with pytest.raises(StoreError):
        blobs.copy_out(root, tmp_path, "song.ogg")
    assert not list(tmp_path.glob("*song*")) and not list(tmp_path.glob(".passerby*"))
    blobs.close()
