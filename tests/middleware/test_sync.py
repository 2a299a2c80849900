"""Whom to dial, and above all whom not."""

from random import Random

from contentdb.names import Address, NodeId
from contentdb.peers import Peer
from middleware.sync import FIRST_BACKOFF_S, MAX_CROWD_WAIT_S, Interest, Reason, Synchroniser

ANN, BEN = NodeId("a" * 40), NodeId("b" * 40)
PAIR = ("e" * 16, 5)
HOST = (Address("ip:192.0.2.1:4000"),)


def peer(node: NodeId = ANN, pair: tuple[str, int] = PAIR, subscriptions: int = 1) -> Peer:
    return Peer(node, *pair, subscriptions, False, 0, 0, None)


def interested(max_sessions: int = 3, **interest: int) -> Synchroniser:
    sync = Synchroniser(Random(1), max_sessions=max_sessions)
    sync.interest_changed(Interest(**{"newest_subscription": 1, **interest}), {}, 0.0)
    return sync


def reasons(sync: Synchroniser, now: float = 10.0) -> list[Reason]:
    return [dial.reason for dial in sync.dials(now)]


def test_a_stranger_is_dialled_once_somebody_here_wants_something() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, peer=None, now=0.0)
    assert reasons(sync) == [Reason.NEW] and reasons(sync, 20.0) == []
    nobody = interested(newest_subscription=0)
    nobody.neighbour_seen(ANN, HOST, PAIR, peer=None, now=0.0)
    assert reasons(nobody) == [] and nobody.next_timer() == float("inf")


def test_a_pair_that_we_have_seen_is_not_dialled() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, peer=peer(), now=0.0)
    assert reasons(sync) == []
    sync.neighbour_seen(ANN, HOST, ("e" * 16, 6), peer=peer(), now=1.0)
    assert reasons(sync) == [Reason.NEW]


def test_another_epoch_is_new_whatever_its_revision() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, ("f" * 16, 5), peer=peer(), now=0.0)
    assert reasons(sync) == [Reason.NEW]


def test_a_new_subscription_is_a_reason_to_ask_everybody_again() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, peer=peer(), now=0.0)
    sync.interest_changed(Interest(newest_subscription=2), {ANN: peer()}, 1.0)
    assert reasons(sync) == [Reason.SUBSCRIPTION]


def test_an_unfinished_download_is_asked_for_once_at_each_pair() -> None:
    sync = interested(downloads=1, downloads_version=1)
    sync.neighbour_seen(ANN, HOST, PAIR, peer=peer(), now=0.0)
    assert reasons(sync) == [Reason.DOWNLOAD]
    sync.session_ended(ANN, is_whole=True, retry_s=None, peer=peer(), now=11.0)
    assert reasons(sync, 100.0) == []
    sync.interest_changed(Interest(1, downloads=2, downloads_version=2), {ANN: peer()}, 101.0)
    assert reasons(sync, 200.0) == [Reason.DOWNLOAD]


def test_failed_dials_back_off_and_try_another_address() -> None:
    sync = interested()
    both = (*HOST, Address("ip:192.0.2.2:4000"))
    sync.neighbour_seen(ANN, both, PAIR, peer=None, now=0.0)
    waits, now = [], 0.0
    for turn in range(4):
        now = max(now, sync.next_timer())
        (dial,) = sync.dials(now)
        assert dial.address == both[turn % 2]
        sync.session_ended(ANN, is_whole=False, retry_s=None, peer=None, now=now)
        waits.append(sync.next_timer() - now)
    assert waits == sorted(waits) and waits[0] >= FIRST_BACKOFF_S and waits[3] >= 8 * FIRST_BACKOFF_S


def test_a_peer_that_says_when_to_come_back_is_left_alone_until_then() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, peer=None, now=0.0)
    sync.dials(0.0)
    sync.session_ended(ANN, is_whole=False, retry_s=20, peer=None, now=1.0)
    assert reasons(sync, 20.9) == [] and reasons(sync, 26.0) == [Reason.NEW]


def test_no_more_sessions_than_allowed_at_once() -> None:
    sync = interested(max_sessions=1)
    for node in (ANN, BEN):
        sync.neighbour_seen(node, HOST, PAIR, peer=None, now=0.0)
    (first,) = sync.dials(10.0)
    assert reasons(sync, 11.0) == []
    sync.session_ended(first.node, is_whole=True, retry_s=None, peer=peer(first.node), now=12.0)
    assert reasons(sync, 13.0) == [Reason.NEW]


def test_a_crowd_waits_random_moments_and_a_reason_that_went_is_dropped() -> None:
    sync = interested(max_sessions=50)
    nodes = [NodeId(f"{number:040x}") for number in range(40)]
    for node in nodes:
        sync.neighbour_seen(node, HOST, PAIR, peer=None, now=0.0)
    assert len(sync.dials(0.05)) < 20
    late = nodes[-1]
    sync.neighbour_seen(late, HOST, PAIR, peer=peer(late), now=0.1)
    assert late not in [dial.node for dial in sync.dials(MAX_CROWD_WAIT_S)]


def test_a_lost_neighbour_is_not_dialled() -> None:
    sync = interested()
    sync.neighbour_seen(ANN, HOST, PAIR, peer=None, now=0.0)
    sync.neighbour_lost(ANN)
    assert reasons(sync) == []
