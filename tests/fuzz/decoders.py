"""Every decoder that meets bytes from outside, one line each, with right inputs to begin from.

A decoder is a function of the input alone that returns or raises what it refuses with. What has a state, or
takes more than bytes, gets its whole story from the input.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple
from zlib import crc32

from contentdb.atom import AtomError, parse_feed, read_signed_descriptor, read_signed_entry
from contentdb.bloom import decode_filter
from contentdb.chunking import verify_range
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.keybackup import decode_backup
from contentdb.keystore import AUTHOR_TITLE, decode_key_file
from contentdb.lenient import read_leniently
from contentdb.names import Root
from contentdb.selector import SelectorError, parse
from contentdb.selector.index import SelectorIndex
from contentdb.sketch import Sketch
from contentdb.sketch_codec import decode_cells
from contentdb.sketch_decoder import Decoder as SketchDecoder
from contentdb.sketch_request import answer_cells, decode_request
from contentdb.xmlguard import Library
from discovery.announcement import decode_announcement
from discovery.hello import decode_compact_hello, decode_hello, decode_xml_hello
from middleware.api.messages import decode_request as decode_api_request
from middleware.config import parse_settings
from middleware.gateway.addresses import parse_url
from middleware.gateway.answers import bounded, gunzipped
from middleware.gateway.sources import decode_sources
from middleware.logbook import decode_line
from tests.fuzz import examples
from tests.fuzz.mutations import Material, words_in
from tests.transport.makers import ends, hostile_client, proved_ends, record
from transport.channel import Channel
from transport.frame import RECORD_BYTES, FrameDecoder
from transport.items import decode_items
from transport.xmlcodec import decode_message, decode_xml

WAYS: tuple[Library | None, ...] = (None, "lxml", "etree")
_OURS = Sketch.of(range(1, 2**64, 2**57), 128)
_SEEN = {"title": "aaab" * 500, "size": 7, "who": "Ada", "yes": True, "price": 10.5}


class Decoder(NamedTuple):
    name: str
    decode: Callable[[bytes], object]
    refusal: type[Exception]
    examples: Callable[[], Sequence[bytes]]
    share: int = 4  # of all inputs; those that cost a handshake get less


def by_both(read: Callable[..., object]) -> Callable[[bytes], object]:
    """What is read through one XML library must be read through the other, and by short ways, alike."""

    def decode(data: bytes) -> object:
        found = [_read_or_refused(read, data, library) for library in WAYS]
        if any(isinstance(each, Exception) is not isinstance(found[0], Exception) for each in found):
            raise AssertionError(f"one way refuses what another takes: {found!r:.2000}")
        if isinstance(found[0], Exception):
            raise found[0]
        if any(each != found[0] for each in found):
            raise AssertionError(f"two ways read differently: {found!r:.2000}")
        return found[0]

    return decode


def agreeing(
    short: Callable[[bytes], object], general: Callable[[bytes], object]
) -> Callable[[bytes], object]:
    """What the short way takes, the general way must take too, and read alike."""

    def decode(data: bytes) -> object:
        found = short(data)
        try:
            other = general(data)
        except RemoteError as error:
            raise AssertionError(f"the short way takes what the general way refuses: {error}") from None
        if found != other:
            raise AssertionError(f"two ways read differently: {found!r:.1000} and {other!r:.1000}")
        return found

    return decode


def _read_or_refused(read: Callable[..., object], data: bytes, library: Library | None) -> object:
    try:
        return read(data, library=library)
    except (RemoteError, AtomError) as error:
        return error


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
    root, length, first, amount = examples.PROOF.unpack(
        data[: examples.PROOF.size].ljust(examples.PROOF.size, b"\0")
    )
    at = examples.PROOF.size + 32 * amount
    verify_range(Root(root.hex()), length, first, data[examples.PROOF.size : at], data[at:])


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


def gunzip(data: bytes) -> None:
    for _piece in bounded(gunzipped([data[:100], data[100:]], "http://example.org/"), 2**20, "it"):
        pass


def address(data: bytes) -> None:
    parse_url(data.decode("utf-8", "replace"))


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


DECODERS: tuple[Decoder, ...] = (
    Decoder("hello", agreeing(decode_hello, decode_xml_hello), RemoteError, examples.hellos),
    Decoder("compact-hello", decode_compact_hello, RemoteError, examples.compact_hellos),
    Decoder("announcement", announcement, RemoteError, examples.announcements),
    Decoder("frame", frames, RemoteError, examples.plaintexts),
    Decoder("channel-peer", frames_of_a_peer, RemoteError, examples.plaintexts, share=1),
    Decoder("channel-records", records, RemoteError, examples.changed_records, share=1),
    Decoder("handshake-1", first_handshake, RemoteError, examples.first_handshake, share=1),
    Decoder("handshake-2", second_handshake, RemoteError, examples.second_handshake, share=1),
    Decoder("handshake-3", third_handshake, RemoteError, examples.third_handshake, share=1),
    Decoder("message", agreeing(decode_message, by_both(decode_xml)), RemoteError, examples.headers, share=8),
    Decoder("items", items, RemoteError, examples.items),
    Decoder("bloom", bloom, RemoteError, examples.filters),
    Decoder("sketch-cells", sketch_cells, RemoteError, examples.cells),
    Decoder("sketch-request", sketch_request, RemoteError, examples.openings),
    Decoder("entry", by_both(read_signed_entry), RemoteError, examples.entries, share=8),
    Decoder("descriptor", by_both(read_signed_descriptor), RemoteError, examples.descriptors),
    Decoder("atom", by_both(parse_feed), AtomError, examples.feeds),
    Decoder("lenient-feed", lenient_feed, UsageError, examples.feeds, share=1),
    Decoder("selector", selector, SelectorError, examples.selectors, share=8),
    Decoder("chunk-proof", chunk_proof, RemoteError, examples.proofs),
    Decoder("api-request", decode_api_request, RemoteError, examples.api_requests),
    Decoder("settings", settings, UsageError, examples.settings),
    Decoder("key-backup", decode_backup, UsageError, examples.backups),
    Decoder("key-file", key_file, StoreError, examples.key_files),
    Decoder("web-sources", decode_sources, UsageError, examples.web_sources),
    Decoder("web-address", address, UsageError, examples.addresses),
    Decoder("gunzip", gunzip, RemoteError, examples.zipped, share=2),
    Decoder("logbook", logbook_line, UsageError, examples.lines),
)


def material_of(decoder: Decoder) -> Material:
    right = decoder.examples()
    return Material(right, words_in(right))
