"""Reads the single elements of signed bytes; UsageError says what was expected and what came."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache

from contentdb.atom_markup import BASE, DIV, LANG, write_element, write_inside
from contentdb.atom_values import (
    is_absolute,
    is_base64,
    is_base64_type,
    is_composite,
    is_language,
    is_media_type,
    is_relation,
    is_xml_type,
)
from contentdb.errors import UsageError
from contentdb.model import AttributeValue, Category, Content, Enclosure, Generator, Link, Text, Time
from contentdb.names import MAX_IRI_CHARACTERS, EntryId, parse_entry_id, parse_root
from contentdb.xmlguard import Element

# The hours are told here, since Python 3.14 knows an hour 24 and older ones do not.
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,4})?")
# Most IRIs look like one of these, and need no closer look.
_PLAIN_IRI = re.compile(r"urn:uuid:[0-9a-f-]+|https?://[a-z0-9.-]*[a-z0-9](?:/[A-Za-z0-9._~/-]*)?")
# Names and terms come again and again. Longer ones are not kept, so what is kept has a bound.
MAX_CACHED_CHARACTERS = 64
_known_category = lru_cache(maxsize=1024)(Category)
_BLANKS = " \t\r\n"  # XML's white space; Python's has more
_EPOCH = datetime(1970, 1, 1)  # without a zone, like what stands before the Z


def words_of(element: Element) -> str:
    if len(element):
        raise UsageError(f"{element.tag[:80]} holds elements; expected words on line {element.sourceline}")
    return element.text or ""


# An entry that was never changed says the same time twice, and a batch is often of one moment.
@lru_cache(maxsize=256)
def milliseconds(text: str) -> int:
    if _TIME.fullmatch(text) is None:
        raise UsageError(f"expected a time such as 2024-02-29T12:30:00.000Z; got {text[:40]!r}")
    try:
        since = datetime.fromisoformat(text[:-1]) - _EPOCH
    except ValueError:
        raise UsageError(f"there is no such time as {text}") from None
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def checked_iri(text: str) -> str:
    if _PLAIN_IRI.fullmatch(text) is None and not is_absolute(text):
        raise UsageError(f"expected an absolute IRI; got {text[:80]!r}")
    return text


def entry_id(text: str) -> EntryId:
    if len(text) <= MAX_IRI_CHARACTERS and _PLAIN_IRI.fullmatch(text) is not None:
        return EntryId(text)
    return parse_entry_id(checked_iri(text))


def count(text: str) -> int:
    if _INTEGER.fullmatch(text) is None or text[0] == "-":
        raise UsageError(f"expected a count in decimal digits; got {text[:40]!r}")
    return int(text)


def flag_of(element: Element) -> bool:
    if words_of(element):
        raise UsageError(f"{element.tag} is empty; got {element.text!r:.40}")
    return True


def language_of(element: Element) -> str | None:
    language = element.get(LANG)
    if language and not is_language(language):
        raise UsageError(f"expected a language tag such as en; got {language[:40]!r}")
    return language


def base_of(element: Element) -> str | None:
    base = element.get(BASE)
    return None if base is None else checked_iri(base)


def checked_media_type(text: str | None) -> str | None:
    if text is not None and not is_media_type(text):
        raise UsageError(f"expected a media type such as text/plain; got {text[:80]!r}")
    return text


def given(element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise UsageError(f"{element.tag} has no {name} on line {element.sourceline}")
    return value


def text_construct(element: Element) -> Text:
    if not element.keys() and not len(element):
        return Text(element.text or "")
    kind = element.get("type") or "text"
    if kind == "xhtml":
        words = div_of(element)
    elif kind in ("text", "html"):
        words = words_of(element)
    else:
        raise UsageError(f"a text is of type text, html or xhtml; got {kind[:40]!r}")
    return Text(words, kind, language=language_of(element), base=base_of(element))


def div_of(element: Element) -> str:
    children = list(element)
    if len(children) != 1 or children[0].tag != DIV or (element.text or "").strip(_BLANKS):
        raise UsageError(f"xhtml is exactly one div on line {element.sourceline}")
    if (children[0].tail or "").strip(_BLANKS):
        raise UsageError(f"words stand beside the div on line {element.sourceline}")
    return write_element(children[0])


def content_of(element: Element) -> Content:
    if not element.keys() and not len(element):
        return Content("text", element.text or "")
    kind, src = element.get("type"), element.get("src")
    language, base = language_of(element), base_of(element)
    if src is not None:
        if words_of(element):
            raise UsageError("content has both src and words")
        return Content(checked_content_type(kind) or "text", "", checked_iri(src), language, base)
    if kind is None or kind in ("text", "html"):
        words = words_of(element)
    elif kind == "xhtml":
        words = div_of(element)
    else:
        checked_content_type(kind)
        words = write_inside(element) if is_xml_type(kind) else words_of(element)
        if is_base64_type(kind) and not is_base64(words):
            raise UsageError(f"content of type {kind} is in base64")
    return Content(kind or "text", words, None, language, base)


def checked_content_type(kind: str | None) -> str | None:
    if kind is not None and is_composite(kind):
        raise UsageError(f"content has no composite media type; got {kind[:80]!r}")
    return checked_media_type(kind)


def category_named(term: str) -> Category:
    return _known_category(term) if len(term) <= MAX_CACHED_CHARACTERS else Category(term)


def category_of(element: Element) -> Category:
    term = element.get("term")
    if term is not None and len(element.keys()) == 1:
        return category_named(term)
    scheme = element.get("scheme")
    if scheme is not None:
        checked_iri(scheme)
    return Category(given(element, "term"), scheme, element.get("label"), language_of(element))


def link_of(element: Element) -> Link:
    rel, hreflang, length = element.get("rel") or "alternate", element.get("hreflang"), element.get("length")
    if not is_relation(rel):
        raise UsageError(f"expected a link's relation; got {rel[:80]!r}")
    if hreflang is not None and not is_language(hreflang):
        raise UsageError(f"expected a language tag such as en; got {hreflang[:40]!r}")
    return Link(
        checked_iri(given(element, "href")),
        rel,
        checked_media_type(element.get("type")),
        hreflang,
        element.get("title"),
        None if length is None else count(length),
        language_of(element),
    )


def generator_of(element: Element) -> Generator:
    uri = element.get("uri")
    return Generator(
        words_of(element),
        None if uri is None else checked_iri(uri),
        element.get("version"),
        language_of(element),
    )


def enclosure_of(element: Element) -> Enclosure:
    kind = given(element, "type")
    checked_media_type(kind)
    length = count(given(element, "length"))
    return Enclosure(given(element, "name"), kind, length, parse_root(given(element, "root")))


def attribute_error(element: Element, before: Mapping[str, object]) -> UsageError:
    """What is wrong with an attribute that has no name or type of ours, comes twice, or holds elements."""
    if given(element, "name") in before:
        return UsageError("an attribute has two values")
    kind = element.get("type")
    if kind not in VALUES:
        return UsageError(f"an attribute's type is one of {', '.join(VALUES)}; got {kind!r:.40}")
    return UsageError(f"{element.tag} holds elements; expected words on line {element.sourceline}")


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise UsageError(f"expected an integer; got {text[:40]!r}")
    return int(text)


def _decimal(text: str) -> float:
    if _DECIMAL.fullmatch(text) is None:
        raise UsageError(f"expected a decimal; got {text[:40]!r}")
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise UsageError(f"expected true or false; got {text[:40]!r}")
    return text == "true"


VALUES: dict[str, Callable[[str], AttributeValue]] = {
    "string": str,
    "integer": _integer,
    "decimal": _decimal,
    "boolean": _boolean,
    "time": lambda text: Time(milliseconds(text)),
}
