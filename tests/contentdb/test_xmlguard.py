"""The guard: both libraries build the same tree, and refuse the same documents."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.xmlguard import FEED, PROTOCOL, Element, Library, Limits, XmlError, parse_xml
from contentdb.xmlguard_encoding import ENCODINGS

LIBRARIES: tuple[Library, ...] = ("lxml", "etree")
pytestmark = pytest.mark.parametrize("library", LIBRARIES)


def tree(element: Element) -> object:
    nsmap = {prefix: uri for prefix, uri in element.nsmap.items() if prefix}
    inside = [(tree(child), child.tail or "") for child in element]
    return element.tag, element.prefix, nsmap, dict(element.attrib), element.text or "", inside


def line_of_refusal(data: bytes, library: Library, limits: Limits = PROTOCOL) -> int:
    with pytest.raises(XmlError) as caught:
        parse_xml(data, limits, library=library)
    assert str(caught.value).startswith(f"line {caught.value.line}: ")
    return caught.value.line


def test_a_small_document_becomes_a_tree(library: Library) -> None:
    root = parse_xml(b'<a x="1">t<b xmlns="urn:b">&lt;&#13;</b>u</a>', library=library)
    (child,) = root
    assert (root.tag, root.get("x"), root.text) == ("a", "1", "t")
    assert (child.tag, child.text, child.tail) == ("{urn:b}b", "<\r", "u")


def test_elements_know_their_line(library: Library) -> None:
    root = parse_xml(b"<a>\n<b/>\n\n<c/></a>", library=library)
    assert [child.sourceline for child in root] == [2, 4]


def test_comments_leave_no_trace(library: Library) -> None:
    assert parse_xml(b"<a>x<!-- y -->z</a>", library=library).text == "xz"


@pytest.mark.parametrize(
    "data",
    [
        b"<!DOCTYPE a><a/>",
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
        b'<!DOCTYPE a [<!ENTITY % e SYSTEM "http://127.0.0.1/">%e;]><a/>',
        b"<a>&nbsp;</a>",
        b"<a>&e;</a>",
    ],
)
def test_doctypes_and_entities_are_refused_in_every_document(library: Library, data: bytes) -> None:
    for limits in (PROTOCOL, FEED):
        line_of_refusal(data, library, limits)


def test_a_doctype_in_another_encoding_is_refused_too(library: Library) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        line_of_refusal("<!DOCTYPE a><a/>".encode(encoding), library, FEED)


def test_billions_of_laughs_are_refused_on_their_first_line(library: Library) -> None:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    data = f'<!DOCTYPE a [<!ENTITY e0 "ha">{entities}]><a>&e9;</a>'.encode()
    assert line_of_refusal(data, library, FEED) == 1


def test_instructions_are_for_documents_from_the_web_only(library: Library) -> None:
    data = b'<?xml-stylesheet href="a.css"?><a><?php x ?>b</a>'
    assert parse_xml(data, FEED, library=library).text == "b"
    line_of_refusal(data, library)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", 1),
        (b"plain", 1),
        (b"<a>", 1),
        (b"<a>\n</b>", 2),
        (b"<a/>\n<b/>", 2),
        (b"<a x='1' x='2'/>", 1),
        (b"<a>\n\x01</a>", 2),
        (b"<a>\xff</a>", 1),
        (b"<a>&#0;</a>", 1),
        (b"<a>&#xD800;</a>", 1),
        (b"<p:a/>", 1),
        (b'<a xmlns:p="u" xmlns:q="u" p:x="" q:x=""/>', 1),
        (b'<a xmlns="not a uri"/>', 1),
        (b'<a xmlns="urn:{x}"/>', 1),
        (b'<a xmlns:p=""/>', 1),
        (b'<a><p:b/><b xml:space="x"/></a>', 1),
        ("<a>\ud800</a>".encode("utf-8", "surrogatepass"), 1),
        ("<\u0370/>".encode(), 1),  # a name to libxml2 alone
        ("<a>\n<\U00010400/></a>".encode(), 2),
    ],
)
def test_what_is_not_well_formed_is_refused_with_its_line(library: Library, data: bytes, line: int) -> None:
    assert line_of_refusal(data, library) == line


@pytest.mark.parametrize(
    ("bound", "allowed", "refused"),
    [
        (Limits(size_bytes=10), b"<a>xxx</a>", b"<a>xxxx</a>"),
        (Limits(depth=4), b"<a><a><a><a/></a></a></a>", b"<a><a><a><a><a/></a></a></a></a>"),
        (Limits(elements=6), b"<a>" + b"<b/>" * 5 + b"</a>", b"<a>" + b"<b/>" * 6 + b"</a>"),
        (Limits(attributes=2), b'<a b="" c=""/>', b'<a b="" c="" d=""/>'),
        (Limits(token_characters=50), b"<a>" + b"x" * 50 + b"</a>", b"<a>" + b"x" * 51 + b"</a>"),
        (Limits(token_characters=50), b'<a b="' + b"x" * 50 + b'"/>', b'<a b="' + b"x" * 51 + b'"/>'),
        (Limits(token_characters=50), b"<a>" + b"&lt;" * 50 + b"</a>", b"<a>" + b"&lt;" * 51 + b"</a>"),
        (
            Limits(token_characters=5),
            b"<a>xxxxx<b>xxxxx</b>xxxxx</a>",
            b"<a>xxxxx<b>xxxxx</b>xxxxxx</a>",
        ),
        (
            Limits(namespaces=3),
            b'<a xmlns="urn:a"><b xmlns:p="urn:b" xmlns:q="urn:c"/><b xmlns:p="urn:b" xmlns:q="urn:c"/></a>',
            b'<a xmlns="urn:a" xmlns:r="urn:b"><b xmlns:p="urn:b" xmlns:q="urn:c"/></a>',
        ),
    ],
)
def test_each_bound_holds_exactly_and_alone(
    library: Library, bound: Limits, allowed: bytes, refused: bytes
) -> None:
    assert parse_xml(allowed, bound, library=library) is not None
    line_of_refusal(refused, library, bound)


def test_bounds_are_met_before_a_tree_exists(library: Library) -> None:
    for data in (b"<a>" * 40_000, b"<a " + b"".join(b"a%d='' " % n for n in range(20_000)) + b"/>"):
        line_of_refusal(data[: PROTOCOL.size_bytes], library)


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252", "koi8-r"],
)
def test_feeds_come_in_many_encodings(library: Library, encoding: str) -> None:
    word = "Привет" if encoding == "koi8-r" else "Ærø"
    declared = encoding.removesuffix("-sig").removesuffix("-le").removesuffix("-be")
    data = f'<?xml version="1.0" encoding="{declared}"?>\n<a>{word}</a>'.encode(encoding)
    assert parse_xml(data, FEED, library=library).text == word
    if not encoding.startswith("utf-8"):
        line_of_refusal(data, library, PROTOCOL)


@pytest.mark.parametrize("encoding", [*sorted(ENCODINGS), "ISO_8859-1", "Latin1", "Shift_JIS"])
def test_every_encoding_on_the_list_is_one_that_python_has(library: Library, encoding: str) -> None:
    data = f'<?xml version="1.0" encoding="{encoding}"?><a>b</a>'
    codec = {"windows-874": "cp874"}.get(encoding, encoding)
    assert parse_xml(data.encode(codec), FEED, library=library).text == "b"


@pytest.mark.parametrize(
    "declaration",
    [
        'encoding="iso-8859-1"',
        'encoding="iso-8859-1" version="1.0"',
        'version="1.0" encoding="iso-8859-1" foo="1"',
        'version="1.0" standalone="no" encoding="iso-8859-1"',
        'version="1.0" encoding="iso-8859-1\'',
    ],
)
def test_a_declaration_has_the_form_that_xml_demands(library: Library, declaration: str) -> None:
    for encoding in ("iso-8859-1", "utf-16"):
        line_of_refusal(f"<?xml {declaration}?><a>é</a>".encode(encoding), library, FEED)


def test_an_endless_declaration_is_given_up_early(library: Library) -> None:
    for piece in (b"encoding='a'", b"encoding=", b" ", b"version='1.0' "):
        line_of_refusal(b"<?xml " + piece * (FEED.size_bytes // 16), library, FEED)


def test_an_xml_id_is_an_attribute_like_others(library: Library) -> None:
    root = parse_xml('<a xml:id=" 1  2 "><b xml:id="é"/><b xml:id="é"/></a>'.encode(), library=library)
    name = "{http://www.w3.org/XML/1998/namespace}id"
    assert [root.get(name), *(child.get(name) for child in root)] == [" 1  2 ", "é", "é"]


@pytest.mark.parametrize("encoding", ["zip", "unicode_escape", "idna", "utf-7", "x-unknown", "rot13"])
def test_no_other_decoder_is_ever_reached(library: Library, encoding: str) -> None:
    line_of_refusal(f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode(), library, FEED)


def test_bytes_that_are_not_in_the_declared_encoding_are_refused(library: Library) -> None:
    line_of_refusal(b'<?xml version="1.0" encoding="us-ascii"?><a>\xe6</a>', library, FEED)


PIECES = st.sampled_from(
    (
        *("<a>", "</a>", "<b/>", "<a xmlns='urn:x'>", "&amp;", "&#10;", "&x;", "\r\n", "]]>", "<![CDATA["),
        *("<!--", "-->", "<?x", "?>", "é", "\u200b", "\ufffe", "<é/>", ' x="', '"', "=", ":", "<", "/>"),
        *('<a xml:lang="en">', '<a xmlns="">', '<a xmlns:xml="urn:x"/>', "\t", "a", "}", "{"),
        *('<a y="&#9;\n"/>', "<a xml:id='x'/>", "<a xml:space='x'/>", "<p:b/>", "<a:b:c xmlns:a='urn:a'/>"),
        *('<p:c xmlns:p="urn:p" p:d="1"/>', "<a xmlns:p='http://a/é'/>", "<a xmlns='foo'/>"),
        *("<a xmlns='//u@[::1]:1/?#'/>", "<a xmlns='x://'/>", "<a xmlns='//h:/'/>", "\r", "<a xml:id=' 1'/>"),
    )
)


@settings(max_examples=300)
@given(pieces=st.lists(PIECES, max_size=12), limits=st.sampled_from([PROTOCOL, FEED]))
def test_both_libraries_see_the_same_or_nothing(library: Library, pieces: list[str], limits: Limits) -> None:
    data = ("<a>" + "".join(pieces) + "</a>").encode()
    other: Library = "etree" if library == "lxml" else "lxml"
    try:
        seen = tree(parse_xml(data, limits, library=library))
    except XmlError:
        line_of_refusal(data, other, limits)
    else:
        assert tree(parse_xml(data, limits, library=other)) == seen


def test_each_library_builds_its_own_elements(library: Library) -> None:
    module = {"lxml": "lxml.etree", "etree": "contentdb.xmlguard"}[library]
    assert type(parse_xml(b"<a/>", library=library)).__module__ == module
