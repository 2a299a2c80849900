"""Typed facts for measuring, one JSON line each; real and simulated nodes write the same (docs/logbook.md).

    {"v":1,"node":"3f...","seq":7,"at":1790000000000,"now":12.034,"kind":"contact_ended","peer":"9a...","seconds":41.2}

(node, seq) names a line for ever: whoever collects logbooks can take in the same file twice. `at` is Unix
milliseconds by the node's own clock, `now` seconds by a clock that never jumps. A logbook is a trace of other
people's presence too: it is kept private and only for a while.
"""

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from contentdb.errors import UsageError
from contentdb.names import NodeId

VERSION = 1


@dataclass(frozen=True, slots=True)
class NodeStarted:
    epoch: str
    revision: int


@dataclass(frozen=True, slots=True)
class NodeStopped:
    revision: int


@dataclass(frozen=True, slots=True)
class HellosCounted:
    """Since the last such line, or since the start."""

    sent: int
    received: int
    dropped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ContactBegan:
    peer: str
    neighbours: int


@dataclass(frozen=True, slots=True)
class ContactEnded:
    peer: str
    seconds: float
    neighbours: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """`role` is ours: client or server. `entries` and `chunks` are those that were new to the client."""

    peer: str
    role: str
    reason: str
    seconds: float
    bytes_in: int
    bytes_out: int
    entries: int = 0
    useless_entries: int = 0
    chunks: int = 0
    false_positives: int = 0
    withheld: int = 0
    useful_bytes: int = 0  # of those entries, as they were signed, and those chunks


@dataclass(frozen=True, slots=True)
class SessionRefused:
    peer: str
    role: str
    reason: str


@dataclass(frozen=True, slots=True)
class EntryPublished:
    feed: str
    entry: str
    version: str
    size: int


@dataclass(frozen=True, slots=True)
class EntryReceived:
    feed: str
    entry: str
    version: str
    peer: str
    updated: int


@dataclass(frozen=True, slots=True)
class EntryDelivered:
    feed: str
    entry: str
    version: str
    app: str


@dataclass(frozen=True, slots=True)
class EnclosureReceived:
    root: str
    length: int


@dataclass(frozen=True, slots=True)
class FeedFound:
    feed: str
    peer: str


@dataclass(frozen=True, slots=True)
class BatterySampled:
    percent: float
    is_charging: bool
    microamperes: int | None = None
    microvolts: int | None = None


Fact: TypeAlias = (
    NodeStarted
    | NodeStopped
    | HellosCounted
    | ContactBegan
    | ContactEnded
    | SessionEnded
    | SessionRefused
    | EntryPublished
    | EntryReceived
    | EntryDelivered
    | EnclosureReceived
    | FeedFound
    | BatterySampled
)
KINDS: dict[str, type[Fact]] = {
    "node_started": NodeStarted,
    "node_stopped": NodeStopped,
    "hellos_counted": HellosCounted,
    "contact_began": ContactBegan,
    "contact_ended": ContactEnded,
    "session_ended": SessionEnded,
    "session_refused": SessionRefused,
    "entry_published": EntryPublished,
    "entry_received": EntryReceived,
    "entry_delivered": EntryDelivered,
    "enclosure_received": EnclosureReceived,
    "feed_found": FeedFound,
    "battery_sampled": BatterySampled,
}
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NAMES = {kind: name for name, kind in KINDS.items()}


def short_version(version: bytes) -> str:
    """A version as facts tell it: enough to tell those of one entry apart."""
    return version.hex()[:16]


@dataclass(frozen=True, slots=True)
class Line:
    node: NodeId
    seq: int
    at: int
    now: float
    fact: Fact


def encode_line(line: Line) -> str:
    head = {"v": VERSION, "node": line.node, "seq": line.seq, "at": line.at, "now": round(line.now, 6)}
    kind = type(line.fact)
    # Facts are flat, so their slots are all there is to them; `asdict` would take five times as long.
    fields = {name: getattr(line.fact, name) for name in kind.__slots__}
    return _ENCODE({**head, "kind": _NAMES[kind], **fields})


def decode_line(text: str) -> Line:
    """Read a line of our own; UsageError for anything else. Unknown fields are passed over."""
    try:
        row: dict[str, Any] = json.loads(text)
        kind = KINDS[row["kind"]]
        if row["v"] != VERSION:
            raise UsageError(f"a line of version {row['v']!r}; this reads version {VERSION}")
        known = {name: row[name] for name in kind.__slots__ if name in row}
        return Line(NodeId(row["node"]), row["seq"], row["at"], row["now"], kind(**known))
    except UsageError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"not a line of a logbook: {text[:80]!r} ({error})") from None


class Logbook:
    """Numbers facts; whoever owns it takes them away: into a file in a node, into sums in the simulator."""

    def __init__(self, node: NodeId, first_seq: int = 1) -> None:
        self._node, self._next = node, first_seq
        self._lines: list[Line] = []

    def note(self, fact: Fact, now: float, at: int) -> None:
        self._lines.append(Line(self._node, self._next, at, now, fact))
        self._next += 1

    def take(self) -> list[Line]:
        """What was noted since the last call."""
        lines, self._lines = self._lines, []
        return lines

    def take_lines(self) -> list[str]:
        """The same in writing, for whoever keeps it."""
        return [encode_line(line) for line in self.take()]
