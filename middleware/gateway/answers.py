"""What servers of the web say in headers and bodies, read with bounds and without believing it."""

import re
import zlib
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime

from contentdb.errors import RemoteError

DAY_S = 86_400
# Whoever says "come back in a year" means "never", which the owner should see rather than wait for.
MAX_RETRY_S = 7 * DAY_S
MAX_VALIDATOR_CHARACTERS = 1_000
_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)")
_PIECE_BYTES = 65_536


class FetchError(RemoteError):
    """What was asked for did not come. `is_final`: asking again is of no use."""

    def __init__(self, message: str, *, is_final: bool = False, retry_s: int | None = None) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.retry_s = retry_s


def status_problem(url: str, status: int, retry_after: str | None, at: int) -> FetchError:
    """A sentence for an answer that is none, and whether another try makes sense."""
    wait_s = parse_retry_after(retry_after, at) if status in (429, 503) else None
    is_final = 400 <= status < 500 and status not in (408, 425, 429)
    words = {401: "wants credentials, and none are ever sent", 404: "is not there", 410: "is gone for good"}
    reason = words.get(status, f"was answered with status {status}")
    return FetchError(f"{url} {reason}", is_final=is_final, retry_s=wait_s)


def parse_retry_after(text: str | None, at: int) -> int | None:
    """Seconds to wait, from a number or a date; None if there is nothing to be read."""
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:10]), MAX_RETRY_S)
    try:
        moment = parsedate_to_datetime(text)
        seconds = int(moment.timestamp()) - at // 1000
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return min(max(seconds, 0), MAX_RETRY_S)


def parse_range(text: str | None) -> tuple[int, int | None] | None:
    """Of a Content-Range: where it starts, and the length of the whole if that is told."""
    match = _RANGE.fullmatch((text or "").strip())
    if match is None or int(match[2]) < int(match[1]):
        return None
    return int(match[1]), None if match[3] == "*" else int(match[3])


def parse_length(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def validator(text: str | None) -> str | None:
    """A header that we may say back to its server: short, and one line of visible characters."""
    text = (text or "").strip()
    is_fit = 0 < len(text) <= MAX_VALIDATOR_CHARACTERS and text.isascii() and text.isprintable()
    return text if is_fit else None


def bounded(pieces: Iterable[bytes], limit: int, url: str) -> Iterator[bytes]:
    """The pieces, until there are too many bytes of them."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > limit:
            raise FetchError(f"{url} is larger than {limit} bytes", is_final=True)
        yield piece


def gunzipped(pieces: Iterable[bytes], url: str) -> Iterator[bytes]:
    """Decompress a bit at a time, so that who stops asking stops a bomb."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        for piece in pieces:
            while piece:
                yield inflate.decompress(piece, _PIECE_BYTES)
                piece = inflate.unconsumed_tail
            if inflate.eof:
                return
    except zlib.error:
        raise FetchError(f"{url} sent something that is not gzip") from None
    if not inflate.eof:
        raise FetchError(f"{url} stopped in the middle")
