"""A small part of `./passerby fuzz`, and a look at whether it would find anything."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.decoders import DECODERS
from tests.fuzz.run import TABLE, Bounds, Inputs, Job, fuzz

CHECKOUT = Path(__file__).parents[1]
DECODING = re.compile(r"^def (decode_\w+)", re.MULTILINE)
INPUTS = 20_000  # some seconds; a million by hand


def test_mutated_inputs_meet_nothing_but_refusals_in_bounded_time_and_memory() -> None:
    report = fuzz([Job(1, range(start, INPUTS, 2)) for start in range(2)])
    assert report.failure is None
    assert report.inputs == INPUTS
    # Neither so wild that all is refused at the door, nor so tame that nothing is.
    assert set(report.taken) == {decoder.name for decoder in DECODERS}
    assert set(report.refused) == {decoder.name for decoder in DECODERS} - {"lenient-feed"}


def test_every_decoder_of_the_product_is_in_the_table() -> None:
    table = (CHECKOUT / "tests" / "fuzz" / "decoders.py").read_text(encoding="utf-8")
    packages = ("contentdb", "discovery", "transport", "middleware")
    sources = [path for package in packages for path in sorted((CHECKOUT / package).rglob("*.py"))]
    found = {
        (".".join(path.relative_to(CHECKOUT).with_suffix("").parts), name)
        for path in sources
        for name in DECODING.findall(path.read_text(encoding="utf-8"))
    }
    imports = [node for node in ast.parse(table).body if isinstance(node, ast.ImportFrom)]
    imported = {(node.module or "", alias.name) for node in imports for alias in node.names}
    missing = sorted(found - imported)
    assert not missing, f"add a line for each of {missing} to tests/fuzz/decoders.py"
    assert len(found) > 10


@pytest.mark.parametrize(
    ("decoder", "found"),
    [
        ("raises", "KeyError"),
        ("is_slow", "s of CPU time; at most 0.1"),
        ("hangs", "a crash or a hang"),
        ("is_greedy", "memory grew by"),
        ("is_endless", "MemoryError"),
        ("leaks", "memory grew by"),
        ("crashes", "a crash or a hang"),
    ],
)
def test_what_no_decoder_may_do_is_found_with_its_input(decoder: str, found: str) -> None:
    bounds = Bounds(cpu_s=0.1 if decoder == "is_slow" else 5.0, hang_s=1, grown_bytes=2**24)
    report = fuzz([Job(7, range(3, 2_000), decoder, "tests.fuzz.misbehaving:DECODERS", bounds)])
    assert report.failure is not None
    assert found in report.failure.what
    assert report.failure.decoder == decoder
    again = Inputs("tests.fuzz.misbehaving:DECODERS", decoder).make(7, report.failure.number)
    assert again[1] == report.failure.data


def test_an_input_follows_from_seed_and_number() -> None:
    one, two = Inputs(TABLE), Inputs(TABLE)
    first = [one.make(5, number)[1] for number in range(50)]
    assert [two.make(5, number)[1] for number in reversed(range(50))] == first[::-1]
    assert [one.make(6, number)[1] for number in range(50)] != first


def test_one_input_is_repeated_and_shown() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--seed", "5", "--only", "hello", "--at", "3"],
        cwd=CHECKOUT, env=dict(os.environ), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("seed 5\nhello, ")
