"""Every decoder that meets bytes from outside, one line each, with right inputs to begin from.

A decoder is a function of the input alone that returns or raises what it refuses with. What has a state, or
takes more than bytes, gets its whole story from the input.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

from contentdb.atom import AtomError, parse_feed, read_signed_descriptor, read_signed_entry
from contentdb.bloom import decode_filter
from contentdb.chunking import hash_chunk, range_proof, root_of, verify_range
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.keybackup import decode_backup
from contentdb.keystore import AUTHOR_TITLE, decode_key_file, encode_key_file
from contentdb.lenient import read_leniently
from contentdb.names import Root
from contentdb.selector import SelectorError, parse
from contentdb.selector.index import SelectorIndex
from contentdb.sketch import Sketch
from contentdb.sketch_codec import decode_cells
from contentdb.sketch_decoder import Decoder as SketchDecoder
from contentdb.sketch_request import answer_cells, decode_request
from discovery.announcement import decode_announcement
from discovery.hello import decode_compact_hello, decode_hello
from middleware.config import DEFAULT_FILE, parse_settings
from middleware.logbook import decode_line
from tests.contentdb.test_atom_parse import VALID_BODIES, document
from tests.contentdb.test_keystore import VECTOR as BACKUP
from tests.fuzz.mutations import Material, words_in
from tests.transport.makers import ends, hostile_client, proved_ends, record, sent_in
from transport.channel import Channel
from transport.frame import RECORD_BYTES, FrameDecoder, encode_frame
from transport.items import decode_items
from transport.xmlcodec import decode_message

VECTORS = Path(__file__).parents[1] / "vectors"
SELECTORS = Path(__file__).parents[1] / "contentdb" / "selector" / "brokers.txt"
_PROOF = Struct(">32sQIH")  # root, length of the file, first chunk, number of hashes; hashes and proof follow
_OURS = Sketch.of(range(1, 2**64, 2**57), 128)
_ALL_SET = re.sub(r"(?m)^# (?=\w+ = )", "", DEFAULT_FILE)
_SEEN = {"title": "aaab" * 500, "size": 7, "who": "Ada", "yes": True, "price": 10.5}


class Decoder(NamedTuple):
    name: str
    decode: Callable[[bytes], object]
    refusal: type[Exception]
    examples: Callable[[], Sequence[bytes]]
    share: int = 4  # of all inputs; those that cost a handshake get less


# -- decoders that take more than bytes


def frames(data: bytes) -> None:
    decoder = FrameDecoder()
    for plaintext in _records(data):
        decoder.record_received(plaintext)


def frames_of_a_peer(data: bytes) -> None:
    """Somebody who proved its key and then encrypts what no honest peer would."""
    cipher, server = hostile_client()
    for piece in _records(data):
        _feed(server, record(cipher.encrypt(piece[:RECORD_BYTES])))


def records(data: bytes) -> None:
    """Somebody on the way changes what a proved client sends."""
    _feed(proved_ends()[1], data)


def first_handshake(data: bytes) -> None:
    _feed(ends()[1], data)


def second_handshake(data: bytes) -> None:
    client, _server = ends()
    client.start()
    _feed(client, data)


def third_handshake(data: bytes) -> None:
    client, server = ends()
    server.bytes_received(client.start())
    _feed(server, data)


def announcement(data: bytes) -> None:
    pairs = (field.partition(b"=") for field in data.split(b"\0"))
    decode_announcement({key: value if equals else None for key, equals, value in pairs})


def items(data: bytes) -> None:
    decode_items(data[2:], int.from_bytes(data[:2], "big"))


def bloom(data: bytes) -> None:
    _ = "urn:example:1" in decode_filter(data)


def sketch_cells(data: bytes) -> None:
    SketchDecoder(_OURS).feed(decode_cells(data))


def sketch_request(data: bytes) -> None:
    answer_cells(decode_request(data), _OURS)


def chunk_proof(data: bytes) -> None:
    root, length, first, amount = _PROOF.unpack(data[: _PROOF.size].ljust(_PROOF.size, b"\0"))
    at = _PROOF.size + 32 * amount
    verify_range(Root(root.hex()), length, first, data[_PROOF.size : at], data[at:])


def selector(data: bytes) -> None:
    wanted = parse(data.decode("utf-8", "surrogateescape" if crc32(data) % 2 else "replace"))
    wanted.evaluate(_SEEN)
    index = SelectorIndex()
    index.add(1, wanted)
    index.match(_SEEN)


def settings(data: bytes) -> None:
    parse_settings(data.decode("utf-8", "replace"))


def key_file(data: bytes) -> None:
    decode_key_file(AUTHOR_TITLE, data, Path("author.key"))


def logbook_line(data: bytes) -> None:
    decode_line(data.decode("utf-8", "replace"))


def lenient_feed(data: bytes) -> None:
    read_leniently(data, at=1_790_000_000_000)


def _records(data: bytes) -> Iterator[bytes]:
    """Plaintexts of records, each behind its length in two bytes."""
    at = 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        yield data[at + 2 : end]
        at = end


def _feed(end: Channel, stream: bytes) -> None:
    """In pieces as a network might bring them, which follow from the stream."""
    rng = Random(crc32(stream))
    at = 0
    while at < len(stream):
        cut = rng.choice((1, 2, 3, 50, 4_096, len(stream)))
        end.bytes_received(stream[at : at + cut])
        at += cut


# -- right inputs


@cache
def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}-v1.json").read_text(encoding="utf-8"))


def _from_hex(rows: Sequence[Any], key: str) -> list[bytes]:
    return [bytes.fromhex(row[key]) for row in rows if row.get(key)]


def hellos() -> list[bytes]:
    found = vectors("hello")
    return [row["datagram"].encode() for row in found["hellos"] + found["accepted"]]


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


def handshakes(which: int) -> list[bytes]:
    client, server = ends()
    first = client.start()
    second = sent_in(server.bytes_received(first))
    third = sent_in(client.bytes_received(second))
    return [(first, second, third)[which]]


def headers() -> list[bytes]:
    found = vectors("solicitation")
    spellings = [row["header"] for row in found["spellings"]]
    return [text.encode() for text in [*found["messages"].values(), *spellings, *found["unknown"]]]


def proofs() -> list[bytes]:
    packed = []
    for count, first, last in ((1, 1, 1), (5, 2, 3), (9, 9, 9), (300, 17, 200)):
        leaves = b"".join(hash_chunk(b"%d" % number) for number in range(count))
        head = _PROOF.pack(bytes.fromhex(root_of(leaves)), count * 16_384, first, last - first + 1)
        packed.append(head + leaves[(first - 1) * 32 : last * 32] + range_proof(leaves, first, last))
    return packed


def feeds() -> list[bytes]:
    return [document(body=body) for body in VALID_BODIES.values()]


def selectors() -> list[bytes]:
    lines = SELECTORS.read_text(encoding="utf-8").splitlines()
    return [line[8:].encode() for line in lines if line and line[0] not in "#r"]


def lines() -> list[bytes]:
    head = b'{"v":1,"node":"3f86c1a0d2e5b7947c6a1f0e9d8b4c2a50716e3d","seq":1,"at":1790000000000,"now":1.5,'
    return [head + b'"kind":"node_started","epoch":"0123456789abcdef","revision":42}']


DECODERS: tuple[Decoder, ...] = (
    Decoder("hello", decode_hello, RemoteError, hellos),
    Decoder("compact-hello", decode_compact_hello, RemoteError,
            lambda: _from_hex(vectors("hello")["hellos"], "compact")),
    Decoder("announcement", announcement, RemoteError, announcements),
    Decoder("frame", frames, RemoteError, plaintexts),
    Decoder("channel-peer", frames_of_a_peer, RemoteError, plaintexts, share=1),
    Decoder("channel-records", records, RemoteError, changed_records, share=1),
    Decoder("handshake-1", first_handshake, RemoteError, lambda: handshakes(0), share=1),
    Decoder("handshake-2", second_handshake, RemoteError, lambda: handshakes(1), share=1),
    Decoder("handshake-3", third_handshake, RemoteError, lambda: handshakes(2), share=1),
    Decoder("message", decode_message, RemoteError, headers, share=8),
    Decoder("items", items, RemoteError,
            lambda: [b"\0\2" + bytes.fromhex(vectors("solicitation")["items"]["body"])]),
    Decoder("bloom", bloom, RemoteError, lambda: _from_hex(vectors("bloom")["filters"], "encoded")),
    Decoder("sketch-cells", sketch_cells, RemoteError,
            lambda: _from_hex([*(vectors("sketch")[name] for name in ("continuation", "summary")),
                               {"encoded": vectors("sketch")["exchange"]["answer"]}], "encoded")),
    Decoder("sketch-request", sketch_request, RemoteError,
            lambda: [bytes.fromhex(vectors("sketch")["exchange"]["opening"])]),
    Decoder("entry", read_signed_entry, RemoteError,
            lambda: [row["data"].encode() for row in vectors("entry")["entries"]], share=8),
    Decoder("descriptor", read_signed_descriptor, RemoteError,
            lambda: [row["data"].encode() for row in vectors("entry")["descriptors"]]),
    Decoder("atom", parse_feed, AtomError, feeds),
    Decoder("lenient-feed", lenient_feed, UsageError, feeds, share=1),
    Decoder("selector", selector, SelectorError, selectors, share=8),
    Decoder("chunk-proof", chunk_proof, RemoteError, proofs),
    Decoder("settings", settings, UsageError, lambda: [_ALL_SET.encode()]),
    Decoder("key-backup", decode_backup, UsageError, lambda: [BACKUP]),
    Decoder("key-file", key_file, StoreError, lambda: [encode_key_file(AUTHOR_TITLE, bytes(32))]),
    Decoder("logbook", logbook_line, UsageError, lines),
)  # fmt: skip


def material_of(decoder: Decoder) -> Material:
    examples = decoder.examples()
    return Material(examples, words_in(examples))
