"""The commonest headers, each recognised by one expression if it is written as `xmlcodec` writes it.

What an expression does not match in every byte takes the general way, through the guard of all XML from
outside. Both read the same out of the same header; tests hold them together.
"""

import re
from collections.abc import Callable

from contentdb.errors import UsageError
from contentdb.names import NodeId, Root, parse_feed_id
from transport.messages import (
    MAX_HEADER_BYTES,
    ChunksReply,
    ChunksRequest,
    EntriesReply,
    Envelope,
    FeedRequest,
    Message,
    Reply,
    Request,
    SessionHello,
    Since,
)

NAMESPACE = "urn:passerby:1"
OPEN = f'<message xmlns="{NAMESPACE}"><node-id>'
_CLOSE = "</node-id>"
_NODE_AT, _MESSAGE_AT = len(OPEN), len(OPEN) + 40 + len(_CLOSE)

_COUNT = r"(0|[1-9][0-9]{0,17})"  # a digit less than allowed, so that what it matches needs no further check
_NUMBER = r"([1-9][0-9]{0,17})"
_EPOCH = r"([0-9a-f]{16})"
_CHUNKS = f'<chunks root="([0-9a-f]{{64}})" first="{_NUMBER}" last="{_NUMBER}"/>'
_ENTRIES = f'<entries count="{_COUNT}" epoch="{_EPOCH}" revision="{_COUNT}"/>'
_SINCE = f'<since epoch="{_EPOCH}" revision="{_COUNT}"/>'
_FEED = f'<feed id="([!#-%\'-;=?-~]+)"(?: sequence="{_COUNT}")?>{_SINCE}</feed>'  # nothing that is escaped

_NODE = re.compile(r"[0-9a-f]{40}")
_HELLO = re.compile(
    f'<hello epoch="{_EPOCH}" revision="{_COUNT}"(?: base="{_COUNT}")?(?: sum="{_EPOCH}")?/></message>'
)
_REPLY = re.compile(f'<reply to="{_NUMBER}"( more="true")?>(?:{_CHUNKS}|{_ENTRIES})</reply></message>')
_REQUEST = re.compile(f'<request id="{_NUMBER}">(?:{_CHUNKS}|{_FEED})</request></message>')


def read_plain(header: bytes) -> Envelope | None:
    """The message in a header; None if it must be read in the general way."""
    if len(header) > MAX_HEADER_BYTES:
        return None
    text = header.decode("latin-1")
    read = _KINDS.get(text[_MESSAGE_AT : _MESSAGE_AT + 4])
    node = text[_NODE_AT : _NODE_AT + 40]
    if read is None or not _NODE.fullmatch(node) or not text.startswith(OPEN):
        return None
    if text[_NODE_AT + 40 : _MESSAGE_AT] != _CLOSE:
        return None
    message = read(text)
    return None if message is None else Envelope(NodeId(node), message)


def _hello(text: str) -> Message | None:
    match = _HELLO.fullmatch(text, _MESSAGE_AT)
    if match is None:
        return None
    epoch, revision, base, sum = match.groups()
    return SessionHello(epoch, int(revision), None if base is None else int(base), sum or "")


def _reply(text: str) -> Message | None:
    match = _REPLY.fullmatch(text, _MESSAGE_AT)
    if match is None:
        return None
    to, more, root, first, last, count, epoch, revision = match.groups()
    if root is None:
        return Reply(int(to), EntriesReply(int(count), epoch, int(revision)), more is not None)
    begin, end = int(first), int(last)
    return Reply(int(to), ChunksReply(Root(root), begin, end), more is not None) if begin <= end else None


def _request(text: str) -> Message | None:
    match = _REQUEST.fullmatch(text, _MESSAGE_AT)
    if match is None:
        return None
    id, root, first, last, feed, sequence, epoch, revision = match.groups()
    if root is not None:
        begin, end = int(first), int(last)
        return Request(int(id), ChunksRequest(Root(root), begin, end)) if begin <= end else None
    try:
        named = parse_feed_id(feed)
    except UsageError:
        return None
    since = Since(epoch, int(revision))
    return Request(int(id), FeedRequest(named, since, sequence=None if sequence is None else int(sequence)))


_KINDS: dict[str, Callable[[str], Message | None]] = {"<hel": _hello, "<rep": _reply, "<req": _request}
