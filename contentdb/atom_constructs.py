"""Reads single constructs of foreign Atom: checked strictly, with bases resolved and languages inherited."""

import base64
import binascii
from dataclasses import dataclass
from typing import Self

from contentdb.atom_markup import ATOM, BASE, DIV, LANG, namespace_of, write_element, write_inside
from contentdb.atom_values import (
    is_absolute,
    is_base64_type,
    is_composite,
    is_email,
    is_language,
    is_media_type,
    is_reference,
    is_relation,
    is_xml_type,
    parse_time,
    resolve,
)
from contentdb.model import Category, Content, Generator, Link, Text
from contentdb.xmlguard import Element


class AtomError(ValueError):
    """What came is not valid Atom (RFC 4287); the message names the element, ``line`` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


def wrong(element: Element, what: str) -> AtomError:
    return AtomError(f"{name_of(element)}: {what}", element.sourceline)


def name_of(element: Element) -> str:
    return element.tag.rpartition("}")[2]


@dataclass(frozen=True, slots=True)
class Place:
    """What holds for an element because of the elements around it. A language of "" is one taken back."""

    base: str | None = None
    language: str | None = None

    def inside(self, element: Element) -> Self:
        base, language = element.get(BASE), element.get(LANG)
        if base is None and language is None:
            return self
        if base is not None and not is_reference(base):
            raise wrong(element, f"xml:base must be an IRI reference; got {base[:80]!r}")
        if language and not is_language(language):
            raise wrong(element, f"xml:lang must be a language tag such as en-GB; got {language[:80]!r}")
        return type(self)(
            self.base if base is None else resolve(self.base, base),
            self.language if language is None else language,
        )


def words(element: Element) -> str:
    if len(element):
        raise wrong(element, f"must hold words only; got the element {name_of(next(iter(element)))}")
    return element.text or ""


def name(element: Element, place: Place) -> str:
    place.inside(element)
    return words(element)


def time(element: Element, place: Place) -> int:
    text = name(element, place)
    try:
        return parse_time(text)
    except ValueError as error:
        raise wrong(element, f"{error}; got {text[:80]!r}") from None


def iri(element: Element, place: Place) -> str:
    text = name(element, place)
    if not is_absolute(text):
        raise wrong(element, f"must be an absolute IRI and nothing else; got {text[:80]!r}")
    return text


def reference(element: Element, place: Place) -> str:
    place = place.inside(element)
    return _resolved(element, words(element), place, name_of(element))


def email(element: Element, place: Place) -> str:
    text = name(element, place)
    if not is_email(text):
        raise wrong(element, f"must be an e-mail address; got {text[:80]!r}")
    return text


def _resolved(element: Element, text: str, place: Place, what: str) -> str:
    if not is_reference(text):
        raise wrong(element, f"{what} must be an IRI reference; got {text[:80]!r}")
    return resolve(place.base, text)


def text(element: Element, place: Place) -> Text:
    place = place.inside(element)
    kind = element.get("type")
    if kind is None or kind == "text":
        return Text(words(element), language=place.language)
    if kind == "html":
        return Text(words(element), "html", language=place.language, base=place.base)
    if kind == "xhtml":
        return Text(_div(element), "xhtml", language=place.language, base=place.base)
    raise wrong(element, f"type must be text, html or xhtml; got {kind[:80]!r}")


def _div(element: Element) -> str:
    children = list(element)
    if len(children) != 1 or children[0].tag != DIV or not is_blank(element):
        raise wrong(element, "xhtml is exactly one div of XHTML's namespace, with no words beside it")
    _check_inside_div(children[0])
    return write_element(children[0])


def _check_inside_div(element: Element) -> None:
    for child in element:
        # SVG and MathML are at home in XHTML; what has no namespace, or Atom's, lost its own by mistake.
        if namespace_of(child.tag) in ("", ATOM):
            raise wrong(child, "is inside an xhtml div, but not in XHTML's namespace")
        _check_inside_div(child)


def is_blank(element: Element) -> bool:
    """Is there nothing but white space beside the child elements?"""
    if element.text and not element.text.isspace():
        return False
    return all(child.tail is None or child.tail.isspace() for child in element)


def content(element: Element, place: Place) -> Content:
    place = place.inside(element)
    kind, src = element.get("type"), element.get("src")
    if kind not in (None, "text", "html", "xhtml") or src is not None:
        _check_media_type(element, kind)
    if src is not None:
        if len(element) or element.text:
            raise wrong(element, "has src and must be empty")
        return Content(kind or "text", "", _resolved(element, src, place, "src"), place.language)
    if kind is None or kind == "text":
        return Content("text", words(element), None, place.language)
    return Content(kind, _inside(element, kind), None, place.language, place.base)


def _inside(element: Element, kind: str) -> str:
    if kind == "xhtml":
        return _div(element)
    if is_xml_type(kind):
        if len(element) and not is_blank(element):
            raise wrong(element, f"holds XML of type {kind}, so no words may stand beside its element")
        return write_inside(element).strip()
    inside = words(element)
    if not is_base64_type(kind):
        return inside
    inside = "".join(inside.split())
    try:
        base64.b64decode(inside, validate=True)
    except binascii.Error as error:
        raise wrong(element, f"is of type {kind} and must be in base64: {error}") from None
    return inside


def _check_media_type(element: Element, kind: str | None) -> None:
    if kind is not None and not is_media_type(kind):
        raise wrong(element, f"type must be a media type such as text/plain; got {kind[:80]!r}")
    if kind is not None and name_of(element) == "content" and is_composite(kind):
        raise wrong(element, f"type must not be a composite media type; got {kind[:80]!r}")


def category(element: Element, place: Place) -> Category:
    place.inside(element)
    _check_children(element)
    scheme = element.get("scheme")
    if scheme is not None and not is_absolute(scheme):
        raise wrong(element, f"scheme must be an absolute IRI; got {scheme[:80]!r}")
    return Category(_given(element, "term"), scheme, element.get("label"))


def link(element: Element, place: Place) -> Link:
    place = place.inside(element)
    _check_children(element)
    rel, hreflang = element.get("rel"), element.get("hreflang")
    if rel is not None and not is_relation(rel):
        raise wrong(element, f"rel must be a link relation or an absolute IRI; got {rel[:80]!r}")
    if hreflang is not None and not is_language(hreflang):
        raise wrong(element, f"hreflang must be a language tag such as en-GB; got {hreflang[:80]!r}")
    _check_media_type(element, element.get("type"))
    return Link(
        _resolved(element, _given(element, "href"), place, "href"),
        "alternate" if rel is None else rel,
        element.get("type"),
        hreflang,
        element.get("title"),
        _length(element),
    )


def _length(element: Element) -> int | None:
    length = element.get("length")
    if length is None:
        return None
    if not (length.isascii() and length.isdigit() and len(length) < 20):
        raise wrong(element, f"length must be a number of bytes; got {length[:80]!r}")
    return int(length)


def generator(element: Element, place: Place) -> Generator:
    place = place.inside(element)
    uri = element.get("uri")
    return Generator(
        words(element),
        None if uri is None else _resolved(element, uri, place, "uri"),
        element.get("version"),
    )


def _given(element: Element, attribute: str) -> str:
    value = element.get(attribute)
    if value is None:
        raise wrong(element, f"the attribute {attribute} is missing")
    return value


def _check_children(element: Element) -> None:
    for child in element:
        if namespace_of(child.tag) == ATOM:
            raise wrong(child, f"has no place in {name_of(element)}")
