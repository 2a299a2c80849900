"""The states that the specification shows, as a table and as a diagram, are those the client runs by."""

from tests.diagrams import SOLICITATION, drawn, solicitation_diagram
from transport.solicitation.states import NEXT


def test_the_specification_shows_the_states_as_they_are() -> None:
    text = SOLICITATION.read_text(encoding="utf-8")
    assert "<!-- states:begin -->" in text
    assert text == drawn(text), "run python -m tests.diagrams"


def test_every_answer_of_the_table_is_in_the_diagram() -> None:
    diagram = solicitation_diagram()
    for (state, kind), then in NEXT.items():
        (arrow,) = [line for line in diagram.splitlines() if f"{state.value} --> {then.value}:" in line]
        assert kind.__name__.removesuffix("Reply").lower() in arrow
