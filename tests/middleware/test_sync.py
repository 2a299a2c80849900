"""Whom to dial, and above all whom not."""

from itertools import pairwise
from random import Random

import pytest

from contentdb.gains import feed_tag
from contentdb.names import Address, FeedId, NodeId
from contentdb.peers import Doubt, Peer
from discovery.hello import Claim
from middleware.backoff import FIRST_BACKOFF_S
from middleware.coverage import MAX_SHARED, NOTHING, SPARE, Coverage
from middleware.sights import Reason
from middleware.sync import HOPE_S, MAX_CROWD_WAIT_S, MAX_VAIN_S, Interest, Synchroniser

ANN, BEN = NodeId("a" * 40), NodeId("b" * 40)
EPOCH = "e" * 16
PAIR = Claim(EPOCH, 5)
HOST = (Address("ip:192.0.2.1:4000"),)
OTHER_HOST = (Address("ip:192.0.2.2:4000"),)
SONG, TALE = "1" * 16, "2" * 16


class Memory:
    """What a store would know."""

    def __init__(self) -> None:
        self.peers: dict[NodeId, Peer] = {}
        self.gains: set[str] = set()
        self.bursts: set[tuple[int, str, str]] = set()

    def met(
        self, node: NodeId = ANN, pair: Claim = PAIR, subscriptions: int = 1, doubt: Doubt = Doubt.NONE
    ) -> None:
        self.peers[node] = Peer(node, pair.epoch, pair.revision, subscriptions, doubt, 0, 0, None)

    def has_seen(self, gains: tuple[str, ...]) -> bool:
        return self.gains.issuperset(gains)

    def has_seen_any(self, gains: tuple[str, ...]) -> bool:
        return not self.gains.isdisjoint(gains)

    def came_together(self, count: int, before: str, after: str) -> bool:
        return (count, before, after) in self.bursts


def bursting(memory: Memory) -> tuple[Synchroniser, Coverage]:
    """Ann was seen when her gains had sum 1; then forty came to us."""
    memory.met()
    memory.bursts = {(40, "1" * 16, "2" * 16)}
    coverage = Coverage(memory.peers.get, memory)
    coverage.saw(ANN, *PAIR[:2], "1" * 16)
    sync = Synchroniser(Random(1), coverage)
    sync.interest_changed(Interest(newest_subscription=1), 0.0)
    return sync, coverage


def interested(
    memory: Memory | None = None, max_sessions: int = 3, interest: Interest | None = None
) -> Synchroniser:
    memory = memory or Memory()
    coverage = Coverage(memory.peers.get, memory)
    sync = Synchroniser(Random(1), coverage, max_sessions=max_sessions)
    sync.interest_changed(interest or Interest(newest_subscription=1), 0.0)
    return sync


def reasons(sync: Synchroniser, now: float = 10.0) -> list[Reason]:
    return [dial.reason for dial in sync.dials(now)]


def test_a_stranger_is_dialled_once_somebody_here_wants_something() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    assert reasons(sync) == [Reason.NEW] and reasons(sync, 20.0) == []
    nobody = interested(interest=Interest())
    nobody.neighbour_seen(ANN, HOST, PAIR, 0.0)
    assert reasons(nobody) == [] and nobody.next_timer() == float("inf")


def test_a_pair_that_we_have_seen_is_not_dialled() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    assert reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 4), 1.0)  # late, or forged
    assert reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 6), 2.0)
    assert reasons(sync) == [Reason.NEW]


def test_another_epoch_is_new_whatever_its_revision() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim("f" * 16, 5), 0.0)
    assert reasons(sync) == [Reason.NEW]


def test_gains_that_we_know_are_no_reason_and_one_that_we_do_not_know_is() -> None:
    memory = Memory()
    memory.met()
    memory.gains = {SONG}
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 6, (TALE, SONG)), 0.0)  # the tale we have seen there
    assert reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 7, (SONG, TALE)), 1.0)
    assert reasons(sync) == [Reason.NEW]


def test_gains_say_nothing_if_some_are_not_named_or_the_last_session_was_doubtful() -> None:
    memory = Memory()
    memory.gains = {SONG}
    memory.met(ANN, PAIR)
    memory.met(BEN, PAIR, doubt=Doubt.REAL)
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 7, (SONG,)), 0.0)
    sync.neighbour_seen(BEN, HOST, Claim(EPOCH, 6, (SONG,)), 0.0)
    assert reasons(sync) == [Reason.NEW, Reason.NEW]


def test_who_names_all_it_ever_gained_need_not_have_been_met() -> None:
    memory = Memory()
    memory.gains = {SONG}
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 1, (SONG,)), 0.0)
    sync.neighbour_seen(BEN, HOST, Claim(EPOCH, 0), 0.0)
    assert reasons(sync) == []
    sync.interest_changed(Interest(newest_subscription=2), 1.0)
    assert reasons(sync) == []


def test_a_burst_that_came_to_us_too_is_no_reason_and_another_is() -> None:
    sync, _ = bursting(Memory())
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 45, (SONG,), "2" * 16), 0.0)
    assert reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 46, (SONG,), "2" * 16), 0.0)
    assert reasons(sync) == [Reason.NEW]


def test_gains_of_feeds_that_nobody_here_wants_are_no_reason_nor_are_files() -> None:
    memory = Memory()
    memory.met()
    coverage = Coverage(memory.peers.get, memory)
    sync = Synchroniser(Random(1), coverage)
    sync.interest_changed(Interest(newest_subscription=1), 0.0)
    wanted, other = feed_tag(FeedId("urn:example:wanted")), feed_tag(FeedId("urn:example:other"))
    coverage.want([FeedId("urn:example:wanted")])
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 7, (SONG, TALE), of=(other, "00")), 0.0)
    assert wanted != other and reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 7, (SONG, TALE), of=(other, wanted)), 0.0)
    assert reasons(sync) == [Reason.NEW]
    sync.session_ended(ANN, HOST[0], is_whole=False, now=11.0)
    memory.gains = {TALE}
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 7, (SONG, TALE), of=(other, wanted)), 12.0)
    assert reasons(sync, 100.0) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 8, (SONG, TALE), of=(other, wanted)), 101.0)
    assert reasons(sync, 200.0) == [Reason.NEW]  # one of three is not named


def test_who_names_only_what_we_do_not_want_need_not_be_met() -> None:
    memory = Memory()
    coverage = Coverage(memory.peers.get, memory)
    sync = Synchroniser(Random(1), coverage)
    coverage.want([FeedId("urn:example:wanted")])
    sync.interest_changed(Interest(newest_subscription=1), 0.0)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 1, (SONG,), of=(feed_tag(FeedId("urn:example:other")),)), 0.0)
    assert reasons(sync) == []


def test_who_tells_the_sum_of_what_came_to_us_need_not_be_met() -> None:
    memory = Memory()
    memory.bursts = {(40, NOTHING, "2" * 16)}
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 40, (SONG,), "2" * 16), 0.0)
    assert reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 41, (SONG,), "3" * 16), 0.0)
    assert reasons(sync) == [Reason.NEW]


@pytest.mark.parametrize(
    "claim",
    [
        Claim(EPOCH, 45, (SONG,)),
        Claim(EPOCH, 45, (SONG,), "3" * 16),
        Claim("f" * 16, 45, (SONG,), "2" * 16),
        Claim("f" * 16, 40, (SONG,), "2" * 16),
    ],
)
def test_a_sum_that_is_not_told_or_of_another_epoch_says_nothing(claim: Claim) -> None:
    sync, _ = bursting(Memory())
    sync.neighbour_seen(ANN, HOST, claim, 0.0)
    assert reasons(sync) == [Reason.NEW]


def test_a_sum_of_another_pair_than_that_of_the_last_session_says_nothing() -> None:
    memory = Memory()
    sync, _ = bursting(memory)
    memory.met(pair=Claim(EPOCH, 4))
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 45, (SONG,), "2" * 16), 0.0)
    assert reasons(sync) == [Reason.NEW]


def test_while_a_burst_is_fetched_others_are_waited_for_but_not_long() -> None:
    memory = Memory()
    memory.met(ANN)
    memory.met(BEN)
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 45, (SONG,)), 0.0)
    assert len(sync.dials(0.0)) == 1
    sync.neighbour_seen(BEN, OTHER_HOST, Claim(EPOCH, 6, (TALE,)), 0.1)
    assert sync.dials(0.3) == [] and len(sync.dials(0.2 + HOPE_S)) == 1


def test_what_we_may_have_is_named_and_nothing_where_all_is_new() -> None:
    memory = Memory()
    _, coverage = bursting(memory)
    assert coverage.shared(ANN, Claim(EPOCH, 7, (SONG, TALE))) == 0
    assert coverage.shared(ANN, Claim(EPOCH, 45, (SONG, TALE))) == 40 + SPARE
    assert coverage.shared(ANN, Claim(EPOCH, 9_999, (SONG, TALE))) == MAX_SHARED
    memory.gains = {SONG}
    assert coverage.shared(ANN, Claim(EPOCH, 7, (SONG, TALE))) == 2 + SPARE
    assert coverage.shared(ANN, PAIR) == coverage.shared(BEN, Claim(EPOCH, 45)) == 0


def test_a_dial_is_dropped_when_somebody_else_brought_what_was_promised() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory)
    sync.neighbour_seen(BEN, HOST, Claim(EPOCH, 0), 0.0)  # so that dials wait a moment
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 6, (SONG,)), 0.0)
    memory.gains = {SONG}
    assert reasons(sync) == [] and sync.next_timer() == float("inf")


def test_what_another_session_is_to_bring_is_waited_for_but_not_long() -> None:
    memory = Memory()
    memory.met(ANN)
    memory.met(BEN)
    sync = interested(memory)
    for node in (ANN, BEN):
        sync.neighbour_seen(node, HOST, Claim(EPOCH, 6, (SONG,)), 0.0)
    (first,) = sync.dials(0.1)
    assert sync.dials(0.3) == []
    (second,) = sync.dials(0.1 + HOPE_S)
    assert {first.node, second.node} == {ANN, BEN}


def test_a_forged_hello_does_not_call_off_a_dial() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 6, (SONG,)), 0.0)
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    assert reasons(sync) == [Reason.NEW]


def test_claims_that_come_to_nothing_are_believed_less_often_and_real_ones_again() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory)
    now, dials = 0.0, 0
    for number in range(600):  # one forged claim a second
        sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 100 + number), now)
        for _ in sync.dials(now):
            dials += 1
            sync.session_ended(ANN, HOST[0], is_whole=True, now=now)
        now += 1.0
    assert 10 < dials < 40
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 6), now)
    assert len(sync.dials(now + MAX_VAIN_S)) == 1
    memory.met(pair=Claim(EPOCH, 6))
    sync.session_ended(ANN, HOST[0], is_whole=True, now=now + MAX_VAIN_S)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 7), now + 40)
    assert len(sync.dials(now + 41)) == 1


def test_a_new_subscription_is_a_reason_to_ask_everybody_again() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory)
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    sync.interest_changed(Interest(newest_subscription=2), 1.0)
    assert reasons(sync) == [Reason.SUBSCRIPTION]


def test_an_unfinished_download_is_asked_for_once_at_each_pair() -> None:
    memory = Memory()
    memory.met()
    sync = interested(memory, interest=Interest(1, downloads=1, downloads_version=1))
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    assert reasons(sync) == [Reason.DOWNLOAD]
    sync.session_ended(ANN, HOST[0], is_whole=True, now=11.0)
    assert reasons(sync, 100.0) == []
    sync.interest_changed(Interest(1, downloads=2, downloads_version=2), 101.0)
    assert reasons(sync, 200.0) == [Reason.DOWNLOAD]


def test_each_address_that_fails_is_left_alone_for_longer_and_the_other_is_tried() -> None:
    sync = interested()
    both = (*HOST, *OTHER_HOST)
    sync.neighbour_seen(ANN, both, PAIR, 0.0)
    tried: dict[Address, list[float]] = {address: [] for address in both}
    for _ in range(16):
        now = sync.next_timer()
        for dial in sync.dials(now):
            tried[dial.address].append(now)
            sync.session_ended(ANN, dial.address, is_whole=False, is_proved=False, now=now)
    for times in tried.values():
        waits = [later - before for before, later in pairwise(times)]
        assert len(times) >= 3 and waits == sorted(waits) and waits[0] >= FIRST_BACKOFF_S


def test_a_session_that_breaks_is_tried_again_after_ever_longer() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    waits, now = [], 0.0
    for _ in range(4):
        now = max(now, sync.next_timer())
        assert len(sync.dials(now)) == 1
        sync.session_ended(ANN, HOST[0], is_whole=False, now=now)
        waits.append(sync.next_timer() - now)
    assert waits == sorted(waits) and waits[0] >= FIRST_BACKOFF_S and waits[3] >= 8 * FIRST_BACKOFF_S


def test_a_peer_that_says_when_to_come_back_is_left_alone_until_then() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    sync.dials(0.0)
    sync.session_ended(ANN, HOST[0], is_whole=False, retry_s=20, now=1.0)
    assert reasons(sync, 20.9) == [] and reasons(sync, 26.0) == [Reason.NEW]


def test_who_is_always_busy_is_asked_again_for_ever() -> None:
    sync, now = interested(), 0.0
    sync.neighbour_seen(ANN, HOST, PAIR, now)
    for _ in range(2_000):
        now = sync.next_timer()
        assert len(sync.dials(now)) == 1
        sync.session_ended(ANN, HOST[0], is_whole=False, retry_s=1, now=now)
    assert sync.next_timer() - now <= 1.2


def test_each_falsehood_doubles_the_rest_though_it_brought_something_and_went_well_between() -> None:
    sync, now, waits = interested(), 0.0, []
    sync.neighbour_seen(ANN, HOST, PAIR, now)
    for number in range(4):
        now = sync.next_timer()
        sync.dials(now)
        sync.session_ended(ANN, HOST[0], is_whole=False, is_false=True, has_gained=True, now=now)
        waits.append(sync.next_timer() - now)
        now = sync.next_timer()
        sync.dials(now)
        sync.session_ended(ANN, HOST[0], is_whole=True, has_gained=True, now=now)
        sync.neighbour_seen(ANN, HOST, Claim("e", 10 + number), now)
    assert all(2**number <= wait <= 1.2 * 2**number for number, wait in enumerate(waits)), waits


def test_no_more_sessions_than_allowed_at_once() -> None:
    memory = Memory()
    sync = interested(memory, max_sessions=1)
    for node in (ANN, BEN):
        sync.neighbour_seen(node, HOST, PAIR, 0.0)
    (first,) = sync.dials(10.0)
    assert reasons(sync, 11.0) == []
    memory.met(first.node)
    sync.session_ended(first.node, HOST[0], is_whole=True, now=12.0)
    assert reasons(sync, 13.0) == [Reason.NEW]


def test_strangers_who_only_claim_to_be_there_keep_nobody_waiting_who_is() -> None:
    memory = Memory()
    memory.met(BEN)
    sync = interested(memory, max_sessions=1)
    for number in range(100):
        sync.neighbour_seen(NodeId(f"{number:040x}"), HOST, PAIR, 0.0)
    (stranger,) = sync.dials(MAX_CROWD_WAIT_S)
    sync.neighbour_seen(BEN, OTHER_HOST, Claim(EPOCH, 6), 3.0)  # met before
    sync.neighbour_seen(
        ANN, (Address("ip:192.0.2.3:4000"),), PAIR, 3.0
    )  # never met, but where nothing failed
    dialled = []
    for now in (10.0, 20.0, 30.0):
        sync.session_ended(stranger.node, stranger.address, is_whole=False, is_proved=False, now=now)
        (stranger,) = sync.dials(now)
        dialled.append(stranger.node)
    assert dialled[:2] == [BEN, ANN]


def test_a_crowd_waits_random_moments() -> None:
    sync = interested(max_sessions=50)
    for number in range(40):
        sync.neighbour_seen(NodeId(f"{number:040x}"), HOST, PAIR, 0.0)
    assert 0 < len(sync.dials(0.05)) < 20
    assert len(sync.dials(MAX_CROWD_WAIT_S)) > 20


def test_a_lost_neighbour_is_not_dialled() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    sync.neighbour_lost(ANN)
    assert reasons(sync) == []


def test_a_peer_that_is_lost_and_found_during_a_session_is_not_dialled_twice() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, 0.0)
    assert len(sync.dials(1.0)) == 1
    sync.neighbour_lost(ANN)
    sync.neighbour_seen(ANN, HOST, Claim(EPOCH, 6), 2.0)
    assert sync.dials(3.0) == [] and sync.next_timer() == float("inf")
    sync.session_ended(ANN, HOST[0], is_whole=True, now=4.0)
    assert len(sync.dials(5.0)) == 1
