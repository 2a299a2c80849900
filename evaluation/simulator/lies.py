"""The parts that a hostile stranger plays in a session: each breaks the protocol, or keeps it and lies."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from contentdb.bloom import SALT_BYTES, Filter, encode_filter
from contentdb.errors import RemoteError
from contentdb.names import FeedId, NodeId, Root
from transport.channel import Channel, Proved, SendBytes
from transport.frame import FrameReceived
from transport.messages import (
    BloomRequest,
    BySketch,
    CellsReply,
    ChunksReply,
    ChunksRequest,
    EntriesReply,
    Envelope,
    Except,
    FeedRequest,
    FeedsReply,
    FeedsRequest,
    HashesReply,
    HashesRequest,
    Message,
    Reject,
    Reply,
    Request,
    SessionHello,
    Since,
)
from transport.solicitation.server import Server
from transport.xmlcodec import decode_message, encode_message

if TYPE_CHECKING:
    from evaluation.simulator.hostile import Hostile
    from evaluation.simulator.simnode import SimNode

# As a server: what somebody who dialled us meets.
SERVERS = (
    "mute", "loris", "silent", "busy", "rubbish", "wrong bytes", "wrong name", "wrong answer",
    "endless parts", "endless pages", "empty", "boast", "short", "replay", "wrong chunks", "bad apple",
)  # fmt: skip
# As a client: what somebody whom we dialled meets.
CLIENTS = ("mute", "silent", "rubbish", "flood", "replay", "wrong name", "hog", "false end", "wrong ids")
LORIS_S, HOG_S = 2.0, 10.0
HUGE = 2**62


class Part:
    """One stream of a stranger, and the lie it lives by."""

    def __init__(self, stranger: "Hostile", lie: str, *, is_client: bool) -> None:
        self._stranger, self._rng, self.lie, self._is_client = stranger, stranger.rng, lie, is_client
        make = Channel.client if is_client else Channel.server
        self._channel = make(stranger.secret, stranger.rng.randbytes)
        self.outgoing: deque[bytes] = deque()
        self.is_done = False
        self._asked = 0
        self._drops: deque[bytes] = deque()  # of a slow loris, byte by byte
        self._feeds, self._roots = self._known() if is_client else ([], [])

    def opened(self) -> None:
        if self.lie == "replay" and self._stranger.recorded:
            self.outgoing.extend(self._stranger.recorded)
        elif self.lie != "mute":
            self._send_bytes(self._channel.start())

    def bytes_received(self, data: bytes) -> None:
        if self.lie == "mute" or self.is_done:
            return
        try:
            for event in self._channel.bytes_received(data):
                match event:
                    case SendBytes(piece):
                        self._send_bytes(piece)
                    case Proved():
                        self._proved()
                    case FrameReceived(header, body):
                        self._heard(decode_message(bytes(header)).message, bytes(body))
        except RemoteError:
            self.is_done = True

    def _send_bytes(self, piece: bytes) -> None:
        if self.lie == "loris":
            if not self._drops:
                self._stranger.world.after(LORIS_S, self._drip)
            self._drops.extend(bytes([byte]) for byte in piece)
        elif piece:
            self.outgoing.append(piece)

    def _drip(self) -> None:
        if self._drops and self._stranger.is_running:
            self.outgoing.append(self._drops.popleft())
            self._stranger.wake(self)
            self._stranger.world.after(LORIS_S, self._drip)

    def _send(self, message: Message, *body: bytes) -> None:
        own = self._stranger.secret.node_id
        name = NodeId(self._rng.randbytes(20).hex()) if self.lie == "wrong name" else own
        self._send_bytes(self._channel.encode_frame(encode_message(Envelope(name, message)), *body))

    def _proved(self) -> None:
        match self.lie, self._is_client:
            case "silent", _:
                return
            case "rubbish", _:
                self._send_bytes(self._channel.encode_frame(self._rng.randbytes(50), self._rng.randbytes(9)))
            case "busy", _:
                self._send(Reject("busy", retry_s=self._rng.choice((0, 1, 86_400, HUGE))))
            case "boast", False:
                self._send(SessionHello(self._rng.randbytes(8).hex(), HUGE))
            case _, False:
                self._send(SessionHello(f"{0:016x}", self._rng.randint(0, 100)))
            case "false end", True:
                self._send(SessionHello(self._rng.randbytes(8).hex(), HUGE, base=self._rng.choice((0, HUGE))))
            case _:
                self._ask()

    def _ask(self) -> None:
        """Questions that nobody needs an answer to, many at once or now and then for ever."""
        many = {"flood": 32, "wrong ids": 3}.get(self.lie, 1)
        for _ in range(self._rng.randint(1, many)):
            self._asked += 1 if self.lie != "wrong ids" else self._rng.randint(-1, 5)
            self._send(*self._question())
        if self.lie in ("hog", "flood") and self._stranger.is_running and not self.is_done:
            self._stranger.world.after(HOG_S, self._ask_again)

    def _ask_again(self) -> None:
        if self._stranger.is_running and not self.is_done:
            self._ask()
            self._stranger.wake(self)

    def _question(self) -> tuple[Message, bytes]:
        rng = self._rng
        feed = FeedId(rng.choice(["urn:x:y", *self._feeds]))
        root = Root(rng.choice([rng.randbytes(32).hex(), *self._roots]))
        first = rng.choice((1, 1, 5, HUGE - 9))
        full = encode_filter(Filter.build([rng.randbytes(8)], rng.randbytes(SALT_BYTES), 0.01))
        damaged = full[:-1] + b"\xff" * rng.choice((1, 1, 40))
        ask, body = rng.choice((
            (BloomRequest(), b""),
            (FeedsRequest(rng.choice(("", "title LIKE '%a%'", "1 <", "x = " * 50))), b""),
            (FeedRequest(feed, Since(rng.randbytes(8).hex(), rng.randint(0, 9))), b""),
            (FeedRequest(feed, Except(rng.randint(0, HUGE))), damaged),
            (FeedRequest(feed, BySketch()), rng.randbytes(rng.randint(0, 60))),
            (HashesRequest(root, first, first + rng.choice((0, 3, 5_000))), b""),
            (ChunksRequest(root, first, first + rng.choice((0, 7, 5_000))), b""),
        ))  # fmt: skip
        return Request(max(self._asked, 1), ask), body

    def _known(self) -> tuple[list[str], list[str]]:
        """Feeds and files of which somebody here has something."""
        for node in self._someone():
            with node.machine.disk.spied_on():
                feeds = {subscription.feed for subscription in node.store.subscriptions.all()}
                return sorted(feeds), list(node.store.blobs.roots())
        return [], []

    def _someone(self) -> list["SimNode"]:
        running = [node for node in self._stranger.world.nodes.values() if node.is_running]
        return [self._rng.choice(running)] if running else []

    # -- answers

    def _heard(self, message: Message, body: bytes) -> None:
        if not isinstance(message, Request) or self.lie in ("silent", "busy", "rubbish"):
            return
        if self.lie == "empty" or self._rng.random() < 0.05:
            self._send(Reject("unknown", to=message.id))
            return
        for reply, content in self._lied(message, body):
            self._send(reply, content)

    def _lied(self, request: Request, body: bytes) -> Iterator[tuple[Message, bytes]]:
        if self.lie == "endless pages":
            yield from self._page(request)
            return
        for count, (message, content) in enumerate(self._truth(request, body)):
            if isinstance(message, Reply):
                yield self._twisted(message, b"".join(content))
            else:
                yield message, b""
            if self.lie == "short" and count:
                return
        if self.lie == "endless parts":
            self._stranger.world.after(1.0, lambda: self._more(request))

    def _page(self, request: Request) -> Iterator[tuple[Message, bytes]]:
        """Nothing here, but ask again, and again."""
        if isinstance(request.ask, FeedRequest) and not isinstance(request.ask.how, BySketch):
            yield Reply(request.id, EntriesReply(0, f"{0:016x}", HUGE, next=self._rng.randint(0, 5))), b""
        elif isinstance(request.ask, FeedsRequest):
            after = (request.ask.after or "urn:x:") + "x"
            yield Reply(request.id, FeedsReply(0, next=FeedId(after[:3_000]))), b""
        else:
            yield Reject("unknown", to=request.id), b""

    def _more(self, request: Request) -> None:
        """One more part of an answer that never ends."""
        if self._stranger.is_running and not self.is_done and isinstance(request.ask, FeedRequest):
            self._send(Reply(request.id, EntriesReply(0, f"{0:016x}", 5), more=True))
            self._stranger.wake(self)
            self._stranger.world.after(1.0, lambda: self._more(request))

    def _truth(self, request: Request, body: bytes) -> Iterator[tuple[Message, list[bytes]]]:
        """What an honest node would say."""
        for node in self._someone():
            server = Server(node.store, self._stranger.secret.node_id, entropy=self._rng.randbytes)
            with node.machine.disk.spied_on():
                told = list(server.answer(request, body, node.at))
            yield from told

    def _twisted(self, reply: Reply, content: bytes) -> tuple[Message, bytes]:
        rng = self._rng
        match self.lie:
            case "wrong bytes" if content:
                at = rng.randrange(len(content))
                return reply, content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
            case "wrong chunks" | "bad apple" if isinstance(reply.answer, ChunksReply):
                is_wrong = self.lie == "wrong chunks" or rng.random() < 0.1
                return reply, bytes([content[0] ^ is_wrong]) + content[1:]
            case "wrong answer":
                other = rng.choice((
                    ChunksReply(Root("ab" * 32), 1, 1), HashesReply(Root("ab" * 32), 1, 1, ((1, HUGE),)),
                    CellsReply(f"{0:016x}", HUGE), EntriesReply(rng.randint(0, 9), f"{0:016x}", HUGE),
                ))  # fmt: skip
                return rng.choice((replace(reply, answer=other), replace(reply, to=reply.to + 1))), content
            case "endless parts":
                return replace(reply, more=True), content
            case "boast" if isinstance(reply.answer, EntriesReply):
                return replace(reply, answer=replace(reply.answer, revision=HUGE)), content
            case "boast" if isinstance(reply.answer, HashesReply):
                return replace(reply, answer=replace(reply.answer, have=((1, 2**40),))), content
        return reply, content
