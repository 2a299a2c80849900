"""The program as one archive: made without a network, unpacked without one, and made again from there."""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from contentdb.errors import UsageError
from middleware.cli.wheels import Wheel, wheels_for
from tests.middleware.command import ROOT, Commands
from tests.netns import Lan
from tests.netns import lan as lan

PATIENCE_S = 300


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "passerby.tar.gz"
    subprocess.run([ROOT / "passerby", "bundle", "--into", path], check=True, timeout=PATIENCE_S)
    return path


def test_the_archive_has_plain_files_below_one_folder(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        script = opened.extractfile("passerby-0.1.0/passerby")
        assert script is not None and script.read() == (ROOT / "passerby").read_bytes()
    names = [member.name for member in members]
    assert names == sorted(set(names))
    for member in members:
        parts = member.name.split("/")
        assert (
            member.isreg() and parts[0] == "passerby-0.1.0" and not {"..", "", ".venv", ".git"} & set(parts)
        )
        assert (member.mtime, member.uid, member.gid, member.uname) == (0, 0, 0, "")
        assert member.mode == (0o755 if parts[1:] in (["passerby"], [".ci", "run"]) else 0o644), member.name
    assert not [name for name in names if name.endswith(".pyc")]
    for name in (
        "passerby.py",
        "contentdb/store.py",
        "docs/cli.md",
        "wheels/fits",
        "wheels/requirements.txt",
    ):
        assert f"passerby-0.1.0/{name}" in names


def test_wheels_are_listed_with_their_hashes(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        listed = opened.extractfile("passerby-0.1.0/wheels/requirements.txt")
        assert listed is not None
        hashes = {line.rsplit(":", 1)[1] for line in listed.read().decode().splitlines()}
        wheels = [member for member in opened.getmembers() if member.name.endswith(".whl")]
        found = {hashlib.sha256(file.read()).hexdigest() for file in map(opened.extractfile, wheels) if file}
    assert hashes == found and len(hashes) >= 6


def test_a_machine_without_any_network_is_set_up_from_it_and_hands_it_on(
    archive: Path, tmp_path: Path, lan: Lan
) -> None:
    alone = lan.machine(is_joined=False)
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path)
    folder = tmp_path / "passerby-0.1.0"
    (folder / "diary.txt").write_text("not for others")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PASSERBY_HOME": str(tmp_path / "home")}
    words = ["ip", "netns", "exec", alone.name, str(folder / "passerby")]
    with subprocess.Popen([*words, "up"], env=environment, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        assert len(node.stdout.readline().strip()) == 40  # its id, printed when it is ready
        node.terminate()
        node.wait(PATIENCE_S)
    again = tmp_path / "again.tar.gz"
    subprocess.run([*words, "bundle", "--into", again], env=environment, check=True, timeout=PATIENCE_S)
    assert again.read_bytes() == archive.read_bytes()


def test_nothing_is_overwritten_and_a_folder_gets_a_name_that_says_what_fits(
    run: Commands, tmp_path: Path
) -> None:
    made = run.json("bundle", "--into", str(tmp_path))
    name = Path(made["file"]).name
    assert f"-python{made['python']}-{made['platform']}.tar.gz" in name and made["python"].count(".") == 1
    assert "is there already" in run.fails("bundle", "--into", str(tmp_path))
    assert "there is no folder" in run.fails("bundle", "--into", str(tmp_path / "no" / "folder"))
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [name]


# -- wheels of what is installed


def install(folder: Path, name: str = "left-pad", requires: str = "") -> Path:
    """A small package as pip leaves it: modules, metadata, a script beside, and a compiled file."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text("x = 1\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}")
    (info / "WHEEL").write_text(
        "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\n"
    )
    listed = [f"{name}.py", f"{info.name}/METADATA", f"{info.name}/WHEEL"]
    record = [f"{path},{digest(folder / path)},1" for path in listed]
    record += [f"{info.name}/RECORD,,", f"{info.name}/INSTALLER,,", "../../bin/x,,", "__pycache__/x.pyc,,"]
    (info / "RECORD").write_text("\n".join(record) + "\n")
    return info


def digest(path: Path) -> str:
    encoded = base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
    return "sha256=" + encoded.translate(str.maketrans("+/", "-_", "="))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    return tmp_path / "packages"


def test_an_installed_package_becomes_the_wheel_it_was(packages: Path) -> None:
    install(packages)
    (wheel,) = wheels_for(["left_pad>=1"])
    assert (wheel.name, wheel.file_name) == ("left-pad", "left_pad-1.0-py2.py3-none-any.whl")
    info = "left_pad-1.0.dist-info"
    with zipfile.ZipFile(BytesIO(wheel.data)) as opened:
        assert opened.namelist() == ["left-pad.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
        record = opened.read(f"{info}/RECORD").decode()
    assert f"left-pad.py,{digest(packages / 'left-pad.py')},6\n" in record
    assert wheels_for(["left-pad"]) == [wheel]


def test_what_a_package_needs_comes_along_but_not_what_it_may_want(packages: Path) -> None:
    install(packages, requires="Requires-Dist: right-pad\nRequires-Dist: numpy; extra == 'fast'\n"
            "Requires-Dist: old-thing; python_version < '3'\n")  # fmt: skip
    install(packages, "right-pad", "Requires-Dist: left-pad\n")
    assert [wheel.name for wheel in wheels_for(["left-pad"])] == ["left-pad", "right-pad"]


def refused(*requirements: str) -> str:
    with pytest.raises(UsageError) as caught:
        wheels_for(requirements)
    return str(caught.value)


def test_what_is_missing_changed_or_no_wheel_is_refused_with_advice(packages: Path) -> None:
    info = install(packages)
    assert "not installed here" in refused("nothing-like-this")
    (packages / "left-pad.py").write_text("x = 2\n")
    assert "not as it was installed" in refused("left-pad")
    (packages / "left-pad.py").unlink()
    assert "cannot be read" in refused("left-pad")
    (info / "WHEEL").unlink()
    assert "not installed from a wheel" in refused("left-pad") and ".venv" in refused("left-pad")


def test_a_requirement_names_one_file() -> None:
    wheel = Wheel("a", "1", "a-1-py3-none-any.whl", b"")
    assert wheel.requirement == f"a==1 --hash=sha256:{hashlib.sha256(b'').hexdigest()}"


def test_without_the_script_there_is_nothing_to_hand_on(tmp_path: Path) -> None:
    """As where passerby was installed by pip."""
    for package in ("contentdb", "middleware"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "passerby.py", tmp_path)
    words = [
        shutil.which("python3", path=str(ROOT / ".venv" / "bin")) or "python3",
        "-m",
        "passerby",
        "bundle",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "checkout" in done.stderr
