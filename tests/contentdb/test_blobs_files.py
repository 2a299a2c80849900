"""Copying enclosures out: names from strangers, and folders that are somebody else's."""

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.blobs import Blobs, DiskBlobs, MemoryBlobs, safe_name
from contentdb.blobs_files import MAX_NAME_BYTES, RESERVED_NAMES
from contentdb.errors import UsageError


@pytest.fixture(params=["disk", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    made: Blobs = DiskBlobs(tmp_path / "blobs") if request.param == "disk" else MemoryBlobs()
    yield made
    made.close()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("take1.ogg", "take1.ogg"),
        ("Straßenmusik – 5. Straße.ogg", "Straßenmusik – 5. Straße.ogg"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("C:\\autoexec.bat", "C__autoexec.bat"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("con", "_con"),
        ("Aux.tar.gz", "_Aux.tar.gz"),
        ("COM1 .txt", "_COM1 .txt"),
        ("lpt¹.txt", "_lpt¹.txt"),
        ("console.txt", "console.txt"),
        ("name. . ", "name"),
        ("a\x00b\nc\x7f.txt", "abc.txt"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("a\u2028b", "ab"),
        ("می\u200cخواهم.txt", "می\u200cخواهم.txt"),
        ('what? "yes" <no>|*', "what_ _yes_ _no___"),
        ("\ud800x", "x"),
    ],
)
def test_a_strangers_name_becomes_harmless(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(max_size=300))
def test_every_name_becomes_one_that_all_systems_take(name: str) -> None:
    safe = safe_name(name)
    assert safe and len(safe.encode()) <= MAX_NAME_BYTES
    assert not set(safe) & set('/\\<>:"|?*') and safe[0] not in ".- " and safe[-1] not in ". "
    assert safe.split(".")[0].rstrip().upper() not in RESERVED_NAMES
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in safe)
    assert safe_name(safe) == safe


def test_an_overlong_name_keeps_its_ending() -> None:
    safe = safe_name("ä" * 200 + ".tar.gz")
    assert safe.endswith("ä.gz")
    assert MAX_NAME_BYTES - 1 <= len(safe.encode()) <= MAX_NAME_BYTES


def test_a_copy_has_the_content_and_the_name(blobs: Blobs, out: Path) -> None:
    root, _ = blobs.add_bytes(b"music" * 10_000)
    path = blobs.copy_out(root, out, "take1.ogg")
    assert path == out / "take1.ogg"
    assert path.read_bytes() == b"music" * 10_000
    assert os.listdir(out) == ["take1.ogg"]


def test_a_copy_never_replaces_a_file(blobs: Blobs, out: Path) -> None:
    root, _ = blobs.add_bytes(b"new")
    (out / "take.tar.gz").write_bytes(b"old")
    (out / "take.tar (2).gz").symlink_to("nowhere")
    assert blobs.copy_out(root, out, "take.tar.gz") == out / "take.tar (3).gz"
    assert blobs.copy_out(root, out, "plain").name == "plain"
    assert blobs.copy_out(root, out, "plain").name == "plain (2)"
    assert (out / "take.tar.gz").read_bytes() == b"old"


def test_a_copy_stays_in_its_folder(blobs: Blobs, out: Path) -> None:
    root, _ = blobs.add_bytes(b"x")
    assert blobs.copy_out(root, out, "../../evil").parent == out


def test_a_copy_does_not_change_with_what_somebody_does_to_it(blobs: Blobs, out: Path) -> None:
    root, _ = blobs.add_bytes(b"kept")
    blobs.copy_out(root, out, "copy").write_bytes(b"changed")
    assert blobs.read_chunk(root, 1) == b"kept"


def test_a_copy_into_a_folder_that_is_not_there_is_refused(blobs: Blobs, out: Path) -> None:
    root, _ = blobs.add_bytes(b"x")
    with pytest.raises(UsageError, match="create it first"):
        blobs.copy_out(root, out / "none", "name")
