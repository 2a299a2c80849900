"""What it costs to learn how two large sets differ: bytes both ways, round trips, and time to decode.

Bytes are request, answers, and 8 for each id that is then asked for. Sketches are warm, as the store keeps
them; what a rebuild from all ids takes stands in a row of its own.
"""

import math
import statistics
from dataclasses import dataclass
from functools import partial
from random import Random

from contentdb.bloom import HEADER as BLOOM_HEADER
from contentdb.bloom import sized_for
from contentdb.sketch import MAX_WARM_CELLS, Sketch
from contentdb.sketch_codec import decode_cells, encode_cells
from contentdb.sketch_decoder import Decoder, Progress
from contentdb.sketch_request import answer_cells, decode_request, encode_continuation, encode_opening
from evaluation.benchmarks.harness import Row, row, seconds

FULL_IDS, QUICK_IDS = 1_000_000, 20_000
ID_BYTES = 8
# Differences, exchanges a round, bytes promised in all or for each difference, decoding time promised.
CASES = ((10, 40, 600, None), (1_000, 10, 31, 10), (10_000, 3, 31, 30))


@dataclass(frozen=True, slots=True)
class Exchange:
    bytes: int
    round_trips: int
    decoding_ms: float


def run(rounds: int, quick: bool) -> list[Row]:
    dice, number = Random(1), QUICK_IDS if quick else FULL_IDS
    ids = [dice.getrandbits(64) for _ in range(number)]
    cells = MAX_WARM_CELLS  # what the store keeps for a million ids; with --quick it would keep fewer
    cold_ms = [1e3 * seconds(lambda: Sketch.of(ids, cells)) for _ in range(min(rounds, 3))]
    common = Sketch.of(ids, cells)
    cases = [case for case in CASES if 2 * case[0] <= number // 10]
    results: dict[int, list[Exchange]] = {case[0]: [] for case in cases}
    for _ in range(rounds):
        for differences, repeats, _, _ in cases:
            results[differences] += [exchange(common, differences, dice) for _ in range(repeats)]
    rows = [line for case in cases for line in rows_of(number, case, results[case[0]])]
    rows.append(row(f"sketch of {number:,} ids from scratch, {cells:,} cells", cold_ms, "ms"))
    filter_bytes = BLOOM_HEADER.size + sized_for(number, 0.01).num_bits / 8
    rows.append(row(f"Bloom filter of {number:,} ids at 1 %, for comparison", [filter_bytes], "B"))
    return rows


def exchange(common: Sketch, differences: int, dice: Random) -> Exchange:
    """One client and one server that each have half of the differing ids for themselves."""
    only_ours = [dice.getrandbits(64) for _ in range(differences // 2)]
    only_theirs = [dice.getrandbits(64) for _ in range(differences - len(only_ours))]
    ours, theirs = common.copy(), common.copy()
    ours.insert_many(only_ours)
    theirs.insert_many(only_theirs)
    request, sent, trips, decoding_s = encode_opening(ours), 0, 0, 0.0
    decoder = Decoder(ours)
    while decoder.progress is Progress.MORE:
        answer = answered(theirs, request)
        sent, trips = sent + len(request) + len(answer), trips + 1
        decoding_s += seconds(partial(decoded, decoder, answer))
        if decoder.progress is Progress.MORE:
            request = encode_continuation(
                ours.fingerprint, decoder.received, min(decoder.next_end, len(ours))
            )
    if sorted(decoder.only_remote) != sorted(only_theirs) or len(decoder.only_local) != len(only_ours):
        raise AssertionError(f"the decoder told a wrong difference of {differences} ids")
    return Exchange(sent + ID_BYTES * len(only_theirs), trips, 1e3 * decoding_s)


def answered(theirs: Sketch, request: bytes) -> bytes:
    cells = answer_cells(decode_request(request), theirs)
    return encode_cells(theirs, cells.start, min(cells.stop, len(theirs)))


def decoded(decoder: Decoder, answer: bytes) -> None:
    decoder.feed(decode_cells(answer))


def rows_of(number: int, case: tuple[int, int, int, int | None], exchanges: list[Exchange]) -> list[Row]:
    differences, _, promised_bytes, promised_ms = case
    what = f"{number:,} ids, {differences:,} differences"
    # The information in so many random ids of 64 bits, which nobody can go below.
    bound = differences * (64 - math.log2(differences) + 1.44) / 8
    each, unit = (1, "B") if differences <= 10 else (differences, "B each")
    sizes = [done.bytes / each for done in exchanges]
    size = statistics.median(sizes)
    promise = {"promise": f"at most {promised_bytes} {unit}", "kept": size <= promised_bytes}
    rows = [
        row(
            f"{what}: bytes (ratio: to the least possible)", sizes, unit, ratio=size * each / bound, **promise
        )
    ]
    trips = [float(done.round_trips) for done in exchanges]
    rows.append(row(f"{what}: round trips", trips, "", promise="1", kept=statistics.median(trips) == 1))
    at_once = 100 * sum(count == 1 for count in trips) / len(trips)
    rows.append(row(f"{what}: done in one round trip", [at_once], "%"))
    times = [done.decoding_ms for done in exchanges]
    in_words: dict[str, object] = {}
    if promised_ms is not None:
        in_words = {"promise": f"at most {promised_ms} ms", "kept": statistics.median(times) <= promised_ms}
    rows.append(row(f"{what}: decoding", times, "ms", **in_words))
    return rows
