"""How fast received chunks are verified, written and marked, against SHA-256 and pwrite alone."""

import argparse
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

from contentdb.blobs import DiskBlobs
from contentdb.chunking import HASH_BYTES, MAX_RANGE_HASHES, chunk_count, leaves_of, root_of
from contentdb.model import CHUNK_BYTES
from evaluation.benchmarks.harness import Row, as_json, as_table, interleaved, row, seconds

FULL_BYTES = 64 * 2**20
QUICK_BYTES = 8 * 2**20
PROMISED = 0.6


def run(rounds: int, quick: bool) -> list[Row]:
    data = random.Random(1).randbytes(QUICK_BYTES if quick else FULL_BYTES)
    chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    leaves = leaves_of(data)
    folder = Path(tempfile.mkdtemp(prefix="passerby-bench-"))
    in_order = list(range(1, len(chunks) + 1))
    shuffled = random.Random(2).sample(in_order, len(in_order))
    try:
        measured: dict[str, Callable[[], float]] = {}
        for order, numbers in (("in order", in_order), ("shuffled", shuffled)):
            measured[f"{order}, raw"] = partial(raw_rate, folder, chunks, numbers)
            measured[f"{order}, ours"] = partial(our_rate, folder, chunks, numbers, leaves)
        measured["read"] = partial(read_rate, folder, data)
        return rows_from(interleaved(measured, rounds))
    finally:
        shutil.rmtree(folder)


def rows_from(rates: dict[str, list[float]]) -> list[Row]:
    rows = []
    for order in ("in order", "shuffled"):
        raw, ours = rates[f"{order}, raw"], rates[f"{order}, ours"]
        ratio = statistics.median(ours) / statistics.median(raw)
        rows.append(row(f"SHA-256 + pwrite alone, {order}", raw, "MB/s"))
        promised = {"promise": f"at least {PROMISED} x alone", "ratio": ratio, "kept": ratio >= PROMISED}
        rows.append(row(f"chunk write path, {order}", ours, "MB/s", **promised))
    rows.append(row("chunk read path", rates["read"], "MB/s"))
    return rows


def raw_rate(folder: Path, chunks: list[bytes], numbers: list[int]) -> float:
    path = folder / "raw"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def write_all() -> None:
        for number in numbers[:-1]:
            sha256(chunks[number - 1]).digest()
            os.pwrite(fd, chunks[number - 1], (number - 1) * CHUNK_BYTES)

    took_s = seconds(write_all)
    os.close(fd)
    path.unlink()
    return megabytes(len(numbers) - 1) / took_s


def our_rate(folder: Path, chunks: list[bytes], numbers: list[int], leaves: bytes) -> float:
    """All chunks but one: the last would wait for the disk, which the raw writes do not either."""
    blobs, root = DiskBlobs(folder / "blobs"), root_of(leaves)
    length = sum(map(len, chunks))
    blobs.begin(root, length)
    for first in range(1, chunk_count(length) + 1, MAX_RANGE_HASHES):
        at = (first - 1) * HASH_BYTES
        blobs.set_leaves(root, first, leaves[at : at + MAX_RANGE_HASHES * HASH_BYTES])

    def write_all() -> None:
        for number in numbers[:-1]:
            blobs.write_chunk(root, number, chunks[number - 1])

    took_s = seconds(write_all)
    blobs.remove(root)
    return megabytes(len(numbers) - 1) / took_s


def read_rate(folder: Path, data: bytes) -> float:
    blobs = DiskBlobs(folder / "blobs")
    root, length = blobs.add_bytes(data)

    def read_all() -> None:
        for number in range(1, chunk_count(length) + 1):
            blobs.read_chunk(root, number)

    took_s = seconds(read_all)
    blobs.remove(root)
    return megabytes(chunk_count(length)) / took_s


def megabytes(chunks: int) -> float:
    return chunks * CHUNK_BYTES / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = run(asked.rounds, asked.quick)
    print(as_json(rows) if asked.json else as_table(rows))


if __name__ == "__main__":
    main()
