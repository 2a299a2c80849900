"""Every example in docs/selectors.md says what really happens, and nothing of the language is left out."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contentdb.model import BUILT_IN_IDENTIFIERS, Feed, Person, Text
from contentdb.names import FeedId
from contentdb.selector import MAX_CHARACTERS, MAX_DEPTH, MAX_TERMS, SelectorError, parse
from contentdb.selector.lexer import KEYWORDS, tokenise

PAGE = (Path(__file__).parent.parent / "docs" / "selectors.md").read_text(encoding="utf-8")
WORDS = {"true": True, "false": False, "unknown": None}
RESULT_WIDTH = 10


def examples() -> Iterator[tuple[str, str, str]]:
    """The entry, the result and the selector of each line."""
    for block in re.findall(r"^```selectors\n(.*?)^```", PAGE, flags=re.M | re.S):
        first, *lines = block.splitlines()
        assert first.startswith("entry "), first
        for line in lines:
            yield first[RESULT_WIDTH:], line[:RESULT_WIDTH].strip(), line[RESULT_WIDTH:]


@pytest.mark.parametrize(("entry", "result", "text"), list(examples()))
def test_an_example_gives_what_the_page_says(entry: str, result: str, text: str) -> None:
    if result in WORDS:
        assert parse(text).evaluate(json.loads(entry)) is WORDS[result]
        return
    with pytest.raises(SelectorError) as error:
        parse(text)
    assert result == f"column {error.value.column}"


def test_every_word_and_operator_has_an_example() -> None:
    shown = {token.kind for _, result, text in examples() if result in WORDS for token in tokenise(text)}
    operators = {"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "(", ")", ","}
    assert shown >= KEYWORDS | operators | {"name", "string", "number"}


def test_every_built_in_name_is_listed() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert named >= set(BUILT_IN_IDENTIFIERS)
    feed = Feed(
        id=FeedId("urn:feed:1"),
        title=Text("t"),
        updated=1,
        subtitle=Text("s"),
        authors=(Person("Ann"),),
        language="en",
    )
    listed = re.search(r"^Feeds have `([\w ]+)`", PAGE, flags=re.M)
    assert listed is not None
    assert set(listed.group(1).split()) >= set(feed.selectable(updated=1))
    assert set(listed.group(1).split()) <= set(BUILT_IN_IDENTIFIERS)


def test_the_bounds_are_those_of_the_parser() -> None:
    terms = f"{MAX_TERMS:,} names and literals"
    assert f"at most {MAX_CHARACTERS:,} characters, {terms}, and a nesting of {MAX_DEPTH}." in PAGE


def test_the_reserved_words_are_listed() -> None:
    assert f"`{' '.join(sorted(KEYWORDS))}`" in PAGE
