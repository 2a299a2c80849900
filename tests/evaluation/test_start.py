"""The benchmark of starting measures what it says, with a real node and the real script."""

from evaluation.benchmarks import start


def test_a_start_and_every_command_are_measured() -> None:
    rows = start.run(1, quick=True)
    assert [row.what.split(",")[0].split()[1] for row in rows] == ["up", *start.COMMANDS]
    assert all(row.value and row.rounds == 1 and row.kept is not None for row in rows)
