"""Two ends of a channel that know each other already, for tests that begin after the handshake."""

from contentdb.identity import NodeSecret
from transport.channel import PROLOGUE, Channel, Event, SendBytes
from transport.noise import Cipher, Handshake

ALICE = NodeSecret.from_bytes(bytes(range(32)))
BOB = NodeSecret.from_bytes(bytes(range(1, 33)))


def ends() -> tuple[Channel, Channel]:
    """Alice as the client and Bob as the server, with ephemeral keys that are always the same."""
    return Channel.client(ALICE, b"\3".__mul__), Channel.server(BOB, b"\4".__mul__)


def sent_in(events: list[Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, SendBytes))


def proved_ends() -> tuple[Channel, Channel]:
    client, server = ends()
    third = sent_in(client.bytes_received(sent_in(server.bytes_received(client.start()))))
    server.bytes_received(third)
    return client, server


def record(message: bytes) -> bytes:
    return len(message).to_bytes(2, "big") + message


def hostile_client() -> tuple[Cipher, Channel]:
    """A client that proved its key and may now encrypt whatever it likes, and the server it talks to."""
    client = Handshake(ALICE, is_initiator=True, prologue=PROLOGUE, entropy=b"\3".__mul__)
    server = Channel.server(BOB, b"\4".__mul__)
    client.read(sent_in(server.bytes_received(record(client.write())))[2:])
    server.bytes_received(record(client.write()))
    return client.split()[0], server
