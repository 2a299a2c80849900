"""Keys on disk: created once, private, noticed when damaged; and backups under a passphrase."""

import multiprocessing
import os
import stat
import unicodedata
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import StoreError, UsageError
from contentdb.identity import AuthorSecret
from contentdb.keybackup import (
    MAX_BACKUP_BYTES,
    Backup,
    decode_backup,
    encode_backup,
    open_backup,
    seal_backup,
)
from contentdb.keystore import Keystore
from contentdb.names import AuthorKey

posix = pytest.mark.skipif(os.name != "posix", reason="mode bits mean something on POSIX systems only")
ALICE = AuthorSecret.from_bytes(bytes(range(32)))
# Made once with seal_backup; it must open for ever.
VECTOR = b"""\
passerby author key backup v1
author: 03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8
scrypt: 16 8 1 f5b165224a58b791df6af1d8303e61cd
sealed: 1993a398947e24adfc23a6881c2071f9ef7217d621ce939d17ccf82f12fa846ad2ed0e39cac9973d488cb8295d0b63f3
end
"""


def keys_of(home: Path, seed: int = 1) -> Keystore:
    return Keystore(home, Random(seed).randbytes)


def test_a_home_keeps_the_keys_it_got_first(tmp_path: Path) -> None:
    first = keys_of(tmp_path / "new" / "home", seed=1)
    author, node = first.author().key, first.node().node_id
    again = keys_of(tmp_path / "new" / "home", seed=2)
    assert (again.author().key, again.node().node_id) == (author, node)
    assert author != keys_of(tmp_path / "other", seed=2).author().key


@posix
def test_keys_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keys_of(tmp_path).author()
        keys_of(tmp_path).node()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    for file in (tmp_path / "keys").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def _author_made_by_a_process(home: Path, seed: int) -> str:
    return keys_of(home, seed).author().key


def test_processes_that_race_for_the_first_key_get_the_same_one(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork" if os.name == "posix" else "spawn").Pool(4) as pool:
        for attempt in range(10):
            home = tmp_path / str(attempt)
            made = pool.starmap(_author_made_by_a_process, [(home, seed) for seed in range(4)], chunksize=1)
            assert len(set(made)) == 1


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_open_to_others_is_refused_with_advice(tmp_path: Path, mode: int) -> None:
    keys_of(tmp_path).node()
    (tmp_path / "keys" / "node.key").chmod(mode)
    with pytest.raises(StoreError, match=r"open to other users.*chmod 600"):
        keys_of(tmp_path).node()


@posix
def test_a_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    keys_of(tmp_path).node()
    (tmp_path / "keys").chmod(0o755)
    with pytest.raises(StoreError, match=r"open to other users.*chmod 700"):
        keys_of(tmp_path).node()


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_is_refused(tmp_path: Path) -> None:
    keys_of(tmp_path).node()
    os.chown(tmp_path / "keys" / "node.key", 12345, -1)
    with pytest.raises(StoreError, match="belongs to user 12345"):
        keys_of(tmp_path).node()


@posix
def test_links_in_place_of_keys_or_their_folder_are_refused(tmp_path: Path) -> None:
    keys_of(tmp_path / "a").node()
    keys = tmp_path / "a" / "keys"
    keys.joinpath("node.key").rename(tmp_path / "elsewhere")
    keys.joinpath("node.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="symbolic link"):
        keys_of(tmp_path / "a").node()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "keys").symlink_to(keys)
    with pytest.raises(StoreError, match="not a folder of its own"):
        keys_of(tmp_path / "b").author()


@posix
def test_a_link_that_leads_nowhere_is_not_followed_to_make_a_key_there(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "keys" / "author.key").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="symbolic link"):
        keys_of(tmp_path).author()
    assert not (tmp_path / "nowhere").exists()


@posix
def test_a_pipe_in_place_of_a_key_is_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "keys" / "author.key", 0o600)
    with pytest.raises(StoreError, match="not a regular file"):
        keys_of(tmp_path).author()


def test_a_truncated_or_extended_key_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    keys_of(tmp_path).author()
    file = tmp_path / "keys" / "author.key"
    whole = file.read_bytes()
    for damaged in [whole[:length] for length in range(len(whole))] + [whole + b"\n", whole * 9]:
        file.write_bytes(damaged)
        with pytest.raises(StoreError, match="not a complete key file"):
            keys_of(tmp_path).author()
        assert file.read_bytes() == damaged


def test_rubbish_and_the_wrong_kind_of_key_are_refused(tmp_path: Path) -> None:
    keys = keys_of(tmp_path)
    keys.author(), keys.node()
    author, node = tmp_path / "keys" / "author.key", tmp_path / "keys" / "node.key"
    rng = Random(3)
    rubbish = [rng.randbytes(rng.randrange(600)) for _ in range(200)]
    for text in [node.read_bytes(), author.read_bytes().upper(), *rubbish]:
        author.write_bytes(text)
        with pytest.raises(StoreError, match="not a complete key file"):
            keys.author()


def test_any_changed_digit_of_a_key_file_is_noticed(tmp_path: Path) -> None:
    keys_of(tmp_path).node()
    file = tmp_path / "keys" / "node.key"
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + (b"0" if whole[at : at + 1] != b"0" else b"1") + whole[at + 1 :])
        with pytest.raises(StoreError):
            keys_of(tmp_path).node()


def test_what_a_killed_process_left_behind_does_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "keys" / "author.key.new").write_bytes(b"passerby auth")
    key = keys_of(tmp_path).author().key
    assert keys_of(tmp_path, seed=2).author().key == key
    assert not (tmp_path / "keys" / "author.key.new").exists()


def test_a_home_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot use"):
        keys_of(tmp_path / "file" / "home").author()


def test_a_backup_brings_the_author_to_another_home(tmp_path: Path) -> None:
    old, new = keys_of(tmp_path / "old"), keys_of(tmp_path / "new", seed=2)
    backup = old.export_author("correct horse")
    assert new.import_author(backup, "correct horse") == old.author().key == new.author().key
    assert new.node().node_id != old.node().node_id
    assert new.import_author(backup, "correct horse") == old.author().key  # once more changes nothing


def test_what_is_exported_holds_nothing_of_the_node_key(tmp_path: Path) -> None:
    keys = keys_of(tmp_path)
    node_id = keys.node().node_id
    written = (tmp_path / "keys" / "node.key").read_bytes()
    backup = keys.export_author("correct horse")
    assert open_backup(backup, "correct horse").to_bytes() == keys.author().to_bytes()
    for digits in [word for word in written.split() if len(word) >= 16]:
        assert digits not in backup and bytes.fromhex(digits.decode()) not in backup
    assert node_id.encode() not in backup
    assert [name for name in dir(Keystore) if "export" in name] == ["export_author"]


def test_importing_never_replaces_another_author_silently(tmp_path: Path) -> None:
    backup = keys_of(tmp_path / "old").export_author("correct horse")
    keys = keys_of(tmp_path / "new", seed=2)
    present = keys.author()
    with pytest.raises(UsageError, match="already writes as"):
        keys.import_author(backup, "correct horse")
    assert keys.author().key == present.key
    imported = keys.import_author(backup, "correct horse", replace=True)
    assert keys.author().key == imported != present.key
    kept = (tmp_path / "new" / "keys" / f"author-{present.key}.key").read_text()
    assert present.to_bytes().hex() in kept


def test_a_damaged_key_is_not_replaced_by_an_import(tmp_path: Path) -> None:
    backup = seal_backup(ALICE, "x", Random(1).randbytes)
    keys_of(tmp_path).author()
    file = tmp_path / "keys" / "author.key"
    file.write_bytes(b"damaged")
    with pytest.raises(StoreError, match="not a complete key file"):
        keys_of(tmp_path).import_author(backup, "x", replace=True)
    assert file.read_bytes() == b"damaged"


def test_a_wrong_or_empty_passphrase_is_a_usage_error() -> None:
    backup = seal_backup(ALICE, "correct horse", Random(1).randbytes)
    with pytest.raises(UsageError, match="passphrase is wrong"):
        open_backup(backup, "battery staple")
    for nothing, problem in (("", "empty"), ("\ud800", "half a character")):
        with pytest.raises(UsageError, match=problem):
            open_backup(backup, nothing)


def test_a_backup_made_long_ago_still_opens() -> None:
    assert open_backup(VECTOR, "Zoë rides at dawn").key == ALICE.key
    assert open_backup(VECTOR, unicodedata.normalize("NFD", "Zoë rides at dawn")).key == ALICE.key


def test_a_backup_survives_the_line_ends_and_blanks_of_mail() -> None:
    mailed = b"\r\n  " + VECTOR.replace(b"\n", b"\r\n") + b"\r\n\r\n"
    assert decode_backup(mailed) == decode_backup(VECTOR)


def test_no_line_of_a_backup_can_be_changed_unnoticed() -> None:
    genuine = decode_backup(VECTOR)
    for changed in (
        replace(genuine, author=AuthorKey("1" * 64)),
        replace(genuine, p=2),
        replace(genuine, salt=bytes(16)),
        replace(genuine, sealed=genuine.sealed[:-1] + b"?"),
    ):
        with pytest.raises(UsageError, match="changed"):
            open_backup(encode_backup(changed), "Zoë rides at dawn")


@pytest.mark.parametrize("costs", ["14 8 1", "19 8 1", "30 8 1", "16 9 1", "16 8 5", "16 99 99"])
def test_a_backup_may_not_ask_for_too_much_or_too_little_work(costs: str) -> None:
    with pytest.raises(UsageError, match="allowed are"):
        decode_backup(VECTOR.replace(b"scrypt: 16 8 1", f"scrypt: {costs}".encode()))


@given(
    st.binary(min_size=32, max_size=32),
    st.integers(15, 18),
    st.integers(1, 4),
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=48, max_size=48),
)
def test_a_backup_survives_its_text(author: bytes, log2_n: int, p: int, salt: bytes, sealed: bytes) -> None:
    backup = Backup(AuthorKey(author.hex()), log2_n, p, salt, sealed)
    assert decode_backup(encode_backup(backup)) == backup


@given(st.binary(max_size=MAX_BACKUP_BYTES + 50))
def test_rubbish_is_no_backup(text: bytes) -> None:
    with pytest.raises(UsageError):
        decode_backup(text)


@given(st.integers(0, 400), st.binary(max_size=8), st.integers(0, 8))
def test_a_backup_with_a_few_other_bytes_is_refused_or_read(at: int, other: bytes, cut: int) -> None:
    changed = VECTOR[:at] + other + VECTOR[at + cut :]
    try:
        backup = decode_backup(changed)
    except UsageError:
        return
    assert encode_backup(backup).strip() == changed.replace(b"\r\n", b"\n").strip(b" \t\r\n")


def test_a_truncated_backup_is_refused() -> None:
    for length in range(len(VECTOR.rstrip())):
        with pytest.raises(UsageError):
            decode_backup(VECTOR[:length])
    with pytest.raises(UsageError, match="at most"):
        decode_backup(VECTOR + b" " * MAX_BACKUP_BYTES)
