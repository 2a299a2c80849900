"""Reads requests and replies out of XML elements: what is known strictly, what is not known not at all."""

import re

from contentdb.errors import RemoteError
from contentdb.names import FeedId, Root, parse_entry_id, parse_feed_id, parse_root
from contentdb.xmlguard import Element
from transport.messages import (
    MAX_HAVE_RANGES,
    MAX_NUMBER,
    Answer,
    Ask,
    BloomReply,
    BloomRequest,
    BySketch,
    CellsReply,
    ChunksReply,
    ChunksRequest,
    EntriesReply,
    Except,
    FeedRequest,
    FeedsReply,
    FeedsRequest,
    HashesReply,
    HashesRequest,
    How,
    Ids,
    OneEntry,
    Since,
    UnknownRequest,
)

_PREFIX = "{urn:passerby:1}"
_WHITE = " \t\r\n"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_EPOCH = re.compile(r"[0-9a-f]{16}")
_TOKEN = re.compile(r"[a-z][a-z-]{0,31}")
_RANGE = re.compile(r"([1-9][0-9]{0,18})(?:-([1-9][0-9]{0,18}))?")

_ASKS = ("bloom", "selector", "feed", "hashes", "chunks")
_ANSWERS = ("bloom", "feeds", "entries", "cells", "hashes", "chunks")
_HOWS = ("since", "except", "sketch", "ids", "entry")


# -- elements


def children(element: Element) -> list[tuple[str, Element]]:
    """What stands inside, by name, without what is of other namespaces; text between is refused."""
    if (element.text or "").strip(_WHITE):
        raise RemoteError(f"{element.tag[:80]} has no text; got {(element.text or '')[:80]!r}")
    found = []
    for child in element:
        if (child.tail or "").strip(_WHITE):
            raise RemoteError(f"text stands between elements: {(child.tail or '')[:80]!r}")
        if child.tag.startswith(_PREFIX):
            found.append((child.tag[len(_PREFIX) :], child))
    return found


def _only(element: Element, known: tuple[str, ...]) -> tuple[str, Element] | None:
    """The one child that is known here; None if there is none, RemoteError if there are several."""
    found = [pair for pair in children(element) if pair[0] in known]
    if len(found) > 1:
        raise RemoteError(f"there is one of {', '.join(known)}; got {len(found)}")
    return found[0] if found else None


def _text(element: Element) -> str:
    if len(element):
        raise RemoteError(f"{element.tag[:80]} is text alone; got elements in it")
    return element.text or ""


# -- attributes


def number(element: Element, name: str, *, least: int = 0) -> int | None:
    text = element.get(name)
    if text is None:
        return None
    value = int(text) if _NUMBER.fullmatch(text) else -1
    if not least <= value <= MAX_NUMBER:
        raise RemoteError(f"{name} is a number from {least} to {MAX_NUMBER}; got {text[:40]!r}")
    return value


def required(element: Element, name: str, *, least: int = 0) -> int:
    value = number(element, name, least=least)
    if value is None:
        raise RemoteError(f"{element.tag[:80]} needs the attribute {name}")
    return value


def flag(element: Element, name: str) -> bool:
    text = element.get(name)
    if text not in (None, "true", "false"):
        raise RemoteError(f"{name} is true or false; got {(text or '')[:40]!r}")
    return text == "true"


def token(element: Element, name: str) -> str:
    text = element.get(name) or ""
    if _TOKEN.fullmatch(text) is None:
        raise RemoteError(f"{name} is up to 32 small letters and hyphens; got {text[:40]!r}")
    return text


def read_epoch(element: Element, name: str = "epoch") -> str:
    text = element.get(name) or ""
    if _EPOCH.fullmatch(text) is None:
        raise RemoteError(f"{name} has 16 hexadecimal digits in lower case; got {text[:40]!r}")
    return text


def _feed_id(element: Element, name: str) -> FeedId | None:
    text = element.get(name)
    return None if text is None else parse_feed_id(text)


def _span(element: Element) -> tuple[Root, int, int]:
    first, last = required(element, "first", least=1), required(element, "last", least=1)
    if first > last:
        raise RemoteError(f"a range begins before it ends; got {first} to {last}")
    return parse_root(element.get("root") or ""), first, last


def _have(element: Element) -> tuple[tuple[int, int], ...]:
    """Ranges such as ``1-64 70``, in order and apart."""
    text = element.get("have") or ""
    ranges: list[tuple[int, int]] = []
    for part in text.split(" ") if text else []:
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not (ranges[-1][1] if ranges else 0) < first <= last <= MAX_NUMBER:
            raise RemoteError(f"have is growing ranges such as 1-64 70; got {part[:60]!r}")
        ranges.append((first, last))
        if len(ranges) > MAX_HAVE_RANGES:
            raise RemoteError(f"have is at most {MAX_HAVE_RANGES} ranges")
    return tuple(ranges)


# -- requests


def read_ask(element: Element) -> Ask:
    found = _only(element, _ASKS)
    if found is None:
        return UnknownRequest()
    name, asked = found
    if name == "selector":
        return FeedsRequest(_text(asked), _feed_id(asked, "after"))
    if name == "feed":
        return _read_feed(asked)
    children(asked)
    if name == "bloom":
        return BloomRequest()
    return ChunksRequest(*_span(asked)) if name == "chunks" else HashesRequest(*_span(asked))


def _read_feed(element: Element) -> Ask:
    feed, sequence = parse_feed_id(element.get("id") or ""), number(element, "sequence")
    found = _only(element, _HOWS)
    if found is None:
        return UnknownRequest()
    how = _read_how(*found)
    selected = _only(element, ("selector",))
    if selected is None:
        return FeedRequest(feed, how, None, sequence)
    if not isinstance(how, Since | Except):
        raise RemoteError(f"a selector goes with since and except; got it with {found[0]}")
    return FeedRequest(feed, how, _text(selected[1]), sequence)


def _read_how(name: str, element: Element) -> How:
    children(element)
    match name:
        case "since":
            return Since(read_epoch(element), required(element, "revision"))
        case "except":
            return Except(number(element, "after") or 0)
        case "sketch":
            return BySketch()
        case "ids":
            return Ids(number(element, "after") or 0)
        case _:
            return OneEntry(parse_entry_id(element.get("id") or ""), number(element, "after") or 0)


# -- replies


def read_answer(element: Element) -> Answer:
    found = _only(element, _ANSWERS)
    if found is None:
        raise RemoteError(f"a reply has one of {', '.join(_ANSWERS)}; got none")
    name, answer = found
    children(answer)
    match name:
        case "bloom":
            return BloomReply()
        case "feeds":
            withheld = number(answer, "withheld") or 0
            return FeedsReply(required(answer, "count"), withheld, _feed_id(answer, "next"))
        case "entries":
            return _read_entries(answer)
        case "cells":
            return CellsReply(read_epoch(answer), required(answer, "revision"))
        case "hashes":
            return HashesReply(*_span(answer), _have(answer))
        case _:
            return ChunksReply(*_span(answer))


def _read_entries(element: Element) -> EntriesReply:
    return EntriesReply(
        required(element, "count"),
        read_epoch(element),
        required(element, "revision"),
        number(element, "withheld") or 0,
        number(element, "next"),
        flag(element, "descriptor"),
    )
