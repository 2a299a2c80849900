"""What is compared in docs/evaluation.md can be run again."""

from evaluation.simulator.serving import row, serve


def test_both_ways_of_serving_give_everybody_the_file() -> None:
    at_once, in_turn = serve(3, "concurrent", 1), serve(3, "sequential", 1)
    assert at_once.refused == 0 < in_turn.refused
    assert at_once.mean <= at_once.last < in_turn.last < 30  # 69.5 s when refused clients waited a whole turn


def test_a_row_has_both_ways() -> None:
    assert row(1).count("|") == 8
