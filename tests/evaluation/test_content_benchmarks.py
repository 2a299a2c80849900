"""The benchmarks of filters and sketches run, and keep the promises that no clock decides."""

from evaluation.cli import run_benchmarks


def test_a_quick_filter_benchmark_tells_how_often_filters_err() -> None:
    values = {row.what: row.value or 0.0 for row in run_benchmarks(["bloom"], 1, quick=True)["bloom"]}
    assert 0 < values["filter of 1,000 ids: on the wire"] < 10
    assert values["filter of 1,000 ids: hidden by chance"] < 3


def test_a_quick_sketch_benchmark_keeps_its_bytes_and_round_trips() -> None:
    rows = run_benchmarks(["sketch"], 1, quick=True)["sketch"]
    promised = [row for row in rows if "bytes" in row.what or "round trips" in row.what]
    assert len(promised) == 4
    assert all(row.kept for row in promised)
