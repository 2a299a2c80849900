"""What a node announces by mDNS: the TXT record of docs/protocol/hello-v1.md, written and read."""

from collections.abc import Mapping
from dataclasses import dataclass

from contentdb.errors import RemoteError, UsageError
from contentdb.names import NodeId, parse_node_id
from discovery.hello import check_pair, parse_number

SERVICE = "_passerby._tcp.local."


@dataclass(frozen=True, slots=True)
class Announcement:
    """Who is there and in which state, as it says. Where, the other records tell."""

    node: NodeId
    epoch: str
    revision: int

    def __post_init__(self) -> None:
        parse_node_id(self.node)
        check_pair(self.epoch, self.revision)


def encode_announcement(announcement: Announcement) -> dict[str, str]:
    return {
        "v": "1",
        "id": announcement.node,
        "epoch": announcement.epoch,
        "revision": str(announcement.revision),
    }


def decode_announcement(record: Mapping[bytes, bytes | None]) -> Announcement:
    """The announcement in a TXT record; RemoteError if one of its fields is missing or wrong."""
    if record.get(b"v") != b"1":
        raise RemoteError(f"expected v=1 in a TXT record; got {record.get(b'v')!r:.40}")
    try:
        node, epoch, revision = (_text(record, key) for key in (b"id", b"epoch", b"revision"))
        return Announcement(NodeId(node), epoch, parse_number(revision))
    except UsageError as error:
        raise RemoteError(f"not an announcement: {error}") from None


def _text(record: Mapping[bytes, bytes | None], key: bytes) -> str:
    value = record.get(key)
    if value is None:
        raise RemoteError(f"a TXT record lacks {key.decode()}")
    return value.decode("ascii", "replace")
