"""Whatever happens to nodes, in the end nothing is missing, wrong, given twice or still going on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.cli import main
from evaluation.simulator.chaos import run_seeds

ROOT = Path(__file__).parents[2]


def test_nothing_is_wrong_when_two_hundred_random_worlds_have_come_to_rest() -> None:
    assert run_seeds(0, 200, jobs=os.cpu_count() or 1) == 0


def test_the_same_seed_gives_the_same_history_in_another_process_to_the_last_byte() -> None:
    command = [sys.executable, "-m", "evaluation.simulator.chaos", "--digest", "--seeds", "12"]
    told = [
        subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    digests = [line.split()[-1] for line in told[0].splitlines()]
    assert told[0] == told[1] and len(set(digests)) == 12


def test_a_seed_that_fails_is_printed_with_the_command_that_repeats_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.simulator.life.violations", lambda *_: ["node1: something is wrong"])
    assert main(["simulate", "chaos", "--seeds", "1", "--seed", "7"]) == 1
    printed = capsys.readouterr().out
    assert "./passerby simulate chaos --seeds 1 --seed 7\n  node1: something is wrong" in printed
