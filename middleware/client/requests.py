"""What an app says becomes the parameters of a call: the same for blocking and for asyncio."""

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import IO, Any, TypeAlias

from contentdb.attributes import Time
from contentdb.errors import UsageError
from middleware.client.wire import Handed

AttributeValue: TypeAlias = str | int | float | bool | datetime | Time
PathLike: TypeAlias = str | os.PathLike[str]
Params: TypeAlias = dict[str, Any]


def given(**values: Any) -> Params:
    """Those that were given: what is None is left to the node."""
    return {name: value for name, value in values.items() if value is not None}


def absolute(path: PathLike) -> str:
    """The node stands elsewhere."""
    return os.path.abspath(os.fspath(path))


def milliseconds(moment: "datetime | int | None", name: str) -> int | None:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise UsageError(f"{name} has no time zone; write datetime.now(timezone.utc) or .astimezone()")
    return round(moment.timestamp() * 1000)


def attributes_of(attributes: Mapping[str, AttributeValue] | None) -> Params | None:
    if attributes is None:
        return None
    return {name: _attribute(name, value) for name, value in attributes.items()}


def _attribute(name: str, value: AttributeValue) -> Any:
    if isinstance(value, datetime | Time):
        return {"time": milliseconds(value, name) if isinstance(value, datetime) else int(value)}
    return value


def files_of(files: "Iterable[PathLike | IO[Any]] | None") -> list[str | Handed] | None:
    """Paths, and open files, which go with the request itself."""
    if isinstance(files, str | os.PathLike) or hasattr(files, "fileno"):
        raise UsageError("files is a list of paths or open files; put it into brackets")
    return None if files is None else [_file(file) for file in files]


def paths_of(files: "Iterable[PathLike] | None") -> list[str | Handed] | None:
    """The same where open files cannot be handed over."""
    found = files_of(files)
    if any(isinstance(file, Handed) for file in found or ()):
        raise UsageError("open files are handed over by connect(), not by connect_async(); give their paths")
    return found


def _file(file: "PathLike | IO[Any]") -> str | Handed:
    if isinstance(file, str | os.PathLike):
        return absolute(file)
    try:
        descriptor = file.fileno()
    except (AttributeError, OSError, ValueError):
        raise UsageError(f"a file is a path, or an open file of the system's; got {file!r:.80}") from None
    if file.writable():
        file.flush()  # the node reads what the disk has
    name = file.name if isinstance(file.name, str) else ""
    return Handed(descriptor, os.path.basename(name) or "file")
