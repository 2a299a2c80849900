"""Two peers learn exactly how their sets differ, or that they cannot; whatever a hostile one sends."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from contentdb.sketch import MASK, MAX_CELLS, MAX_IDS, Cells, SetFingerprint, Sketch, warm_cells
from contentdb.sketch_codec import CellBlock, decode_cells, encode_cells, encode_summary
from contentdb.sketch_decoder import Decoder, Progress
from contentdb.sketch_request import (
    answer_cells,
    decode_request,
    encode_continuation,
    encode_opening,
)

short_ids = st.integers(0, MASK)
id_sets = st.sets(short_ids, max_size=80)
Ask = Callable[[bytes], bytes]


def some_ids(seed: int, number: int) -> set[int]:
    dice = Random(seed)
    return {dice.getrandbits(64) for _ in range(number)}


def sketch_of(ids: set[int], cells: int = 0) -> Sketch:
    return Sketch.of(sorted(ids), cells or warm_cells(len(ids)))


def server(ids: set[int], sketch: Sketch | None = None) -> Ask:
    """Answers each request by itself, from the set alone."""

    def answer(request: bytes) -> bytes:
        ours = sketch or sketch_of(ids)
        asked = decode_request(request)
        wanted = answer_cells(asked, ours)
        if not wanted:
            return encode_summary(ours.fingerprint)
        if wanted.stop > len(ours):
            ours = sketch_of(ids, wanted.stop)
        return encode_cells(ours, wanted.start, wanted.stop)

    return answer


def exchange(ids: set[int], ask: Ask) -> tuple[Decoder, int]:
    """What a client does; returns its decoder and the number of round trips."""
    ours = sketch_of(ids)
    decoder, answer, trips = Decoder(ours), ask(encode_opening(ours)), 1
    while True:
        block = decode_cells(answer)
        if block.end > decoder.own_cells:
            decoder.lengthen(sketch_of(ids, block.end))
        if decoder.feed(block) is not Progress.MORE:
            return decoder, trips
        answer = ask(encode_continuation(ours.fingerprint, decoder.received, decoder.next_end))
        trips += 1


@given(id_sets, id_sets, id_sets)
@settings(max_examples=200, deadline=None)
def test_both_sides_of_any_difference_are_found_exactly(
    common: set[int], ours: set[int], theirs: set[int]
) -> None:
    decoder, _ = exchange(common | ours, server(common | theirs))
    assert decoder.progress is Progress.DECODED
    assert set(decoder.only_local) == (common | ours) - (common | theirs)
    assert set(decoder.only_remote) == (common | theirs) - (common | ours)
    assert len(decoder.only_local) == len(set(decoder.only_local))


@pytest.mark.parametrize(
    ("common", "ours", "theirs"), [(0, 0, 3000), (5_000, 2_500, 0), (20_000, 400, 700), (3_000, 6_000, 5_500)]
)
def test_thousands_of_differences_are_found_in_few_round_trips(common: int, ours: int, theirs: int) -> None:
    shared, left, right = some_ids(1, common), some_ids(2, ours), some_ids(3, theirs)
    decoder, trips = exchange(shared | left, server(shared | right))
    assert decoder.progress is Progress.DECODED
    assert set(decoder.only_local) == left and set(decoder.only_remote) == right
    assert trips <= 3


def test_the_first_answer_is_mostly_enough_and_seldom_much_too_long() -> None:
    trips = cells = 0
    for seed in range(50):
        decoder, needed = exchange(some_ids(seed, 60), server(some_ids(1_000 + seed, 60)))
        trips, cells = trips + needed, cells + decoder.received
    assert trips <= 50 * 1.2
    assert cells <= 50 * 120 * 2.3


def test_equal_sets_cost_one_summary() -> None:
    ids = some_ids(1, 500)
    assert server(ids)(encode_opening(sketch_of(ids))) == encode_summary(SetFingerprint.of(ids))
    decoder, trips = exchange(ids, server(ids))
    assert (decoder.progress, decoder.only_local, decoder.only_remote, trips) == (Progress.DECODED, [], [], 1)


def test_sets_too_different_for_any_sketch_end_in_failure_before_anything_is_peeled() -> None:
    ours, theirs = sketch_of(set()), Sketch.restored(Cells.zero(128), SetFingerprint(MAX_IDS, 1, 1))
    decoder = Decoder(ours)
    theirs.cells.counts[0] = MAX_IDS & 255
    assert decoder.feed(decode_cells(encode_cells(theirs, 0, 64))) is Progress.FAILED
    assert "differ in more" in decoder.reason


def test_a_set_that_changes_on_either_side_ends_the_exchange() -> None:
    ours, theirs = some_ids(1, 400), some_ids(2, 400)
    block = decode_cells(encode_cells(sketch_of(theirs), 0, 32))
    decoder = Decoder(sketch_of(ours))
    assert decoder.feed(block) is Progress.MORE
    changed = decode_cells(encode_cells(sketch_of(theirs | {1}), 32, 64))
    assert decoder.feed(changed) is Progress.FAILED
    decoder = Decoder(sketch_of(ours))
    decoder.feed(block)
    assert decoder.lengthen(sketch_of(ours | {1}, 2_000)) is Progress.FAILED


def test_entries_that_arrive_during_an_exchange_do_not_disturb_it() -> None:
    ours, theirs = sketch_of(some_ids(1, 40)), sketch_of(some_ids(2, 40))
    decoder = Decoder(ours)
    ours.insert(77)
    assert decoder.feed(decode_cells(encode_cells(theirs, 0, 128))) is Progress.DECODED
    assert set(decoder.only_remote) == some_ids(2, 40)


def test_nothing_is_told_before_it_is_certain_and_nothing_taken_after() -> None:
    decoder = Decoder(sketch_of({1}))
    with pytest.raises(UsageError, match="DECODED"):
        _ = decoder.only_remote
    decoder.feed(decode_cells(encode_summary(SetFingerprint.of([1]))))
    with pytest.raises(UsageError, match="over"):
        decoder.feed(decode_cells(encode_summary(SetFingerprint.of([1]))))


@pytest.mark.parametrize(("first", "end"), [(0, 0), (0, 7), (8, 128)])
def test_an_answer_that_does_not_go_on_is_refused(first: int, end: int) -> None:
    theirs = sketch_of(some_ids(2, 300))
    encoded = encode_cells(theirs, first, end) if end else encode_summary(theirs.fingerprint)
    with pytest.raises(RemoteError, match="expected at least"):
        Decoder(sketch_of(some_ids(1, 300))).feed(decode_cells(encoded))


def test_cells_beyond_our_own_are_the_callers_to_provide() -> None:
    theirs = sketch_of(some_ids(2, 300))
    with pytest.raises(UsageError, match="lengthen"):
        Decoder(sketch_of(some_ids(1, 300), 16)).feed(decode_cells(encode_cells(theirs, 0, 32)))


# --- hostile peers ---


def crafted(rows: Sequence[tuple[int, int, int]], fingerprint: SetFingerprint) -> CellBlock:
    cells = Cells.zero(len(rows))
    for index, (id, check, count) in enumerate(rows):
        cells.ids[index], cells.checks[index], cells.counts[index] = id, check, count
    return CellBlock(0, cells, fingerprint)


def check_of(id: int) -> int:
    return int(Sketch.of([id], 1).cells.checks[0])


@pytest.mark.parametrize("number", [64, 4_096])
def test_one_id_in_every_cell_is_refused_and_does_not_loop(number: int) -> None:
    block = crafted([(5, check_of(5), 1)] * number, SetFingerprint(number, 1, 2))
    decoder = Decoder(Sketch(number))
    assert decoder.feed(block) is Progress.FAILED
    assert "contradict" in decoder.reason


@pytest.mark.parametrize("number", [64, 4_096])
def test_another_id_in_every_cell_is_never_believed(number: int) -> None:
    block = crafted([(id, check_of(id), 1) for id in range(number)], SetFingerprint(number, 1, 2))
    decoder = Decoder(Sketch(number))
    assert decoder.feed(block) is not Progress.DECODED


def test_right_cells_under_a_wrong_fingerprint_are_never_believed() -> None:
    theirs = sketch_of(some_ids(2, 20))
    whole = theirs.fingerprint
    for lie in (
        SetFingerprint(whole.size, whole.first ^ 1, whole.second),
        SetFingerprint(whole.size, whole.first, whole.second ^ 1),
        SetFingerprint(whole.size + 256, whole.first, whole.second),
    ):
        decoder = Decoder(sketch_of(set()))
        assert decoder.feed(CellBlock(0, theirs.cells, lie)) is Progress.FAILED


@given(
    st.lists(st.tuples(short_ids, st.integers(0, 2**32 - 1), st.integers(0, 255)), min_size=8, max_size=200)
)
def test_random_cells_are_never_decoded(rows: list[tuple[int, int, int]]) -> None:
    decoder = Decoder(sketch_of(some_ids(1, 50), 256))
    assert decoder.feed(crafted(rows, SetFingerprint(50, 1, 2))) is not Progress.DECODED


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_cells_give_the_exact_difference_or_none(data: st.DataObject) -> None:
    ours, theirs = some_ids(1, 60), some_ids(2, data.draw(st.sampled_from([3, 60, 300])))
    encoded = bytearray(encode_cells(sketch_of(theirs, 1_024), 0, data.draw(st.integers(8, 1_024))))
    for at in data.draw(st.lists(st.integers(0, len(encoded) - 1), max_size=3)):
        encoded[at] ^= data.draw(st.integers(1, 255))
    decoder = Decoder(sketch_of(ours, 1_024))
    try:
        decoder.feed(decode_cells(bytes(encoded)))
    except RemoteError:
        return
    if decoder.progress is Progress.DECODED:
        assert set(decoder.only_local) == ours and set(decoder.only_remote) == theirs


def test_a_peer_that_never_gets_to_the_point_is_given_up_after_a_bounded_number_of_cells() -> None:
    dice, decoder = Random(1), Decoder(Sketch(MAX_CELLS))
    blocks = 0
    while decoder.progress is Progress.MORE:
        number = max(8, decoder.received // 16 + 1)
        rubbish = Cells.zero(number)
        rubbish.ids[:] = type(rubbish.ids)("Q", dice.randbytes(8 * number))
        decoder.feed(CellBlock(decoder.received, rubbish, SetFingerprint(40_000, 1, 2)))
        blocks += 1
    assert decoder.progress is Progress.FAILED
    assert decoder.received <= decoder.limit <= MAX_CELLS
    assert blocks < 200
