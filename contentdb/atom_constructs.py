"""Reads single constructs of foreign Atom: checked strictly, with bases resolved and languages inherited."""

from dataclasses import dataclass
from typing import Self

from contentdb.atom_markup import ATOM, BASE, DIV, LANG, namespace_of, write_element, write_inside
from contentdb.atom_values import (
    is_absolute,
    is_base64,
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

# XML's white space. Python's, such as a no-break space, is words to XML.
BLANKS = " \t\r\n"
_WITHOUT_BLANKS = dict.fromkeys(map(ord, BLANKS))


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
        if language and not is_language(language):
            raise wrong(element, f"xml:lang must be a language tag such as en-GB; got {language[:80]!r}")
        return type(self)(
            self.base if base is None else _resolved(element, base, self, "xml:base"),
            self.language if language is None else language,
        )

    def language_within(self, outside: Self) -> str | None:
        """What tells this language to who knows that of the place outside; None if it is the same."""
        same = (self.language or "") == (outside.language or "")
        return None if same else self.language or ""


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
    # RFC 2822 lets blanks stand around an address, and they say nothing.
    text = name(element, place).strip(BLANKS)
    if not is_email(text):
        raise wrong(element, f"must be an e-mail address; got {text[:80]!r}")
    return text


def _resolved(element: Element, text: str, place: Place, what: str) -> str:
    if not is_reference(text):
        raise wrong(element, f"{what} must be an IRI reference; got {text[:80]!r}")
    target = resolve(place.base, text)
    # Not every IRI is a base for every reference: "a" beside "urn:x:y" would be "urn:a".
    if not is_reference(target):
        raise wrong(element, f"{what} leads from the base {place.base!r:.80} to no IRI; got {text[:80]!r}")
    return target


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
    return not any((words or "").strip(BLANKS) for words in (element.text, *(c.tail for c in element)))


def content(element: Element, place: Place) -> Content:
    place = place.inside(element)
    kind, src = element.get("type"), element.get("src")
    if kind not in (None, "text", "html", "xhtml") or src is not None:
        _check_media_type(element, kind)
    if src is not None:
        if len(element) or not is_blank(element):
            raise wrong(element, "has src and must be empty")
        return Content(kind or "text", "", _resolved(element, src, place, "src"), place.language)
    if kind is None or kind == "text":
        return Content("text", words(element), None, place.language)
    return Content(kind, _inside(element, kind), None, place.language, place.base)


def needs_summary(content: Content | None) -> bool:
    return content is not None and (content.src is not None or is_base64_type(content.type))


def _inside(element: Element, kind: str) -> str:
    if kind == "xhtml":
        return _div(element)
    if is_xml_type(kind):
        inside = write_inside(element)
        # Around a single element blanks say nothing; among words they are words.
        return inside.strip(BLANKS) if is_blank(element) else inside
    inside = words(element)
    if not is_base64_type(kind):
        return inside
    inside = inside.translate(_WITHOUT_BLANKS)
    if not is_base64(inside):
        raise wrong(element, f"is of type {kind} and must be in base64; got {inside[:80]!r}")
    return inside


def _check_media_type(element: Element, kind: str | None) -> None:
    if kind is not None and not is_media_type(kind):
        raise wrong(element, f"type must be a media type such as text/plain; got {kind[:80]!r}")
    if kind is not None and name_of(element) == "content" and is_composite(kind):
        raise wrong(element, f"type must not be a composite media type; got {kind[:80]!r}")


def category(element: Element, outside: Place) -> Category:
    place = outside.inside(element)
    _check_children(element)
    scheme = element.get("scheme")
    if scheme is not None and not is_absolute(scheme):
        raise wrong(element, f"scheme must be an absolute IRI; got {scheme[:80]!r}")
    return Category(_given(element, "term"), scheme, element.get("label"), place.language_within(outside))


def link(element: Element, outside: Place) -> Link:
    place = outside.inside(element)
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
        place.language_within(outside),
    )


def _length(element: Element) -> int | None:
    """A hint, and any text to Atom's schema; what is no number of bytes hints at nothing."""
    length = element.get("length") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else None


def generator(element: Element, outside: Place) -> Generator:
    place = outside.inside(element)
    uri = element.get("uri")
    return Generator(
        words(element),
        None if uri is None else _resolved(element, uri, place, "uri"),
        element.get("version"),
        place.language_within(outside),
    )


def extension(element: Element, place: Place, outside: Place) -> str:
    """Foreign markup, with what it inherits written on it where the model would not tell it.

    The model keeps the language of the place outside, and no base. Only an element with something inside or
    with attributes can depend on either (section 6.4.2).
    """
    inherited: dict[str, str] = {}
    if len(element) or element.attrib:
        base = element.get(BASE)
        if place.base is not None and (base is None or is_reference(base)):
            inherited[BASE] = place.base if base is None else resolve(place.base, base)
        language = place.language_within(outside)
        if language is not None and element.get(LANG) is None:
            inherited[LANG] = language
    return write_element(element, inherited)


def _given(element: Element, attribute: str) -> str:
    value = element.get(attribute)
    if value is None:
        raise wrong(element, f"the attribute {attribute} is missing")
    return value


def _check_children(element: Element) -> None:
    for child in element:
        if namespace_of(child.tag) == ATOM:
            raise wrong(child, f"has no place in {name_of(element)}")
