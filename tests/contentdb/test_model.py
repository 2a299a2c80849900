"""The invariants of feeds, entries, enclosures and chunks, and what selectors see of them."""

import copy
from dataclasses import FrozenInstanceError, replace

import pytest

from contentdb.attributes import (
    BUILT_IN_IDENTIFIERS,
    MAX_TIME,
    MIN_TIME,
    RESERVED_WORDS,
    AttributeValue,
    Time,
    check_attributes,
)
from contentdb.errors import UsageError
from contentdb.model import (
    CHUNK_BYTES,
    MAX_ENCLOSURE_BYTES,
    MAX_SIGNED_BYTES,
    Category,
    Chunk,
    Enclosure,
    Entry,
    Feed,
    Person,
    Signed,
    Text,
)
from contentdb.names import AuthorKey, EntryId, EntryKey, FeedId, Root, owned_feed_id
from contentdb.selector.lexer import KEYWORDS

ALICE, BOB, CAROL = (AuthorKey(digit * 64) for digit in "abc")
ROOT = Root("0" * 64)
OPEN = FeedId("urn:uuid:open")
OWNED = owned_feed_id(ALICE, "news")


def an_entry(**changes: object) -> Entry:
    entry = Entry(id=EntryId("urn:e"), title=Text("Hello"), updated=5, feed=OPEN, author=ALICE)
    return replace(entry, **changes)  # type: ignore[arg-type]


def test_a_text_is_its_characters_and_knows_how_they_are_meant() -> None:
    text = Text("<b>hi</b>", "html", language="de", base="http://example.org/")
    assert text == "<b>hi</b>" and hash(text) == hash("<b>hi</b>")
    assert (text.type, text.language, text.base) == ("html", "de", "http://example.org/")
    assert (copy.copy(text).type, Text("x").type, Text("x").language) == ("html", "text", None)


@pytest.mark.parametrize(("length", "chunks"), [(0, 0), (1, 1), (CHUNK_BYTES, 1), (CHUNK_BYTES + 1, 2)])
def test_an_enclosure_counts_its_chunks(length: int, chunks: int) -> None:
    assert Enclosure("a.ogg", "audio/ogg", length, ROOT).chunk_count == chunks


def test_an_enclosure_has_a_possible_length_and_a_name() -> None:
    for length in (-1, MAX_ENCLOSURE_BYTES + 1):
        with pytest.raises(UsageError, match="bytes"):
            Enclosure("a", "text/plain", length, ROOT)
    for name in ("", "x" * 256):
        with pytest.raises(UsageError, match="1 to 255 characters"):
            Enclosure(name, "text/plain", 1, ROOT)


def test_chunks_are_numbered_from_one_and_bounded() -> None:
    assert Chunk(ROOT, 1, bytes(CHUNK_BYTES)).index == 1
    with pytest.raises(UsageError, match="numbered from 1"):
        Chunk(ROOT, 0, b"x")
    for size in (0, CHUNK_BYTES + 1):
        with pytest.raises(UsageError, match="a chunk has"):
            Chunk(ROOT, 1, bytes(size))


def test_everybody_writes_in_an_open_feed() -> None:
    feed = Feed(OPEN, Text("Open"), 1, signer=ALICE)
    assert feed.owner is None and feed.may_write(BOB)


def test_an_owned_feed_is_written_by_its_owner_and_those_listed() -> None:
    feed = Feed(OWNED, Text("News"), 1, signer=ALICE, writers=(BOB,))
    assert feed.owner == ALICE
    assert [feed.may_write(key) for key in (ALICE, BOB, CAROL)] == [True, True, False]


def test_an_open_feed_has_no_list_of_writers() -> None:
    with pytest.raises(UsageError, match="only an owned feed"):
        Feed(OPEN, Text("Open"), 1, writers=(BOB,))


def test_nobody_but_the_owner_signs_an_owned_feeds_descriptor() -> None:
    with pytest.raises(UsageError, match="by nobody else"):
        Feed(OWNED, Text("News"), 1, signer=BOB)


def test_writers_and_sequence_are_bounded() -> None:
    with pytest.raises(UsageError, match="at most 1000 writers"):
        Feed(OWNED, Text("News"), 1, writers=(BOB,) * 1001)
    for sequence in (-1, 2**63):
        with pytest.raises(UsageError, match="64-bit count"):
            Feed(OWNED, Text("News"), 1, sequence=sequence)


def test_an_entry_is_identified_by_feed_author_and_id() -> None:
    assert an_entry().key == EntryKey(OPEN, ALICE, EntryId("urn:e"))
    for missing in ("feed", "author"):
        with pytest.raises(UsageError, match="has no key until"):
            _ = an_entry(**{missing: None}).key


def test_an_entry_cannot_be_changed_afterwards() -> None:
    given: dict[str, AttributeValue] = {"genre": "jazz"}
    entry = an_entry(attributes=given)
    given["genre"] = "noise"
    assert entry.attributes["genre"] == "jazz"
    with pytest.raises(TypeError):
        entry.attributes["genre"] = "noise"  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        entry.updated = 6  # type: ignore[misc]


def test_an_entry_has_at_most_32_enclosures() -> None:
    file = Enclosure("a", "text/plain", 1, ROOT)
    assert len(an_entry(enclosures=(file,) * 32).enclosures) == 32
    with pytest.raises(UsageError, match="at most 32 enclosures"):
        an_entry(enclosures=(file,) * 33)


@pytest.mark.parametrize("name", ["updated", "published", "expires"])
def test_times_can_be_written_as_dates(name: str) -> None:
    for time in (MIN_TIME, 0, MAX_TIME):
        an_entry(**{name: time})
    for time in (MIN_TIME - 1, MAX_TIME + 1, 10**30):
        with pytest.raises(UsageError, match="years 1 to 9999"):
            an_entry(**{name: time})
    with pytest.raises(UsageError, match="years 1 to 9999"):
        Feed(OPEN, Text("Open"), MAX_TIME + 1)


@pytest.mark.parametrize("value", ["", "é" * 4096, 0, -(2**63), 2**63 - 1, 0.5, -0.0, 1e308, True, Time(7)])
def test_an_attribute_is_text_a_number_a_truth_or_a_time(value: AttributeValue) -> None:
    check_attributes({"n": value})


@pytest.mark.parametrize(
    "value",
    [
        *("x" * 4097, "\0", "\x1b[31m", "\ud800", "\ufffe"),
        *(2**63, -(2**63) - 1, float("nan"), float("inf"), float("-inf"), Time(MAX_TIME + 1)),
        *(None, b"x", [1]),
    ],
)
def test_other_attribute_values_are_refused(value: AttributeValue) -> None:
    with pytest.raises(UsageError, match="'n'"):
        an_entry(attributes={"n": value})


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", "a-b", "a.b", "x" * 65, "and", "Like", "NULL", "title", "size"]
)
def test_names_a_selector_could_not_say_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_attributes({name: 1})


def test_reserved_words_are_those_of_the_selector_language() -> None:
    assert RESERVED_WORDS == KEYWORDS
    check_attributes({"Title": 1, "_x": 2, "größe": 3, "order": 4})


def test_an_entry_has_at_most_64_attributes() -> None:
    check_attributes({f"a{n}": n for n in range(64)})
    with pytest.raises(UsageError, match="at most 64"):
        check_attributes({f"a{n}": n for n in range(65)})


def test_a_selector_sees_every_built_in_identifier_of_a_full_entry() -> None:
    entry = an_entry(
        summary=Text("s"),
        authors=(Person("Alice"), Person("Bob")),
        published=4,
        expires=9,
        language="en",
        categories=(Category("music"), Category("jazz")),
        enclosures=(Enclosure("a", "audio/ogg", 10, ROOT), Enclosure("b", "image/png", 5, ROOT)),
        attributes={"genre": "jazz"},
    )
    seen = entry.selectable()
    assert set(seen) == {*BUILT_IN_IDENTIFIERS, "genre"}
    assert (seen["size"], seen["enclosures"], seen["type"]) == (15, 2, "audio/ogg")
    assert (seen["categories"], seen["author"], seen["author_name"]) == ("|music|jazz|", ALICE, "Alice")


def test_what_an_entry_does_not_have_a_selector_does_not_see() -> None:
    assert set(an_entry().selectable()) == {
        *("id", "feed", "title", "author", "updated"),
        *("size", "enclosures"),  # none is a number too
    }


def test_a_selector_sees_plain_values_of_a_feed() -> None:
    feed = Feed(OPEN, Text("Open", "html"), 3, subtitle=Text("sub"), signer=BOB, categories=(Category("a"),))
    seen = feed.selectable(updated=7)
    assert type(seen["title"]) is str and seen["summary"] == "sub"
    assert (seen["author"], seen["updated"], seen["categories"]) == (BOB, 7, "|a|")
    assert "language" not in seen and "size" not in seen


def test_signed_bytes_are_bounded_and_have_a_whole_signature() -> None:
    Signed(ALICE, bytes(64), bytes(MAX_SIGNED_BYTES))
    for signature in (b"", bytes(63), bytes(65)):
        with pytest.raises(UsageError, match="64 bytes"):
            Signed(ALICE, signature, b"x")
    for size in (0, MAX_SIGNED_BYTES + 1):
        with pytest.raises(UsageError, match="signed bytes"):
            Signed(ALICE, bytes(64), bytes(size))
