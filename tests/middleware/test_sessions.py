"""Who is served at once, who is turned away and for how long, and whose turn is over."""

import pytest

from contentdb.identity import NodeSecret
from contentdb.names import Address
from middleware.config import SessionSettings
from middleware.sessions import (
    BUSY_AGAIN_S,
    MAX_HALF_OPEN,
    MAX_LEAVING,
    RATE_OVER_S,
    TURN_AGAIN_S,
    Session,
    Sessions,
)
from tests.contentdb.makers import entropy, memory_store, node
from transport.solicitation.server import Server
from transport.solicitation.streams import ServerStream

SECRET = NodeSecret.from_bytes(bytes(range(32)))
ADDRESS = Address("ip:192.0.2.1:4747")


def proved(sessions: Sessions, number: int, now: float) -> Session:
    """A client that has just proved who it is; whether it is served is another matter."""
    server = Server(memory_store(), SECRET.node_id, entropy=entropy(1))
    stream = ServerStream(SECRET, entropy(2), server)
    stream.peer = node(number)
    session = sessions.add(stream, ADDRESS, None, now)
    session.proved, session.measured = now, (now, 0)
    return session


@pytest.mark.parametrize(("serving", "served"), [("concurrent", 3), ("sequential", 1)])
def test_so_many_are_served_and_the_next_one_when_one_has_ended(serving: str, served: int) -> None:
    sessions = Sessions(SessionSettings(serving=serving))
    first = [proved(sessions, number, 1.0) for number in range(served)]
    assert [sessions.admission(session, 1.0) for session in first] == [None] * served
    late = proved(sessions, 99, 2.0)
    reject = sessions.admission(late, 2.0)
    assert reject is not None and reject.reason == "busy"
    sessions.remove(late.number)
    sessions.remove(first[0].number)
    assert sessions.admission(proved(sessions, 99, 3.0), 3.0) is None


def test_who_is_turned_away_asks_again_soon_since_sessions_are_mostly_short() -> None:
    sessions = Sessions(SessionSettings(serving="sequential"))
    sessions.admission(proved(sessions, 1, 1.0), 1.0)
    reject = sessions.admission(proved(sessions, 2, 1.0), 1.0)
    assert reject is not None and reject.retry_s is not None and 1 <= reject.retry_s <= BUSY_AGAIN_S


def test_a_client_has_its_time_and_a_slow_one_less_while_others_wait() -> None:
    sessions = Sessions(SessionSettings(servers=1, silence_s=1000))
    session = proved(sessions, 1, 1.0)
    assert sessions.admission(session, 1.0) is None
    assert sessions.overdue(1.0 + RATE_OVER_S) == []  # nobody waits: it may be as slow as it likes
    late = proved(sessions, 2, 20.0)
    assert sessions.admission(late, 20.0) is not None
    sessions.remove(late.number)
    assert sessions.overdue(20.0) == [(session, "turn")]  # it took nothing for so long
    session.stream.bytes_out = 10**9
    session.measured = (20.0, 0)
    assert sessions.overdue(30.0) == []
    session.stream.bytes_out = 2 * 10**9
    assert sessions.overdue(31.0) == [(session, "turn")]  # its thirty seconds are over


def half_open(sessions: Sessions, now: float) -> Session:
    stream = ServerStream(SECRET, entropy(2), Server(memory_store(), SECRET.node_id, entropy=entropy(1)))
    return sessions.add(stream, ADDRESS, None, now)


def test_handshakes_are_counted_apart_and_the_oldest_makes_room() -> None:
    sessions = Sessions(SessionSettings())
    served = [proved(sessions, number, 1.0) for number in range(3)]
    assert [sessions.admission(session, 1.0) for session in served] == [None] * 3
    strangers = [half_open(sessions, 1.0) for _ in range(MAX_HALF_OPEN)]
    assert sessions.surplus() == [] and sessions.count("server") == 3
    half_open(sessions, 1.0)
    assert sessions.surplus() == [(strangers[0], "half open")]


def test_a_handshake_that_is_never_finished_ends_however_often_a_byte_comes() -> None:
    sessions = Sessions(SessionSettings(handshake_s=10))
    session = half_open(sessions, 1.0)
    session.moved = 10.9
    assert sessions.overdue(10.9) == [] and sessions.next_timer() == 11.0
    assert sessions.overdue(11.0) == [(session, "handshake")]


def test_one_node_is_served_once_at_a_time() -> None:
    sessions = Sessions(SessionSettings())
    first = proved(sessions, 1, 1.0)
    again = proved(sessions, 1, 2.0)
    reject = sessions.admission(again, 2.0)
    assert reject is not None and reject.reason == "twice"
    sessions.sent_away(again, "rejected: twice", 2.0)
    sessions.remove(first.number)
    assert sessions.admission(proved(sessions, 1, 3.0), 3.0) is None


def test_a_session_in_which_nothing_moves_is_freed() -> None:
    sessions = Sessions(SessionSettings(silence_s=15))
    session = proved(sessions, 1, 1.0)
    session.moved = 5.0
    assert sessions.overdue(19.9) == [] and sessions.next_timer() == 20.0
    assert sessions.overdue(20.0) == [(session, "silence")]


def test_who_made_room_for_others_comes_after_them() -> None:
    sessions = Sessions(SessionSettings(servers=1))
    hog = proved(sessions, 1, 1.0)
    other = proved(sessions, 2, 2.0)
    assert sessions.admission(other, 2.0) is not None
    sessions.remove(other.number)
    sessions.sent_away(hog, "turn", 20.0)
    back = proved(sessions, 1, 21.0)
    reject = sessions.admission(back, 21.0)
    assert reject is not None and (reject.reason, reject.retry_s) == ("busy", TURN_AGAIN_S - 1)
    sessions.sent_away(back, "rejected: busy", 21.0)
    other = proved(sessions, 2, 22.0)
    assert sessions.admission(other, 22.0) is None
    sessions.remove(other.number)
    assert sessions.admission(proved(sessions, 1, 20.0 + TURN_AGAIN_S), 20.0 + TURN_AGAIN_S) is None


def test_who_was_told_to_go_and_does_not_is_cut_off_and_there_are_only_so_many() -> None:
    sessions = Sessions(SessionSettings(silence_s=15))
    leaving = [proved(sessions, number, 1.0) for number in range(MAX_LEAVING + 1)]
    for session in leaving:
        sessions.sent_away(session, "rejected: busy", 1.0)
    assert sessions.surplus() == [(leaving[0], "rejected: busy")]
    for session in leaving:
        session.moved = 15.9  # a byte now and then
    assert sessions.overdue(15.9) == [] and sessions.next_timer() == 16.0
    assert [session for session, _ in sessions.overdue(16.0)] == leaving
