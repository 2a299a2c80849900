"""A file of one gigabyte is never in memory, whatever is done with it."""

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 2**20
# Leaf hashes of a gigabyte are 2 MiB, a few copies of them are made, and pieces of files are up to 1 MiB.
MOST_BYTES = 32 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the most memory that a process had")
def test_a_gigabyte_goes_through_every_path_in_little_memory(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.contentdb.large_file", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    grown = {step: int(count) for step, count in map(str.split, run.stdout.splitlines())}
    assert list(grown) == ["publish", "receive", "verify", "export", "control"]
    # The same watch sees 64 MiB that are kept on purpose.
    assert grown.pop("control") > 60 * MIB
    assert max(grown.values()) < MOST_BYTES, grown
