"""Requests and answers of the dashboard as values, and the headers that every answer carries."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Self, TypeAlias
from urllib.parse import parse_qsl

from contentdb.errors import UsageError

# Nothing from outside, nothing inline, no frames, no forms that leave; strings never become script.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "media-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
EVERY_ANSWER = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
)
MAX_FIELDS = 16
Header: TypeAlias = tuple[str, str]


class Refused(Exception):
    """A request that gets nothing but this status and sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status

    @property
    def answer(self) -> "Answer":
        return Answer(self.status, f"{self}\n".encode())


@dataclass(frozen=True, slots=True)
class Request:
    """One request without its body. Names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: tuple[Header, ...]

    @classmethod
    def read(cls, method: str, target: str, headers: tuple[Header, ...]) -> Self:
        path, _, rest = target.partition("?")
        try:
            query = dict(parse_qsl(rest, keep_blank_values=True, max_num_fields=MAX_FIELDS))
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the address has too many fields") from None
        return cls(method, path, query, headers)

    def header(self, name: str) -> str | None:
        """The value, if it was sent exactly once: two Hosts or two tokens count as none."""
        values = [value for known, value in self.headers if known == name]
        return values[0] if len(values) == 1 else None


@dataclass(frozen=True, slots=True)
class Answer:
    status: HTTPStatus
    body: bytes = b""
    type: str = "text/plain; charset=utf-8"
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """A part of a file, from `first` on, `length` bytes."""

    path: Path
    first: int
    length: int
    type: str
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on until either side closes."""

    pieces: AsyncIterator[bytes]
    type: str = "text/event-stream"
    headers: tuple[Header, ...] = field(default=(("Cache-Control", "no-store"),))


Reply: TypeAlias = Answer | FileAnswer | Stream


def byte_range(text: str | None, length: int) -> tuple[int, int] | None:
    """(first, length) of a Range header, as far as the file has it; None if the whole is meant.

    Several ranges at once are answered with the whole file, which RFC 9110 allows.
    """
    if text is None or not text.startswith("bytes=") or "," in text:
        return None
    first, dash, last = text.removeprefix("bytes=").strip().partition("-")
    if not dash or not all(part.isascii() and (part.isdigit() or not part) for part in (first, last)):
        return None
    if len(first) > 18 or len(last) > 18:
        raise UsageError("no file is so long")
    if not first:
        wanted = min(int(last or 0), length)
        begin, end = length - wanted, length
    else:
        begin, end = int(first), min(int(last) + 1 if last else length, length)
    if begin >= end:
        raise UsageError(f"the file has {length} bytes")
    return begin, end - begin
