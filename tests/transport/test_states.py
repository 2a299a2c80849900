"""The table of states in the specification is the one the client runs by."""

from pathlib import Path

from transport.solicitation.states import NEXT

PAGE = Path(__file__).parents[2] / "docs" / "protocol" / "solicitation-v1.md"


def test_the_specification_shows_the_table_of_states() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text[text.index("<!-- states:begin -->") : text.index("<!-- states:end -->")]
    rows = [f"| {state.value} | `{kind.__name__}` | {then.value} |" for (state, kind), then in NEXT.items()]
    assert [row for row in rows if row not in shown] == []
    assert shown.count("`\u0020|") == len(rows) + 1  # and no other, but for the server's hello
