"""Finds the difference of two sets from their cells, block by block, or says that it cannot.

The peer's cells minus ours are the cells of the difference alone. A cell with one id in it gives that id
away; taking the id out of its other cells leaves new cells with one id, until nothing is left. Each block
continues where the last one stopped, so the work follows the cells received, not their square.
"""

from array import array
from enum import Enum, auto

from contentdb.errors import RemoteError, UsageError
from contentdb.sketch import MASK, MAX_CELLS, Cells, SetFingerprint, Sketch, lanes, vectorisable
from contentdb.sketch_codec import MAX_BLOCK_CELLS, CellBlock
from contentdb.sketch_request import LEAST_BLOCK_CELLS, TALLIES_FIRST, estimate, next_cells

# A count modulo 256 that may stand for one id: what only the peer has, and what only we have.
SIGNS = {1: 1, 255: -1}


class Progress(Enum):
    MORE = auto()  # feed the next block
    DECODED = auto()  # only_local and only_remote are exact
    FAILED = auto()  # fall back to another way; reason says why


class Decoder:
    """Takes the peer's cells in growing blocks and tells what only one side has.

        decoder, answer = Decoder(ours), ask(encode_opening(ours))
        while decoder.feed(decode_cells(answer)) is Progress.MORE:
            answer = ask(encode_continuation(ours.fingerprint, decoder.received, decoder.next_end))

    Bounded whatever the peer sends: at most ``limit`` cells, at most one id for each, no id twice. The
    result is given out only if it turns our fingerprint exactly into the peer's.
    """

    def __init__(self, local: Sketch) -> None:
        self._local = local.copy()  # a copy: entries may arrive while the peer still sends
        self._remote: SetFingerprint | None = None
        self._cells = Cells.zero(0)
        self._found: dict[int, int] = {}  # id to +1 (only the peer has it) or -1 (only we have it)
        self._change = SetFingerprint()
        self._waiting = Waiting()
        self._estimate = 0
        self.progress = Progress.MORE
        self.reason = ""

    @property
    def received(self) -> int:
        """How many cells were taken: the next block begins with the cell of this number."""
        return len(self._cells)

    @property
    def own_cells(self) -> int:
        """How many cells our own sketch has; for a block that ends later, call ``lengthen`` first."""
        return len(self._local)

    @property
    def limit(self) -> int:
        """After so many cells without success another way is cheaper."""
        sizes = self._local.size + (self._remote.size if self._remote else 0)
        return min(MAX_CELLS, 3 * sizes // 2 + 64)

    @property
    def next_end(self) -> int:
        """Where the next block should end."""
        # An eighth more at least: an estimate that was too low must not cost many round trips.
        wanted = max(next_cells(self._estimate), self.received + max(LEAST_BLOCK_CELLS, self.received // 8))
        return min(wanted, self.received + MAX_BLOCK_CELLS, self.limit)

    @property
    def only_local(self) -> list[int]:
        return self._side(-1)

    @property
    def only_remote(self) -> list[int]:
        return self._side(1)

    def lengthen(self, longer: Sketch) -> Progress:
        """Go on with more cells of our own set; fails if the set has changed since the decoder was made."""
        if longer.fingerprint != self._local.fingerprint:
            return self._fail("our own set changed during the exchange")
        self._local = longer.copy()
        return self.progress

    def feed(self, block: CellBlock) -> Progress:
        """Take the next block. Raises RemoteError if it is not the next one, or is uselessly small."""
        if self.progress is not Progress.MORE:
            raise UsageError(f"this exchange is over ({self.progress.name}); make a new decoder")
        self._remote = self._remote or block.fingerprint
        if block.fingerprint != self._remote:
            return self._fail("the peer's set changed during the exchange")
        if self._remote == self._local.fingerprint:
            self.progress = Progress.DECODED
            return self.progress
        if abs(self._remote.size - self._local.size) > self.limit:
            return self._fail(f"the sets differ in more than {self.limit} ids")
        self._take(block)
        return self.progress

    def _take(self, block: CellBlock) -> None:
        assert self._remote is not None
        end = min(block.end, self.limit)
        least = max(LEAST_BLOCK_CELLS, self.received // 16)
        if block.first != self.received or block.end < min(self.received + least, self.limit):
            raise RemoteError(
                f"expected at least {least} cells from {self.received} on; "
                f"got {len(block.cells)} from {block.first}"
            )
        if end > len(self._local):
            raise UsageError(f"our sketch has {len(self._local)} cells; lengthen it to {end} first")
        start = self.received
        more = block.cells.part(0, end - start).minus(self._local.cells.part(start, end))
        if start == 0:
            steady = min(TALLIES_FIRST, end // 4)  # the first few cells hold so much that they tell little
            self._estimate = estimate(more.counts[steady:], steady, self._remote.size - self._local.size)
        self._grow(more)
        counts = self._cells.counts
        if not self._peel([index for index in range(start, end) if counts[index] in SIGNS]):
            self._fail("the peer's cells contradict themselves")
        else:
            self._judge()

    def _grow(self, more: Cells) -> None:
        """Append cells, and take out of them what was found in earlier ones."""
        self._cells.ids.extend(more.ids)
        self._cells.checks.extend(more.checks)
        self._cells.counts.extend(more.counts)
        if vectorisable(len(self._waiting)):
            from contentdb.sketch_vectorised import catch_up

            catch_up(self._cells, self._waiting)
        else:
            self._waiting.catch_up(self._cells)

    def _peel(self, queue: list[int]) -> bool:
        """Take out every id that a queued cell gives away; False if no set has such cells."""
        while queue:
            if vectorisable(len(queue)):
                if not self._peel_wave(queue):
                    return False
            elif not self._peel_one(queue.pop(), queue):
                return False
        return True

    def _peel_one(self, index: int, queue: list[int]) -> bool:
        cells = self._cells
        sign, id = SIGNS.get(cells.counts[index], 0), cells.ids[index]
        if not sign:
            return True
        first, second = lanes(id)
        if second >> 32 != cells.checks[index]:
            return True
        # A cell outside the mapping of its id would give the id away again and again, for ever.
        if id in self._found or len(self._found) >= len(cells):
            return False
        self._found[id] = sign
        self._change += SetFingerprint(sign, sign * first & MASK, sign * second & MASK)
        touched: list[int] = []
        place = cells.spread(id, second >> 32, -sign, (first | 1, 0), touched)
        self._waiting.add(id, second >> 32, -sign, place)
        counts = cells.counts
        queue.extend([index for index in touched if counts[index] in SIGNS])
        return True

    def _peel_wave(self, queue: list[int]) -> bool:
        """All queued cells in one step of numpy; leaves in the queue those that came up."""
        from contentdb.sketch_vectorised import peel_wave

        wave = peel_wave(self._cells, queue, self._waiting)
        queue[:] = wave.queue
        if len(self._found) + len(wave.found) > len(self._cells) or not self._found.keys().isdisjoint(
            wave.found
        ):
            return False
        self._found.update(wave.found)
        self._change += wave.change
        return True

    def _judge(self) -> None:
        cells = self._cells
        assert self._remote is not None
        if cells.ids[0] or cells.checks[0] or cells.counts[0]:  # every id is in cell 0
            if self.received >= self.limit:
                self._fail(f"the difference does not show in {self.received} cells")
        elif not cells.is_zero():
            self._fail("the peer's cells contradict themselves")
        elif self._local.fingerprint + self._change != self._remote:
            self._fail("the difference does not lead to the peer's fingerprint")
        else:
            self.progress = Progress.DECODED

    def _fail(self, reason: str) -> Progress:
        self.progress, self.reason = Progress.FAILED, reason
        return self.progress

    def _side(self, sign: int) -> list[int]:
        if self.progress is not Progress.DECODED:
            raise UsageError("there is no difference to tell before the decoder says DECODED")
        return [id for id, found in self._found.items() if found == sign]


class Waiting:
    """Ids already found, each with the place where it goes on in cells that have not come yet."""

    __slots__ = ("checks", "ids", "index", "signs", "states")

    def __init__(self) -> None:
        self.ids, self.checks, self.signs = array("Q"), array("I"), array("b")
        self.states, self.index = array("Q"), array("q")

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, id: int, check: int, sign: int, place: tuple[int, int]) -> None:
        self.ids.append(id)
        self.checks.append(check)
        self.signs.append(sign)
        self.states.append(place[0])
        self.index.append(place[1])

    def catch_up(self, cells: Cells) -> None:
        for row, index in enumerate(self.index):
            if index < len(cells):
                self.states[row], self.index[row] = cells.spread(
                    self.ids[row], self.checks[row], self.signs[row], (self.states[row], index)
                )
