"""The bench verb: one table or one document, progress apart from it, clear exit statuses."""

import json

import pytest

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
    assert {"what", "value", "unit", "low", "high", "promise", "ratio", "kept"} == set(document["chunks"][0])


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
