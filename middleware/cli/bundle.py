"""The command that packs the program with all it needs, for machines without internet."""

import argparse
import gzip
import io
import os
import secrets
import sys
import sysconfig
import tarfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from contentdb.errors import StoreError, UsageError
from middleware.cli.desk import Desk
from middleware.cli.wheels import Wheel, wheels_for

ROOT = Path(__file__).parent.parent.parent
FRONT_DOOR = "passerby"
# Named one by one: what else lies in a checkout, such as an export or a home, is nobody else's business.
TOP_FILES = (
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "buildozer.spec", "main.py", FRONT_DOOR,
    "passerby.py", "pyproject.toml",
)  # fmt: skip
TOP_FOLDERS = (".ci", "android", "docs", "tests")  # and the packages
WHEELS = "wheels"
# Wheels are compressed already; more effort would save one part in a hundred.
GZIP_LEVEL = 1


def bundle(desk: Desk, options: argparse.Namespace) -> int:
    project = _project()
    python, platform = "{}.{}".format(*sys.version_info), sysconfig.get_platform()
    version = project["project"]["version"]
    path = _target(options.into, f"passerby-{version}-python{python}-{platform}.tar.gz")
    wheels = wheels_for(project["project"]["dependencies"])
    files: dict[str, Path | bytes] = dict(_code(project))
    files |= _supplies(wheels, f"{python} {platform}")
    size = _write(path, _archive(f"passerby-{version}", files))
    desk.say("wrote the program with all it needs; unpack it, and ./passerby up works without internet")
    document = {"file": str(path), "bytes": size, "python": python, "platform": platform}
    return desk.show({**document, "wheels": [wheel.file_name for wheel in wheels]}, [str(path)])


def _project() -> dict[str, Any]:
    try:
        if (ROOT / FRONT_DOOR).is_file():
            return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    except OSError:
        pass
    raise UsageError("a bundle is made from a checkout or an unpacked bundle: run ./passerby bundle there")


def _target(into: str | None, name: str) -> Path:
    path = Path(into) if into else Path(name)
    path = path / name if path.is_dir() else path
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent}; make it first")
    if path.exists():
        raise UsageError(f"{path} is there already; choose another name with --into")
    return path


# -- what goes in


def _code(project: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """Every file of the program, by its name in the archive."""
    packages = {name.partition(".")[0] for name in project["tool"]["setuptools"]["packages"]}
    for name in TOP_FILES:
        if (ROOT / name).is_file():
            yield name, ROOT / name
    for folder in (*TOP_FOLDERS, *packages):
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT)
            is_plain = path.is_file() and not path.is_symlink() and path.suffix != ".pyc"
            if is_plain and not any(part.startswith(".") for part in inside.parts[1:]):
                yield inside.as_posix(), path


def _supplies(wheels: Iterable[Wheel], fits: str) -> dict[str, bytes]:
    """The wheels, what pip has to install of them, and which Python they are for."""
    supplies = {f"{WHEELS}/{wheel.file_name}": wheel.data for wheel in wheels}
    supplies[f"{WHEELS}/requirements.txt"] = "".join(f"{w.requirement}\n" for w in wheels).encode()
    supplies[f"{WHEELS}/fits"] = f"{fits}\n".encode()
    return supplies


def _archive(top: str, files: dict[str, Path | bytes]) -> bytes:
    """The same files give the same bytes: sorted, without times and owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            data = content if isinstance(content, bytes) else content.read_bytes()
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mode = len(data), 0o755 if data.startswith(b"#!") else 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), GZIP_LEVEL, mtime=0)


def _write(path: Path, data: bytes) -> int:
    """Whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror}; nothing was written") from error
    return len(data)
