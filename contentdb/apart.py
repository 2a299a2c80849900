"""Reads foreign feeds in a process of its own, which is ended when it takes too long or too much.

The lenient parser forgives everything, and some documents of a megabyte or two keep it busy for hours: each
`<!--` that is never closed makes it read to the end. Whoever imports or mirrors waits so long and no longer.
"""

import copyreg
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

from contentdb.errors import UsageError
from contentdb.lenient import Found, read_leniently

# A feed of a megabyte takes a second or two; a phone or a busy machine may take ten times as long.
READ_S = 60.0
# The worst that is known takes two seconds at this size, and starting a process a quarter of one.
SMALL_BYTES = 65_536
MAX_MEMORY_BYTES = 2**30


def read_apart(data: bytes, at: int, address: str | None = None, patience_s: float = READ_S) -> Found | None:
    """As `read_leniently` does; a UsageError if it does not come to an end."""
    if len(data) <= SMALL_BYTES or not sys.executable:  # there is none inside another program, as on phones
        return read_leniently(data, at, address)
    here = str(Path(__file__).parent.parent)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-m", "contentdb.apart", str(at), address or ""],
            env={**os.environ, "PYTHONPATH": here},
            input=data,
            capture_output=True,
            timeout=patience_s,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"this takes longer than {patience_s:.0f} s to read, as no honest feed does"
        ) from None
    if done.returncode != 0:
        raise UsageError("this cannot be read: the feed parser gave up on it")
    found: Found | None = pickle.loads(done.stdout)  # written by our own code, in `main`
    return found


def main() -> None:
    """The process: the document comes in, what was found goes out."""
    _limit_memory()
    at, address = int(sys.argv[1]), sys.argv[2] or None
    found = read_leniently(sys.stdin.buffer.read(), at, address)
    # A view has no name to be pickled by.
    copyreg.dispatch_table[MappingProxyType] = lambda view: (dict, (dict(view),))
    sys.stdout.buffer.write(pickle.dumps(found))


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


if __name__ == "__main__":
    main()
