"""A process killed at any moment loses no enclosure byte that it had been told was kept."""

import random
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from contentdb.blobs import DiskBlobs
from contentdb.chunking import leaves_of, root_of
from contentdb.model import CHUNK_BYTES

CHUNKS = 400
# The child says what it did only after the call has returned: that is what must be there later.
RECEIVER = """
import random, sys
from pathlib import Path
from contentdb.blobs import DiskBlobs
from contentdb.chunking import leaves_of, root_of
from contentdb.model import CHUNK_BYTES
folder, seed, chunks = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
data = random.Random(seed).randbytes(chunks * CHUNK_BYTES)
leaves = leaves_of(data)
root, blobs = root_of(leaves), DiskBlobs(folder)
blobs.recover()
blobs.begin(root, len(data))
blobs.set_leaves(root, 1, leaves)
order = [index for run in blobs.missing(root) for index in run]
random.Random(seed).shuffle(order)
for number, index in enumerate(order):
    blobs.write_chunk(root, index, data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES])
    print("written", index, flush=True)
    if number % 25 == 24:
        blobs.flush()
"""
PUBLISHER = """
import random, sys
from pathlib import Path
from contentdb.blobs import DiskBlobs
blobs, dice = DiskBlobs(Path(sys.argv[1])), random.Random(int(sys.argv[2]))
blobs.recover()
for number in range(1000):
    print("added", blobs.add_bytes(dice.randbytes(dice.randrange(200_000)))[0], flush=True)
"""


def killed_after(lines: int, moment: int, script: str, *arguments: object) -> list[str]:
    """Run the script, kill it some moment after so many lines, return all it had said until then."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(lines)]
        sha256(bytes(moment))  # takes as long as writing some chunks, or a part of one
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
    return [line.split()[1] for line in said if line.endswith("\n")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.mark.parametrize("seed", range(8))
def test_a_receiver_killed_at_any_moment_loses_no_chunk_it_had_written(folder: Path, seed: int) -> None:
    data, dice = random.Random(seed).randbytes(CHUNKS * CHUNK_BYTES), random.Random(seed)
    root, written = root_of(leaves_of(data)), set[int]()
    for _ in range(2):
        said = killed_after(
            dice.randrange(1, CHUNKS // 3), dice.randrange(10**6), RECEIVER, folder, seed, CHUNKS
        )
        written |= set(map(int, said))
        blobs = DiskBlobs(folder)
        blobs.recover()
        assert written <= {index for run in blobs.have(root) for index in run}
        assert blobs.verify(root) == []
        blobs.close()
    for index in [index for run in blobs.missing(root) for index in run]:
        blobs.write_chunk(root, index, data[(index - 1) * CHUNK_BYTES : index * CHUNK_BYTES])
    assert blobs.path(root).read_bytes() == data
    blobs.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_publisher_killed_at_any_moment_keeps_all_it_had_published(folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    said = killed_after(dice.randrange(1, 60), dice.randrange(10**7), PUBLISHER, folder, seed)
    blobs = DiskBlobs(folder)
    blobs.recover()
    assert set(said) <= set(blobs.roots())
    assert all(blobs.is_complete(root) and blobs.verify(root) == [] for root in blobs.roots())
    assert not any((folder / "tmp").iterdir())
    blobs.close()
