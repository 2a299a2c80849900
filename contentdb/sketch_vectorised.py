"""The cells of very many ids at once by numpy: the same cells as contentdb.sketch, bit for bit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contentdb.errors import UsageError
from contentdb.sketch import FACTOR, GOLDEN, MASK, WHOLE, Cells, SetFingerprint

if TYPE_CHECKING:
    from contentdb.sketch_decoder import Waiting

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Signs = NDArray[np.uint8]  # 1, and 255 for minus one: counts are kept modulo 256

# As many ids as keep their temporary columns inside the cache.
BATCH_IDS = 32_768


def mixed(z: Words) -> Words:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def lanes(ids: Words) -> tuple[Words, Words]:
    return mixed(ids + np.uint64(GOLDEN)), mixed(ids + np.uint64(2 * GOLDEN & MASK))


def insert_ids(cells: Cells, ids: Sequence[int]) -> SetFingerprint:
    """Insert all ids into the cells; returns the fingerprint they add."""
    try:
        words = np.asarray(ids, dtype=np.uint64)
    except (OverflowError, TypeError) as wrong:
        raise UsageError(f"a short id is an integer of 64 bits: {wrong}") from None
    total = SetFingerprint()
    for start in range(0, len(words), BATCH_IDS):
        total += _insert_batch(cells, words[start : start + BATCH_IDS])
    return total


def _insert_batch(cells: Cells, ids: Words) -> SetFingerprint:
    first, second = lanes(ids)
    columns = Columns(cells)
    columns.spread(
        Symbols(ids, (second >> np.uint64(32)).astype(np.uint32), np.ones(len(ids), np.uint8), first)
    )
    return SetFingerprint(len(ids), int(first.sum(dtype=np.uint64)), int(second.sum(dtype=np.uint64)))


class Symbols:
    """Ids on their way through the cells, each with its check, sign, generator's state and next index."""

    __slots__ = ("checks", "ids", "index", "signs", "states")

    def __init__(self, ids: Words, checks: NDArray[np.uint32], signs: Signs, first: Words) -> None:
        self.ids, self.checks, self.signs = ids, checks, signs
        self.states: Words = first | np.uint64(1)
        self.index: Numbers = np.zeros(len(ids), np.int64)

    @classmethod
    def waiting(cls, rows: "Waiting") -> "Symbols":
        """Views of the rows: moving these symbols moves the rows."""
        ids, states = np.frombuffer(rows.ids, np.uint64), np.frombuffer(rows.states, np.uint64)
        symbols = cls(ids, np.frombuffer(rows.checks, np.uint32), np.frombuffer(rows.signs, np.uint8), states)
        symbols.states, symbols.index = states, np.frombuffer(rows.index, np.int64)
        return symbols


class Columns:
    """Views of the memory of some cells. While one lives, the cells cannot grow."""

    __slots__ = ("checks", "counts", "ids")

    def __init__(self, cells: Cells) -> None:
        self.ids = np.frombuffer(cells.ids, np.uint64)
        self.checks = np.frombuffer(cells.checks, np.uint32)
        self.counts = np.frombuffer(cells.counts, np.uint8)

    def spread(self, symbols: Symbols) -> list[Numbers]:
        """XOR each symbol into its cells from its index on; returns the cells touched."""
        touched: list[Numbers] = []
        moving = np.flatnonzero(symbols.index < len(self.ids))
        while moving.size:
            here = symbols.index[moving]
            np.bitwise_xor.at(self.ids, here, symbols.ids[moving])
            np.bitwise_xor.at(self.checks, here, symbols.checks[moving])
            np.add.at(self.counts, here, symbols.signs[moving])
            touched.append(here)
            states = symbols.states[moving] * np.uint64(FACTOR)
            following = ((here + 1.5) * np.sqrt(WHOLE / states.astype(np.float64)) - 0.5).astype(np.int64)
            symbols.states[moving], symbols.index[moving] = states, following
            moving = moving[following < len(self.ids)]
        return touched

    def single(self, queue: Numbers) -> tuple[Words, Signs]:
        """The ids, each once and with its sign, of those queued cells that hold exactly one id."""
        queue = queue[self._may_be_single(queue)]
        queue = queue[(lanes(self.ids[queue])[1] >> np.uint64(32)) == self.checks[queue]]
        ids, at = np.unique(self.ids[queue], return_index=True)
        return ids, self.counts[queue[at]]

    def candidates(self, touched: list[Numbers]) -> list[int]:
        if not touched:
            return []
        cells = np.concatenate(touched)
        queue: list[int] = np.unique(cells[self._may_be_single(cells)]).tolist()
        return queue

    def _may_be_single(self, cells: Numbers) -> NDArray[np.bool_]:
        counts = self.counts[cells]
        answer: NDArray[np.bool_] = (counts == 1) | (counts == 255)
        return answer


class Wave(NamedTuple):
    """What one step of peeling gave: ids with their signs, their fingerprint, the cells to look at next."""

    found: dict[int, int]
    change: SetFingerprint
    queue: list[int]


def peel_wave(cells: Cells, queue: list[int], waiting: "Waiting") -> Wave:
    """Take all ids out that the queued cells give away, in one step."""
    columns = Columns(cells)
    ids, signs = columns.single(np.array(queue, np.int64))
    first, second = lanes(ids)
    symbols = Symbols(ids, (second >> np.uint64(32)).astype(np.uint32), -signs, first)
    touched = columns.spread(symbols)
    waiting.ids.frombytes(symbols.ids.tobytes())
    waiting.checks.frombytes(symbols.checks.tobytes())
    waiting.signs.frombytes(symbols.signs.tobytes())
    waiting.states.frombytes(symbols.states.tobytes())
    waiting.index.frombytes(symbols.index.tobytes())
    plain = signs.view(np.int8).astype(np.int64)
    factors = plain.view(np.uint64)  # two's complement: -1 times x is minus x modulo 2**64
    change = SetFingerprint(int(plain.sum()), int((first * factors).sum()), int((second * factors).sum()))
    return Wave(dict(zip(ids.tolist(), plain.tolist(), strict=True)), change, columns.candidates(touched))


def catch_up(cells: Cells, waiting: "Waiting") -> None:
    """Take ids found earlier out of cells that have come since."""
    columns, symbols = Columns(cells), Symbols.waiting(waiting)
    columns.spread(symbols)
