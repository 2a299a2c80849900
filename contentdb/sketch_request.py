"""What a client asks with for cells, and how many of them the server's first answer should have.

The more two sets differ, the more the counts of their corresponding cells do. So an opening request carries
some counts, the *tallies*, from which the server estimates the difference: its first answer is then mostly
enough, and the exchange takes one round trip. A wrong estimate costs bytes or a second round trip, and never
gives a wrong result.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from contentdb.errors import RemoteError, UsageError
from contentdb.sketch import MAX_CELLS, SetFingerprint, Sketch
from contentdb.sketch_codec import HEADER, MAX_BLOCK_CELLS, VERSION, encode_header

# Sparse enough that 40,000 differing ids change no count by 256, dense enough that a single one shows.
TALLIES_FIRST, TALLIES_END = 32, 128
# A block of at least so many cells, and of a 16th of those before it, bounds the number of round trips.
LEAST_BLOCK_CELLS = 8


@dataclass(frozen=True, slots=True)
class CellRequest:
    """``number`` cells from ``first`` on; if it is 0, as many from cell 0 on as the tallies make likely."""

    first: int
    number: int
    fingerprint: SetFingerprint
    tallies: bytes = b""


def encode_opening(sketch: Sketch) -> bytes:
    """Ask for the first cells, as many as the server finds likely to be enough."""
    if len(sketch) < TALLIES_END:
        raise UsageError(f"asking needs a sketch of at least {TALLIES_END} cells; got {len(sketch)}")
    tallies = sketch.cells.counts[TALLIES_FIRST:TALLIES_END].tobytes()
    return encode_header(sketch.fingerprint, 0, 0) + tallies


def encode_continuation(fingerprint: SetFingerprint, first: int, end: int) -> bytes:
    """Ask for the cells ``first`` to ``end - 1``, after an answer that was not enough."""
    if not 0 < first < end <= MAX_CELLS or end - first > MAX_BLOCK_CELLS:
        raise UsageError(
            f"one may ask for up to {MAX_BLOCK_CELLS} of {MAX_CELLS} cells; got {first} to {end}"
        )
    return encode_header(fingerprint, first, end - first)


def decode_request(data: bytes) -> CellRequest:
    """Read a client's request. Raises RemoteError for what no client may ask."""
    if len(data) < HEADER.size:
        raise RemoteError(f"a request for cells has at least {HEADER.size} bytes; got {len(data)}")
    version, first, number, size, one, two = HEADER.unpack_from(data)
    if version != VERSION:
        raise RemoteError(f"requests for cells are of version {VERSION}; got {version}")
    if number > MAX_BLOCK_CELLS or first + number > MAX_CELLS or bool(first) != bool(number):
        raise RemoteError(f"nobody may ask for {number} cells from {first} on")
    expected = HEADER.size + (0 if number else TALLIES_END - TALLIES_FIRST)
    if len(data) != expected:
        raise RemoteError(f"this request for cells has {expected} bytes; got {len(data)}")
    return CellRequest(first, number, SetFingerprint(size, one, two), data[HEADER.size :])


def answer_cells(request: CellRequest, ours: Sketch) -> range:
    """Which of our cells to answer with; none at all, so only a summary, if both sets are equal.

    There may be more than our sketch has: then build a longer one from the ids, or answer with fewer (at
    least LEAST_BLOCK_CELLS and a 16th of ``first``).
    """
    if request.fingerprint == ours.fingerprint:
        return range(0)
    if request.number:
        return range(request.first, request.first + request.number)
    if len(ours) < TALLIES_END:
        raise UsageError(f"answering needs a sketch of at least {TALLIES_END} cells; got {len(ours)}")
    tallies = ours.cells.counts[TALLIES_FIRST:TALLIES_END]
    differences = array("B", [one - two & 255 for one, two in zip(request.tallies, tallies, strict=True)])
    likely = estimate(differences, TALLIES_FIRST, request.fingerprint.size - ours.size)
    wanted = min(first_cells(likely), MAX_BLOCK_CELLS)
    # A rebuild from all ids is dear, and what is at hand is most likely enough.
    return range(len(ours) if next_cells(likely) <= len(ours) < wanted else wanted)


def first_cells(differences: int) -> int:
    """Cells for about so many differences; 1.4 each are needed, the rest is for what the estimate misses."""
    return 19 * differences // 10 + 10


def next_cells(differences: int) -> int:
    """The same for an estimate from all cells of a first answer, which is much better."""
    return 3 * differences // 2 + 10


def estimate(counts: Sequence[int], first: int, lead: int) -> int:
    """About how many ids differ, from differences modulo 256 of the counts of cells ``first`` and on.

    ``lead`` is the difference of the sizes. A cell that holds each of d ids with probability p holds p*lead
    more of the one side, give or take; the square of give or take is d*p*(1-p) on average.
    """
    squares = spread = 0.0
    for index, count in enumerate(counts, first):
        p = 2 / (index + 2)
        off = (count - round(lead * p) + 128 & 255) - 128
        squares += off * off
        spread += p * (1 - p)
    return max(abs(lead), round(squares / spread) if spread else 0)
