"""Commands about keys, and about the home folder as a whole."""

import json
import os
import random
from pathlib import Path

import pytest

from tests.middleware.command import Commands


@pytest.fixture(autouse=True)
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSERBY_PASSPHRASE", "four words of mine")


def test_me_shows_who_writes_here(run: Commands) -> None:
    me = run.json("me")
    assert set(me) == {"name", "key", "fingerprint", "home"}
    assert me["name"] is None and len(me["key"]) == 64 and me["home"] == str(run.home)
    assert "--name NAME" in run("me").out


def test_a_name_stands_beside_what_is_published(run: Commands) -> None:
    assert run.json("me", "--name", " Ana ")["name"] == "Ana"
    feed = run.json("feed", "create", "F")["id"]
    run("publish", feed, "--title", "T")
    fingerprint = run.json("me")["fingerprint"]
    assert f"Ana {fingerprint[:9]}" in run("entries").out


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "a\u202eb"])
def test_a_name_that_could_deceive_is_refused(run: Commands, name: str) -> None:
    assert "printable characters" in run.fails("me", "--name", name)
    assert run.json("me")["name"] is None


def test_a_key_travels_by_its_backup(run: Commands, tmp_path: Path) -> None:
    backup, other = tmp_path / "backup", tmp_path / "other"
    saved = run.json("me", "export", str(backup))
    assert set(saved) == {"key", "fingerprint", "file"} and oct(backup.stat().st_mode)[-3:] == "600"
    assert set(run.json("me", "import", str(backup), home=other)) == {"key", "fingerprint"}
    assert run.json("me", home=other)["key"] == saved["key"] == run.json("me")["key"]


def test_a_backup_may_be_printed(run: Commands) -> None:
    assert run("me", "export").out.startswith("passerby author key backup v1\nauthor: ")
    assert set(run.json("me", "export")) == {"key", "fingerprint", "backup"}


def test_a_backup_is_never_overwritten(run: Commands, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    backup.write_text("the only way back")
    assert "is there already" in run.fails("me", "export", str(backup))
    assert backup.read_text() == "the only way back"


def test_a_wrong_passphrase_changes_nothing(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("me", "export", str(tmp_path / "backup"))
    monkeypatch.setenv("PASSERBY_PASSPHRASE", "other words")
    before = run.json("me", home=tmp_path / "other")
    assert "passphrase is wrong" in run.fails(
        "me", "import", str(tmp_path / "backup"), "--replace", home=tmp_path / "other"
    )
    assert run.json("me", home=tmp_path / "other") == before


def test_another_key_is_replaced_only_when_asked_for(run: Commands, tmp_path: Path) -> None:
    key, other = run.json("me")["key"], tmp_path / "other"
    run("me", "export", str(tmp_path / "backup"))
    old = run.json("me", home=other)["key"]
    assert "--replace changes that" in run.fails("me", "import", str(tmp_path / "backup"), home=other)
    assert run.json("me", "import", str(tmp_path / "backup"), "--replace", home=other)["key"] == key
    assert (other / "keys" / f"author-{old}.key").exists()


def test_what_is_no_backup_is_refused(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "rubbish").write_bytes(random.Random(1).randbytes(500))
    (tmp_path / "long").write_bytes(b"x" * 200_000)
    assert "no key backup" in run.fails("me", "import", str(tmp_path / "rubbish"))
    assert "at most" in run.fails("me", "import", str(tmp_path / "long"))
    assert "cannot read" in run.fails("me", "import", str(tmp_path / "nothing"))
    assert "cannot write" in run.fails("me", "export", str(tmp_path / "no" / "folder"))


def test_a_passphrase_is_needed(run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSERBY_PASSPHRASE", "")
    assert "empty passphrase" in run.fails("me", "export", str(tmp_path / "backup"))
    monkeypatch.setenv("PASSERBY_PASSPHRASE", " ")
    assert "empty passphrase" in run.fails("me", "export", str(tmp_path / "backup"))
    monkeypatch.delenv("PASSERBY_PASSPHRASE")
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert "set PASSERBY_PASSPHRASE" in run.fails("me", "export", str(tmp_path / "backup"))
    assert not (tmp_path / "backup").exists()


def test_arguments_of_me_that_do_not_fit_together_are_misuse(run: Commands) -> None:
    assert "say which backup" in run.fails("me", "import", status=2)
    assert "belongs to" in run.fails("me", "--replace", status=2)
    assert "invalid choice" in run.fails("me", "explode", status=2)


# -- block


def test_a_blocked_key_is_refused_until_it_is_not(run: Commands, tmp_path: Path) -> None:
    guest, out = tmp_path / "guest", tmp_path / "out"
    feed = run.json("feed", "create", "F", home=guest)["id"]
    key = run.json("publish", feed, "--title", "Spam", home=guest)["author"]
    run("feed", "export", feed, "--into", str(out), home=guest)
    blocked = run.json("block", key)
    assert set(blocked) == {"key", "fingerprint", "blocked"} and blocked["blocked"] is True
    assert run.json("block") == [key] and key in run("block").out
    refused = run("feed", "import", str(out), "--json")
    assert refused.status == 1 and refused.document["refused"] == 1 and "blocked" in refused.err
    assert run.json("block", key, "--undo")["blocked"] is False
    assert run.json("feed", "import", str(out))["entries"] == 1
    assert run.json("block") == []


def test_nobody_blocks_himself_or_what_is_no_key(run: Commands) -> None:
    assert "cannot block yourself" in run.fails("block", run.json("me")["key"])
    assert "64 hexadecimal" in run.fails("block", "rubbish")


# -- storage and doctor

# Nothing is sent beyond this machine.
DOCTOR = ("doctor", "--interface", "lo")


def test_storage_adds_up(run: Commands, feed: str, tmp_path: Path) -> None:
    (tmp_path / "song").write_bytes(bytes(50_000))
    run("publish", feed, "--title", "T", "--file", str(tmp_path / "song"))
    use = run.json("storage")
    assert set(use) == {
        *("home", "used", "limit", "own", "pinned", "entries", "hidden", "feeds", "database", "enclosures")
    }
    assert use["used"] == use["own"] > 50_000 and (use["entries"], use["feeds"]) == (1, 1)
    assert use["used"] < use["limit"] and use["pinned"] == 0
    shown = run("storage").out
    assert "1 entry in 1 feed" in shown and len(shown.splitlines()) == 3


def test_a_sound_home_is_well(run: Commands, feed: str) -> None:
    run("publish", feed, "--title", "T")
    well = run.json(*DOCTOR)
    assert set(well) == {"home", "problems", "notes", "checks", "full_text"} and well["problems"] == []
    examined = {check["check"] for check in well["checks"]}
    assert examined >= {"settings", "store", "network", "port", "clock", "disk"}
    assert run(*DOCTOR).out == f"all is well in {run.home}\n"


def test_the_doctor_finds_a_changed_file_and_says_what_to_do(
    run: Commands, feed: str, tmp_path: Path
) -> None:
    song = tmp_path / "song.ogg"
    song.write_bytes(bytes(50_000))
    path = Path(run.json("publish", feed, "--title", "T", "--file", str(song))["enclosures"][0]["path"])
    with path.open("r+b") as file:
        file.seek(20_000)
        file.write(b"rot")
    ran = run(*DOCTOR, "--json")
    assert ran.status == 1 and len(json.loads(ran.out)["problems"]) == 2
    assert "1 chunk damaged" in ran.out and "publish the entry again with it" in ran.out
    shown = run(*DOCTOR)
    assert shown.status == 1 and "song.ogg" in shown.out


@pytest.mark.parametrize("how", ["open", "cut"])
def test_the_doctor_looks_at_the_keys(run: Commands, how: str) -> None:
    run("me")
    key = run.home / "keys" / "author.key"
    key.chmod(0o644) if how == "open" else key.write_bytes(key.read_bytes()[:40])
    ran = run(*DOCTOR, "--json")
    assert ran.status == 1 and len(ran.document["problems"]) == 1
    assert ("open to other users" if how == "open" else "not a complete key file") in ran.out


def test_the_doctor_makes_no_key(run: Commands) -> None:
    assert run.json(*DOCTOR)["problems"] == []
    assert not (run.home / "keys").exists()


def test_the_doctor_counts_files_that_a_lost_database_left(run: Commands, feed: str, tmp_path: Path) -> None:
    (tmp_path / "song").write_bytes(bytes(50_000))
    run("publish", feed, "--title", "T", "--file", str(tmp_path / "song"))
    for path in run.home.glob("passerby.sqlite*"):
        path.unlink()
    ran = run(*DOCTOR)
    assert ran.status == 1 and "1 file in enclosures/ belongs to no entry here" in ran.out


def test_a_damaged_database_is_reported_and_left_alone(run: Commands, feed: str) -> None:
    database = run.home / "passerby.sqlite"
    database.write_bytes(b"rubbish" * 1000)
    ran = run(*DOCTOR)
    assert ran.status == 1 and "damaged" in ran.out and ran.out.count("\n") == 1
    assert database.read_bytes() == b"rubbish" * 1000
