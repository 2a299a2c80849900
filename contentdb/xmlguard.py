"""The one way in for XML from outside: bounded, without DOCTYPE and entities, with line numbers.

Two libraries stand behind it and build the same tree: lxml where it is installed, xml.etree elsewhere.
Everything is checked before a tree exists. Expat makes the checks while it builds the etree tree; before
lxml it runs alone, unless byte counts alone prove that a short document keeps all bounds.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, cast
from xml.parsers import expat

from contentdb.model import MAX_SIGNED_BYTES
from contentdb.xmlguard_encoding import XmlError as XmlError
from contentdb.xmlguard_encoding import to_utf8


class Element(Protocol):
    """What we use of an element, lxml's or ours."""

    @property
    def tag(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    @property
    def tail(self) -> str | None: ...
    @property
    def attrib(self) -> Mapping[str, str]: ...
    @property
    def prefix(self) -> str | None: ...
    @property
    def nsmap(self) -> Mapping[str | None, str]: ...
    @property
    def sourceline(self) -> int: ...
    def get(self, key: str, /) -> str | None: ...
    def keys(self) -> list[str]: ...
    def __iter__(self) -> Iterator["Element"]: ...
    def __len__(self) -> int: ...


class Node(ET.Element):
    """An element of xml.etree that also knows its prefix, the prefixes in scope, and its line."""

    __slots__ = ("nsmap", "prefix", "sourceline")
    nsmap: dict[str | None, str]
    prefix: str | None
    sourceline: int


Library: TypeAlias = Literal["lxml", "etree"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a document may use up; libxml2's own bounds (depth 256, tokens of 10 MB) lie above all of ours."""

    size_bytes: int = MAX_SIGNED_BYTES
    depth: int = 64
    elements: int = 10_000
    attributes: int = 64
    namespaces: int = 64  # declared around any one element; feeds use a dozen
    token_characters: int = MAX_SIGNED_BYTES
    utf8_only: bool = True
    instructions: bool = False


PROTOCOL = Limits()
# A feed from a file or the web: 16 MiB of it, in any encoding on the list below.
FEED = Limits(
    size_bytes=2**24,
    depth=200,
    elements=1_000_000,
    attributes=256,
    token_characters=2**23,
    utf8_only=False,
    instructions=True,
)

_BEYOND_COUNTING = re.compile(rb"<[!?]")
_NON_ASCII_TAG = re.compile(rb"<[^<>]*[\x80-\xff]")
# libxml2 refuses a namespace that is no URI, expat takes any; these are some that both take, and all we take.
_CHARACTER = r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
_NAMESPACE = re.compile(
    r"(?:(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:(?:C|:)*@)?(?:\[[0-9A-Fa-f:.]+\]|C*)(?::[0-9]{1,5})?(?:/(?:C|[:@/])*)?"
    r"|[A-Za-z][A-Za-z0-9+.-]*:(?!//)(?:C|[:@/])*"
    r"|(?!//)(?:C|@)*(?:/(?:C|[:@/])*)?)(?:\?(?:C|[:@/?])*)?(?:#(?:C|[:@/?])*)?".replace("C", _CHARACTER)
)
_XMLNS_NOT_PLAIN = re.compile(
    rb"""xmlns(?!(?::[A-Za-z0-9]+)?=(?:"(?:http://[a-z0-9.-]+/|urn:)[A-Za-z0-9./_:-]*"|'urn:[a-z0-9:-]*'))"""
)


def parse_xml(data: bytes, limits: Limits = PROTOCOL, *, library: Library | None = None) -> Element:
    """The root element of a document within the limits; XmlError with its line for anything else."""
    if len(data) > limits.size_bytes:
        raise XmlError(f"the document has {len(data)} bytes; at most {limits.size_bytes} are allowed", 1)
    data = to_utf8(data, utf8_only=limits.utf8_only)
    if b"\r" in data:  # as XML has it (section 2.11); libxml2 does so later, and counts no lines by CR alone
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lxml = _lxml() if library != "etree" else None
    if lxml is None:
        if library == "lxml":
            raise ImportError("lxml is not installed")
        return cast(Element, _expat_pass(data, limits, build=True))
    is_proved = _keeps_bounds_by_count(data, limits)
    if not is_proved:
        _expat_pass(data, limits, build=False)
    parser = _lxml_parser(lxml)
    try:
        root: Element = lxml.fromstring(data, parser)
    except lxml.XMLSyntaxError as error:
        raise XmlError(f"not well-formed: {error.msg}", max(error.lineno or 1, 1)) from None
    # lxml forgets an error in a prefix when a warning follows it (6.1); expat does not.
    if is_proved and len(parser.error_log):
        _expat_pass(data, limits, build=False)
    return root


@cache
def _lxml() -> ModuleType | None:
    # 26 ms at start-up, so only who parses pays for it.
    try:
        from lxml import etree
    except ImportError:
        return None
    return etree


def _keeps_bounds_by_count(data: bytes, limits: Limits) -> bool:
    """Do byte counts alone prove the bounds?

    Sound because the bytes are read as UTF-8, where an ASCII byte is always that character: a DOCTYPE needs
    "<!", n tags need n "<", depth d needs 2d-1 of them, an attribute needs "=". Names outside ASCII are left
    to expat, which knows fewer name characters than libxml2; so are processing instructions and namespaces
    that are not of the plainest kind.
    """
    tags, attributes = data.count(b"<"), data.count(b"=")
    return (
        MAX_SIGNED_BYTES >= len(data) <= limits.token_characters
        and 2 * limits.depth > tags <= limits.elements
        and limits.attributes >= attributes <= limits.namespaces
        and data.startswith(b"<")
        # To look for one byte takes a tenth of the time of an expression, and many texts have neither.
        and ((b"!" not in data and b"?" not in data) or _BEYOND_COUNTING.search(data) is None)
        and _XMLNS_NOT_PLAIN.search(data) is None
        and (data.isascii() or _NON_ASCII_TAG.search(data) is None)
    )


@cache
def _lxml_parser(lxml: ModuleType) -> Any:
    return lxml.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        collect_ids=False,  # or libxml2 refuses an xml:id it does not like, which XML alone would not
        remove_comments=True,
        remove_pis=True,
    )


def _expat_pass(data: bytes, limits: Limits, *, build: bool) -> Element | None:
    parser = expat.ParserCreate("utf-8", "}")
    watch = _Watch(parser, limits, ET.TreeBuilder(element_factory=Node) if build else None)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise XmlError(f"not well-formed: {expat.ErrorString(error.code)}", error.lineno) from None
    except UnicodeError:
        raise XmlError("not well-formed: a surrogate stands alone", parser.CurrentLineNumber) from None
    return watch.root


class _Watch:
    """Expat's handlers: count, refuse, and hand on to the tree builder if there is one."""

    def __init__(self, parser: expat.XMLParserType, limits: Limits, builder: ET.TreeBuilder | None) -> None:
        self._parser = parser
        self._limits = limits
        self._builder = builder
        self._names: dict[str, tuple[str, str | None]] = {}
        self._scopes: list[dict[str | None, str]] = [{}]
        self._fresh: dict[str | None, str] = {}
        self._depth = self._elements = self._run = self._declarations = 0
        self.root: Element | None = None
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._doctype
        if not limits.instructions:
            parser.ProcessingInstructionHandler = self._instruction
        parser.StartNamespaceDeclHandler = self._declared
        parser.EndNamespaceDeclHandler = self._undeclared
        parser.namespace_prefixes = True

    def _refuse(self, what: str) -> XmlError:
        return XmlError(what, self._parser.CurrentLineNumber)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        limits = self._limits
        self._depth += 1
        self._elements += 1
        self._run = 0
        if self._depth > limits.depth:
            raise self._refuse(f"elements are nested more than {limits.depth} deep")
        if self._elements > limits.elements:
            raise self._refuse(f"more than {limits.elements} elements")
        if attributes:
            self._check_attributes(attributes)
        if self._builder is not None:
            self._build(self._builder, name, attributes)

    def _build(self, builder: ET.TreeBuilder, name: str, attributes: Mapping[str, str]) -> None:
        qualified = {self._clark(n)[0]: v for n, v in attributes.items()} if attributes else {}
        scope = self._scopes[-1]
        if self._fresh:
            scope = scope | self._fresh
            self._fresh = {}
        self._scopes.append(scope)
        tag, prefix = self._clark(name)
        node = cast(Node, builder.start(tag, qualified))
        node.nsmap, node.prefix, node.sourceline = scope, prefix, self._parser.CurrentLineNumber

    def _check_attributes(self, attributes: Mapping[str, str]) -> None:
        limits = self._limits
        if len(attributes) > limits.attributes:
            raise self._refuse(f"an element has more than {limits.attributes} attributes")
        if any(len(value) > limits.token_characters for value in attributes.values()):
            raise self._refuse(f"an attribute is longer than {limits.token_characters} characters")

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._run = 0
        if self._builder is not None:
            self._scopes.pop()
            self.root = cast(Element, self._builder.end(self._clark(name)[0]))

    def _text(self, text: str) -> None:
        self._run += len(text)
        if self._run > self._limits.token_characters:
            raise self._refuse(f"a text is longer than {self._limits.token_characters} characters")
        if self._builder is not None:
            self._builder.data(text)

    def _doctype(self, *_: object) -> None:
        raise self._refuse("a DOCTYPE or an entity declaration, which we never read")

    def _instruction(self, *_: object) -> None:
        raise self._refuse("a processing instruction, which the protocol does not have")

    def _declared(self, prefix: str | None, uri: str | None) -> None:
        if _NAMESPACE.fullmatch(uri or "") is None:
            raise self._refuse(f"a namespace must be a URI; got {uri!r:.80}")
        self._declarations += 1
        if self._declarations > self._limits.namespaces:
            raise self._refuse(
                f"more than {self._limits.namespaces} namespaces are declared around an element"
            )
        self._fresh[prefix] = uri or ""

    def _undeclared(self, prefix: str | None) -> None:
        self._declarations -= 1

    def _clark(self, name: str) -> tuple[str, str | None]:
        """``{uri}local`` and the prefix, from expat's ``uri}local}prefix``."""
        known = self._names.get(name)
        if known is None:
            uri, _, rest = name.rpartition("}") if name.count("}") < 2 else name.partition("}")
            local, _, prefix = rest.partition("}")
            known = self._names[name] = ("{" + uri + "}" + local if uri else local, prefix or None)
        return known
