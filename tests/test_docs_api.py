"""docs/api.md is complete: every call with every parameter, every error, and the true limits."""

import re
from pathlib import Path

import pytest

from middleware.api import connection, deliveries, messages
from middleware.api.apps import MAX_CONNECTIONS, call_parameters

PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S))


@pytest.mark.parametrize("call", sorted(call_parameters()))
def test_a_call_is_documented_with_its_parameters(call: str) -> None:
    words = set(re.findall(r"`(\w+)`", SECTIONS[call]))
    assert set(call_parameters()[call]) <= words


def test_nothing_is_documented_that_is_not_there() -> None:
    assert {title for title in SECTIONS if not title.endswith(" notification")} == set(call_parameters())


@pytest.mark.parametrize("code", list(messages.Code))
def test_an_error_is_documented(code: messages.Code) -> None:
    assert f"| {int(code)} | `{code.name}` |" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    assert f"{messages.MAX_REQUEST_BYTES:,} bytes" in PAGE
    assert f"{messages.MAX_ANSWER_BYTES:,} bytes" in PAGE
    assert f"| connections | {MAX_CONNECTIONS} |" in PAGE
    assert connection.PAUSE_ABOVE_BYTES == 2**20 and "above 1 MiB" in PAGE
    assert f"| {deliveries.WINDOW} for each connection" in PAGE
