"""Right inputs of every decoder, mostly those of tests/vectors, from which wrong ones are made."""

import json
import re
from collections.abc import Sequence
from functools import cache
from gzip import compress
from pathlib import Path
from random import Random
from struct import Struct
from typing import Any

from contentdb.chunking import hash_chunk, range_proof, root_of
from contentdb.keystore import AUTHOR_TITLE, encode_key_file
from contentdb.names import Root
from middleware.api.messages import encode_request
from middleware.config import DEFAULT_FILE
from middleware.gateway.sources import Memory, Partial, TakenFile, encode_sources
from middleware.gateway.sources import Source as WebSource
from tests.contentdb.test_atom_parse import VALID_BODIES, document
from tests.contentdb.test_keystore import VECTOR as BACKUP
from tests.transport.makers import ends, proved_ends, record, sent_in
from transport.frame import encode_frame

VECTORS = Path(__file__).parents[1] / "vectors"
SELECTORS = Path(__file__).parents[1] / "contentdb" / "selector" / "brokers.txt"
PROOF = Struct(">32sQIH")  # root, length of the file, first chunk, number of hashes; hashes and proof follow


@cache
def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}-v1.json").read_text(encoding="utf-8"))


def from_hex(rows: Sequence[Any], key: str) -> list[bytes]:
    return [bytes.fromhex(row[key]) for row in rows if row.get(key)]


def hellos() -> list[bytes]:
    found = vectors("hello")
    return [row["datagram"].encode() for row in found["hellos"] + found["accepted"]]


def compact_hellos() -> list[bytes]:
    return from_hex(vectors("hello")["hellos"], "compact")


def announcements() -> list[bytes]:
    node, epoch = b"3f86c1a0d2e5b7947c6a1f0e9d8b4c2a50716e3d", b"0123456789abcdef"
    return [b"v=1\0id=" + node + b"\0epoch=" + epoch + b"\0revision=" + rev for rev in (b"0", b"42")]


def plaintexts() -> list[bytes]:
    sizes = [(0,), (20, 0), (300,), (65_509,), (65_510, 1), (140_000,)]
    return [
        b"".join(record(bytes(piece)) for size in each for piece in encode_frame(b"<h/>", bytes(size)))
        for each in sizes
    ]


def changed_records() -> list[bytes]:
    streams = []
    for sizes in ((0,), (20, 300), (1, 1, 1), (65_510,)):
        client, _server = proved_ends()
        streams.append(b"".join(client.encode_frame(b"<h/>", bytes(size)) for size in sizes))
    return streams


def first_handshake() -> list[bytes]:
    return [ends()[0].start()]


def second_handshake() -> list[bytes]:
    return [sent_in(ends()[1].bytes_received(*first_handshake()))]


def third_handshake() -> list[bytes]:
    client, _server = ends()
    client.start()
    return [sent_in(client.bytes_received(*second_handshake()))]


def headers() -> list[bytes]:
    found = vectors("solicitation")
    spellings = [row["header"] for row in found["spellings"]]
    return [text.encode() for text in [*found["messages"].values(), *spellings, *found["unknown"]]]


def items() -> list[bytes]:
    return [b"\0\2" + bytes.fromhex(vectors("solicitation")["items"]["body"])]


def filters() -> list[bytes]:
    return from_hex(vectors("bloom")["filters"], "encoded")


def cells() -> list[bytes]:
    found = vectors("sketch")
    return [
        *from_hex([found["continuation"], found["summary"]], "encoded"),
        *from_hex([found["exchange"]], "answer"),
    ]


def openings() -> list[bytes]:
    return from_hex([vectors("sketch")["exchange"]], "opening")


def entries() -> list[bytes]:
    return [row["data"].encode() for row in vectors("entry")["entries"]]


def descriptors() -> list[bytes]:
    return [row["data"].encode() for row in vectors("entry")["descriptors"]]


def proofs() -> list[bytes]:
    packed = []
    for count, first, last in ((1, 1, 1), (5, 2, 3), (9, 9, 9), (300, 17, 200)):
        leaves = b"".join(hash_chunk(b"%d" % number) for number in range(count))
        head = PROOF.pack(bytes.fromhex(root_of(leaves)), count * 16_384, first, last - first + 1)
        packed.append(head + leaves[(first - 1) * 32 : last * 32] + range_proof(leaves, first, last))
    return packed


def feeds() -> list[bytes]:
    return [document(body=body) for body in VALID_BODIES.values()]


def selectors() -> list[bytes]:
    lines = SELECTORS.read_text(encoding="utf-8").splitlines()
    return [line[8:].encode() for line in lines if line and line[0] not in "#r"]


def api_requests() -> list[bytes]:
    params = {"feed": "urn:example:music", "title": "Corner", "attributes": {"bpm": 90, "live": True}}
    return [encode_request(1, "publish", params), encode_request("a", "status", {})]


def settings() -> list[bytes]:
    return [re.sub(r"(?m)^# (?=\w+ = )", "", DEFAULT_FILE).encode()]


def backups() -> list[bytes]:
    return [BACKUP]


def key_files() -> list[bytes]:
    return [encode_key_file(AUTHOR_TITLE, bytes(32))]


def zipped() -> list[bytes]:
    return [
        compress(text, mtime=0) for text in (b"", b"<feed/>" * 50, Random(1).randbytes(3_000), bytes(2**21))
    ]


def addresses() -> list[bytes]:
    return [b"http://example.org/a?b=c", b"https://[::1]:8080/", "http://bücher.example/é%20x".encode()]


def web_sources() -> list[bytes]:
    file = TakenFile("a.ogg", "audio/ogg", 5, Root("cd" * 32))
    memory = Memory(
        dates={"urn:example:1": 7}, files={"http://example.org/a": file}, tries={"http://example.org/b": 2},
        partial=Partial("http://example.org/c", '"tag"'),
    )  # fmt: skip
    whole = WebSource("http://example.org/feed", title="News", memory=memory)
    return [encode_sources({source.address: source for source in (whole, WebSource("/tmp/feed.xml"))})]


def lines() -> list[bytes]:
    head = b'{"v":1,"node":"3f86c1a0d2e5b7947c6a1f0e9d8b4c2a50716e3d","seq":1,"at":1790000000000,"now":1.5,'
    return [head + b'"kind":"node_started","epoch":"0123456789abcdef","revision":42}']
