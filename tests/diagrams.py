"""Draws the diagrams of docs/protocol from the tables that the code runs by.

    python -m tests.diagrams        # writes them into the documents

`tests/transport/test_states.py` holds the documents to what is drawn here.
"""

import re
from pathlib import Path

from transport.messages import Answer
from transport.solicitation.states import NEXT, State

SOLICITATION = Path(__file__).parents[1] / "docs" / "protocol" / "solicitation-v1.md"


def element_of(kind: type[Answer]) -> str:
    """The element of a reply, as it is called in XML."""
    return kind.__name__.removesuffix("Reply").lower()


def solicitation_table() -> str:
    rows = [(State.OPENING.value, "a server's `hello`", State.DISCOVERY.value)]
    rows += [(state.value, f"`{element_of(kind)}`", then.value) for (state, kind), then in NEXT.items()]
    rows += [
        ("any", "everything asked is answered", State.OVER.value),
        ("any", "`reject` to one request", "the same"),
        ("any", "`reject` to the whole session", State.OVER.value),
        ("any", "anything else", "the session is closed"),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(["| while | an answer of | then |", "|---|---|---|", *lines])


def solicitation_diagram() -> str:
    """One arrow for all answers that lead from one state to another."""
    arrows: dict[tuple[str, str], list[str]] = {("[*]", State.OPENING.value): ["handshake"]}
    arrows[State.OPENING.value, State.DISCOVERY.value] = ["hello"]
    for (state, kind), then in NEXT.items():
        arrows.setdefault((state.value, then.value), []).append(element_of(kind))
    for state in State:
        if state is not State.OVER:
            arrows[state.value, State.OVER.value] = ["all answered", "reject"]
    arrows[State.OPENING.value, State.OVER.value] = ["reject"]
    arrows[State.OVER.value, "[*]"] = ["hello, end of stream"]
    lines = [f"    {one} --> {two}: {' | '.join(what)}" for (one, two), what in arrows.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def drawn(page: str) -> str:
    """The page with its generated parts as they should be."""
    part = f"<!-- states:begin -->\n{solicitation_table()}\n\n{solicitation_diagram()}\n<!-- states:end -->"
    return re.sub(r"<!-- states:begin -->.*<!-- states:end -->", lambda _: part, page, flags=re.S)


if __name__ == "__main__":
    SOLICITATION.write_text(drawn(SOLICITATION.read_text(encoding="utf-8")), encoding="utf-8")
