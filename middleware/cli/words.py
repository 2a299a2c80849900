"""How times, sizes and attributes are written by people and shown to them."""

import json
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from contentdb.attributes import (
    MAX_ATTRIBUTE_NAME_CHARACTERS,
    MAX_INTEGER,
    MIN_INTEGER,
    AttributeValue,
    Time,
)
from contentdb.errors import UsageError

_SPAN = re.compile(r"\+?(\d{1,9})\s*(s|m|min|h|d|w)")
_UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SIZE = re.compile(r"(\d{1,15})\s*(|k|m|g|t)i?b?", re.IGNORECASE)
_SIZE_UNIT = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_JOINERS = "\u200c\u200d"  # parts of words in some scripts, and of some emoji; they deceive nobody
MAX_TITLE_COLUMNS = 48
MIN_TITLE_COLUMNS = 12


def parse_when(text: str, now: int) -> int:
    """Milliseconds of `2026-12-24`, `2026-12-24T18:00`, `3d` or `+12h` (from now); a bare time is local."""
    span = _SPAN.fullmatch(text.strip())
    if span:
        return now + int(span[1]) * _UNIT_S[span[2]] * 1000
    moment = _parse_date(text.strip())
    if moment is None:
        raise UsageError(
            f"a time is a date (2026-12-24T18:00) or a span from now (90min, 12h, 3d); got {text!r}"
        )
    return moment


def _parse_date(text: str) -> int | None:
    if _DATE.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text).astimezone()  # without an offset: the time of this place
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError, OSError):
        return None


def parse_attribute(text: str) -> tuple[str, AttributeValue]:
    """`mood=calm`, `n=3`, `zip:string=01234`; without a type the value decides."""
    name, separator, value = text.partition("=")
    name, _, kind = name.partition(":")
    if not separator or not name:
        raise UsageError(f"an attribute is name=value or name:type=value; got {text[:200]!r}")
    if len(name) > MAX_ATTRIBUTE_NAME_CHARACTERS:
        raise UsageError(
            f"an attribute's name has at most {MAX_ATTRIBUTE_NAME_CHARACTERS} characters; "
            f"{name[:20]}... has {len(name)}"
        )
    if not kind:
        return name, _infer(name, value)
    converted = _convert(kind, value)
    if converted is None:
        kinds = "string, integer (64 bits), decimal, boolean or time"
        raise UsageError(f"attribute {name!r} cannot be read as {kind}: {value!r}; types are {kinds}")
    return name, converted


def dates_in(selector: str) -> list[tuple[str, int]]:
    """What looks like a date in a selector, which knows none, with the milliseconds it most likely means."""
    outside = re.sub(r"'[^']*'", "''", selector)
    found = [(text, _parse_date(text)) for text in re.findall(r"(?<![\w.])\d{4}-\d\d-\d\d(?![\w.])", outside)]
    return [(text, moment) for text, moment in found if moment is not None]


def _infer(name: str, value: str) -> AttributeValue:
    if _INTEGER.fullmatch(value) and _convert("integer", value) is None:
        # As a decimal it would lose digits without a word.
        raise UsageError(
            f"attribute {name!r} is an integer of more than 64 bits; "
            f"write {name}:string=... or {name}:decimal=..."
        )
    for kind in ("integer", "decimal", "boolean", "time"):
        converted = _convert(kind, value)
        if converted is not None:
            return converted
    return value


def _convert(kind: str, value: str) -> AttributeValue | None:
    if kind == "string":
        return value
    if kind == "integer" and _INTEGER.fullmatch(value) and len(value) <= 40:
        number = int(value)
        return number if MIN_INTEGER <= number <= MAX_INTEGER else None
    if kind == "decimal" and _DECIMAL.fullmatch(value):
        return float(value)
    if kind == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind == "time":
        moment = _parse_date(value)
        return None if moment is None else Time(moment)
    return None


def parse_size(text: str) -> int:
    """Bytes of `500k`, `20 MB`, `3GiB`; k, M, G and T are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"a size is a number with k, M, G or T, such as 20M; got {text!r}")
    return int(match[1]) * _SIZE_UNIT[match[2].lower()]


def show_size(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def show_time(milliseconds: int | None) -> str:
    """Local time to the minute, as people write it."""
    if milliseconds is None:
        return "-"
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)


def show_number(count: int, noun: str, plural: str | None = None) -> str:
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def show_attribute(value: AttributeValue) -> str:
    if isinstance(value, Time):
        return show_time(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_json(document: object, *, is_ascii: bool = False, indent: int | None = 2) -> str:
    """One document, legible; what could play tricks on a terminal stands there as an escape."""
    text = json.dumps(document, ensure_ascii=is_ascii, indent=indent)
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def clean(text: str) -> str:
    """A stranger's text on one line of a terminal: no control characters, no direction tricks."""
    return "".join(c if c.isprintable() or c in _JOINERS else " " for c in text)


def shorten(text: str, columns: int = MAX_TITLE_COLUMNS) -> str:
    """A title that leaves room for the other columns; the whole of it is in `get` and in JSON."""
    return clip(" ".join(clean(text).split()), columns)


def clip(line: str, columns: int) -> str:
    line = line[: 4 * columns]  # accents take no column, and a stranger may pile up thousands of them
    if _columns(line) <= columns:
        return line
    kept = line[:columns]
    while _columns(kept) >= columns:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def paragraphs(text: str, kind: str) -> list[str]:
    """The lines of a text; of markup, its words."""
    if kind in ("html", "xhtml"):
        from middleware.cli.markup import words_of

        text = words_of(text)
    elif kind != "text" and not kind.startswith("text/"):
        return [f"({kind}, {len(text)} characters; --json shows them)"]
    return [clean(line.rstrip()) for line in text.strip().splitlines()]


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> list[str]:
    """Columns under their titles. Where it is too wide for the terminal, titles of content give way first."""
    lines = [list(titles), *(list(row) for row in rows)]
    shown = aligned(lines)
    if width is None or max(map(_columns, shown)) <= width:
        return shown
    if "TITLE" in titles:
        column = titles.index("TITLE")
        room = max(map(_columns, (line[column] for line in lines))) - max(map(_columns, shown)) + width
        for line in lines[1:]:
            line[column] = shorten(line[column], max(room, MIN_TITLE_COLUMNS))
    return [clip(line, width) for line in aligned(lines)]


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    cleaned = [[clean(cell) for cell in line] for line in lines]
    widths = [max(map(_columns, column)) for column in zip(*cleaned, strict=True)]
    return ["  ".join(map(_padded, line, widths)).rstrip() for line in cleaned]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _columns(cell))


def _columns(text: str) -> int:
    """How wide a terminal shows it: East Asian characters take two columns, joiners and accents none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(c) or c in _JOINERS
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )
