"""Streams over loopback: they carry, hold back, close and break as the cores on them should see it."""

import asyncio
import hashlib
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from contentdb.names import Address, ip_address
from tests.transport.makers import ALICE, BOB, ends, sent_in
from tests.transport.streams import (
    Listening,
    Sink,
    Source,
    Talker,
    nobody,
    run,
    talkers,
    until,
    until_still,
)
from transport.radio import Dialler
from transport.tcp import Tcp
from transport.tcp_stream import TURN_BYTES, TURN_S

PIECE = bytes(range(256)) * 192


async def converse(address: Address, listening: Listening, client: Talker, server: Talker) -> None:
    dialler: Dialler = Tcp(nobody)
    for number in range(5):
        client.say(b"head %d" % number, b"body" * 50_000 * number)
    dialler.dial(address, client)
    await until(lambda: len(client.frames) == 5)
    assert client.frames == [(b"HEAD %d" % number, b"BODY" * 50_000 * number) for number in range(5)]
    assert (client.proved, server.proved) == (BOB.node_id, ALICE.node_id)
    dialler.close()
    await server.is_lost.wait()
    listening.radio.close()


@pytest.mark.parametrize("bound_to", ["127.0.0.1", ""])
def test_frames_go_both_ways(bound_to: str) -> None:
    async def test() -> None:
        client, server = talkers()
        listening = await Listening(server).at(bound_to)
        await converse(listening.address, listening, client, server)
        assert listening.streams[0].remote.startswith("ip:127.0.0.1:")

    run(test())


def ipv6_hosts() -> list[str]:
    """Loopback, and the link-local addresses of this machine with their scopes."""
    table = Path("/proc/net/if_inet6")
    lines = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
    hosts = [(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line[0])), line[5]) for line in lines]
    return [
        host if host == "::1" else f"{host}%{name}" for host, name in hosts if host[:4] in ("::1", "fe80")
    ]


@pytest.mark.skipif(not ipv6_hosts(), reason="this machine has no IPv6")
def test_frames_go_over_ipv6_and_scoped_addresses() -> None:
    async def test(host: str) -> None:
        client, server = talkers()
        listening = await Listening(server).at("")
        await converse(ip_address(host, listening.port), listening, client, server)
        assert listening.streams[0].remote.startswith(f"ip:[{host}]:")

    for host in ipv6_hosts():
        run(test(host))


def test_twenty_megabytes_arrive_whole_and_nobody_runs_ahead() -> None:
    async def test() -> None:
        random = Random(5)
        pieces = [random.randbytes(random.randint(1, 100_000)) for _ in range(400)]
        sink = Sink()
        sink.wants_pause = True
        source = Source(iter(pieces))
        listening = await Listening(sink).at()
        Tcp(nobody).dial(listening.address, source)
        await until(lambda: source.given_bytes)
        # What the source gave is bounded by what buffers hold, however long we wait.
        assert await until_still(lambda: source.given_bytes) < 15_000_000 < sum(map(len, pieces))
        assert len(sink.received) <= 262_144
        sink.wants_pause = False
        listening.streams[0].wake()
        await sink.is_lost.wait()
        await source.is_lost.wait()
        assert hashlib.sha256(sink.received).digest() == hashlib.sha256(b"".join(pieces)).digest()
        listening.radio.close()

    run(test())


def test_a_peer_that_stops_reading_holds_only_itself_up() -> None:
    async def test() -> None:
        endless, (client, server) = Source(iter(lambda: PIECE, b"")), talkers()
        listening = await Listening(endless, server).at()
        plug = await listening.plug()
        await until(lambda: endless.given_bytes)
        given = await until_still(lambda: endless.given_bytes)
        client.say(b"still", b"there?")
        Tcp(nobody).dial(listening.address, client)
        await until(lambda: client.frames == [(b"STILL", b"THERE?")])
        listening.streams[0].wake()
        assert endless.given_bytes == given
        listening.streams[0].abort()
        await endless.is_lost.wait()
        plug.close()
        listening.radio.close()

    run(test())


def test_a_sender_that_never_waits_leaves_turns_to_others() -> None:
    async def test() -> None:
        endless, sink = Source(iter(lambda: PIECE, b"")), Sink()
        listening = await Listening(sink).at()
        stream = Tcp(nobody).dial(listening.address, endless)
        while len(sink.received) < 5_000_000:
            given = endless.given_bytes
            await asyncio.sleep(0)
            assert endless.given_bytes - given < TURN_BYTES + len(PIECE)
        stream.abort()
        await sink.is_lost.wait()
        listening.radio.close()

    run(test())


def test_answers_that_are_hard_to_find_leave_turns_to_others_too() -> None:
    def hard() -> Iterator[bytes]:
        """Few bytes, and each piece of them costs as much as a turn may."""
        for _ in range(40):
            began = time.monotonic()
            while time.monotonic() < began + TURN_S:
                pass
            yield b"nothing"

    async def test() -> None:
        source, sink = Source(hard()), Sink()
        listening = await Listening(sink).at()
        Tcp(nobody).dial(listening.address, source)
        while not source.wants_close:
            given = source.given_bytes
            await asyncio.sleep(0)
            assert source.given_bytes - given <= 2 * len(b"nothing")
        await sink.is_lost.wait()
        assert sink.received == b"nothing" * 40
        listening.radio.close()

    run(test())


def stream_of_a_client() -> bytes:
    client, server = ends()
    first = client.start()
    third = sent_in(client.bytes_received(sent_in(server.bytes_received(first))))
    return first + third + client.encode_frame(b"one", b"1" * 100) + client.encode_frame(b"two", b"2" * 100)


@pytest.mark.parametrize("seed", range(25))
def test_a_reset_after_any_byte_ends_that_stream_and_no_other(seed: int) -> None:
    async def test() -> None:
        (_, cut), (client, server) = talkers(), talkers()
        listening = await Listening(cut, server).at()
        stream = stream_of_a_client()
        plug = await listening.plug()
        plug.send(stream[: Random(seed).randrange(len(stream))])
        await until(lambda: listening.streams)
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        plug.close()
        await cut.is_lost.wait()
        assert cut.calls == ["connected", "lost"]
        await converse(listening.address, listening, client, server)

    run(test())


def test_a_handshake_may_come_byte_by_byte_and_is_counted_until_it_is_done() -> None:
    async def test() -> None:
        _, server = talkers()
        other = Sink()
        listening = await Listening(server, other).at()
        plug = await listening.plug()
        stream = stream_of_a_client()
        await until(lambda: listening.radio.unproved)
        idle = await listening.plug()
        await until(lambda: len(listening.radio.unproved) == 2)
        assert listening.radio.unproved == listening.streams
        for at in range(len(stream)):
            plug.send(stream[at : at + 1])
            await asyncio.sleep(0)
        await until(lambda: len(server.frames) == 2)
        assert [unproved.core for unproved in listening.radio.unproved] == [other]
        listening.radio.unproved[0].abort()
        await other.is_lost.wait()
        assert listening.radio.unproved == []
        for end in (plug, idle):
            end.close()
        await server.is_lost.wait()
        listening.radio.close()

    run(test())


@pytest.mark.parametrize("rubbish", [b"GET / HTTP/1.1\r\n\r\n", b"\0\x20" + bytes(32), b"\xff" * 300_000])
def test_bad_input_aborts_the_stream(rubbish: bytes) -> None:
    async def test() -> None:
        _, server = talkers()
        listening = await Listening(server).at()
        plug = await listening.plug()
        plug.send(rubbish)
        await server.is_lost.wait()
        assert server.calls == ["connected", "lost"] and server.proved is None
        plug.close()
        listening.radio.close()

    run(test())
