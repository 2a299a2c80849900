"""Parameters of calls: what a call's own signature says is what is checked, by name and strictly."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from contentdb.attributes import MAX_INTEGER, MIN_INTEGER, AttributeValue, Time
from contentdb.openfile import OpenFile
from middleware.api.messages import CallError, Code

Check = Callable[[Any], Any]  # returns the value as the call wants it; None if it is of a wrong kind
Attributes = dict[str, AttributeValue]


class Passed(NamedTuple):
    """An open file that came through the socket: the how manieth of its connection, and what it is called."""

    number: int
    name: str


Files = list[Path | Passed | OpenFile]
MAX_LIST = 1_000


def _text(value: Any) -> str | None:
    if type(value) is not str:
        return None
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which nothing here could store
            return None
    return value


def _path(value: Any) -> Path | None:
    """Absolute, since the node stands elsewhere. It need not be text: file systems name as they like."""
    if type(value) is not str or "\0" in value or not Path(value).is_absolute():
        return None
    return Path(value)


def _file(value: Any) -> Path | Passed | None:
    if type(value) is not dict:
        return _path(value)
    if value.keys() != {"descriptor", "name"}:
        return None
    number, name = _number(value["descriptor"]), _text(value["name"])
    return Passed(number, name) if number is not None and name else None


def _number(value: Any) -> int | None:
    return value if type(value) is int and MIN_INTEGER <= value <= MAX_INTEGER else None


def _truth(value: Any) -> bool | None:
    return value if type(value) is bool else None


def _several(check: Check) -> Check:
    def checked(value: Any) -> list[Any] | None:
        if type(value) is not list or len(value) > MAX_LIST:
            return None
        found = [check(each) for each in value]
        return None if any(each is None for each in found) else found

    return checked


def _attributes(value: Any) -> Attributes | None:
    """Names and values; a time is written {"time": MILLISECONDS}, since JSON has none."""
    if type(value) is not dict or len(value) > MAX_LIST:
        return None
    found: Attributes = {}
    for name, each in value.items():
        kind = type(each)
        if kind is dict and each.keys() == {"time"} and _number(each["time"]) is not None:
            found[name] = Time(each["time"])
        elif kind is str:
            if _text(each) is None:
                return None
            found[name] = each
        elif kind in (int, float, bool):
            found[name] = each
        else:
            return None
    return found


# By annotation: the words for it, and the check.
KINDS: dict[Any, tuple[str, Check]] = {
    str: ("a string", _text),
    int: ("an integer of 64 bits", _number),
    bool: ("true or false", _truth),
    Path: ("an absolute path", _path),
    list[str]: (f"a list of up to {MAX_LIST} strings", _several(_text)),
    Files: (
        f'a list of up to {MAX_LIST} absolute paths or {{"descriptor": NUMBER, "name": NAME}}',
        _several(_file),
    ),
    Attributes: (
        'an object of strings, numbers, booleans and times, which are {"time": MILLISECONDS}',
        _attributes,
    ),
}
for _kind in list(KINDS):
    KINDS[_kind | None] = (KINDS[_kind][0] + " or null", KINDS[_kind][1])


class Parameters:
    """What one call takes: its keyword-only arguments, by their annotations and defaults."""

    def __init__(self, call: Callable[..., Any]) -> None:
        defaults: Mapping[str, Any] = call.__kwdefaults__ or {}
        names = call.__code__.co_varnames
        first = call.__code__.co_argcount
        own = names[first : first + call.__code__.co_kwonlyargcount]
        self.kinds = {name: call.__annotations__[name] for name in own}
        self._checks = {name: KINDS[kind] for name, kind in self.kinds.items()}
        self._nullable = {name for name in own if defaults.get(name, 0) is None}
        self.required = [name for name in own if name not in defaults]

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for name, value in given.items():
            check = self._checks.get(name)
            if check is None:
                known = ", ".join(self._checks) or "none"
                raise _wrong(f"there is no parameter {name[:80]!r}; there are: {known}")
            words, of = check
            converted = of(value)
            if converted is None and not (value is None and name in self._nullable):
                raise _wrong(f"{name} is {words}; got {_shown(value)}")
            found[name] = converted
        for name in self.required:
            if name not in found:
                raise _wrong(f"{name} is missing: {self._checks[name][0]}")
        return found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _wrong(message: str) -> CallError:
    return CallError(message, Code.WRONG_PARAMETERS)
