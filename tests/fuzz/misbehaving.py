"""Decoders that do what none may do, to see that each misdeed is found."""

import os
import time

from contentdb.errors import RemoteError
from tests.fuzz.decoders import Decoder


def raises(data: bytes) -> None:
    raise KeyError(len(data))


def is_slow(_data: bytes) -> None:
    start = time.process_time()
    while time.process_time() - start < 0.3:
        pass


def hangs(_data: bytes) -> None:
    while True:
        pass


def is_greedy(_data: bytes) -> None:
    len(b"x" * 2**25)


def is_endless(_data: bytes) -> None:
    bytearray(2**40)


_kept: list[bytes] = []


def leaks(_data: bytes) -> None:
    _kept.append(b"x" * 2**16)


def crashes(_data: bytes) -> None:
    os.abort()


def _examples() -> list[bytes]:
    return [b"abc" * 300]


DECODERS = tuple(
    Decoder(decode.__name__, decode, RemoteError, _examples)
    for decode in (raises, is_slow, hangs, is_greedy, is_endless, leaks, crashes)
)
