"""The emulated link: what goes in comes out, both ways, and it says what passed. Tests assert no times."""

import socket
import threading

from evaluation.benchmarks.meeting.emulator import LOOPBACK, EmulatedLink, LinkModel

FAST = LinkModel(1e9, 0.001)


def echo(listener: socket.socket) -> None:
    stream, _ = listener.accept()
    with stream:
        while piece := stream.recv(65_536):
            stream.sendall(piece)


def test_bytes_come_out_in_order_and_the_end_of_a_stream_is_passed_on() -> None:
    sent = bytes(range(256)) * 400
    with socket.create_server((LOOPBACK, 0)) as listener:
        threading.Thread(target=echo, args=(listener,), daemon=True).start()
        with EmulatedLink(FAST, listener.getsockname()[1]) as link:
            with socket.create_connection((LOOPBACK, link.port), timeout=60) as stream:
                stream.sendall(sent)
                stream.shutdown(socket.SHUT_WR)
                received = b""
                while piece := stream.recv(65_536):
                    received += piece
            flights = link.take_flights()
    assert received == sent
    assert flights[0][0] is False and flights[-1][0] is True
    for is_down in (False, True):
        assert sum(size for down, size in flights if down == is_down) == len(sent)


def test_who_reaches_nobody_is_told_so() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
    with EmulatedLink(FAST, port) as link, socket.create_connection((LOOPBACK, link.port), timeout=60) as end:
        assert end.recv(1) == b""


def test_a_model_says_what_it_is() -> None:
    assert LinkModel(20e6, 0.02).name == "20 Mbit/s, 20 ms"
