"""The thread that verifies: everything in order, and what waits together is done together."""

import asyncio

from middleware.verifying import MOST_AT_ONCE, Batches, Verifier
from tests.contentdb.makers import author, make_signed

PATIENCE_S = 60.0
ALICE = author(1)


def verified(sessions: list[int]) -> list[tuple[int, Batches]]:
    """What comes of one batch of one entry for each of these sessions, submitted in one go."""
    heard: list[tuple[int, Batches]] = []

    async def work() -> None:
        done = asyncio.Event()

        def hear(session: int, batches: Batches) -> None:
            heard.append((session, batches))
            if sum(len(batches) for _, batches in heard) == len(sessions):
                done.set()

        verifier = Verifier(hear)
        for number, session in enumerate(sessions):
            verifier.submit(session, (make_signed(ALICE, number),))
        await asyncio.wait_for(done.wait(), PATIENCE_S)
        verifier.close()

    asyncio.run(work())
    return heard


def test_the_first_batch_goes_at_once_and_those_that_wait_meanwhile_go_together() -> None:
    heard = verified([7] * 10)
    assert [len(batches) for _, batches in heard] == [1, MOST_AT_ONCE, MOST_AT_ONCE, 1]
    entries = [arrival.entry for _, batches in heard for batch in batches for arrival in batch]
    assert [entry.id for entry in entries if entry is not None] == [
        f"urn:example:entry:{number}" for number in range(10)
    ]


def test_batches_of_two_sessions_do_not_go_together() -> None:
    assert [session for session, _ in verified([1, 2, 2, 1])] == [1, 2, 1]


def test_what_waits_at_the_end_is_left() -> None:
    heard: list[int] = []

    async def work() -> None:
        verifier = Verifier(lambda session, _batches: heard.append(session))
        for _ in range(20):
            verifier.submit(1, (make_signed(ALICE),))
        verifier.close()
        await asyncio.sleep(0)

    asyncio.run(work())
    assert len(heard) <= 1
