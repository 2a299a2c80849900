"""Makes wrong inputs of right ones: bit by bit, number by number, and word by word of their grammar."""

import re
from collections.abc import Callable, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple, TypeAlias

# Two frames of full records fit; what is longer costs time and shows nothing new.
MAX_BYTES = 200_000
# Bounds of bytes, of our protocols, and of the types that numbers are kept in, with their neighbours.
EDGES = sorted(
    {
        edge + off
        for edge in (0, 16, 32, 64, 96, 255, 512, 2_048, 4_096, 8_192, 16_384, 65_519, 65_535, 2**20)
        for off in (-1, 0, 1)
    }
    | {2**31 - 1, 2**31, 2**32 - 1, 2**42, 2**42 + 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1}
)
NUMBERS = [
    *(b"%d" % edge for edge in EDGES),
    *(b"-0", b"-9223372036854775808", b"-9223372036854775809", b"007", b"1e400", b"4.9e-324", b"nan", b"inf"),
    *(b"9" * 400, b"9" * 5_000, b"0x7fffffffffffffff", "٣".encode()),
]
# What grammars of text trip over: ends of lines and strings, halves of characters, other alphabets.
OFFENSIVE = [
    *(b"\0", b"\r", b"\r\n", b"'", b'"', b"''", b"]]>", b"<!--", b"-->", b"<![CDATA[", b"&#0;", b"&amp;"),
    *(b"&x;", b"<!DOCTYPE x [<!ENTITY x 'y'>]>", b"<?x y?>", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80"),
    *(b"\xc0\x80", b"\xf4\x90\x80\x80", "\u2028\u202e\u0130\u00df\U0001f955".encode(), b"\x1b[2J", b"xmlns"),
]
REPEATED = (2, 3, 17, 64, 100, 1_000, 5_000)
_TOKEN = re.compile(rb"[A-Za-z_][\w.-]*|[0-9]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?")
_PIECE = re.compile(rb"<[^<>]{1,200}>|\([^()]{1,100}\)|[^\s]{1,60}\s?|.", re.DOTALL)


class Material(NamedTuple):
    """What inputs of one grammar are made of: right ones, and words that mean something in it."""

    examples: Sequence[bytes]
    words: Sequence[bytes]


Mutation: TypeAlias = Callable[[Random, bytes, Material], bytes]


def make_input(rng: Random, material: Material) -> bytes:
    """A right input with a few changes; now and then no change at all, or no sense at all."""
    kind = rng.random()
    if kind < 0.02:
        return rng.randbytes(rng.choice((0, 1, 7, 20, 100, 600)))
    data = rng.choice(material.examples)
    if kind < 0.04:
        return data
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(MUTATIONS)(rng, data, material)[:MAX_BYTES]
    return data


# -- bytes


def flip_a_bit(rng: Random, data: bytes, _: Material) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data) * 8)
    return data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]


def cut_short(rng: Random, data: bytes, _: Material) -> bytes:
    return data[: rng.randint(0, len(data))]


def cut_out(rng: Random, data: bytes, _: Material) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.randint(1, 20) :]


def put_in(rng: Random, data: bytes, _: Material) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 20)) + data[at:]


def repeat(rng: Random, data: bytes, _: Material) -> bytes:
    start = rng.randint(0, len(data))
    end = rng.randint(start, min(len(data), start + 200))
    return data[:end] + data[start:]


def set_a_number(rng: Random, data: bytes, _: Material) -> bytes:
    """A number in bytes: near a bound, or near the length of what follows it, mostly at the beginning."""
    width = rng.choice((1, 2, 4, 8))
    at = rng.randint(0, min(40, len(data)) if rng.random() < 0.7 else len(data))
    value = rng.choice(EDGES) if rng.random() < 0.7 else len(data) - at - width + rng.randint(-2, 2)
    return data[:at] + (value % (1 << 8 * width)).to_bytes(width, "big") + data[at + width :]


def splice(rng: Random, data: bytes, material: Material) -> bytes:
    """The beginning of one input and the end of another."""
    other = rng.choice(material.examples)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


# -- words


def _some_tokens(rng: Random, data: bytes) -> list[re.Match[bytes]]:
    return list(islice(_TOKEN.finditer(data, rng.randint(0, max(0, len(data) - 200))), 100))


def change_a_word(rng: Random, data: bytes, material: Material) -> bytes:
    """Leave a word out, double it, or put another of the same grammar, or an offensive one, in its place."""
    tokens = _some_tokens(rng, data)
    if not tokens:
        return data
    token = rng.choice(tokens)
    others = material.words or [token[0]]
    new = rng.choice((b"", token[0] * 2, rng.choice(others), rng.choice(others), rng.choice(OFFENSIVE)))
    return data[: token.start()] + new + data[token.end() :]


def swap_two_words(rng: Random, data: bytes, _: Material) -> bytes:
    tokens = _some_tokens(rng, data)
    if len(tokens) < 2:
        return data
    one, two = sorted(rng.sample(tokens, 2), key=lambda token: token.start())
    between = data[one.end() : two.start()]
    return data[: one.start()] + two[0] + between + one[0] + data[two.end() :]


def change_a_decimal(rng: Random, data: bytes, _: Material) -> bytes:
    numbers = list(_NUMBER.finditer(data[:4_000]))
    if not numbers:
        return data
    found = rng.choice(numbers)
    return data[: found.start()] + rng.choice(NUMBERS) + data[found.end() :]


def repeat_a_piece(rng: Random, data: bytes, _: Material) -> bytes:
    """An element, a parenthesis or a word over and over: nesting and lists of any length."""
    found = _PIECE.match(data, rng.randint(0, len(data)))
    if found is None:
        return data
    return data[: found.end()] + found[0] * rng.choice(REPEATED) + data[found.end() :]


MUTATIONS: list[Mutation] = [
    *(flip_a_bit, cut_short, cut_out, put_in, repeat, set_a_number, splice),
    *(change_a_word, change_a_word, swap_two_words, change_a_decimal, repeat_a_piece),
]


def words_in(examples: Sequence[bytes]) -> list[bytes]:
    """The words that right inputs are made of, each once, in the order of their appearance."""
    return list(dict.fromkeys(word for data in examples for word in _TOKEN.findall(data[:4_000])))
