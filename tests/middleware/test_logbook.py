"""Lines of a logbook are read as they were written, and rubbish is told from them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import UsageError
from contentdb.names import NodeId
from middleware.logbook import KINDS, ContactBegan, Fact, Line, Logbook, decode_line, encode_line

NODE = NodeId("ab" * 20)
FACTS = st.one_of([st.from_type(kind) for kind in KINDS.values()])


@given(FACTS, st.integers(1), st.integers(0, 2**53), st.floats(0, 1e9))
def test_a_line_is_read_as_it_was_written(fact: Fact, seq: int, at: int, now: float) -> None:
    text = encode_line(Line(NODE, seq, at, now, fact))
    if "NaN" in text or "Infinity" in text:
        return
    line = decode_line(text)
    assert "\n" not in text and (line.node, line.seq, line.at, line.fact) == (NODE, seq, at, fact)


def test_lines_are_numbered_without_gaps() -> None:
    logbook = Logbook(NODE, first_seq=5)
    for neighbours in range(3):
        logbook.note(ContactBegan("cd" * 20, neighbours), 1.0, 2)
    assert [json.loads(line)["seq"] for line in logbook.take_lines()] == [5, 6, 7]
    assert logbook.take_lines() == []


def test_a_field_of_a_later_version_is_passed_over() -> None:
    row = json.loads(encode_line(Line(NODE, 1, 2, 3.0, ContactBegan("cd" * 20, 1))))
    assert decode_line(json.dumps({**row, "mood": "good"})).fact == ContactBegan("cd" * 20, 1)


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", '{"v":2,"kind":"contact_began"}', "[" * 5000, "null"])
def test_rubbish_is_no_line(text: str) -> None:
    with pytest.raises(UsageError):
        decode_line(text)


def test_every_kind_and_field_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "logbook.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert all(f"`{field}`" in row for field in kind.__slots__), name
