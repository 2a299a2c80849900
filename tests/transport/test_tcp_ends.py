"""How streams begin and end: dials that fail, closes that lose nothing, peers that never close."""

import asyncio
import socket

import pytest

from contentdb.errors import RemoteError, UsageError
from contentdb.names import Address, ip_address
from tests.transport.streams import Base, Listening, Sink, Source, nobody, run, until
from transport.tcp import Tcp

REPLY = b"reject" * 50_000


class Refuser(Base):
    """Answers the first bytes and wants no more, as a server that is busy does."""

    def bytes_received(self, data: memoryview, now: float) -> None:
        assert not self.wants_close, "a core that wants to close hears no more"
        self.output.append(REPLY)
        self.wants_close = True


class Broken(Base):
    """Finds out what is wrong only when it makes its answer."""

    def next_output(self) -> bytes | None:
        raise RemoteError("the peer asked for something impossible")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_a_dial_that_nobody_answers_is_lost_without_having_been_connected() -> None:
    async def test() -> None:
        core = Sink()
        Tcp(nobody).dial(ip_address("127.0.0.1", free_port()), core)
        await core.is_lost.wait()
        assert core.calls == ["lost"]

    run(test())


def test_a_dial_to_an_interface_that_is_gone_is_lost_too() -> None:
    async def test() -> None:
        core = Sink()
        Tcp(nobody).dial(Address("ip:[fe80::1%gone0]:4747"), core)
        await core.is_lost.wait()
        assert core.calls == ["lost"]

    run(test())


def test_a_dial_may_be_called_off_before_it_begins() -> None:
    async def test() -> None:
        core = Sink()
        Tcp(nobody).dial(ip_address("127.0.0.1", free_port()), core).abort()
        await core.is_lost.wait()
        assert core.calls == ["lost"]

    run(test())


@pytest.mark.skipif(
    not hasattr(socket, "SO_PEERCRED"), reason="only Linux leaves dials to a full queue waiting"
)
def test_a_dial_that_is_not_answered_at_all_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transport.tcp.DIAL_S", 0.05)

    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            first = socket.create_connection(full.getsockname())
            core = Sink()
            Tcp(nobody).dial(ip_address(*full.getsockname()), core)
            await core.is_lost.wait()
            first.close()
        assert core.calls == ["lost"]

    run(test())


@pytest.mark.parametrize("address", ["ble:01-02", "ip:localhost:4747", "ip:127.0.0.1"])
def test_only_numeric_addresses_of_this_radio_are_dialled(address: str) -> None:
    async def test() -> None:
        with pytest.raises(UsageError, match="numeric address"):
            Tcp(nobody).dial(Address(address), Sink())

    run(test())


def test_a_port_that_is_taken_is_said_with_advice() -> None:
    async def test() -> None:
        listening = await Listening().at()
        with pytest.raises(UsageError, match=f"port {listening.port} of 127.0.0.1.*choose another"):
            await Tcp(nobody).listen(listening.port, "127.0.0.1")
        listening.radio.close()

    run(test())


def test_what_was_written_before_the_close_arrives_though_the_peer_was_talking() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        server = Refuser()
        listening = await Listening(server).at()
        plug = await listening.plug()
        # More than the server reads at once: closing on unread bytes would reset the connection.
        plug.send(bytes(1_000_000))
        await until(lambda: server.wants_close and not server.output)
        plug.send(b"more")
        received = bytearray()
        while data := await loop.sock_recv(plug, 65_536):
            received += data
        assert received == REPLY
        plug.close()
        await server.is_lost.wait()
        listening.radio.close()

    run(test())


def test_a_core_that_closes_at_once_sends_its_last_words() -> None:
    async def test() -> None:
        sink, source = Sink(), Source(iter([b"one", b"two"]))
        listening = await Listening(source).at()
        Tcp(nobody).dial(listening.address, sink)
        await sink.is_lost.wait()
        await source.is_lost.wait()
        assert sink.received == b"onetwo"
        assert sink.calls == source.calls == ["connected", "lost"]
        listening.radio.close()

    run(test())


def test_a_core_that_comes_to_its_end_by_a_timer_is_closed_when_woken() -> None:
    async def test() -> None:
        core, sink = Base(), Sink()
        listening = await Listening(core).at()
        Tcp(nobody).dial(listening.address, sink)
        await until(lambda: core.calls)
        core.output.append(b"time is up")
        core.wants_close = True
        listening.streams[0].wake()
        await sink.is_lost.wait()
        assert sink.received == b"time is up"
        listening.radio.close()

    run(test())


@pytest.mark.parametrize("reads", [True, False])
def test_a_peer_that_never_closes_is_cut_off(monkeypatch: pytest.MonkeyPatch, reads: bool) -> None:
    monkeypatch.setattr("transport.tcp_stream.CLOSE_S", 0.05)

    async def test() -> None:
        core = Base()
        core.output.extend([bytes(1_000_000)] * (1 if reads else 30))
        core.wants_close = True
        listening = await Listening(core).at()
        plug = await listening.plug()
        received = 0
        while reads and (data := await asyncio.get_running_loop().sock_recv(plug, 65_536)):
            received += len(data)
        await core.is_lost.wait()
        assert received == (1_000_000 if reads else 0)
        plug.close()
        listening.radio.close()

    run(test())


def test_a_peer_that_closes_first_is_answered_by_closing() -> None:
    async def test() -> None:
        sink = Sink()
        listening = await Listening(sink).at()
        plug = await listening.plug()
        plug.send(b"last words")
        plug.shutdown(socket.SHUT_WR)
        assert await asyncio.get_running_loop().sock_recv(plug, 10) == b""
        await sink.is_lost.wait()
        assert sink.received == b"last words" and sink.calls == ["connected", "lost"]
        plug.close()
        listening.radio.close()

    run(test())


def test_an_answer_that_cannot_be_made_aborts_the_stream() -> None:
    async def test() -> None:
        core, sink = Broken(), Sink()
        listening = await Listening(core).at()
        Tcp(nobody).dial(listening.address, sink)
        await core.is_lost.wait()
        await sink.is_lost.wait()
        assert core.calls == ["connected", "lost"]
        listening.radio.close()

    run(test())


def test_closing_the_radio_cuts_what_is_open_and_accepts_no_more() -> None:
    async def test() -> None:
        inner, outer, late = Sink(), Sink(), Sink()
        listening = await Listening(inner).at()
        dialler = Tcp(nobody)
        dialler.dial(listening.address, outer)
        await until(lambda: inner.calls and outer.calls)
        listening.radio.close()
        await inner.is_lost.wait()
        await outer.is_lost.wait()
        dialler.dial(listening.address, late)
        await late.is_lost.wait()
        assert late.calls == ["lost"]

    run(test())
