"""The form of names: what is accepted, what is refused, and whose an owned feed is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb import names
from contentdb.errors import UsageError
from contentdb.names import AuthorKey, FeedId, is_iri, owned_feed_id, owner_of, parse_ip_address

KEY = AuthorKey("ab" * 32)
words = st.text(max_size=60)


@pytest.mark.parametrize(
    "iri",
    [
        "urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a",
        "http://example.org/",
        "tag:example.org,2003:3.2397",
        "http://例え.jp/引き割り.html?a=b#c",
        "x-y+z.1:a",
        "a:%C3%A9",
        "urn:" + "x" * (names.MAX_IRI_CHARACTERS - 4),
    ],
)
def test_an_absolute_iri_is_a_name(iri: str) -> None:
    assert (names.parse_feed_id(iri), names.parse_entry_id(iri)) == (iri, iri)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "urn:",
        "relative/path",
        "//example.org/",
        "1a:b",
        ":x",
        "é:x",
        "urn:a b",
        "urn:a\n",
        "urn:a\x7f",
        "urn:a\x85b",
        "urn:<a>",
        'urn:"a"',
        "urn:a|b",
        "urn:a\\b",
        "urn:100%",
        "urn:%zz",
        "urn:\ud800",
        "urn:\u202eb",
        "urn:a\u2028b",
        "urn:" + "x" * (names.MAX_IRI_CHARACTERS - 3),
    ],
)
def test_what_is_no_absolute_iri_is_refused(text: str) -> None:
    for parse in (names.parse_feed_id, names.parse_entry_id):
        with pytest.raises(UsageError, match="must be an absolute IRI"):
            parse(text)


@given(words)
def test_a_name_never_spoils_a_line_or_a_tag(text: str) -> None:
    if is_iri(text):
        assert len(text.splitlines()) == 1
        assert not set(text) & set(' <>"')
        assert text.encode("utf-8")


@pytest.mark.parametrize("label", ["a", "street-music", "0" * 64])
def test_an_owned_feeds_id_says_whose_it_is(label: str) -> None:
    feed = owned_feed_id(KEY, label)
    assert owner_of(feed) == KEY
    assert names.parse_feed_id(feed) == feed


@pytest.mark.parametrize("label", ["", "a" * 65, "Street", "a b", "a:b", "é", "a\n"])
def test_an_owned_feeds_label_is_a_plain_word(label: str) -> None:
    with pytest.raises(UsageError, match="label"):
        owned_feed_id(KEY, label)


def test_an_open_feed_has_no_owner() -> None:
    assert owner_of(FeedId("urn:uuid:1")) is None


@pytest.mark.parametrize(
    "text",
    [
        "urn:passerby:owned:",
        "urn:passerby:owned:me:feed",
        f"urn:passerby:owned:{KEY}",
        f"urn:passerby:owned:{KEY.upper()}:feed",
        f"URN:passerby:owned:{KEY}:feed",
        f"urn:Passerby:Owned:{KEY}:feed",
    ],
)
def test_an_id_that_only_looks_owned_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="starts like an owned feed"):
        names.parse_feed_id(text)


@pytest.mark.parametrize(
    ("parse", "digits"), [(names.parse_author_key, 64), (names.parse_root, 64), (names.parse_node_id, 40)]
)
def test_hexadecimal_names_have_one_spelling(parse: "type[str]", digits: int) -> None:
    assert parse("0f" * (digits // 2)) == "0f" * (digits // 2)
    for wrong in (
        "",
        "0" * (digits - 1),
        "0" * (digits + 1),
        "F" * digits,
        "g" * digits,
        "0" * digits + "\n",
    ):
        with pytest.raises(UsageError, match=f"{digits} hexadecimal digits in lower case"):
            parse(wrong)
    with pytest.raises(UsageError):
        parse("٣" * digits)


def test_an_address_is_tagged_by_its_radio() -> None:
    for good in ("ip:192.0.2.7:4747", "ip:[fe80::1%eth0]:4747", "ble:01-02-03"):
        assert names.parse_address(good) == good
    for wrong in ("", "192.0.2.7:4747", "ip:", "IP:1", "ip:a b", "ip:" + "x" * 121, "ip:1\n"):
        with pytest.raises(UsageError, match="tagged by its radio"):
            names.parse_address(wrong)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "ip:192.0.2.7:4747"),
        ("::ffff:192.0.2.7", "ip:192.0.2.7:4747"),
        ("::1", "ip:[::1]:4747"),
        ("fe80::1%eth0", "ip:[fe80::1%eth0]:4747"),
        ("fe80::1%br-5.7", "ip:[fe80::1%br-5.7]:4747"),
    ],
)
def test_an_ip_address_has_one_spelling_and_reads_back(host: str, address: str) -> None:
    assert names.ip_address(host, 4747) == address
    assert names.ip_endpoint(names.parse_address(address)) == (host.removeprefix("::ffff:"), 4747)


@pytest.mark.parametrize(
    "wrong",
    ["", "ble:01-02", "ip:host:1", "ip:1.2.3.4", "ip:1.2.3.4:0", "ip:1.2.3.4:65536", "ip:::1:4", "ip:[::1]4",
     "ip:[fe80::1%]:4", "ip:[fe80::1%a]b]:4", "ip:[::1]:٤", "xip:1.2.3.4:5"],
)  # fmt: skip
def test_an_address_that_is_no_ip_endpoint_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="numeric address"):
        names.ip_endpoint(names.Address(wrong))


@given(words)
def test_any_text_is_a_name_or_a_usage_error(text: str) -> None:
    for parse in (names.parse_feed_id, names.parse_author_key, names.parse_node_id, names.parse_address):
        try:
            assert parse(text) == text
        except UsageError as error:
            assert str(error).isprintable()


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("192.0.2.7:40123", "ip:192.0.2.7:40123"),
        ("192.0.2.7", "ip:192.0.2.7:4747"),
        (" ip:192.0.2.7:4747 ", "ip:192.0.2.7:4747"),
        ("[2001:DB8::1]:4747", "ip:[2001:db8::1]:4747"),
        ("[fe80::1%eth0]:4747", "ip:[fe80::1%eth0]:4747"),
        ("ip:[fe80::1%eth0]", "ip:[fe80::1%eth0]:4747"),
    ],
)
def test_an_address_is_taken_as_people_write_it(typed: str, address: str) -> None:
    assert parse_ip_address(typed, 4747) == address


@pytest.mark.parametrize(
    "typed",
    ["", "somewhere", "ann.example:4747", "192.0.2.7:", "192.0.2.7:0", "192.0.2.7:70000", "192.0.2.256:1",
     "fe80::1", "2001:db8::1:4747", "[192.0.2.7]:4747", "[fe80::1]:4747", "[fe80::1%]:1", "239.255.47.47:1",
     "[ff02::1]:1", "0.0.0.0:1", "[::]:1", "255.255.255.255:1", "ble:00-11", "ip:ip:192.0.2.7:1",
     "192.0.2.7:1 2", "[fe80::1%a b]:1"],
)  # fmt: skip
def test_what_is_no_address_of_one_machine_is_refused_in_one_sentence(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_ip_address(typed, 4747)
    assert "\n" not in str(caught.value)


@given(words)
def test_no_text_is_too_strange_to_be_refused(text: str) -> None:
    try:
        address = parse_ip_address(text, 4747)
    except UsageError:
        return
    assert parse_ip_address(address, 1) == address
