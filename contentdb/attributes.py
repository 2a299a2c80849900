"""Attributes: the typed values that an entry carries for selectors, and what they may be called.

Times, here and everywhere in content, are integer Unix milliseconds.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import TypeAlias

from contentdb.errors import UsageError

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
# The years 1 to 9999: what can be written as a date.
MIN_TIME, MAX_TIME = -62_135_596_800_000, 253_402_300_799_999
MAX_ATTRIBUTES = 64
MAX_ATTRIBUTE_NAME_CHARACTERS = 64
MAX_ATTRIBUTE_VALUE_CHARACTERS = 4_096
# What a selector may ask of every entry and, where it exists, of a feed; attributes may not use these names.
BUILT_IN_IDENTIFIERS = (
    *("id", "feed", "title", "summary", "author", "author_name", "updated", "published", "expires"),
    *("size", "enclosures", "type", "language", "categories"),
)
# What a selector reads as its own words, in any case; a test holds this against its lexer.
RESERVED_WORDS = frozenset(
    ("AND", "BETWEEN", "ESCAPE", "FALSE", "IN", "IS", "LIKE", "NOT", "NULL", "OR", "TRUE")
)
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Time(int):
    """An attribute of type time: Unix milliseconds that Atom shows as a date."""


AttributeValue: TypeAlias = str | int | float | bool | Time


def check_attributes(attributes: Mapping[str, AttributeValue]) -> None:
    """Raise UsageError for a name a selector could not say or a value that has no type of ours."""
    if len(attributes) > MAX_ATTRIBUTES:
        raise UsageError(f"an entry has at most {MAX_ATTRIBUTES} attributes; got {len(attributes)}")
    for name, value in attributes.items():
        _check_name(name)
        if type(value) is not bool:
            _check_value(name, value)


# The names that apps in use here have given their attributes; each is at most 64 characters.
@lru_cache(maxsize=1024)
def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise UsageError(
            f"an attribute's name is a str; got {name!r}, which is of type {type(name).__name__}"
        )
    if not name.isidentifier() or len(name) > MAX_ATTRIBUTE_NAME_CHARACTERS:
        raise UsageError(f"an attribute's name is a word of letters, digits and _; got {name[:80]!r}")
    # The capitals of some other letters are ASCII; to a selector, words with them are names.
    if name.isascii() and name.upper() in RESERVED_WORDS:
        raise UsageError(f"{name!r} is a word of the selector language; give the attribute another name")
    if name in BUILT_IN_IDENTIFIERS:
        raise UsageError(f"{name!r} is built in; give the attribute another name")


def check_time(name: str, value: int) -> None:
    if not MIN_TIME <= value <= MAX_TIME:
        raise UsageError(f"{name!r} is in Unix milliseconds and within the years 1 to 9999; got {value}")


def _check_value(name: str, value: object) -> None:
    if isinstance(value, str):
        if len(value) > MAX_ATTRIBUTE_VALUE_CHARACTERS:
            raise UsageError(
                f"attribute {name!r} has {len(value)} characters; at most {MAX_ATTRIBUTE_VALUE_CHARACTERS}"
            )
        # XML can carry all that is printable, which is found out faster.
        if not value.isprintable() and _NOT_IN_XML.search(value):
            raise UsageError(
                f"attribute {name!r} contains a character that XML cannot carry; got {value[:80]!r}"
            )
    elif isinstance(value, float):
        if not isfinite(value):
            raise UsageError(f"attribute {name!r} must be a finite number; got {value}")
    elif isinstance(value, Time):
        check_time(name, value)
    elif isinstance(value, int):
        if not MIN_INTEGER <= value <= MAX_INTEGER:
            raise UsageError(f"attribute {name!r} must fit into 64 bits; got {value}")
    else:
        raise UsageError(
            f"attribute {name!r} is of type {type(value).__name__}; use str, int, float, bool or Time"
        )
