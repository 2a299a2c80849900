"""Brings a document into UTF-8, from what its mark or its declaration says it is in."""

import re


class XmlError(ValueError):
    """What came is not XML that we read; ``line`` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


# Decoders that map bytes to characters and do nothing else; "zip" or "unicode_escape" must not be reached.
ENCODINGS = frozenset(
    [
        "us-ascii",
        "ascii",
        "utf-16",
        "utf-16le",
        "utf-16be",
        "utf-32",
        "koi8-r",
        "koi8-u",
        "shift_jis",
        "euc-jp",
        "iso-2022-jp",
        "gb2312",
        "gbk",
        "gb18030",
    ]
    + ["big5", "euc-kr", "macintosh", "tis-620", *(f"iso-8859-{part}" for part in range(1, 17) if part != 12)]
    + [f"windows-{page}" for page in (874, *range(1250, 1259))]
)
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["'][^>]*\?>""")
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
        text = data.decode(encoding)
    except UnicodeError as error:
        raise XmlError(f"the document is not in {encoding}, as it says: {error}", 1) from None
    decoded = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    declared = _DECLARED.match(decoded)
    return decoded if declared is None else b'<?xml version="1.0"?>' + decoded[declared.end() :]


def _encoding_of(data: bytes) -> str:
    if data[:1] == b"<" and data[1:2].isalpha():  # a tag, so neither a mark nor a declaration
        return "utf-8"
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if not data.startswith(b"<?xml"):
        return "utf-8"
    declared = _DECLARED.match(data)
    encoding = declared.group(1).decode("ascii").lower() if declared else "utf-8"
    return "utf-8" if encoding == "utf8" else encoding
