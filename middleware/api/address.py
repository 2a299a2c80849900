"""Where a node's local socket is: a pointer in the home says it, to whoever may read the home.

    <home>/api.json     {"socket": "/tmp/ada/api.sock"}
                        {"host": "127.0.0.1", "port": 40123}          where there are no Unix sockets

The pointer is there while a node runs; one that was left by a kill leads to a socket that nobody answers.
Loaded by every short command, so it imports next to nothing.
"""

import json
import os
from contextlib import suppress

POINTER = "api.json"
SOCKET = "api.sock"
TOKENS = "tokens"
# sun_path has 108 bytes on Linux and 104 elsewhere, with a zero at the end.
MAX_SOCKET_PATH_BYTES = 100


def read_pointer(home: str) -> dict[str, object] | None:
    """Where to connect; None if no node has said so."""
    try:
        with open(os.path.join(home, POINTER), "rb") as file:
            found = json.loads(file.read(10_000))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_pointer(home: str, pointer: dict[str, object]) -> None:
    """Whole or not at all, and for the owner only."""
    temporary = os.path.join(home, f".{POINTER}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        json.dump(pointer, file)
    os.replace(temporary, os.path.join(home, POINTER))


def remove_pointer(home: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(home, POINTER))


def socket_path(home: str) -> str | None:
    """In the home; None if the path is longer than the system allows."""
    path = os.path.join(os.path.abspath(home), SOCKET)
    return path if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES else None


def read_token(home: str, app: str) -> str:
    """The token of an app, as far as this person may read it; empty if there is none."""
    try:
        with open(os.path.join(home, TOKENS, app), encoding="ascii") as file:
            return file.read(200).strip()
    except (OSError, ValueError):
        return ""
