"""A sketch follows its set id by id, adds up over sets, and is the same with numpy and without."""

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.errors import UsageError
from contentdb.sketch import (
    IMPORT_FROM,
    MASK,
    MAX_CELLS,
    MAX_WARM_CELLS,
    MIN_WARM_CELLS,
    VECTORISE_FROM,
    SetFingerprint,
    Sketch,
    warm_cells,
)
from contentdb.sketch_vectorised import insert_ids

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "sketch-v1.json").read_text(encoding="utf-8")
)
short_ids = st.integers(0, MASK)
id_sets = st.sets(short_ids, max_size=60).map(sorted)
lengths = st.integers(1, 300)


def one_by_one(ids: Sequence[int], cells: int) -> Sketch:
    sketch = Sketch(cells)
    for id in ids:
        sketch.insert(id)
    return sketch


def same(one: Sketch, other: Sketch) -> bool:
    return one.fingerprint == other.fingerprint and rows(one) == rows(other)


def rows(sketch: Sketch) -> list[tuple[int, int, int]]:
    return list(zip(sketch.cells.ids, sketch.cells.checks, sketch.cells.counts, strict=True))


@given(id_sets, id_sets, lengths)
def test_removing_an_id_leaves_the_sketch_of_the_others(kept: list[int], gone: list[int], cells: int) -> None:
    sketch = Sketch.of(sorted({*kept, *gone}), cells)
    for id in set(gone) - set(kept):
        sketch.remove(id)
    assert same(sketch, Sketch.of(kept, cells))


@given(st.sets(short_ids, max_size=60), lengths, lengths, st.data())
def test_merging_disjoint_sets_gives_the_sketch_of_their_union(
    ids: set[int], one: int, two: int, data: st.DataObject
) -> None:
    left = {id for id in sorted(ids) if data.draw(st.booleans())}
    merged = Sketch.of(sorted(left), one).merged([Sketch.of(sorted(ids - left), two)])
    assert same(merged, Sketch.of(sorted(ids), min(one, two)))


def test_merging_counts_the_sketch_that_is_asked_and_leaves_all_parts_alone() -> None:
    parts = [Sketch.of([number], 128) for number in range(5)]
    merged = parts[0].merged(parts[1:])
    merged.insert(99)
    assert same(parts[0], Sketch.of([0], 128))
    assert same(parts[0].merged([]), parts[0])
    alone = parts[0].merged([])
    alone.insert(7)
    assert same(parts[0], Sketch.of([0], 128))
    assert same(merged, Sketch.of([0, 1, 2, 3, 4, 99], 128))


@given(id_sets, lengths, st.data())
def test_a_prefix_of_the_cells_is_a_smaller_sketch(ids: list[int], cells: int, data: st.DataObject) -> None:
    shorter = data.draw(st.integers(1, cells))
    assert rows(Sketch.of(ids, cells))[:shorter] == rows(Sketch.of(ids, shorter))


@given(st.lists(short_ids, min_size=VECTORISE_FROM, max_size=200, unique=True), st.integers(1, 2_000))
@settings(max_examples=50)
def test_numpy_finds_the_same_cells_as_plain_python(ids: list[int], cells: int) -> None:
    plain, vectorised = one_by_one(ids, cells), Sketch(cells)
    assert insert_ids(vectorised.cells, ids) == plain.fingerprint == SetFingerprint.of(ids)
    assert rows(plain) == rows(vectorised)


def test_very_many_ids_give_the_same_cells_as_one_by_one() -> None:
    ids = [Random(5).getrandbits(64) ^ number for number in range(2 * IMPORT_FROM)]
    assert same(Sketch.of(ids, MAX_CELLS), one_by_one(ids, MAX_CELLS))


def test_a_sketch_needs_no_numpy() -> None:
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "from contentdb.sketch import Sketch\n"
        f"sketch = Sketch.of(range({IMPORT_FROM}), 256)\n"
        "print(sketch.fingerprint.first, sketch.cells.ids[200], sketch.cells.counts[200])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    here = Sketch.of(range(IMPORT_FROM), 256)
    assert printed.split() == [
        str(here.fingerprint.first),
        str(here.cells.ids[200]),
        str(here.cells.counts[200]),
    ]


def test_few_ids_do_not_import_numpy() -> None:
    script = (
        "import sys\n"
        "from contentdb.sketch import Sketch\n"
        "Sketch.of(range(1000), 256)\n"
        "print('numpy' in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "False"


@given(id_sets, id_sets)
def test_different_sets_have_different_fingerprints(one: list[int], other: list[int]) -> None:
    assert (SetFingerprint.of(one) == SetFingerprint.of(other)) is (one == other)


@given(st.integers(0, 2**33))
def test_the_number_of_warm_cells_is_a_bounded_power_of_two(size: int) -> None:
    cells = warm_cells(size)
    assert MIN_WARM_CELLS <= cells <= MAX_WARM_CELLS
    assert cells.bit_count() == 1
    assert warm_cells(size + 1) in (cells, 2 * cells)


@pytest.mark.parametrize("wrong", [-1, MASK + 1])
def test_an_id_that_has_no_64_bits_is_refused_one_by_one_and_among_many(wrong: int) -> None:
    for amount in (0, IMPORT_FROM):
        sketch = Sketch(16)
        with pytest.raises(UsageError, match="64 bits"):
            sketch.insert_many([wrong, *range(amount)])
        assert same(sketch, Sketch(16))


@pytest.mark.parametrize("cells", [0, -1, MAX_CELLS + 1])
def test_a_sketch_without_cells_or_with_too_many_is_refused(cells: int) -> None:
    with pytest.raises(UsageError, match="cells"):
        Sketch(cells)


@pytest.mark.parametrize("case", VECTORS["sketches"], ids=lambda case: str(case["name"]))
def test_cells_equal_their_frozen_vector(case: dict[str, Any]) -> None:
    sketch = Sketch.of([int(id, 16) for id in case["ids"]], len(case["cells"]))
    found = [f"{id:016x} {check:08x} {count:02x}" for id, check, count in rows(sketch)]
    assert found == case["cells"]
    fingerprint = sketch.fingerprint
    assert (fingerprint.size, f"{fingerprint.first:016x}{fingerprint.second:016x}") == (
        len(case["ids"]),
        case["fingerprint"],
    )


def spelled_out(id: int) -> tuple[list[int], int, int, int]:
    """Cells, check and two sums of one id, word by word from the specification, nothing of the product."""

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        return z ^ (z >> 31)

    a = mix((id + 0x9E3779B97F4A7C15) % 2**64)
    b = mix((id + 2 * 0x9E3779B97F4A7C15) % 2**64)
    cells, s, i = [], a | 1, 0
    while i < 65_536:
        cells.append(i)
        s = s * 0xDA942042E4DD58B5 % 2**64
        i = math.floor((i + 1.5) * math.sqrt(2.0**64 / float(s)) - 0.5)
    return cells, b // 2**32, a, b


@given(short_ids)
def test_one_id_stands_where_the_specification_says(id: int) -> None:
    cells, check, first, second = spelled_out(id)
    sketch = Sketch.of([id], MAX_CELLS)
    assert [index for index, count in enumerate(sketch.cells.counts) if count] == cells
    assert {row for row in rows(sketch) if row[2]} == {(id, check, 1)}
    assert sketch.fingerprint == SetFingerprint(1, first, second)


@pytest.mark.parametrize("case", VECTORS["mappings"], ids=lambda case: str(case["id"]))
def test_an_id_is_in_the_cells_of_its_frozen_vector(case: dict[str, Any]) -> None:
    counts = Sketch.of([int(case["id"], 16)], MAX_CELLS).cells.counts
    assert [index for index, count in enumerate(counts) if count] == case["cells"]
    assert spelled_out(int(case["id"], 16))[0] == case["cells"]
