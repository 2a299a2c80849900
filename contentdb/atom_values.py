"""The small grammars Atom stands on: times, IRIs, e-mail addresses, language tags, media types."""

import re
from datetime import date
from functools import lru_cache

EPOCH_DAY = date(1970, 1, 1).toordinal()
DAY_MS = 86_400_000
FIRST_MS = (1 - EPOCH_DAY) * DAY_MS
LAST_MS = (date.max.toordinal() + 1 - EPOCH_DAY) * DAY_MS - 1

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.([0-9]+))?"
    r"(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_TOKEN = r"[!#$%&'*+.^_`{|}~0-9A-Za-z-]+"
_TYPE_NAME = r"[A-Za-z0-9!#$&.+^_-]{1,127}"
_MEDIA_TYPE = re.compile(
    rf"{_TYPE_NAME}/{_TYPE_NAME}(?:[ \t]*;[ \t]*{_TOKEN}=(?:{_TOKEN}|\"(?:[^\"\\\r\n]|\\.)*\"))*"
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ATEXT = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+"
_DOT_ATOM = rf"{_ATEXT}(?:\.{_ATEXT})*"
_EMAIL = re.compile(rf"(?:{_DOT_ATOM}|\"(?:[^\"\\\r\n]|\\.)*\")@(?:{_DOT_ATOM}|\[[ \t!-Z^-~]*\])")

# RFC 3987: which characters, and the parts of RFC 3986's appendix B.
_NO_CHARACTERS = "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 17))
_NOT_IN_IRI = re.compile(
    r'[\x00-\x20\x7f-\x9f<>"{}|\\^`\ud800-\udfff\ufdd0-\ufdef\ufff0-\uffff\U000e0000-\U000e0fff'
    rf"{_NO_CHARACTERS}]|%(?![0-9A-Fa-f]{{2}})"
)
_PRIVATE = re.compile(r"[\ue000-\uf8ff\U000f0000-\U0010ffff]")  # allowed in a query only
_NOT_IN_WORD = re.compile(r"[:/?#\[\]]")
_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(r"(?:[^@\[\]]*@)?(?:\[([^@\[\]]*)\]|([^@:\[\]]*))(?::[0-9]*)?")
_FUTURE_ADDRESS = re.compile(r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")
_URN = re.compile(r"urn:[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?:.+", re.ASCII | re.IGNORECASE | re.DOTALL)
_TAG = re.compile(
    r"tag:(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*,[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?:.*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_WITH_HOST = frozenset(("http", "https", "ftp"))
# A registered relation is the same as its IRI (RFC 4287, section 4.2.7.2).
ALTERNATE = ("alternate", "http://www.iana.org/assignments/relation/alternate")
# After so many days the calendar repeats itself.
_CYCLE_DAYS = 146_097


def parse_time(text: str) -> int:
    """Unix milliseconds of an RFC 3339 date-time, T and Z in capitals as Atom wants it; else ValueError.

    What lies outside the years 1 to 9999, in UTC, becomes the first or the last time we can say.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("expected a date-time such as 2024-02-29T12:30:00Z")
    year, month, day, hour, minute, second, fraction, sign, ahead_hours, ahead_minutes = match.groups()
    if year == "0000":  # a leap year like 400, which Python's calendar has
        day_number = date(400, int(month), int(day)).toordinal() - _CYCLE_DAYS
    else:
        day_number = date(int(year), int(month), int(day)).toordinal()
    minutes = int(hour) * 60 + int(minute)
    if sign is not None:
        ahead = int(ahead_hours) * 60 + int(ahead_minutes)
        minutes += ahead if sign == "-" else -ahead
    if second == "60" and not (minutes % 1440 == 1439 and _ends_month(day_number + minutes // 1440)):
        raise ValueError("a leap second ends a month in UTC")
    milliseconds = int(fraction[:3].ljust(3, "0")) if fraction else 0
    at = (day_number - EPOCH_DAY) * DAY_MS + minutes * 60_000 + int(second) * 1000 + milliseconds
    return min(max(at, FIRST_MS), LAST_MS)


def _ends_month(day_number: int) -> bool:
    return date.fromordinal(day_number % _CYCLE_DAYS + 1).day == 1


# What is published together bears one time, and each entry two.
@lru_cache(maxsize=64)
def format_time(at_ms: int) -> str:
    """``2024-02-29T12:30:00.000Z``; ValueError outside the years 1 to 9999."""
    if not FIRST_MS <= at_ms <= LAST_MS:
        raise ValueError(f"a time lies in the years 1 to 9999; got {at_ms} ms")
    days, rest = divmod(at_ms, DAY_MS)
    day = date.fromordinal(days + EPOCH_DAY).isoformat()
    seconds, ms = divmod(rest, 1000)
    return f"{day}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}Z"


def is_language(text: str) -> bool:
    return _LANGUAGE.fullmatch(text) is not None


def is_email(text: str) -> bool:
    """RFC 2822's addr-spec, without its comments and folding, in any characters (RFC 6532)."""
    return _EMAIL.fullmatch(text) is not None


def is_media_type(text: str) -> bool:
    return _MEDIA_TYPE.fullmatch(text) is not None


def is_composite(media_type: str) -> bool:
    return media_type.lower().startswith(("multipart/", "message/"))


def is_xml_type(media_type: str) -> bool:
    bare = media_type.split(";", 1)[0].strip().lower()
    return bare.endswith(("+xml", "/xml")) or bare in (
        "text/xml-external-parsed-entity",
        "application/xml-external-parsed-entity",
        "application/xml-dtd",
    )


def is_base64_type(media_type: str) -> bool:
    """Does content of this type stand in an entry as base64, being neither text nor markup?"""
    if media_type in ("text", "html", "xhtml"):
        return False
    return not media_type.lower().startswith("text/") and not is_xml_type(media_type)


def is_base64(text: str) -> bool:
    return _BASE64.fullmatch(text) is not None


def is_relation(text: str) -> bool:
    """A registered or at least registrable word, or an IRI."""
    if _NOT_IN_WORD.search(text) is None:
        return text != "" and is_reference(text)
    return is_absolute(text)


def is_reference(text: str) -> bool:
    """An IRI or a relative reference."""
    if _NOT_IN_IRI.search(text) is not None:
        return False
    match = _PARTS.fullmatch(text)
    if match is None:
        return False
    scheme, authority, path, query, fragment = match.groups()
    if any(
        part is not None and ("[" in part or "]" in part or "#" in part) for part in (path, query, fragment)
    ):
        return False
    if not text.isascii() and _PRIVATE.search((authority or "") + path + (fragment or "")) is not None:
        return False
    if scheme is None:
        if authority is None and path.startswith(":"):
            return False
    elif not _is_scheme_kept(scheme, authority, text):
        return False
    return authority is None or _is_authority(authority)


def _is_authority(text: str) -> bool:
    match = _AUTHORITY.fullmatch(text)
    return match is not None and (match[1] is None or _is_address(match[1]))


def _is_address(text: str) -> bool:
    if _FUTURE_ADDRESS.fullmatch(text) is not None:
        return True
    import ipaddress  # hardly ever needed, and not free at start-up

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_scheme_kept(scheme: str, authority: str | None, text: str) -> bool:
    if _SCHEME.fullmatch(scheme) is None:
        return False
    name = scheme.lower()
    if name in _WITH_HOST:
        host = _AUTHORITY.fullmatch(authority or "")
        return host is not None and host[2] != ""
    if name == "urn":
        return _URN.fullmatch(text) is not None
    return name != "tag" or _TAG.fullmatch(text) is not None


def is_absolute(text: str) -> bool:
    head = text.partition(":")[0]
    return len(head) < len(text) and _SCHEME.fullmatch(head) is not None and is_reference(text)


def resolve(base: str | None, reference: str) -> str:
    """RFC 3986, section 5.2; without a base a relative reference stays as it is."""
    if base is None:
        return reference
    scheme, authority, path, query, fragment = _parts(reference)
    if scheme is None:
        base_scheme, base_authority, base_path, base_query, _ = _parts(base)
        scheme = base_scheme
        if authority is None:
            authority = base_authority
            if path == "":
                path = base_path
                query = base_query if query is None else query
            elif not path.startswith("/"):
                path = _merged(base_authority, base_path, path)
    return _joined(scheme, authority, without_dots(path), query, fragment)


def _parts(text: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    match = _PARTS.fullmatch(text)
    assert match is not None  # the pattern matches every string
    scheme, authority, path, query, fragment = match.groups()
    return scheme, authority, path, query, fragment


def _merged(base_authority: str | None, base_path: str, path: str) -> str:
    if base_authority is not None and base_path == "":
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def without_dots(path: str) -> str:
    """The path with its "." and ".." segments taken away (RFC 3986, section 5.2.4)."""
    if "." not in path:
        return path
    rooted = path.startswith("/")
    kept: list[str] = []
    segments = path.split("/")[1:] if rooted else path.split("/")
    for segment in segments:
        if segment == "..":
            if kept and kept[-1] != "..":
                kept.pop()
            elif not rooted:
                kept.append(segment)
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return ("/" if rooted else "") + "/".join(kept)


def _joined(
    scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None
) -> str:
    text = "" if scheme is None else scheme + ":"
    if authority is not None:
        text += "//" + authority
    elif path.startswith("//"):  # or it would be read as an authority
        text += "/."
    elif scheme is None and ":" in path.partition("/")[0]:  # or it would be read as a scheme
        text += "./"
    text += path
    text += "" if query is None else "?" + query
    return text if fragment is None else text + "#" + fragment
