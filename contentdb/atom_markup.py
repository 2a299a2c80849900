"""Markup as strings: one deterministic way to write an element, whatever library read it.

A written element stands alone: it declares every prefix it uses, in its names or in front of a colon inside
its values (``xsi:type="x:date"``), and nothing else. So it means the same wherever it is put, and writing
what was read from it gives the same characters again.
"""

import re
from collections.abc import Iterator, Mapping

from contentdb.errors import UsageError
from contentdb.xmlguard import PROTOCOL, Element, Limits, XmlError, parse_xml

ATOM = "http://www.w3.org/2005/Atom"
OURS = "urn:passerby:1"
XHTML = "http://www.w3.org/1999/xhtml"
XML = "http://www.w3.org/XML/1998/namespace"
LANG = f"{{{XML}}}lang"
BASE = f"{{{XML}}}base"
DIV = f"{{{XHTML}}}div"

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = re.compile("[&<>\r]")
_IN_VALUE = re.compile('[&<>"\t\n\r]')
_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}
# Each run of name characters is looked at once, or a long one without a colon would take quadratic time.
_BEFORE_COLON = re.compile(r"(?<![\w.-])[\w.-]+:")
_NO_NAME_START = re.compile(r"[\d.-]*")


def escape_text(text: str) -> str:
    # Most texts have nothing to escape, which is found out faster than they are copied.
    return _IN_TEXT.sub(lambda found: _ESCAPES[found[0]], text) if _IN_TEXT.search(text) else text


def escape_value(text: str) -> str:
    """For an attribute between double quotes; line ends and tabs survive as references."""
    return _IN_VALUE.sub(lambda found: _ESCAPES[found[0]], text) if _IN_VALUE.search(text) else text


def namespace_of(tag: str) -> str:
    return tag[1:].partition("}")[0] if tag.startswith("{") else ""


def write_element(element: Element, inherited: Mapping[str, str] | None = None) -> str:
    """The element and all inside it, without its tail; with some attributes from the elements around it."""
    pieces: list[str] = []
    _write(element, {"xml": XML}, pieces, {**element.attrib, **inherited} if inherited else element.attrib)
    return "".join(pieces)


def write_inside(element: Element) -> str:
    """What stands between the element's tags."""
    pieces = [escape_text(element.text or "")]
    for child in element:
        pieces += (write_element(child), escape_text(child.tail or ""))
    return "".join(pieces)


def canonical_element(markup: str, limits: Limits = PROTOCOL) -> str:
    """The same element as we write it; UsageError if this is not one element."""
    return write_element(_parsed(markup, limits))


def canonical_inside(markup: str, limits: Limits = PROTOCOL) -> str:
    """The same mixture of text and elements as we write it."""
    return write_inside(_parsed(f"<x>{markup}</x>", limits))


def _parsed(markup: str, limits: Limits) -> Element:
    try:
        return parse_xml(markup.encode("utf-8", "surrogatepass"), limits)
    except XmlError as error:
        raise UsageError(f"markup must be well-formed XML; {error}; got {markup[:80]!r}") from None


def _write(
    element: Element, scope: dict[str | None, str], pieces: list[str], attrib: Mapping[str, str]
) -> None:
    namespace, prefix, local = _split(element)
    declared: dict[str | None, str] = {}
    if scope.get(prefix) != namespace:
        declared[prefix] = namespace
    attributes = _attributes(element, attrib, scope, declared)
    for used in _prefixes_in_values(element):
        uri = element.nsmap.get(used)
        if uri not in (None, ATOM, OURS) and declared.get(used, scope.get(used)) != uri:
            declared[used] = uri
    name = f"{prefix}:{local}" if prefix else local
    pieces.append("<" + name)
    for declared_prefix in sorted(declared, key=lambda known: known or ""):
        xmlns = f"xmlns:{declared_prefix}" if declared_prefix else "xmlns"
        pieces.append(f' {xmlns}="{escape_value(declared[declared_prefix])}"')
    pieces += (f' {key}="{escape_value(value)}"' for key, value in attributes)
    if not element.text and not len(element):
        pieces.append("/>")
        return
    pieces.append(">" + escape_text(element.text or ""))
    inner = {**scope, **declared} if declared else scope
    for child in element:
        _write(child, inner, pieces, child.attrib)
        pieces.append(escape_text(child.tail or ""))
    pieces.append(f"</{name}>")


def _split(element: Element) -> tuple[str, str | None, str]:
    namespace, _, local = element.tag[1:].rpartition("}") if element.tag[0] == "{" else ("", "", element.tag)
    return namespace, element.prefix or None, local


def _attributes(
    element: Element,
    attrib: Mapping[str, str],
    scope: dict[str | None, str],
    declared: dict[str | None, str],
) -> list[tuple[str, str]]:
    written: list[tuple[str, str]] = []
    for key, value in attrib.items():
        if key[0] != "{":
            written.append((key, value))
            continue
        uri, _, local = key[1:].rpartition("}")
        prefix = "xml" if uri == XML else _prefix_for(element, uri)
        if prefix != "xml" and declared.get(prefix, scope.get(prefix)) != uri:
            declared[prefix] = uri
        written.append((f"{prefix}:{local}", value))
    return sorted(written)


def _prefix_for(element: Element, uri: str) -> str:
    return min(prefix for prefix, bound in element.nsmap.items() if prefix and bound == uri)


def _prefixes_in_values(element: Element) -> Iterator[str]:
    """Words before a colon in what belongs to this element itself: they may be prefixes in use."""
    values = [element.text or "", *element.attrib.values(), *(child.tail or "" for child in element)]
    runs = {run for value in values if ":" in value for run in _BEFORE_COLON.findall(value)}
    yield from sorted({_NO_NAME_START.sub("", run, count=1)[:-1] for run in runs} - {""})
