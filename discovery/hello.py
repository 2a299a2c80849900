"""The hello datagram and its compact form, encoded and decoded as docs/protocol/hello-v1.md says."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from contentdb.errors import RemoteError, UsageError
from contentdb.names import NodeId
from contentdb.xmlguard import PROTOCOL, Element, XmlError, parse_xml

MAX_HELLO_BYTES = 512
MIN_NEXT_S, MAX_NEXT_S = 0.1, 3600.0
MAX_REVISION = 2**63 - 1
MAX_WORDS = 8
MAX_GAINED = 16
COMPACT_BYTES = 20

_LIMITS = replace(PROTOCOL, size_bytes=MAX_HELLO_BYTES)
_NAMESPACE = "{urn:passerby:1}"
_NODE = re.compile(r"[0-9a-f]{40}")
_EPOCH = re.compile(r"[0-9a-f]{16}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_SECONDS = re.compile(r"(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?")
_TAG = re.compile(r"[0-9a-f]{2}")
_WORD = re.compile(r"[a-z0-9-]{1,16}")
_GAINS = re.compile(r"(?:[0-9a-f]{16})*")
# A hello as `encode_hello` writes it, as nearly all come. What differs in one byte is parsed as XML.
_WRITTEN = re.compile(
    r'<message xmlns="urn:passerby:1" version="1"><node-id>([0-9a-f]{40})</node-id>'
    r'<hello port="(0|[1-9][0-9]{0,4})" epoch="([0-9a-f]{16})" revision="(0|[1-9][0-9]{0,18})"'
    r' next_s="((?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?)"(?: can="([a-z0-9 -]+)")?'
    r'(?: gained="((?:[0-9a-f]{16})+)")?(?: of="((?:[0-9a-f]{2})+)")?(?: sum="([0-9a-f]{16})")?'
    r'( ask="true")?( answer="true")?'
    r"/></message>"
)

_COMPACT_KIND = 0x51
_CHECK_PREFIX = b"passerby epoch v1\0"
# One step is a quarter of a doubling; the last is the first that reaches MAX_NEXT_S.
_STEPS_S = tuple(0.1 * 2 ** (step / 4) for step in range(62))


class Claim(NamedTuple):
    """The state of a store, as it is told: the pair, its last gains with their tags, and the sum of all.

    "" is unknown.
    """

    epoch: str
    revision: int
    gained: tuple[str, ...] = ()
    sum: str = ""
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hello:
    """What a node says of itself. Nothing of it is proved."""

    node: NodeId
    port: int
    epoch: str
    revision: int
    next_s: float
    can: tuple[str, ...] = ()
    is_answer: bool = False
    gained: tuple[str, ...] = ()  # short ids of the last gains, the newest last
    asks: bool = False  # for an answer, known or not
    sum: str = ""  # of the short ids of all gains; "": not told
    of: tuple[str, ...] = ()  # tags of the feeds that `gained` are of; not told if there are none

    def __post_init__(self) -> None:
        if _NODE.fullmatch(self.node) is None:
            raise UsageError(
                f"a hello's node id is 40 hexadecimal digits in lower case; got {self.node!r:.60}"
            )
        if not 0 <= self.port <= 65_535:
            raise UsageError(f"a hello's port is 0 to 65535; got {self.port}")
        check_pair(self.epoch, self.revision)
        # Thousandths, so that what is decoded equals what was encoded.
        if not MIN_NEXT_S <= self.next_s <= MAX_NEXT_S or round(self.next_s, 3) != self.next_s:
            raise UsageError(f"next_s is 0.1 to 3600 in whole thousandths; got {self.next_s}")
        if len(self.can) > MAX_WORDS or any(_WORD.fullmatch(word) is None for word in self.can):
            raise UsageError(f"can is at most 8 words of 1 to 16 of a-z, 0-9 and -; got {self.can!r:.80}")
        if len(self.gained) > min(MAX_GAINED, self.revision):
            raise UsageError(f"a hello tells at most {MAX_GAINED} gains, and no more than there were")
        if len(self.of) not in (0, len(self.gained)) or any(_TAG.fullmatch(tag) is None for tag in self.of):
            raise UsageError(f"of has two digits in lower case for each gain; got {self.of!r:.80}")
        if self.sum and _EPOCH.fullmatch(self.sum) is None:
            raise UsageError(f"a sum is 16 hexadecimal digits in lower case; got {self.sum!r:.40}")
        if any(len(gain) != 16 for gain in self.gained) or not _GAINS.fullmatch("".join(self.gained)):
            raise UsageError(f"a gain is 16 hexadecimal digits in lower case; got {self.gained!r:.80}")

    @property
    def claim(self) -> Claim:
        return Claim(self.epoch, self.revision, self.gained, self.sum, self.of)


def check_pair(epoch: str, revision: int) -> None:
    if _EPOCH.fullmatch(epoch) is None:
        raise UsageError(f"an epoch is 16 hexadecimal digits in lower case; got {epoch!r:.40}")
    if not 0 <= revision <= MAX_REVISION:
        raise UsageError(f"a revision is 0 to 2^63-1; got {revision}")


def parse_number(text: str) -> int:
    """A number as the protocol writes it: decimal digits, no sign, no leading zero."""
    if _NUMBER.fullmatch(text) is None:
        raise RemoteError(f"expected a number in decimal digits; got {text!r:.40}")
    return int(text)


def encode_hello(hello: Hello) -> bytes:
    seconds = f"{hello.next_s:.3f}".rstrip("0").rstrip(".")
    can = f' can="{" ".join(hello.can)}"' if hello.can else ""
    gained = f' gained="{"".join(hello.gained)}"' if hello.gained else ""
    of = f' of="{"".join(hello.of)}"' if hello.of else ""
    sum = f' sum="{hello.sum}"' if hello.sum else ""
    ask = ' ask="true"' if hello.asks else ""
    answer = ' answer="true"' if hello.is_answer else ""
    return (
        f'<message xmlns="urn:passerby:1" version="1"><node-id>{hello.node}</node-id>'
        f'<hello port="{hello.port}" epoch="{hello.epoch}" revision="{hello.revision}"'
        f' next_s="{seconds}"{can}{gained}{of}{sum}{ask}{answer}/></message>'
    ).encode("ascii")


def telling(hello: Hello, gained: tuple[str, ...], of: tuple[str, ...]) -> Hello:
    """The hello with as many of these gains as fit, the newest of them; without its sum if that does not."""
    if len(encode_hello(hello)) > MAX_HELLO_BYTES:
        hello = replace(hello, sum="")
    room = (MAX_HELLO_BYTES - len(encode_hello(hello)) - len(' gained="" of=""')) // 18
    count = min(room, MAX_GAINED, hello.revision, len(gained))
    if count <= 0:
        return hello
    return replace(hello, gained=gained[len(gained) - count :], of=of[max(len(of) - count, 0) :])


# Each hello comes by broadcast, by multicast and over several interfaces, and a neighbour repeats it until
# something changes: 4,096 are four for each neighbour there may be, some 3 MB. Only what is right is kept.
@lru_cache(maxsize=4096)
def decode_hello(datagram: bytes) -> Hello:
    """The hello in a datagram; RemoteError for anything that is not one of version 1."""
    if len(datagram) > MAX_HELLO_BYTES:
        raise RemoteError(f"a hello has {len(datagram)} bytes; at most {MAX_HELLO_BYTES} are allowed")
    written = _WRITTEN.fullmatch(datagram.decode("latin-1"))
    return decode_xml_hello(datagram) if written is None else _read_written(*written.groups())


def _read_written(
    node: str,
    port: str,
    epoch: str,
    revision: str,
    next_s: str,
    can: str | None,
    gained: str | None,
    of: str | None,
    sum: str | None,
    ask: str | None,
    answer: str | None,
) -> Hello:
    words = () if can is None else tuple(can.split(" "))
    try:
        return Hello(
            NodeId(node), int(port), epoch, int(revision), float(next_s), words,
            answer is not None, _gained(gained), ask is not None, sum or "", _tags(of),
        )  # fmt: skip
    except UsageError as error:
        raise RemoteError(str(error)) from None


def decode_xml_hello(datagram: bytes) -> Hello:
    """The general way, which every hello can take."""
    if not datagram.startswith(b"<") or datagram.startswith(b"<?"):
        raise RemoteError("a hello must begin with an element; this is of another kind")
    try:
        message = parse_xml(datagram, _LIMITS)
    except XmlError as error:
        raise RemoteError(f"not a hello: {error}") from None
    return _read(message)


def _read(message: Element) -> Hello:
    if message.tag != _NAMESPACE + "message" or message.get("version") != "1":
        raise RemoteError(
            f"expected a message of version 1; got {message.tag} {message.get('version')!r:.40}"
        )
    node, hello = _only(message, "node-id"), _only(message, "hello")
    can = hello.get("can")
    for name in ("ask", "answer"):
        if hello.get(name) not in (None, "true"):
            raise RemoteError(f"{name} must be true or absent; got {hello.get(name)!r:.40}")
    try:
        return Hello(
            node=NodeId(node.text or ""),
            port=parse_number(_required(hello, "port")),
            epoch=_required(hello, "epoch"),
            revision=parse_number(_required(hello, "revision")),
            next_s=_seconds(_required(hello, "next_s")),
            can=() if can is None else tuple(can.split(" ")),
            is_answer=hello.get("answer") is not None,
            gained=_gained(hello.get("gained")),
            asks=hello.get("ask") is not None,
            sum=_sum(hello.get("sum")),
            of=_tags(hello.get("of")),
        )
    except UsageError as error:
        raise RemoteError(str(error)) from None


def _only(message: Element, name: str) -> Element:
    found = [element for element in message if element.tag == _NAMESPACE + name]
    if len(found) != 1:
        raise RemoteError(f"expected one {name} in a hello message; got {len(found)}")
    return found[0]


def _required(hello: Element, name: str) -> str:
    value = hello.get(name)
    if value is None:
        raise RemoteError(f"a hello lacks {name}")
    return value


def _gained(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    if not text or len(text) % 16:
        raise RemoteError(f"gained has 16 digits for each gain, of which there is one; got {text!r:.40}")
    return tuple(text[start : start + 16] for start in range(0, len(text), 16))


def _tags(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    if not text or len(text) % 2:
        raise RemoteError(f"of has two digits for each gain, of which there is one; got {text!r:.40}")
    return tuple(text[start : start + 2] for start in range(0, len(text), 2))


def _sum(text: str | None) -> str:
    if text == "":
        raise RemoteError("a sum has 16 hexadecimal digits; got none")
    return text or ""


def _seconds(text: str) -> float:
    if _SECONDS.fullmatch(text) is None:
        raise RemoteError(f"next_s has at most three digits behind the point; got {text!r:.40}")
    return float(text)


@dataclass(frozen=True, slots=True)
class CompactHello:
    """A hello for radios with little room: enough to see that a node we know has something new."""

    prefix: str  # the first 16 digits of the node id
    epoch_check: str  # 8 digits
    revision: int  # modulo 2^48
    step: int

    def __post_init__(self) -> None:
        for name, digits in ((self.prefix, 16), (self.epoch_check, 8)):
            if re.fullmatch(rf"[0-9a-f]{{{digits}}}", name) is None:
                raise UsageError(f"expected {digits} hexadecimal digits in lower case; got {name!r:.40}")
        if not 0 <= self.revision < 2**48:
            raise UsageError(f"a compact hello's revision is 0 to 2^48-1; got {self.revision}")
        if not 0 <= self.step < len(_STEPS_S):
            raise UsageError(f"a compact hello's step is 0 to {len(_STEPS_S) - 1}; got {self.step}")

    @property
    def next_s(self) -> float:
        return _STEPS_S[self.step]


def compact(hello: Hello) -> CompactHello:
    """The compact form of a hello; its next_s is never shorter than the hello's."""
    check = sha256(_CHECK_PREFIX + bytes.fromhex(hello.epoch)).hexdigest()[:8]
    step = next(step for step, seconds in enumerate(_STEPS_S) if seconds >= hello.next_s)
    return CompactHello(hello.node[:16], check, hello.revision % 2**48, step)


def encode_compact_hello(hello: CompactHello) -> bytes:
    names = bytes.fromhex(hello.prefix) + bytes.fromhex(hello.epoch_check)
    return bytes([_COMPACT_KIND]) + names + hello.revision.to_bytes(6, "big") + bytes([hello.step])


def decode_compact_hello(data: bytes) -> CompactHello:
    """The compact hello in these bytes; RemoteError for any other length or kind."""
    if len(data) != COMPACT_BYTES or data[0] != _COMPACT_KIND:
        raise RemoteError(f"expected 20 bytes of kind 0x51; got {len(data)} of kind {data[:1].hex()}")
    if data[19] >= len(_STEPS_S):
        raise RemoteError(f"a compact hello's step is at most {len(_STEPS_S) - 1}; got {data[19]}")
    revision = int.from_bytes(data[13:19], "big")
    return CompactHello(data[1:9].hex(), data[9:13].hex(), revision, data[19])
