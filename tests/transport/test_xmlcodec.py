"""Headers: byte-exact, the same over both libraries, and nothing but RemoteError for what is forbidden."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.errors import RemoteError, UsageError
from contentdb.names import EntryId, FeedId, NodeId, Root
from contentdb.xmlguard import Library
from tests.transport.examples import FORBIDDEN, MESSAGES, NODE, ROOT, SPELLINGS, UNKNOWN, VECTORS, vectors
from transport.messages import (
    MAX_HAVE_RANGES,
    MAX_HEADER_BYTES,
    MAX_NUMBER,
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
    UnknownRequest,
)
from transport.xmlcodec import decode_message, decode_xml, encode_message
from transport.xmlplain import read_plain

INTRUDERS = [b"<", b">", b'"', b"&#0;", b"&amp;", b"<x/>", b"\xc3\xa9", b"0", b"-", b" a='b'", b" xmlns=''"]
LIBRARIES: tuple[Library, ...] = ("lxml", "etree")
SPECIFICATION = Path(__file__).parents[2] / "docs" / "protocol" / "solicitation-v1.md"
FILED: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))

counts = st.integers(0, MAX_NUMBER) | st.integers(0, 100)
ordinals = st.integers(1, MAX_NUMBER) | st.integers(1, 100)
epochs = st.binary(min_size=8, max_size=8).map(bytes.hex)
roots = st.binary(min_size=32, max_size=32).map(lambda raw: Root(raw.hex()))
iris = st.text(st.sampled_from("abz09:/?#&';=%20éß\u4e2d\U0001f3b7"), min_size=1, max_size=40).map(
    lambda text: "urn:x:" + re.sub("%(?!20)", "", text)
)
feeds, entries = iris.map(FeedId), iris.map(EntryId)
selectors = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
    max_size=60,
) | st.text(st.sampled_from("\t\r\n <>&\"']x"), max_size=20)
spans = st.tuples(roots, ordinals, ordinals).map(lambda s: (s[0], min(s[1:]), max(s[1:])))
ranges = st.sets(ordinals, max_size=2 * MAX_HAVE_RANGES).map(
    lambda ends: tuple(zip(sorted(ends)[::2], sorted(ends)[1::2], strict=False))
)
hows = (
    st.builds(Except, counts)
    | st.just(BySketch())
    | st.builds(Ids, counts)
    | st.builds(OneEntry, entries, counts)
)
asks = (
    st.just(BloomRequest())
    | st.builds(FeedsRequest, selectors, st.none() | feeds)
    | st.builds(FeedRequest, feeds, hows, st.none(), st.none() | counts)
    | st.builds(
        FeedRequest, feeds, st.builds(Since, epochs, counts), st.none() | selectors, st.none() | counts
    )
    | spans.map(lambda span: HashesRequest(*span))
    | spans.map(lambda span: ChunksRequest(*span))
)
answers = (
    st.just(BloomReply())
    | st.builds(FeedsReply, counts, counts, st.none() | feeds)
    | st.builds(EntriesReply, counts, epochs, counts, counts, st.none() | counts, st.booleans())
    | st.builds(CellsReply, epochs, counts)
    | st.builds(lambda span, have: HashesReply(span[0], span[1], span[2], have), spans, ranges)
    | spans.map(lambda span: ChunksReply(*span))
)
reasons = st.from_regex(r"[a-z][a-z-]{0,31}", fullmatch=True)
messages = (
    st.builds(Request, ordinals, asks)
    | st.builds(Reply, ordinals, answers, st.booleans())
    | st.builds(SessionHello, epochs, counts, st.none() | counts, st.just("") | epochs)
    | st.builds(Reject, reasons, st.none() | ordinals, st.none() | counts)
)
nodes = st.binary(min_size=20, max_size=20).map(lambda raw: NodeId(raw.hex()))
envelopes = st.builds(Envelope, nodes, messages)


@given(envelopes)
@settings(max_examples=400)
def test_what_is_written_is_read_back_by_both_libraries(envelope: Envelope) -> None:
    header = encode_message(envelope)
    for library in LIBRARIES:
        assert decode_message(header, library=library) == decode_xml(header, library=library) == envelope
    assert read_plain(header) in (None, envelope)


PLAIN = st.builds(
    Envelope,
    nodes,
    st.builds(Reply, ordinals, spans.map(lambda s: ChunksReply(*s)), st.booleans())
    | st.builds(Reply, ordinals, st.builds(EntriesReply, counts, epochs, counts), st.booleans())
    | st.builds(Request, ordinals, spans.map(lambda s: ChunksRequest(*s)))
    | st.builds(
        Request,
        ordinals,
        st.builds(
            FeedRequest,
            st.just(FeedId("urn:uuid:2fd0ec5e-5a7a-4038-ad2a-0244da0cd0dc")),
            st.builds(Since, epochs, counts),
            st.none(),
            st.none() | counts,
        ),
    )
    | st.builds(SessionHello, epochs, counts, st.none() | counts, st.just("") | epochs),
)


@given(PLAIN)
def test_the_commonest_headers_are_recognised_unless_a_number_is_of_the_greatest(envelope: Envelope) -> None:
    header = encode_message(envelope)
    is_long = re.search(rb'"[0-9]{19}"', header) is not None
    assert read_plain(header) == (None if is_long else envelope)


@given(PLAIN, st.data())
@settings(max_examples=600)
def test_what_is_recognised_after_a_change_means_what_it_does_as_xml(
    envelope: Envelope, data: st.DataObject
) -> None:
    header = bytearray(encode_message(envelope))
    at = data.draw(st.integers(0, len(header) - 1))
    end = min(len(header), at + data.draw(st.integers(0, 3)))
    header[at:end] = data.draw(st.sampled_from([*b'0123456789abcdef<>"&: =/\x00'])).to_bytes()
    plain = read_plain(bytes(header))
    assert plain is None or plain == decode_xml(bytes(header))


@pytest.mark.parametrize("name", MESSAGES)
def test_each_kind_is_byte_exact(name: str) -> None:
    header = FILED["messages"][name].encode()
    assert encode_message(Envelope(NODE, MESSAGES[name])) == header
    for library in LIBRARIES:
        assert decode_message(header, library=library) == Envelope(NODE, MESSAGES[name])


def test_the_vectors_are_complete() -> None:
    assert vectors() == FILED


def test_the_examples_of_the_specification_are_among_the_vectors() -> None:
    examples = re.findall(r"^    (<.*>)", SPECIFICATION.read_text(encoding="utf-8"), flags=re.M)
    assert len(examples) > 10
    headers = FILED["messages"].values()
    assert [example for example in examples if not any(example in header for header in headers)] == []


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("name", "header"), SPELLINGS)
def test_other_spellings_and_additions_say_the_same(name: str, header: str, library: Library) -> None:
    assert decode_message(header.encode(), library=library) == Envelope(NODE, MESSAGES[name])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("header", UNKNOWN)
def test_a_request_of_a_later_version_is_recognised_as_one(header: str, library: Library) -> None:
    assert decode_message(header.encode(), library=library).message == Request(1, UnknownRequest())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("why", FORBIDDEN)
def test_what_is_forbidden_is_refused(why: str, library: Library) -> None:
    with pytest.raises(RemoteError):
        decode_message(FORBIDDEN[why].encode(), library=library)


def padded(size: int) -> bytes:
    header = encode_message(Envelope(NODE, Request(1, BloomRequest())))
    return header.replace(b"<bloom/>", b"<bloom>" + b" " * (size - len(header) - 7) + b"</bloom>")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_header_has_at_most_8192_bytes(library: Library) -> None:
    assert len(padded(MAX_HEADER_BYTES)) == MAX_HEADER_BYTES
    decode_message(padded(MAX_HEADER_BYTES), library=library)
    with pytest.raises(RemoteError, match="8193"):
        decode_message(padded(MAX_HEADER_BYTES + 1), library=library)


@pytest.mark.parametrize(
    ("message", "word"),
    [
        (Request(1, FeedsRequest("x" * 8_192)), "8192"),
        (Request(1, FeedsRequest("a = '\x00'")), "XML"),
        (Request(1, FeedsRequest("a = '\ud800'")), "XML"),
        (Request(1, UnknownRequest()), "known"),
    ],
)
def test_what_no_header_can_say_is_our_callers_fault(message: Message, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        encode_message(Envelope(NODE, message))


def test_more_ranges_than_allowed_are_refused() -> None:
    have = tuple((number, number) for number in range(1, 2 * MAX_HAVE_RANGES + 3, 2))
    header = encode_message(Envelope(NODE, Reply(1, HashesReply(ROOT, 1, 1, have))))
    with pytest.raises(RemoteError, match="at most 64"):
        decode_message(header)


def outcome(header: bytes, library: Library) -> Envelope | None:
    try:
        return decode_message(header, library=library)
    except RemoteError:
        return None


@given(st.binary(max_size=300))
def test_rubbish_gives_nothing_but_a_remote_error(data: bytes) -> None:
    assert outcome(data, "lxml") == outcome(data, "etree") is None


@given(st.sampled_from(sorted(FILED["messages"].values()) + UNKNOWN), st.data())
@settings(max_examples=600)
def test_mutated_headers_mean_the_same_to_both_libraries_or_nothing(header: str, data: st.DataObject) -> None:
    mutated = bytearray(header.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        end = min(len(mutated), at + data.draw(st.integers(0, 12)))
        mutated[at:end] = data.draw(st.binary(max_size=4) | st.sampled_from(INTRUDERS))
    assert outcome(bytes(mutated), "lxml") == outcome(bytes(mutated), "etree")


@given(envelopes, st.data())
def test_a_header_that_is_cut_is_refused(envelope: Envelope, data: st.DataObject) -> None:
    header = encode_message(envelope)
    assert outcome(header[: data.draw(st.integers(0, len(header) - 1))], "lxml") is None
