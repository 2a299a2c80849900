"""Recorded contacts: a CSV of intervals (start_s,end_s,a,b) or The ONE's connection events, also gzipped.

Readers are strict: the first line that is not as it should be is named, and nothing is guessed. They are
bounded as well, for a trace may come from anywhere, and a small gzipped file can be very large inside. Only
who meets himself is passed over without a word: sensors record that now and then, and it means nothing.
"""

import gzip
import math
import re
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, cast

from contentdb.errors import UsageError
from evaluation.simulator.contacts import Contact, merged

CSV_HEADER = "start_s,end_s,a,b"
MAX_LINE_BYTES = 512
MAX_CONTACTS = 5_000_000  # some 1 GB in memory; the largest public traces of people have a tenth
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def read_trace(path: Path) -> list[Contact]:
    """The contacts in a file, in the order of time; which form it has is seen from its first line."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise UsageError(f"{path} is empty; expected contacts")
    is_csv = first[1] == CSV_HEADER
    contacts = _read_csv(path, lines) if is_csv else _read_one(path, chain([first], lines))
    if not contacts:
        raise UsageError(f"{path} has no contact in it")
    return merged(contacts)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with _opened(path) as file:
            for number in range(1, 2 * MAX_CONTACTS + 2):
                line = file.readline(MAX_LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > MAX_LINE_BYTES:
                    raise _wrong(path, number, f"longer than {MAX_LINE_BYTES} bytes")
                yield number, line.decode("ascii").rstrip("\r\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (EOFError, zlib.error):
        raise UsageError(f"cannot read {path}: it is not a whole gzip file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no contact trace: it is not plain text") from None
    raise UsageError(f"{path} has more lines than the {2 * MAX_CONTACTS:,} that are read")


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _read_csv(path: Path, lines: Iterator[tuple[int, str]]) -> list[Contact]:
    contacts = []
    for number, line in lines:
        fields = line.split(",")
        if len(fields) != 4:
            raise _wrong(path, number, f"expected {CSV_HEADER}; got {line!r:.80}")
        start_s, end_s = _seconds(path, number, fields[0]), _seconds(path, number, fields[1])
        if end_s <= start_s:
            raise _wrong(path, number, f"a contact ends after it starts; got {start_s:g} to {end_s:g}")
        one, two = _pair(path, number, fields[2], fields[3])
        if one != two:
            contacts.append(Contact(start_s, end_s, one, two))
        if len(contacts) > MAX_CONTACTS:
            raise _wrong(path, number, f"more than {MAX_CONTACTS:,} contacts")
    return contacts


def _read_one(path: Path, lines: Iterator[tuple[int, str]]) -> list[Contact]:
    contacts: list[Contact] = []
    began: dict[tuple[str, str], float] = {}
    last = 0.0
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        time, one, two, is_up = _event(path, number, line)
        if time < last:
            raise _wrong(path, number, f"time goes back from {last:g} to {time:g}")
        if is_up == ((one, two) in began):
            raise _wrong(path, number, f"{one} and {two} are {'up' if is_up else 'down'} already")
        last = time
        if is_up:
            began[one, two] = time
        elif (start_s := began.pop((one, two))) < time and one != two:  # at one moment nothing can pass
            contacts.append(Contact(start_s, time, one, two))
    lasting = [Contact(start_s, math.inf, one, two) for (one, two), start_s in began.items() if one != two]
    return contacts + lasting


def _event(path: Path, number: int, line: str) -> tuple[float, str, str, bool]:
    words = line.split()
    if len(words) != 5 or words[1] != "CONN" or words[4] not in ("up", "down"):
        expected = f"{CSV_HEADER!r} in the first line, or <time> CONN <a> <b> up|down"
        raise _wrong(path, number, f"expected {expected}; got {line!r:.80}")
    return _seconds(path, number, words[0]), *_pair(path, number, words[2], words[3]), words[4] == "up"


def _seconds(path: Path, number: int, text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise _wrong(path, number, f"expected seconds such as 12 or 12.5; got {text!r:.40}")
    return float(text)


def _pair(path: Path, number: int, one: str, two: str) -> tuple[str, str]:
    for name in (one, two):
        if _NAME.fullmatch(name) is None:
            raise _wrong(path, number, f"a name is 1 to 64 of A-Z a-z 0-9 _ . -; got {name!r:.80}")
    return (one, two) if one < two else (two, one)


def _wrong(path: Path, number: int, what: str) -> UsageError:
    return UsageError(f"{path}, line {number}: {what}")
