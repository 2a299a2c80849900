"""The simulate verb: one page or one document, the same for one seed, and logbooks like those of nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.cli import main
from evaluation.simulator.outcome import quantile
from middleware.logbook import EntryDelivered, EntryPublished, decode_line

BUSY = """
title = "Busy"
duration_s = 240
[nodes]
walker = 6
[contacts]
model = "random-waypoint"
width_m = 80
height_m = 80
range_m = 40
[radio]
rate_bytes_s = 200_000
loss = 0.2
air = "shared"
cut_share = 0.5
[[feeds]]
name = "songs"
count = 2
entries = 3
every_s = 40
file_bytes = [1, 100_000]
attributes = { genre = ["jazz", "folk"] }
[[subscriptions]]
share = 0.8
[[subscriptions]]
where = "genre = 'jazz'"
app = "jazz"
at_s = 30
[faults]
kill_every_s = 120
restart_after_s = 5
"""


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    path = tmp_path / "busy.toml"
    path.write_text(BUSY)
    return path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["simulate", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""  # progress is for terminals
    return out


def test_the_demo_delivers_everything(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = json.loads(printed(capsys, "demo", "--json"))
    assert outcome["delivered"]["ratio"] == 1.0 and outcome["delivered"]["wanted"] == 6
    assert outcome["contacts"] == 2 and outcome["sessions"]["ended"] == {
        "whole": outcome["sessions"]["opened"]
    }
    assert outcome["delivered"]["delay_s"]["most"] > 90  # Carl meets Bob after 100 s
    assert 0 < outcome["bytes"]["overhead"] < outcome["bytes"]["useful"]


def test_the_page_for_people_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "demo")
    assert page.startswith("scenario   Three friends, seed 1\n") and "delivered  6 of 6 (100.0%)\n" in page


def in_process(path: Path, hash_seed: str, *words: str) -> bytes:
    command = [sys.executable, "-m", "passerby", "simulate", str(path), "--json", *words]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, check=True, capture_output=True, env=environment).stdout


def test_the_same_seed_gives_the_same_to_the_last_byte(busy: Path, tmp_path: Path) -> None:
    runs = []
    for number, (seed, hash_seed) in enumerate([("3", "0"), ("3", "77"), ("4", "0")]):
        folder = tmp_path / f"logbooks{number}"
        out = in_process(busy, hash_seed, "--seed", seed, "--logbooks", str(folder))
        files = sorted(folder.rglob("*.jsonl"))
        runs.append((out, [(path.relative_to(folder), path.read_bytes()) for path in files]))
    assert runs[0] == runs[1] != runs[2]
    assert len(runs[0][1]) == 6 and b'"kind":"session_ended"' in runs[0][1][0][1]


def test_logbooks_tell_what_the_document_sums_up(
    busy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logbooks"
    outcome = json.loads(printed(capsys, str(busy), "--json", "--logbooks", str(folder)))
    lines = [decode_line(text) for path in folder.rglob("*.jsonl") for text in path.read_text().splitlines()]
    assert len({(line.node, line.seq) for line in lines}) == len(lines)
    facts = [line.fact for line in lines]
    assert sum(isinstance(fact, EntryPublished) for fact in facts) == outcome["entries"]["published"] == 6
    given = sum(isinstance(fact, EntryDelivered) for fact in facts)
    assert given >= outcome["delivered"]["delivered"] > 0


def test_a_folder_with_something_in_it_gets_no_logbooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old").write_text("")
    assert main(["simulate", "demo", "--logbooks", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["nowhere"]])
def test_what_cannot_be_run_is_said_in_one_sentence(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("passerby: ") and err.count("\n") == 1


def test_the_list_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split()[0] for line in printed(capsys, "--list").splitlines()] == sorted(
        path.stem for path in Path("evaluation/simulator/scenarios").glob("*.toml")
    )


def test_a_quantile_is_one_of_the_values() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 10.0]
    assert [quantile(values, share) for share in (0.0, 0.5, 0.8, 0.9, 1.0)] == [1.0, 3.0, 4.0, 10.0, 10.0]
