"""The bench verb: one table or one document, progress apart from it, clear exit statuses."""

import json
from pathlib import Path

import pytest

import evaluation.benchmarks
from evaluation.cli import benchmark_names, main

QUICK = ["bench", "chunks", "--quick", "--rounds", "1"]


def test_a_benchmark_is_a_module_with_a_run() -> None:
    assert "chunks" in benchmark_names()
    assert "harness" not in benchmark_names()


def test_the_table_goes_to_standard_output_and_progress_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(QUICK) == 0
    out, err = capsys.readouterr()
    assert out.startswith("what ")
    assert err == "passerby: benchmark 1 of 1: chunks ...\n"


def test_json_is_one_document_with_the_rows_of_each_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["chunks"]
    measured = {"what", "value", "unit", "low", "high", "rounds"}
    assert measured | {"promise", "ratio", "kept"} == set(document["chunks"][0])


def test_an_unknown_benchmark_is_a_usage_error_that_names_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "nonsense"]) == 2
    assert "'nonsense'; there are: " in capsys.readouterr().err


@pytest.mark.parametrize("rounds", ["0", "-1", "x", "1.5", "²"])
def test_rounds_are_counted_from_one(rounds: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", "--rounds", rounds])
    assert stopped.value.code == 2


def add_benchmark(folder: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / f"{name}.py").write_text(source)
    monkeypatch.setattr(evaluation.benchmarks, "__path__", [*evaluation.benchmarks.__path__, str(folder)])


BROKEN_PROMISE = """
from evaluation.benchmarks.harness import Row, row

def run(rounds: int, quick: bool) -> list[Row]:
    return [row("a hopeless thing", [1.0, 3.0, 2.0], "ms", promise="at most 0.5 x", ratio=2.0, kept=False)]
"""


def test_a_broken_promise_is_shown_and_fails_only_who_asks_for_strictness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_benchmark(tmp_path, "hopeless", BROKEN_PROMISE, monkeypatch)
    assert main(["bench", "hopeless"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["what", "median", "spread", "rounds", "ratio", "promise", "kept"]
    assert line == "a hopeless thing  2 ms    1 to 3  3       2.00   at most 0.5 x  NO"
    assert main(["bench", "hopeless", "--strict"]) == 1


def test_a_benchmark_that_lacks_a_library_is_listed_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_benchmark(tmp_path, "lacking", "import no_such_library", monkeypatch)
    assert "lacking" in benchmark_names()
    assert main(["bench", "lacking"]) == 1
    assert "this benchmark needs no_such_library" in capsys.readouterr().err
