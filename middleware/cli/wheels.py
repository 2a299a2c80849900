"""Makes wheels of what is installed here, the same bytes each time, so that a bundle needs no network.

An installed package is a wheel that was unpacked: its RECORD lists every file with its hash. Packed again
with the metadata it came with, it installs anywhere with the same Python and platform. Files that have
changed since they were installed are refused, so nobody hands on a damaged environment.
"""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import NamedTuple

from contentdb.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# What the installer says of its own work; the next installer says it anew.
_OF_THE_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
_THE_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # zip knows none before
_ADVICE = "remove the folder .venv, and run this again where there is internet"


class Wheel(NamedTuple):
    name: str
    version: str
    file_name: str
    data: bytes

    @property
    def requirement(self) -> str:
        """For pip: exactly this one, and only if it arrived whole."""
        return f"{self.name}=={self.version} --hash=sha256:{hashlib.sha256(self.data).hexdigest()}"


def wheels_for(requirements: Iterable[str]) -> list[Wheel]:
    """Wheels of these packages and of all that they need, by name."""
    return [_packed(package) for _name, package in sorted(_needed(requirements).items())]


def _needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        words, _, marker = waiting.pop().partition(";")
        name = _normal(_NAME.match(words.strip()).group())  # type: ignore[union-attr]  # each has a name
        if name in found or "extra" in marker:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            if marker:  # not for this Python or this platform, or the installer would have brought it
                continue
            raise UsageError(f"{name} is not installed here, so it cannot be handed on; {_ADVICE}") from None
        waiting += found[name].requires or ()
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _packed(package: Distribution) -> Wheel:
    name, version = package.metadata["Name"], package.version
    told = package.read_text("WHEEL")
    if told is None:
        raise UsageError(f"{name} was not installed from a wheel, so it cannot be handed on; {_ADVICE}")
    stem = f"{re.sub(r'[-_.]+', '_', name)}-{version}"
    files = dict(sorted(_files(package)))
    folder = next(path.partition("/")[0] for path in files if path.endswith(".dist-info/WHEEL"))
    record = [f"{_quoted(path)},{_digest(data)},{len(data)}" for path, data in files.items()]
    files[f"{folder}/RECORD"] = "\n".join([*record, f"{folder}/RECORD,,", ""]).encode()
    return Wheel(_normal(name), version, f"{stem}-{_tags(told)}.whl", _zipped(files))


def _files(package: Distribution) -> Iterator[tuple[str, bytes]]:
    """All that belongs into the wheel; scripts and compiled files are made anew where it is installed."""
    for path in package.files or ():
        is_made_here = ".." in path.parts or path.suffix == ".pyc"
        if is_made_here or (path.parent.suffix == ".dist-info" and path.name in _OF_THE_INSTALLER):
            continue
        try:
            data = path.read_binary()
        except OSError as error:
            raise UsageError(
                f"{path} of the environment cannot be read ({error.strerror}); {_ADVICE}"
            ) from None
        if path.hash is None or _digest(data) != f"{path.hash.mode}={path.hash.value}":
            raise UsageError(f"{path} is not as it was installed; {_ADVICE}")
        yield path.as_posix(), data


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _quoted(path: str) -> str:
    return '"' + path.replace('"', '""') + '"' if '"' in path or "," in path else path


def _tags(told: str) -> str:
    """Which Pythons and platforms it is for, as it stands in the name of a wheel."""
    tags = [
        line.partition(":")[2].strip().split("-") for line in told.splitlines() if line.startswith("Tag:")
    ]
    return "-".join(".".join(dict.fromkeys(column)) for column in zip(*tags, strict=True))


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            member = zipfile.ZipInfo(path, _THE_FIRST_DAY)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o100644 << 16
            member.create_system = 3  # the same on every system
            archive.writestr(member, data)
    return packed.getvalue()
