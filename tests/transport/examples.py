"""One message of each kind, and headers that nobody may send.

`python -m tests.transport.examples` writes them to tests/vectors/solicitation-v1.json.
"""

import json
from pathlib import Path
from typing import Any

from contentdb.model import Signed
from contentdb.names import AuthorKey, EntryId, FeedId, NodeId, Root
from transport.items import encode_items
from transport.messages import (
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
    Ids,
    Message,
    OneEntry,
    Reject,
    Reply,
    Request,
    SessionHello,
    Since,
)
from transport.xmlcodec import encode_message

VECTORS = Path(__file__).parents[1] / "vectors" / "solicitation-v1.json"
NODE = NodeId("3f86c1a0d2e5b7947c6a1f0e9d8b4c2a50716e3d")
EPOCH = "0123456789abcdef"
FEED = FeedId("urn:example:street-music")
ROOT = Root("46f1abada2c79c9445b740ba0fe9586734f3bd205e1246ae547d084469e7f49e")

MESSAGES: dict[str, Message] = {
    "hello of a server": SessionHello(EPOCH, 42),
    "hello of a client": SessionHello(EPOCH, 57, 42),
    "hello of a server with the sum of its gains": SessionHello(EPOCH, 42, sum="fedcba9876543210"),
    "hello of a client with the sum of its gains": SessionHello(EPOCH, 57, 42, "fedcba9876543210"),
    "reject of a session": Reject("busy", retry_s=20),
    "reject of a client that had its turn": Reject("turn", retry_s=5),
    "reject of a request": Reject("unknown", 7),
    "bloom request": Request(1, BloomRequest()),
    "bloom reply": Reply(1, BloomReply()),
    "all feeds": Request(2, FeedsRequest()),
    "feeds request": Request(2, FeedsRequest("title LIKE '%music%'", FeedId("urn:example:a"))),
    "feeds reply, more to come": Reply(2, FeedsReply(64, 3), more=True),
    "feeds reply, more to ask for": Reply(2, FeedsReply(9, 0, FEED)),
    "since with a selector": Request(
        3, FeedRequest(FEED, Since(EPOCH, 42), "genre = 'jazz' AND bpm < 90", 1)
    ),
    "since without a descriptor": Request(3, FeedRequest(FEED, Since(EPOCH, 0))),
    "since with a difficult selector": Request(
        3, FeedRequest(FEED, Since(EPOCH, 0), " title = '\t\r\n\"<&>' OR b = '\U0001f3b7' ", 0)
    ),
    "except": Request(3, FeedRequest(FEED, Except(), None, 1)),
    "except, going on": Request(3, FeedRequest(FEED, Except(57), "", 1)),
    "sketch": Request(3, FeedRequest(FEED, BySketch(), None, 1)),
    "ids": Request(3, FeedRequest(FEED, Ids(), None, 1)),
    "ids, going on": Request(3, FeedRequest(FEED, Ids(57), None, 1)),
    "one entry": Request(3, FeedRequest(FeedId("http://example/?a&b"), OneEntry(EntryId("urn:example:'1'")))),
    "entries reply": Reply(3, EntriesReply(12, EPOCH, 80, 3, 57)),
    "entries reply with a descriptor": Reply(3, EntriesReply(12, EPOCH, 80, 3, 57, descriptor=True)),
    "entries reply, more to come": Reply(3, EntriesReply(63, EPOCH, 80), more=True),
    "cells reply": Reply(3, CellsReply(EPOCH, 80)),
    "hashes request": Request(4, HashesRequest(ROOT, 1, 2)),
    "hashes reply": Reply(4, HashesReply(ROOT, 1, 2, ((1, 64), (70, 70)))),
    "hashes reply without chunks": Reply(4, HashesReply(ROOT, 1, 2)),
    "chunks request": Request(5, ChunksRequest(ROOT, 1, 2)),
    "chunks reply, more to come": Reply(5, ChunksReply(ROOT, 1, 1), more=True),
    "chunks reply": Reply(5, ChunksReply(ROOT, 1, 2)),
    "greatest numbers": Request(2**63 - 1, ChunksRequest(ROOT, 2**63 - 1, 2**63 - 1)),
}

ITEMS = [
    Signed(AuthorKey("01" * 32), b"\x02" * 64, b"<a/>"),
    Signed(AuthorKey("fe" * 32), b"\xfd" * 64, "<é/>".encode()),
]

_WRAPPED = f'<message xmlns="urn:passerby:1"><node-id>{NODE}</node-id>%s</message>'
_FEED_ASKED = _WRAPPED % f"<request id='1'><feed id='{FEED}'>%s</feed></request>"
_HAVE = _WRAPPED % f"<reply to='1'><hashes root='{ROOT}' first='1' last='1' have='%s'/></reply>"
# The same message as the one named, as somebody else may write it.
SPELLINGS: list[tuple[str, str]] = [
    ("bloom request", _WRAPPED % "<request id='1' new='x'><bloom a='b'><c>d</c></bloom><later/></request>"),
    (
        "chunks reply",
        f'<p:message xmlns:p="urn:passerby:1">\n <p:node-id>{NODE}</p:node-id>\n '
        f'<p:reply more="false" to="5"><p:chunks last="2" root="{ROOT}" first="1"/></p:reply></p:message>',
    ),
    (
        "entries reply",
        _WRAPPED % '<reply to="3"><bloom xmlns="urn:x"/><entries revision="80" epoch="0123456789ab'
        'cdef" next="57" withheld="3" count="12"/></reply>',
    ),
    ("hello of a server", _WRAPPED % '<hello revision="42" epoch="0123456789abcdef"><battery/></hello>'),
    (
        "feeds request",
        _WRAPPED % '<request id="2"><selector after="urn:example:&#97;"><!-- c -->title LIKE '
        "'%music%'</selector></request>",
    ),
]
UNKNOWN: list[str] = [
    _WRAPPED % '<request id="1"/>',
    _WRAPPED % '<request id="1"><gossip/></request>',
    _WRAPPED % '<request id="1"><bloom xmlns="urn:x"/></request>',
    _WRAPPED % f'<request id="1"><feed id="{FEED}"><guess/></feed></request>',
]
_CHUNKS = f'<reply to="5"><chunks root="{ROOT}" first="%s" last="%s"/></reply>'
FORBIDDEN: dict[str, str] = {
    "nothing": "",
    "no XML": "hello",
    "a declaration": '<?xml version="1.0"?>' + _WRAPPED % "<reject reason='busy'/>",
    "white space before it": " " + _WRAPPED % "<reject reason='busy'/>",
    "a DOCTYPE": "<!DOCTYPE message>" + _WRAPPED % "<reject reason='busy'/>",
    "an instruction": _WRAPPED % "<?x y?><reject reason='busy'/>",
    "an entity": _WRAPPED % "<reject reason='&x;'/>",
    "another element": "<massage/>",
    "another namespace": (_WRAPPED % "<reject reason='busy'/>").replace("urn:passerby:1", "urn:passerby:2"),
    "no message in it": _WRAPPED % "",
    "two messages in it": _WRAPPED % "<reject reason='busy'/><reject reason='busy'/>",
    "an unknown message": _WRAPPED % "<gossip/>",
    "something foreign beside the message": _WRAPPED % "<x xmlns='urn:x'/><reject reason='busy'/>",
    "no node id": '<message xmlns="urn:passerby:1"><reject reason="busy"/></message>',
    "the node id behind": '<message xmlns="urn:passerby:1"><reject reason="busy"/>'
    f"<node-id>{NODE}</node-id></message>",
    "a node id in capitals": (_WRAPPED % "<reject reason='busy'/>").replace(NODE, NODE.upper()),
    "a node id with white space": (_WRAPPED % "<reject reason='busy'/>").replace(NODE, f" {NODE}"),
    "an element in the node id": (_WRAPPED % "<reject reason='busy'/>").replace(NODE, f"{NODE}<a/>"),
    "text between elements": _WRAPPED % "and <reject reason='busy'/>",
    "text in a reply": _WRAPPED % "<reply to='1'>this: <bloom/></reply>",
    "text in an element that has none": _WRAPPED % "<request id='1'><bloom>x</bloom></request>",
    "a request without id": _WRAPPED % "<request><bloom/></request>",
    "request 0": _WRAPPED % "<request id='0'><bloom/></request>",
    "a number with a leading zero": _WRAPPED % "<request id='01'><bloom/></request>",
    "a number with a sign": _WRAPPED % "<request id='+1'><bloom/></request>",
    "a number in other digits": _WRAPPED % "<request id='\u0661'><bloom/></request>",
    "a number of 64 bits": _WRAPPED % f"<request id='{2**63}'><bloom/></request>",
    "two things asked at once": _WRAPPED % "<request id='1'><bloom/><selector/></request>",
    "two ways at once": _FEED_ASKED % "<ids/><sketch/>",
    "two selectors": _FEED_ASKED % "<except/><selector/><selector/>",
    "a selector with ids": _FEED_ASKED % "<ids/><selector/>",
    "an element in a selector": _WRAPPED % "<request id='1'><selector>a<b/> = 1</selector></request>",
    "a feed without id": _WRAPPED % "<request id='1'><feed><ids/></feed></request>",
    "a feed id that is no IRI": _WRAPPED % "<request id='1'><feed id='music'><ids/></feed></request>",
    "a feed of nobody's": _WRAPPED
    % "<request id='1'><feed id='urn:passerby:owned:me:x'><ids/></feed></request>",
    "an entry id that is no IRI": _FEED_ASKED % "<entry id='a b'/>",
    "a short epoch": _WRAPPED % "<hello epoch='0123' revision='1'/>",
    "a short sum": _WRAPPED % f"<hello epoch='{EPOCH}' revision='1' sum='0123'/>",
    "an empty sum": _WRAPPED % f"<hello epoch='{EPOCH}' revision='1' sum=''/>",
    "a hello without revision": _WRAPPED % f"<hello epoch='{EPOCH}'/>",
    "a reply to nothing": _WRAPPED % "<reply><bloom/></reply>",
    "a reply with nothing": _WRAPPED % "<reply to='1'><gossip/></reply>",
    "a flag that is neither": _WRAPPED % "<reply to='1' more='yes'><bloom/></reply>",
    "a reject without reason": _WRAPPED % "<reject/>",
    "a reason in capitals": _WRAPPED % "<reject reason='BUSY'/>",
    "a long reason": _WRAPPED % f"<reject reason='{'a' * 33}'/>",
    "chunk 0": _WRAPPED % (_CHUNKS % (0, 1)),
    "chunks backwards": _WRAPPED % (_CHUNKS % (3, 2)),
    "another end tag": (_WRAPPED % (_CHUNKS % (1, 2))).replace("</reply>", "</request>"),
    "a short root": (_WRAPPED % (_CHUNKS % (1, 2))).replace(ROOT, ROOT[1:]),
    "ranges that overlap": _HAVE % "1-4 4",
    "ranges too far apart": _HAVE % "1  4",
    "65 elements": _WRAPPED % f"<reply to='1'><bloom/>{'<x/>' * 61}</reply>",
}


def vectors() -> dict[str, Any]:
    return {
        "messages": {
            name: encode_message(Envelope(NODE, message)).decode() for name, message in MESSAGES.items()
        },
        "spellings": [{"of": name, "header": header} for name, header in SPELLINGS],
        "unknown": UNKNOWN,
        "forbidden": FORBIDDEN,
        "items": {
            "items": [
                {"author": item.author, "signature": item.signature.hex(), "bytes": item.data.hex()}
                for item in ITEMS
            ],
            "body": encode_items(ITEMS).hex(),
        },
    }


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
