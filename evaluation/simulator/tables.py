"""Reads a TOML document strictly: every key is known, every value of its kind, every error names its key."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from contentdb.errors import UsageError


class Table:
    """One table of the document. Take what it may hold, then say `done`: what is left is a mistake."""

    def __init__(self, values: Any, path: str = "") -> None:
        if not isinstance(values, dict):
            raise UsageError(f"{path} is a table: write [{path}] and its keys below it")
        self._values: Mapping[str, Any] = values
        self._path = path
        self._taken: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def names(self) -> list[str]:
        """Its keys, where they are names that the writer chose."""
        return list(self._values)

    def done(self) -> None:
        for key in self._values:
            if key not in self._taken:
                known = ", ".join(self._taken)
                raise UsageError(f"there is no key {self.name(key)}; there are {known}")

    def name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def wrong(self, key: str, expected: str) -> UsageError:
        shown = repr(self._values.get(key))
        return UsageError(f"{self.name(key)} is {expected}; got {shown:.60}")

    def _take(self, key: str, default: Any) -> Any:
        self._taken[key] = None
        if key not in self._values and default is None:
            raise UsageError(f"{self.name(key)} is missing")
        return self._values.get(key, default)

    def number(
        self, key: str, default: float | None = None, *, least: float = 0.0, most: float = 1e9
    ) -> float:
        value = self._take(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or not least <= value <= most:
            raise self.wrong(key, f"a number from {least:g} to {most:g}")
        return float(value)

    def whole(self, key: str, default: int | None = None, *, least: int = 0, most: int = 10**9) -> int:
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(key, f"a whole number from {least} to {most}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def choice(self, key: str, allowed: Iterable[str], default: str | None = None) -> str:
        value = self._take(key, default)
        if value not in allowed:
            raise self.wrong(key, " or ".join(allowed))
        return str(value)

    def texts(self, key: str, default: list[str] | None = None) -> tuple[str, ...]:
        value = self._take(key, default)
        if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
            raise self.wrong(key, 'a list of names, such as ["all"]')
        return tuple(value)

    def value(self, key: str, default: Any) -> Any:
        """Whatever stands there, for who checks it alone."""
        return self._take(key, default)

    def rows(self, key: str) -> list[Any]:
        value = self._take(key, None)
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def table(self, key: str) -> "Table":
        """The table below this key, empty if there is none."""
        return Table(self._take(key, {}), self.name(key))

    def plain(self, key: str) -> dict[str, Any]:
        """The same as it stands, for who knows its keys."""
        table = self.table(key)
        return dict(table._values)

    def tables(self, key: str) -> "list[Table]":
        """The tables of [[key]], counted from 1 in what is said of them."""
        value = self._take(key, [])
        if not isinstance(value, list):
            raise UsageError(f"{self.name(key)} is a list of tables: write [[{self.name(key)}]]")
        return [Table(each, f"{self.name(key)}[{at}]") for at, each in enumerate(value, start=1)]
