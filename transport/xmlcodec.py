"""Messages to XML headers and back (docs/protocol/solicitation-v1.md, section 3).

Writing is filling in templates: what may stand in a message needs escaping in three places only, feed id,
entry id and selector. Reading goes through the guard of all XML from outside; but the commonest headers are
recognised by `xmlplain` first.
"""

import re

from contentdb.errors import RemoteError, UsageError
from contentdb.names import parse_node_id
from contentdb.xmlguard import Element, Library, Limits, XmlError, parse_xml
from transport.messages import (
    MAX_HEADER_BYTES,
    Answer,
    Ask,
    BloomReply,
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
    How,
    Ids,
    Message,
    OneEntry,
    Reject,
    Reply,
    Request,
    SessionHello,
    Since,
    UnknownRequest,
)
from transport.xmlfields import children, flag, number, read_answer, read_ask, read_epoch, required, token
from transport.xmlplain import NAMESPACE, OPEN, read_plain

LIMITS = Limits(size_bytes=MAX_HEADER_BYTES, elements=64)

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_ESCAPED = re.compile('[&<>"\t\n\r]')
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# -- writing


def encode_message(envelope: Envelope) -> bytes:
    """The header of a message. Raises UsageError if it does not fit, or XML cannot carry its selector."""
    header = f"{OPEN}{envelope.node}</node-id>{_message(envelope.message)}</message>".encode()
    if len(header) > MAX_HEADER_BYTES:
        raise UsageError(
            f"this message has a header of {len(header)} bytes, at most {MAX_HEADER_BYTES} are allowed; "
            "use a shorter selector or id"
        )
    return header


def _message(message: Message) -> str:
    match message:
        case Reply(to, answer, more):
            return f'<reply to="{to}"{_flag("more", more)}>{_answer(answer)}</reply>'
        case Request(id, ask):
            return f'<request id="{id}">{_ask(ask)}</request>'
        case SessionHello(epoch, revision, base, sum):
            told = f' sum="{sum}"' if sum else ""
            return f'<hello epoch="{epoch}" revision="{revision}"{_optional("base", base)}{told}/>'
        case Reject(reason, to, retry_s):
            return f'<reject{_optional("to", to)} reason="{reason}"{_optional("retry", retry_s)}/>'


def _ask(ask: Ask) -> str:
    match ask:
        case ChunksRequest(root, first, last):
            return f'<chunks root="{root}" first="{first}" last="{last}"/>'
        case HashesRequest(root, first, last):
            return f'<hashes root="{root}" first="{first}" last="{last}"/>'
        case FeedRequest(feed, how, selector, sequence):
            inside = _how(how) + ("" if selector is None else _selector("", selector))
            return f'<feed id="{escaped(feed)}"{_optional("sequence", sequence)}>{inside}</feed>'
        case FeedsRequest(selector, after):
            return _selector("" if after is None else f' after="{escaped(after)}"', selector)
        case BloomRequest():
            return "<bloom/>"
        case UnknownRequest():
            raise UsageError("an unknown request only comes from others; send one that is known")


def _how(how: How) -> str:
    match how:
        case Since(epoch, revision):
            return f'<since epoch="{epoch}" revision="{revision}"/>'
        case Except(after):
            return f"<except{_counted('after', after)}/>"
        case BySketch():
            return "<sketch/>"
        case Ids(after):
            return f"<ids{_counted('after', after)}/>"
        case OneEntry(id, after):
            return f'<entry id="{escaped(id)}"{_counted("after", after)}/>'


def _answer(answer: Answer) -> str:
    match answer:
        case ChunksReply(root, first, last):
            return f'<chunks root="{root}" first="{first}" last="{last}"/>'
        case EntriesReply(count, epoch, revision, withheld, following, descriptor):
            return (
                f'<entries count="{count}"{_counted("withheld", withheld)}{_optional("next", following)}'
                f'{_flag("descriptor", descriptor)} epoch="{epoch}" revision="{revision}"/>'
            )
        case HashesReply(root, first, last, have):
            ranges = " ".join(f"{one}" if one == two else f"{one}-{two}" for one, two in have)
            has = f' have="{ranges}"' if have else ""
            return f'<hashes root="{root}" first="{first}" last="{last}"{has}/>'
        case FeedsReply(count, withheld, after):
            last_one = "" if after is None else f' next="{escaped(after)}"'
            return f'<feeds count="{count}"{_counted("withheld", withheld)}{last_one}/>'
        case CellsReply(epoch, revision):
            return f'<cells epoch="{epoch}" revision="{revision}"/>'
        case BloomReply():
            return "<bloom/>"


def escaped(text: str) -> str:
    """Text as it stands in an element or a quoted attribute, such that reading gives back every character."""
    if _NOT_IN_XML.search(text):
        raise UsageError(f"XML cannot carry a character of {text[:80]!r}; leave it out")
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group()], text)


def _selector(attributes: str, text: str) -> str:
    return f"<selector{attributes}>{escaped(text)}</selector>" if text else f"<selector{attributes}/>"


def _optional(name: str, value: int | None) -> str:
    return "" if value is None else f' {name}="{value}"'


def _counted(name: str, value: int) -> str:
    return f' {name}="{value}"' if value else ""


def _flag(name: str, value: bool) -> str:
    return f' {name}="true"' if value else ""


# -- reading


def decode_message(header: bytes, *, library: Library | None = None) -> Envelope:
    """Read a header. Raises RemoteError for anything that the specification forbids."""
    return read_plain(header) or decode_xml(header, library=library)


def decode_xml(header: bytes, *, library: Library | None = None) -> Envelope:
    """The general way, which every header can take."""
    if header[:1] != b"<" or header[:2] == b"<?":
        raise RemoteError(f"a header is one element without a declaration; got {header[:40]!r}")
    try:
        root = parse_xml(header, LIMITS, library=library)
    except XmlError as error:
        raise RemoteError(f"a header that cannot be read: {error}") from None
    try:
        return _read_envelope(root)
    except UsageError as error:  # an id of the wrong form; the parsers of names serve our callers too
        raise RemoteError(str(error)) from None


def _read_envelope(root: Element) -> Envelope:
    if root.tag != f"{{{NAMESPACE}}}message":
        raise RemoteError(f"a header is a message of {NAMESPACE}; got {root.tag[:80]}")
    inside = children(root)
    if [name for name, _ in inside[:1]] != ["node-id"] or len(inside) != 2 or len(root) != 2:
        raise RemoteError("a message has one node-id and then one of hello, request, reply and reject")
    node = inside[0][1]
    if len(node):
        raise RemoteError("a node-id is text alone")
    return Envelope(parse_node_id(node.text or ""), _read_message(*inside[1]))


def _read_message(name: str, element: Element) -> Message:
    match name:
        case "reply":
            answer = read_answer(element)
            return Reply(required(element, "to", least=1), answer, flag(element, "more"))
        case "request":
            return Request(required(element, "id", least=1), read_ask(element))
        case "hello":
            children(element)
            pair, sum = (read_epoch(element), required(element, "revision")), element.get("sum")
            told = "" if sum is None else read_epoch(element, "sum")
            return SessionHello(*pair, number(element, "base"), told)
        case "reject":
            children(element)
            return Reject(token(element, "reason"), number(element, "to", least=1), number(element, "retry"))
        case _:
            raise RemoteError(f"a message is hello, request, reply or reject; got {name[:80]}")
