"""The harness: rounds in turn, medians with their spread, and a table people can read."""

import json

from evaluation.benchmarks.harness import as_json, as_table, interleaved, lacking, row, seconds


def test_measurements_take_turns() -> None:
    order: list[str] = []

    def measurement(name: str, value: float) -> float:
        order.append(name)
        return value

    runs = {"ours": lambda: measurement("ours", 1.0), "limit": lambda: measurement("limit", 2.0)}
    assert interleaved(runs, rounds=3) == {"ours": [1.0] * 3, "limit": [2.0] * 3}
    assert order == ["ours", "limit"] * 3


def test_a_row_has_the_median_and_the_whole_spread() -> None:
    measured = row("writes", [5.0, 1.0, 9.0], "MB/s")
    assert (measured.value, measured.low, measured.high) == (5.0, 1.0, 9.0)
    assert (measured.rounds, measured.kept) == (3, None)


def test_large_figures_have_no_decimals_and_small_ones_three_digits() -> None:
    table = as_table([row("large", [1234.5], "MB/s"), row("small", [0.012345], "ms")])
    assert "1,234 MB/s" in table
    assert "0.0123 ms" in table


def test_the_columns_stand_below_each_other() -> None:
    rows = [row("a", [1.0], "ms", promise="p", ratio=0.5, kept=True), row("much longer", [1.0], "ms")]
    header, first, second = as_table(rows).splitlines()
    assert header.index("median") == first.index("1 ms") == second.index("1 ms")
    assert first.endswith("yes")


def test_json_keeps_every_field() -> None:
    (document,) = json.loads(as_json([row("a", [1.0], "ms", promise="p", ratio=0.5, kept=True)]))
    measured = {"what": "a", "value": 1.0, "unit": "ms", "low": 1.0, "high": 1.0, "rounds": 1}
    assert document == {**measured, "promise": "p", "ratio": 0.5, "kept": True}


def test_a_run_takes_some_time_and_happens_once() -> None:
    calls: list[int] = []
    assert seconds(lambda: calls.append(1)) >= 0
    assert calls == [1]


def test_what_cannot_be_measured_here_says_why_and_breaks_no_promise() -> None:
    row_without = lacking("a peer", "syncthing is not installed")
    assert row_without.kept is None
    (_, line) = as_table([row_without]).splitlines()
    assert line.split() == ["a", "peer", "0", "syncthing", "is", "not", "installed"]
