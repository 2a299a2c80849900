"""Whatever happens to nodes, in the end nothing is missing, wrong, given twice or still going on."""

import pytest

from evaluation.simulator.chaos import run_seed


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_wrong_when_a_random_world_has_come_to_rest(seed: int) -> None:
    assert run_seed(seed) == []
