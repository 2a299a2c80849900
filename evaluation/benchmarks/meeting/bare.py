"""The bare pipeline that nobody can beat: receive, decrypt, SHA-256 and pwrite, with nothing around them."""

import multiprocessing
import os
import socket
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from contentdb.model import CHUNK_BYTES

PIECE = 3 * CHUNK_BYTES  # what our nodes put into one record
LENGTH_BYTES = 4


def bare_seconds(source: Path, copy: Path) -> float:
    """From connection to the last byte on disk: encrypted by one process, checked and written by another."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = multiprocessing.get_context("fork").Process(target=send_bare, args=(listener, source))
    sender.start()
    started = time.perf_counter()
    with socket.create_connection(listener.getsockname()) as stream:
        receive_bare(stream, copy)
    took = time.perf_counter() - started
    sender.join()
    listener.close()
    return took


def send_bare(listener: socket.socket, source: Path) -> None:
    cipher = ChaCha20Poly1305(bytes(32))
    stream, _ = listener.accept()
    with stream, source.open("rb") as file:
        number = 0
        while piece := file.read(PIECE):
            sealed = cipher.encrypt(number.to_bytes(12), piece, None)
            stream.sendall(len(sealed).to_bytes(LENGTH_BYTES) + sealed)
            number += 1


def receive_bare(stream: socket.socket, copy: Path) -> None:
    cipher = ChaCha20Poly1305(bytes(32))
    file = os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        at = 0
        for number, sealed in enumerate(_frames(stream)):
            piece = cipher.decrypt(number.to_bytes(12), sealed, None)
            for start in range(0, len(piece), CHUNK_BYTES):
                chunk = piece[start : start + CHUNK_BYTES]
                sha256(b"\0" + chunk).digest()
                at += os.pwrite(file, chunk, at)
        os.fdatasync(file)  # our nodes do it as well when a file is complete
    finally:
        os.close(file)


def _frames(stream: socket.socket) -> Iterator[memoryview]:
    buffer, start, end = bytearray(4 * PIECE), 0, 0
    view = memoryview(buffer)
    while True:
        while end - start >= LENGTH_BYTES:
            size = int.from_bytes(view[start : start + LENGTH_BYTES])
            if end - start < LENGTH_BYTES + size:
                break
            yield view[start + LENGTH_BYTES : start + LENGTH_BYTES + size]
            start += LENGTH_BYTES + size
        view[: end - start] = bytes(view[start:end])
        start, end = 0, end - start
        got = stream.recv_into(view[end:])
        if got == 0:
            return
        end += got
