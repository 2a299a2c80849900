"""Cuts the text of a selector into tokens that know their column."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from contentdb.errors import UsageError
from contentdb.model import MAX_INTEGER

# A selector travels in requests and is evaluated for strangers: long enough for a list of a hundred feeds,
# short enough that nobody keeps a node busy with one.
MAX_CHARACTERS = 4_096
KEYWORDS = frozenset({"NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"})

_SPACE = re.compile(r"[ \t\f\r\n]*")
_ASCII_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_STRING = re.compile(r"'((?:[^']|'')*+)'")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_DECIMAL = re.compile(
    r"((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)(?:[fFdD](?![\w$]))?"
    r"|([0-9]+)[fFdD](?![\w$])"
)
_INTEGER = re.compile(r"0[xX]([0-9a-fA-F]+)|(0[0-7]+(?![0-9]))|(0|[1-9][0-9]*)")
_SUFFIX = re.compile(r"[lL](?![\w$])")
_OPERATOR = re.compile(r"<>|<=|>=|[=<>+\-*/(),]")


class SelectorError(UsageError):
    """No selector: ``column`` (from 1) is where reading stopped, ``expected`` is what would fit there."""

    def __init__(self, column: int, expected: str, found: str) -> None:
        super().__init__(f"column {column} of the selector: expected {expected}, found {found}")
        self.column = column
        self.expected = expected
        self._found = found

    def __reduce__(self) -> tuple[type["SelectorError"], tuple[int, str, str]]:
        # An exception is copied and pickled by its arguments, which are the finished message by now.
        return SelectorError, (self.column, self.expected, self._found)


class Token(NamedTuple):
    """``kind`` is an operator, a keyword in capitals, or one of ``name``, ``string``, ``number``, ``end``."""

    kind: str
    value: str | int | float
    column: int
    text: str


def tokenise(text: str) -> Iterator[Token]:
    """All tokens, closed by one of kind ``end``; raises SelectorError at the first that is none.

    One by one, so that who reads them complains first about what is wrong first.
    """
    if len(text) > MAX_CHARACTERS:
        raise SelectorError(MAX_CHARACTERS + 1, f"at most {MAX_CHARACTERS} characters", f"{len(text)}")
    position = _skip_space(text, 0)
    while position < len(text):
        token = _token(text, position)
        yield token
        position = _skip_space(text, position + len(token.text))
    yield Token("end", "", len(text) + 1, "")


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _token(text: str, position: int) -> Token:
    first = text[position]
    column = position + 1
    if match := _OPERATOR.match(text, position):
        return Token(match.group(), match.group(), column, match.group())
    if first == "'":
        return _string(text, position)
    if first.isascii() and (first.isdigit() or first == "."):
        return _number(text, position)
    if _starts_name(first):
        return _word(text, position)
    advice = {'"': "a string in single quotes", "!": "<> for unequal"}
    raise SelectorError(column, advice.get(first, "a name, a literal or an operator"), repr(first))


def _string(text: str, position: int) -> Token:
    match = _STRING.match(text, position)
    if match is None:
        raise SelectorError(len(text) + 1, f"the quote that closes column {position + 1}", "the end")
    # It could be neither stored nor sent: no encoding has half a character.
    if half := _HALF_CHARACTER.search(match.group()):
        raise SelectorError(
            position + half.start() + 1, "a whole character", f"half of one, {half.group()!r}"
        )
    return Token("string", match.group(1).replace("''", "'"), position + 1, match.group())


def _number(text: str, position: int) -> Token:
    if match := _DECIMAL.match(text, position):
        value = float(match.group(1) or match.group(2))
        if value == float("inf"):
            raise SelectorError(position + 1, "a number that a double can hold", match.group()[:40])
        return Token("number", value, position + 1, match.group())
    integer = _INTEGER.match(text, position)
    if integer is None or text[integer.end() : integer.end() + 1].isdigit():
        is_octal = integer is not None and integer.group() == "0"
        expected = "octal digits, or no leading zero" if is_octal else "a number"
        raise SelectorError(position + 1, expected, repr(text[position : position + 10]))
    return _integer(text, integer)


def _integer(text: str, match: re.Match[str]) -> Token:
    """Java's integer literals, as JMS says: hexadecimal with 0x, octal with 0, and an optional L behind."""
    hexadecimal, octal, decimal = match.groups()
    column = match.start() + 1
    # Python refuses to read digits by the thousand, and so do 64 bits.
    if match.end() - match.start() > 40:
        raise SelectorError(column, "an integer of at most 64 bits", f"{match.end() - match.start()} digits")
    value = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else int(decimal)
    suffix = _SUFFIX.match(text, match.end())
    end = suffix.end() if suffix else match.end()
    # One more than the maximum may follow a minus; the parser looks at that.
    if value > MAX_INTEGER + 1:
        raise SelectorError(column, "an integer of at most 64 bits", match.group())
    return Token("number", value, column, text[match.start() : end])


def _word(text: str, position: int) -> Token:
    ascii_part = _ASCII_WORD.match(text, position)
    end = ascii_part.end() if ascii_part else position + 1
    while end < len(text) and _continues_name(text[end]):
        end += 1
    word = text[position:end]
    if word.isascii() and word.upper() in KEYWORDS:
        return Token(word.upper(), word, position + 1, word)
    # Some brokers have names with dots in them. Nothing else could follow a name so; a keyword, .5 could.
    while text[end : end + 1] == ".":
        behind = text[end + 1 : end + 2]
        if not behind or not _continues_name(behind):
            raise SelectorError(end + 2, "a name behind the dot", repr(behind) if behind else "the end")
        end += 2
        while end < len(text) and _continues_name(text[end]):
            end += 1
    return Token("name", text[position:end], position + 1, text[position:end])


def _starts_name(character: str) -> bool:
    """Java's rule, which JMS refers to: letters, currency signs and connecting punctuation."""
    return character.isidentifier() or unicodedata.category(character) in ("Sc", "Pc")


def _continues_name(character: str) -> bool:
    return ("a" + character).isidentifier() or unicodedata.category(character) in ("Sc", "Pc")
