"""A process of peers that are slow on purpose, until its standard input ends.

    python -m tests.middleware.loris HOST PORT ROOT

Some never say a word, some say a byte of the handshake now and then, some prove who they are and then say a
byte now and then, and some ask for a whole file and never read it. Each comes back as soon as it was thrown
out. Prints how often each kind was.
"""

import json
import os
import select
import socket
import sys
import time
from collections import Counter

from contentdb.errors import RemoteError
from contentdb.identity import NodeSecret
from contentdb.names import Root
from transport.channel import Channel, Proved, SendBytes
from transport.messages import MAX_CHUNKS_ASKED, ChunksRequest, Envelope, Request
from transport.xmlcodec import encode_message

KINDS = {"mute": 20, "drip": 4, "holder": 3, "glutton": 3}
STEP_S, PATIENCE_S = 0.5, 5.0


class Peer:
    """One that connects again whenever it was thrown out."""

    def __init__(self, kind: str, target: tuple[str, int], root: Root) -> None:
        self.kind, self._target, self._root = kind, target, root
        self._secret = NodeSecret.generate(os.urandom)
        self.thrown_out = 0
        self.proved = 0
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(self._target, timeout=PATIENCE_S)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._drops = Channel.client(self._secret, os.urandom).start()
        self._is_proved = False
        if self.kind in ("holder", "glutton"):
            self._prove()

    def _prove(self) -> None:
        channel = Channel.client(self._secret, os.urandom)
        self._socket.sendall(channel.start())
        while not self._is_proved:
            heard = self._socket.recv(65_536)
            if not heard:
                return
            for event in channel.bytes_received(heard):
                if isinstance(event, SendBytes):
                    self._socket.sendall(event.data)
                self._is_proved = self._is_proved or isinstance(event, Proved)
        self.proved += 1
        if self.kind == "glutton":
            for number in range(30):
                first = 1 + number * MAX_CHUNKS_ASKED
                request = Request(number + 1, ChunksRequest(self._root, first, first + MAX_CHUNKS_ASKED - 1))
                header = encode_message(Envelope(self._secret.node_id, request))
                self._socket.sendall(channel.encode_frame(header))
        else:
            self._drops = b"\xff\xff" + bytes(65_000)  # a record that takes its time

    def step(self) -> None:
        try:
            self._socket.settimeout(PATIENCE_S)
            if self.kind in ("drip", "holder") and self._drops:
                self._socket.sendall(self._drops[:1])
                self._drops = self._drops[1:]
            if self._is_gone():
                raise ConnectionError("thrown out")
        except (OSError, RemoteError):
            self.thrown_out += 1
            self._socket.close()
            try:
                self._connect()
            except (OSError, RemoteError):
                return  # next time

    def _is_gone(self) -> bool:
        if self.kind == "glutton":  # it never reads; a poll tells of a reset
            poll = select.poll()
            poll.register(self._socket, select.POLLRDHUP)
            return any(
                event & (select.POLLRDHUP | select.POLLHUP | select.POLLERR) for _, event in poll.poll(0)
            )
        if not select.select([self._socket], [], [], 0)[0]:
            return False
        return not self._socket.recv(65_536)


def main() -> None:
    target, root = (sys.argv[1], int(sys.argv[2])), Root(sys.argv[3])
    peers = [Peer(kind, target, root) for kind, count in KINDS.items() for _ in range(count)]
    while not select.select([sys.stdin], [], [], 0)[0]:
        for peer in peers:
            peer.step()
        thrown, proved = Counter[str](), Counter[str]()
        for peer in peers:
            thrown[peer.kind] += peer.thrown_out
            proved[peer.kind] += peer.proved
        print(json.dumps({"thrown_out": thrown, "proved": proved}), flush=True)
        time.sleep(STEP_S)


if __name__ == "__main__":
    main()
