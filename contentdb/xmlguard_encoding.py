"""Brings a document into UTF-8, from what its mark or its declaration says it is in."""

import re


class XmlError(ValueError):
    """What came is not XML that we read; ``line`` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


# Decoders that map bytes to characters and do nothing else; "zip" or "unicode_escape" must not be reached.
# In lower case, with hyphens for underscores.
ENCODINGS = frozenset(
    (
        *("us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be", "utf-32", "koi8-r", "koi8-u", "macintosh"),
        *("shift-jis", "euc-jp", "iso-2022-jp", "gb2312", "gbk", "gb18030", "big5", "euc-kr", "tis-620"),
        *(f"{start}-{part}" for start in ("iso-8859", "iso8859") for part in range(1, 17) if part != 12),
        *(f"{start}{number}" for start in ("latin", "l") for number in range(1, 11)),
        *(f"{start}{page}" for start in ("windows-", "cp") for page in (874, *range(1250, 1259))),
    )
)
_PYTHON_NAMES = {"windows-874": "cp874"}
# The declaration exactly as XML has it; what else starts like one is left to the parser, which refuses it.
# No two repetitions side by side match the same bytes, so the time is linear.
_DECLARATION = re.compile(
    rb"""<\?xml S+version S*= S*(?:"1\.[0-9]+"|'1\.[0-9]+')"""
    rb"""(?: S+encoding S*= S*(?:"([A-Za-z][A-Za-z0-9._-]*)"|'([A-Za-z][A-Za-z0-9._-]*)'))?"""
    rb"""(?: S+standalone S*= S*(?:"(?:yes|no)"|'(?:yes|no)'))? S*\?>""".replace(b" S", rb"[ \t\r\n]")
)
_LINE_END = re.compile(rb"\r\n?|\n")
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\0", "utf-16le"),
    (b"\0<", "utf-16be"),
)


def to_utf8(data: bytes, *, utf8_only: bool) -> bytes:
    """The same document in UTF-8; what is in UTF-8 already comes back unchanged."""
    encoding = _encoding_of(data)
    if encoding == "utf-8":
        return data
    if utf8_only or encoding not in ENCODINGS:
        raise XmlError(f"the document is in {encoding}; expected UTF-8", 1)
    try:
        text = data.decode(_PYTHON_NAMES.get(encoding, encoding))
    except UnicodeError as error:
        raise XmlError(f"the document is not in {encoding}, as it says: {error}", 1) from None
    except LookupError:  # a Python may be built with fewer of them, as on phones
        raise XmlError(f"the document is in {encoding}, which cannot be read here", 1) from None
    decoded = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    declared = _DECLARATION.match(decoded)
    if declared is None:
        return decoded
    # As many line ends as before, or every line would be told wrong.
    line_ends = b"\n" * len(_LINE_END.findall(declared[0]))
    return b'<?xml version="1.0"' + line_ends + b"?>" + decoded[declared.end() :]


def _encoding_of(data: bytes) -> str:
    if data[:1] == b"<" and data[1:2].isalpha():  # a tag, so neither a mark nor a declaration
        return "utf-8"
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if not data.startswith(b"<?xml"):
        return "utf-8"
    declared = _DECLARATION.match(data)
    found = (declared[1] or declared[2]) if declared else None
    encoding = found.decode("ascii").lower().replace("_", "-") if found else "utf-8"
    return "utf-8" if encoding == "utf8" else encoding
