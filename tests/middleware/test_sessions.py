"""Who is served at once, who is turned away and for how long, and whose turn is over."""

import pytest

from contentdb.identity import NodeSecret
from contentdb.names import Address
from middleware.config import SessionSettings
from middleware.sessions import BUSY_AGAIN_S, RATE_OVER_S, Session, Sessions
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
