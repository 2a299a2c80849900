"""Candidates from SQL hold every match, and rarely much else, wherever SQLite sees values differently."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contentdb.selector import parse
from contentdb.selector.compile import condition, identifiers
from contentdb.selector.evaluate import prepare
from contentdb.selector.nodes import And, Comparison, Condition, Identifier, Literal, Not, Or, Scalar
from tests.contentdb.selector.stored import AUTHOR, FEED, TABLES, StoredEntries
from tests.contentdb.selector.strategies import attributes, trees

ENTRIES: list[dict[str, Scalar]] = [
    {"genre": "jazz", "round": 3, "title": "Blue in Green", "categories": "|music|jazz|", "updated": 10},
    {"genre": "Jazz", "round": 2**53 + 1, "title": "blue", "categories": "|jazzy|", "updated": 20},
    {"genre": "rock", "round": 2.5, "flag": True, "title": 'say "abc" 100%', "updated": 30, "expires": 50},
    {"round": "3", "flag": False, "title": "ß😀é", "summary": "Blue", "updated": 40},
    {"genre": 3, "flag": 1, "title": "", "updated": 50, "size": 7},
]
# The selector, and which of these entries SQL must come up with: here it can be exact.
EXACT = [
    ("genre = 'jazz'", {1}),
    ("'jazz' = genre", {1}),
    ("genre IN ('jazz', 'rock')", {1, 3}),
    ("genre = 'jazz' OR genre = 'rock'", {1, 3}),
    ("genre = 'jazz' AND round = 3", {1}),
    ("round > 2 AND round <= 3", {1, 3}),
    ("round BETWEEN 2 AND 3", {1, 3}),
    ("round = 9007199254740993", {2}),
    ("round > 9007199254740992", {2}),
    ("round < 2.75", {3}),
    ("genre LIKE 'ja%'", {1}),
    ("genre LIKE '%az%'", {1, 2}),
    ("genre LIKE 'jazz'", {1}),
    ("genre IS NULL", {4}),
    ("genre IS NOT NULL", {1, 2, 3, 5}),
    ("NOT genre = 'jazz'", {1, 2, 3, 5}),
    ("title LIKE '%blue%'", {2}),
    ("title LIKE '%\"abc\" 100!%%' ESCAPE '!'", {3}),
    ("title LIKE '%ß😀é%'", {4}),
    ("title = ''", {5}),
    ("categories LIKE '%|jazz|%'", {1}),
    ("updated > 10.5 AND updated < 40", {2, 3}),
    ("updated IN (10, 20.0, 20.5, '30')", {1, 2}),
    ("updated <> 10.5", {1, 2, 3, 4, 5}),
    ("expires IS NULL", {1, 2, 4, 5}),
    ("feed = 'urn:feed:1' AND author = 'author-1' AND size = 7", {5}),
    ("(genre = 'jazz') = TRUE", {1}),
    ("missing = 1 OR missing IS NOT NULL", set()),
    ("missing IS NULL", {1, 2, 3, 4, 5}),
    ("title < 'a'", set()),
    ("title = 3", set()),
    ("updated = 'now'", set()),
    ("updated LIKE '1%'", set()),
    ("genre > 'a'", set()),
    ("updated > 1e300 OR updated < -1e300 OR updated = 0.5", set()),
    ("FALSE", set()),
]


@pytest.fixture
def stored() -> StoredEntries:
    entries = StoredEntries()
    for entry in ENTRIES:
        entries.add(entry)
    return entries


@settings(max_examples=200, deadline=None)
@given(
    st.lists(attributes(), min_size=1, max_size=6), st.lists(trees(), min_size=1, max_size=12), st.booleans()
)
def test_candidates_hold_every_match(
    entries: list[dict[str, Scalar]], selectors: list[Condition], counted: bool
) -> None:
    with StoredEntries() as stored:
        for entry in entries:
            entry |= {"feed": FEED, "author": AUTHOR}
        keys = [stored.add(entry) for entry in entries]
        for tree in selectors:
            evaluate = prepare(tree)
            matches = {key for key, entry in zip(keys, entries, strict=True) if evaluate(entry) is True}
            for full_text in (True, False):
                found = stored.candidates(tree, full_text=full_text, counted=counted)
                assert matches <= found, (tree, matches - found)


@pytest.mark.parametrize(("text", "expected"), EXACT)
@pytest.mark.parametrize("full_text", [True, False])
def test_common_conditions_give_few_candidates_too_many(
    stored: StoredEntries, text: str, expected: set[int], full_text: bool
) -> None:
    assert stored.candidates(parse(text).tree, full_text=full_text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "genre = 'a\0b'",
        "title LIKE '%a\0b%'",
        "title LIKE '%abc\0def%'",
        "genre LIKE '\U0010ffff%'",
        "genre LIKE 'a\ud7ff%'",
    ],
)
def test_strange_characters_break_no_statement(stored: StoredEntries, text: str) -> None:
    tree = parse(text).tree
    for full_text in (True, False):
        assert stored.candidates(tree, full_text=full_text) == set()


def test_a_name_that_no_entry_has_leads_nowhere() -> None:
    compiled = condition(parse("a = 1 AND b > 2").tree, attribute_key=lambda name: None, full_text=True)
    assert (compiled.sql, compiled.parameters) == ("0", ())


def test_the_empty_selector_has_every_entry_as_candidate() -> None:
    compiled = condition(None, attribute_key=lambda name: None, full_text=True)
    assert (compiled.sql, compiled.driven) == ("1", False)


@pytest.mark.parametrize("join", [And, Or])
def test_the_largest_selectors_fit_into_a_statement(
    stored: StoredEntries, join: type[And] | type[Or]
) -> None:
    wide = join(tuple(Comparison("=", Identifier("round"), Literal(n)) for n in range(3, 2_000)))
    assert stored.candidates(wide, full_text=True) >= (set() if join is And else {1})
    texts = " OR ".join(f"title LIKE '%{n}bc%'" for n in range(150))
    assert stored.candidates(parse(texts).tree, full_text=True) == set()
    names = parse(" OR ".join(["flag"] * 500)).tree
    assert stored.candidates(names, full_text=True) == {3, 5}


def test_the_deepest_selectors_fit_into_a_statement(stored: StoredEntries) -> None:
    tree: Condition = Comparison("=", Identifier("genre"), Literal("jazz"))
    for level in range(60):
        other = Comparison(">", Identifier("updated"), Literal(level))
        junction = And if level % 2 else Or
        tree = Not(Not(junction((other, tree)) if level % 3 else junction((tree, other))))
    matches = {key for key, entry in enumerate(ENTRIES, 1) if prepare(tree)(entry) is True}
    assert matches <= stored.candidates(tree, full_text=True)


@pytest.mark.parametrize("text", ["lang = 'en' AND genre = 'rare'", "genre = 'rare' AND lang = 'en'"])
def test_the_rarest_of_several_attributes_is_walked(text: str) -> None:
    with StoredEntries() as stored:
        for number in range(300):
            stored.add(
                {"title": "x", "updated": 1, "lang": "en", "genre": "rare" if number == 7 else "common"}
            )
        compiled = condition(
            parse(text).tree,
            attribute_key=stored.catalogue.find_attribute,
            full_text=True,
            count=stored.rows_of,
        )
        walked = compiled.sql.index("e.key IN")
        marks_before = compiled.sql[:walked].count("?")
        assert compiled.parameters[marks_before : marks_before + 2] == (
            stored.catalogue.find_attribute("genre"),
            "rare",
        )


def test_what_is_too_common_to_walk_is_tested_instead(stored: StoredEntries) -> None:
    for walk_below, driven in ((5, True), (4, False)):
        compiled = condition(
            parse("genre IS NOT NULL").tree,
            attribute_key=stored.catalogue.find_attribute,
            full_text=True,
            count=stored.rows_of,
            walk_below=walk_below,
        )
        assert compiled.driven is driven
        sql = f"SELECT e.key FROM {TABLES} WHERE {compiled.sql}"
        assert {key for (key,) in stored.run(sql, compiled.parameters)} == {1, 2, 3, 5}


@pytest.mark.parametrize(
    "text",
    [
        "genre = 'jazz'",
        "genre IN ('jazz', 'rock') AND size > 3",
        "round > 2 AND round < 5",
        "genre LIKE 'ja%'",
        "title LIKE '%Blue%' AND author_name = 'Ann'",
        "categories LIKE '%|jazz|%' OR genre = 'jazz'",
    ],
)
def test_an_index_leads_to_the_entries(stored: StoredEntries, text: str) -> None:
    compiled = condition(parse(text).tree, attribute_key=stored.catalogue.find_attribute, full_text=True)
    sql = f"EXPLAIN QUERY PLAN SELECT * FROM entries e WHERE +e.state = 0 AND ({compiled.sql})"
    plan = [row[3] for row in stored.run(sql, compiled.parameters)]
    assert plan[0] == "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"
    assert compiled.driven and not any(step.startswith("SCAN e ") or step == "SCAN entries" for step in plan)


def test_all_names_of_a_selector_are_found() -> None:
    text = "a = 1 AND b BETWEEN c AND d + e OR NOT f IN (1, l, m + 1) OR g LIKE 'x' OR h IS NULL OR i"
    text += " OR (j > -k) IS NULL"
    assert identifiers(parse(text).tree) == set("abcdefghijklm")
    assert identifiers(None) == set()


def test_lists_inside_lists_are_compiled_without_copies_of_their_left_side(stored: StoredEntries) -> None:
    text = "flag"
    for _ in range(15):
        text = f"({text} IN (TRUE, FALSE, genre))"
    asked: list[str] = []

    def attribute_key(name: str) -> int | None:
        asked.append(name)
        return stored.catalogue.find_attribute(name)

    tree = parse(text).tree
    assert len(condition(tree, attribute_key=attribute_key, full_text=True).sql) < 1_000
    assert len(asked) <= 16
    assert identifiers(tree) == {"flag", "genre"}


def steps(stored: StoredEntries, text: str) -> int:
    """How many hundreds of instructions SQLite takes to find the candidates."""
    taken: list[int] = []
    stored.database.connection.set_progress_handler(lambda: taken.append(1), 100)
    stored.candidates(parse(text).tree, full_text=True, counted=True)
    stored.database.connection.set_progress_handler(None, 0)
    return len(taken)


@pytest.fixture(scope="module")
def many() -> StoredEntries:
    entries = StoredEntries()
    for at in range(1_000):
        entries.add({"title": "x", "updated": at, "n": at, "size": 1})
    return entries


@pytest.mark.parametrize("arms", [2, 100, 201, 300])
@pytest.mark.parametrize("more", ["", " OR size = 5"])
def test_a_long_row_of_alternatives_takes_no_step_more_for_each_entry(
    many: StoredEntries, arms: int, more: str
) -> None:
    for arm in ("n = -{}", "n > 5{:04}", "NOT (n <> -{} OR n <> -1)"):
        text = " OR ".join(arm.format(at) for at in range(1, min(arms, 4_000 // len(arm) // 2)))
        assert steps(many, text + more) < steps(many, "n > 99999" + more) + arms


def test_a_long_list_that_many_entries_match_is_not_looked_up_for_each_of_them(many: StoredEntries) -> None:
    texts = [" OR ".join(f"n {op} {at}" for at in range(200)) + " OR size = 5" for op in ("=", "<>")]
    for text in texts:
        tree = parse(text).tree
        uncounted = condition(tree, attribute_key=many.catalogue.find_attribute, full_text=True)
        assert uncounted.sql.count("EXISTS") == 0
        assert len(many.candidates(tree, full_text=True)) == 1_000
    few = parse("n = 1 OR n = 2 OR size = 5").tree
    assert many.candidates(few, full_text=True) == many.candidates(few, full_text=True, counted=True)


def test_more_alternatives_than_a_union_takes_are_found_by_their_indexes() -> None:
    with StoredEntries() as stored:
        names = [f"a{at}" for at in range(600)]
        keys = [stored.add({"title": "x", "updated": 1, name: True}) for name in names]
        tree = Or(tuple(Identifier(name) for name in names))
        compiled = condition(tree, attribute_key=stored.catalogue.find_attribute, full_text=True)
        assert compiled.driven
        assert stored.candidates(tree, full_text=True, counted=True) == set(keys)


def test_alternatives_that_overlap_are_not_collected_one_after_another(many: StoredEntries) -> None:
    few, more = (" OR ".join(f"n > {at}" for at in range(count)) for count in (120, 360))
    assert steps(many, more) < 2 * steps(many, few)


@pytest.mark.parametrize("runs", [16, 500, 2_000])
def test_patterns_with_many_runs_fit_into_a_statement(stored: StoredEntries, runs: int) -> None:
    pattern = "%".join("jaz"[at % 3] for at in range(runs))
    for name in ("genre", "title"):
        assert stored.candidates(parse(f"{name} LIKE '{pattern}%'").tree, full_text=True) <= {1, 2}
    several = " AND ".join(f"genre LIKE '{chr(97 + at)}{'%'.join(map(str, range(100)))}%'" for at in range(8))
    assert stored.candidates(parse(several).tree, full_text=True) == set()
