"""What an app says becomes the parameters of a call: the same for blocking and for asyncio."""

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from contentdb.attributes import Time
from contentdb.errors import UsageError

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


def files_of(files: "Iterable[PathLike] | None") -> list[str] | None:
    if isinstance(files, str | os.PathLike):
        raise UsageError("files is a list of paths; put the path into brackets")
    return None if files is None else [absolute(path) for path in files]
