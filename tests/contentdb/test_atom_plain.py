"""The short way through the plainest entries and the long way through a parser give the same."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from contentdb.atom import write_entry
from contentdb.atom_plain import read_plain_entry
from contentdb.atom_read import read_signed_entry
from contentdb.errors import RemoteError
from contentdb.model import Category, Content, Enclosure, Entry, Person, Text, Time
from contentdb.names import AuthorKey, EntryId, FeedId, Root
from tests.contentdb.atom_examples import entries, words

ODD = ["", "a]]>b", "x\r\ny", "\ufeff", "ünï", "&amp;", "<b>", "\x85", '"']
WORDS = words | st.sampled_from(ODD)
TIMES = st.integers(-62_135_596_800_000, 253_402_300_799_999) | st.sampled_from([0, 1_790_000_000_000])
VALUES = st.one_of(WORDS, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
NAMES = st.from_regex(r"[a-z_]{1,8}9", fullmatch=True)
PLAIN = st.builds(
    Entry,
    id=st.sampled_from(["urn:uuid:00", "urn:example:1", "https://example.org/~a"]).map(EntryId),
    title=WORDS.map(Text),
    updated=TIMES,
    published=st.none() | TIMES,
    authors=st.lists(st.builds(Person, WORDS), max_size=2).map(tuple),
    categories=st.lists(st.builds(Category, WORDS), max_size=3).map(tuple),
    summary=st.none() | WORDS.map(Text),
    content=st.none() | st.builds(Content, st.just("text"), WORDS),
    language=st.sampled_from([None, "en", "de-CH", ""]),
    feed=st.just(FeedId("urn:example:feed")),
    author=st.just(AuthorKey("ab" * 32)),
    attributes=st.dictionaries(NAMES, VALUES | st.booleans() | TIMES.map(Time), max_size=4),
    expires=st.none() | TIMES,
    enclosures=st.lists(
        st.builds(
            Enclosure,
            WORDS.filter(bool),
            st.just("audio/ogg"),
            st.integers(0, 10**9),
            st.just(Root("cd" * 32)),
        ),
        max_size=2,
    ).map(tuple),
)
EXAMPLE = Entry(
    id=EntryId("urn:uuid:00"), title=Text("Corner"), updated=1_790_000_000_123, published=0,
    authors=(Person("Ada"),), categories=(Category("music"), Category("jazz")), summary=Text("ünï"),
    content=Content("text", "words"), language="en",
    feed=FeedId("urn:example:feed"), author=AuthorKey("ab" * 32),
    attributes={"genre": "jazz", "live": True, "n": 3, "at": Time(5), "x": 0.5}, expires=253_402_300_799_999,
    enclosures=(Enclosure("a.ogg", "audio/ogg", 5, Root("cd" * 32)),),
)  # fmt: skip
CHANGES = b'< > & &amp; " \x7f \xff \xef\xbf\xbf \xc3\xbc ]]> <x/> 9 - T24 <p:retracted/> urn:!:'.split()
PIECES = st.sampled_from([*CHANGES, b"\r", b"\t", b"\x00", b"<!-- -->", b' type="integer"', b" ", b"\n", b""])


def parsed(data: bytes) -> Entry | None:
    try:
        return read_signed_entry(data, library="lxml")
    except RemoteError:
        return None


def written(entry: Entry) -> bytes | None:
    try:
        return write_entry(entry)
    except ValueError:
        return None


@settings(max_examples=300)
@given(PLAIN.map(written) | entries.map(written))
def test_what_was_written_is_read_alike_both_ways(data: bytes | None) -> None:
    plain = None if data is None else read_plain_entry(data)
    assert data is None or plain is None or plain == parsed(data)


def types_in(entry: Entry) -> list[object]:
    texts = (entry.title, entry.summary, *(person.name for person in entry.authors))
    return [
        *map(type, texts),
        *((name, type(value)) for name, value in entry.attributes.items()),
        entry.language,
    ]


def test_a_plain_entry_takes_the_short_way_with_everything_it_may_have() -> None:
    plain, slow = read_plain_entry(write_entry(EXAMPLE)), parsed(write_entry(EXAMPLE))
    assert plain == slow == EXAMPLE and plain is not None and slow is not None
    assert types_in(plain) == types_in(slow)


@settings(max_examples=1500)
@example(24, 1, b"<")  # where a namespace has a dot
@given(st.integers(0, 2000), st.integers(0, 3), PIECES)
def test_a_change_anywhere_is_read_alike_or_left_to_the_parser(at: int, removed: int, piece: bytes) -> None:
    data = write_entry(EXAMPLE)
    changed = data[: at % len(data)] + piece + data[at % len(data) + removed :]
    plain = read_plain_entry(changed)
    assert plain is None or plain == parsed(changed)
