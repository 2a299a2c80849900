"""Who is greedy waits for who is not."""

from hypothesis import given
from hypothesis import strategies as st

from middleware.fairness import Shares, jain_index


def served(queued: list[tuple[str, int]], budget: int) -> dict[str, int]:
    """Serve whole files by their starts until the budget is used up; bytes by whom they were for."""
    shares = Shares()
    files = sorted(
        (shares.start_of(who, size), number, who, size) for number, (who, size) in enumerate(queued)
    )
    got = {who: 0 for who, _ in queued}
    for _, _, who, size in files:
        if budget >= size:
            got[who] += size
            budget -= size
    return got


def test_one_greedy_and_nine_small_get_the_same() -> None:
    greedy = [("greedy", 100)] * 100
    small = [(f"small{n}", 100) for n in range(9) for _ in range(5)]
    got = served(greedy + small, 10 * 5 * 100)
    assert jain_index([float(amount) for amount in got.values()]) == 1.0


def test_who_was_idle_saves_up_nothing() -> None:
    shares = Shares()
    for _ in range(10):
        shares.began(shares.start_of("busy", 100))
    late, busy = shares.start_of("late", 100), shares.start_of("busy", 100)
    assert 0 < late <= busy


def test_when_nobody_wants_anything_all_start_together_again() -> None:
    shares = Shares()
    for _ in range(10):
        shares.start_of("busy", 100)
    shares.settled()
    assert shares.start_of("late", 100) == shares.start_of("busy", 100)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 1000)), min_size=1, max_size=60))
def test_a_subscription_keeps_its_own_order(queued: list[tuple[str, int]]) -> None:
    shares = Shares()
    starts: dict[str, list[float]] = {}
    for who, size in queued:
        starts.setdefault(who, []).append(shares.start_of(who, size))
    assert all(each == sorted(each) and len(set(each)) == len(each) for each in starts.values())


def test_jains_index() -> None:
    assert jain_index([3.0, 3.0]) == 1.0 and jain_index([5.0, 0.0]) == 0.5 and jain_index([0.0]) == 1.0
