"""Writing to people whose terminal may be gone, closed or full: what was done stays done."""

import os
import sys
from typing import TextIO

# A message is a sentence; what is longer echoes something that nobody reads to its end.
MAX_MESSAGE_CHARACTERS = 2_000


def clipped(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else text[: MAX_MESSAGE_CHARACTERS - 1] + "…"


def printable(text: str) -> str:
    """Like words.clean, which a mistyped command need not load."""
    return "".join(c if c.isprintable() else " " for c in clipped(text))


def tell(text: str) -> None:
    """Write to standard error. If that fails there is nobody left to tell, and no reason to stop."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """What could not be written must not be tried again at exit, where Python would make it status 120."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
