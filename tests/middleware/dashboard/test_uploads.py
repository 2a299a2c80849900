"""Files on their way from a page into an entry."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contentdb.errors import StoreError, UsageError
from middleware.dashboard.uploads import MAX_WAITING, Uploads


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def uploads(folder: Path, max_bytes: int = 1_000) -> Uploads:
    return Uploads(folder / "uploads", max_bytes=max_bytes, entropy=os.urandom)


def received(of: Uploads, name: str, *parts: bytes) -> str:
    return asyncio.run(of.receive(name, pieces(*parts)))


def test_a_file_is_kept_privately_under_its_name_until_it_is_published(tmp_path: Path) -> None:
    kept = uploads(tmp_path)
    upload = received(kept, "song.ogg", b"la ", b"la")
    (path,) = map(Path, kept.files([upload]))
    assert (path.name, path.read_bytes(), path.stat().st_mode & 0o077) == ("song.ogg", b"la la", 0)
    kept.published([upload])
    assert not path.exists()
    with pytest.raises(UsageError, match="expired"):
        kept.files([upload])


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "..", "a/b", "a\0b", "x" * 5_000])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    kept = uploads(tmp_path)
    (path,) = map(Path, kept.files([received(kept, name, b"x")]))
    assert path.resolve().parent.parent == (tmp_path / "uploads").resolve()


def test_a_file_that_is_too_long_is_refused_and_gone(tmp_path: Path) -> None:
    kept = uploads(tmp_path, max_bytes=5)
    with pytest.raises(UsageError, match="5 bytes"):
        received(kept, "a", b"123", b"456")
    assert list((tmp_path / "uploads").iterdir()) == []


def test_only_so_many_wait(tmp_path: Path) -> None:
    kept = uploads(tmp_path)
    for _ in range(MAX_WAITING):
        received(kept, "a", b"")
    with pytest.raises(UsageError, match="wait"):
        received(kept, "a", b"")


def test_what_an_earlier_run_left_is_removed(tmp_path: Path) -> None:
    received(uploads(tmp_path), "a", b"x")
    uploads(tmp_path)
    assert not (tmp_path / "uploads").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be kept"):
        received(Uploads(tmp_path / "file" / "uploads", max_bytes=9, entropy=os.urandom), "a", b"x")


@pytest.mark.parametrize("given", ["abc", [1], None, {"a": 1}])
def test_what_is_no_list_of_uploads_is_refused(tmp_path: Path, given: object) -> None:
    with pytest.raises(UsageError):
        uploads(tmp_path).files(given)  # type: ignore[arg-type]
