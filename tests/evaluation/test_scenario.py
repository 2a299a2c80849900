"""Scenarios are read strictly: what is right becomes what it says, and what is wrong is named by its key."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import UsageError
from evaluation.simulator.mobility import RandomWaypoint
from evaluation.simulator.run import SCENARIOS, find_scenario, scenario_names
from evaluation.simulator.scenario import Scenario, load_scenario, read_scenario

SMALL: dict[str, Any] = {
    "title": "Small",
    "duration_s": 60,
    "nodes": {"ada": 1, "pupil": 2},
    "contacts": {"model": "list", "list": [[0, 10, "ada", "pupil1"], [5, 20, "pupil1", "ada"]]},
    "feeds": [{"name": "news", "by": ["ada"], "file_bytes": [1, 9], "attributes": {"genre": ["a", "b"]}}],
    "subscriptions": [{"nodes": ["pupil"], "where": "genre = 'a'", "files": "max=100"}],
    "settings": {"sessions": {"serving": "sequential"}},
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The small scenario with one key set, or left out for None."""
    document = copy.deepcopy(SMALL)
    *way, last = path.split(".")
    table: Any = document
    for step in way:
        table = table[int(step)] if step.isdigit() else table.setdefault(step, {})
    if value is None:
        del table[last]
    else:
        table[last] = value
    return document


def read(document: dict[str, Any]) -> Scenario:
    return read_scenario(document, Path())


def test_a_scenario_is_what_it_says() -> None:
    scenario = read(SMALL)
    assert scenario.nodes == ("ada", "pupil1", "pupil2") and scenario.members(("pupil", "pupil1")) == [
        "pupil1",
        "pupil2",
    ]
    assert isinstance(scenario.meetings, tuple) and [c.end_s for c in scenario.meetings] == [20]
    assert scenario.feeds[0].file_bytes == (1, 9) and scenario.settings.sessions.serving == "sequential"


WRONG: list[tuple[str, object, str]] = [
    ("title", None, "title is missing"),
    ("duration_s", "long", "duration_s is a number from 0.1 to 8.64e+06; got 'long'"),
    ("duration_s", True, "duration_s is a number"),
    ("colour", 1, "there is no key colour; there are title"),
    ("nodes", 3, "nodes is a table: write [nodes]"),
    ("nodes", {"ada": 1}, "contacts: pupil1 is none of the nodes"),
    ("nodes.pupil", 0, "nodes.pupil is a whole number from 1"),
    ("nodes.pupil1", 1, "nodes: the name pupil1 is used twice"),
    ("radio", {"rat": 1}, "there is no key radio.rat; there are rate_bytes_s"),
    ("radio", {"loss": 1.5}, "radio.loss is a number from 0 to 1; got 1.5"),
    ("radio", {"air": "thin"}, "radio.air is apart or shared; got 'thin'"),
    ("contacts.model", "teleport", "contacts.model is everybody or random-waypoint"),
    ("contacts.list", [[5, 1, "ada", "pupil1"]], "contacts.list has rows"),
    ("contacts.list", [[0, 1, "ada", "zoe"]], "contacts: zoe is none of the nodes"),
    ("contacts", {"model": "random-waypoint", "range_m": 0}, "contacts.range_m is 0.1 to"),
    ("contacts", {"model": "random-waypoint", "list": []}, "there is no key contacts.list"),
    ("contacts", {"model": "trace"}, "contacts.path is missing"),
    ("contacts", {"model": "trace", "path": "nowhere.csv"}, "cannot read nowhere.csv"),
    ("feeds.0.by", ["zoe"], "feeds[1].by is a list of nodes or groups"),
    ("feeds.0.file_bytes", [9, 1], "feeds[1].file_bytes is a size"),
    ("feeds.0.attributes", {"x": [[]]}, "feeds[1].attributes.x is a text"),
    ("feeds.0.name", None, "feeds[1].name is missing"),
    ("subscriptions.0.feeds", ["olds"], "subscriptions[1].feeds is a list of feeds, among them news"),
    ("subscriptions.0.where", "genre =", "subscriptions[1].where: "),
    ("subscriptions.0.files", "some", "subscriptions[1].files is all, none or max=BYTES"),
    ("subscriptions.0.share", 2, "subscriptions[1].share is a number from 0 to 1"),
    ("subscriptions", {}, "subscriptions is a list of tables: write [[subscriptions]]"),
    ("settings", {"hello": {"interval_s": 0}}, "settings: hello.interval_s is 0.1 to 3600"),
    ("settings", {"hullo": {}}, "settings: there is no group [hullo]"),
    ("faults", {"kill_every_s": -1}, "faults.kill_every_s is a number from 0"),
]


@pytest.mark.parametrize(("path", "value", "said"), WRONG)
def test_what_is_wrong_is_named(path: str, value: object, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(changed(path, value))
    assert said in str(raised.value)


PATHS = st.sampled_from([path for path, _, _ in WRONG])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = st.text(max_size=3)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3))


@given(PATHS, VALUES.filter(lambda value: value is not None))
def test_any_value_anywhere_is_read_or_refused(path: str, value: object) -> None:
    try:
        scenario = read(changed(path, value))
    except UsageError:
        return
    assert len(scenario.nodes) >= 2


def test_a_file_that_is_no_scenario_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    for text in (b"title =", b"\xff", b"[" * 5000):
        path.write_bytes(text)
        with pytest.raises(UsageError, match="not valid TOML"):
            load_scenario(path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(UsageError, match="no scenario"):
        load_scenario(path)
    with pytest.raises(UsageError, match="cannot read"):
        load_scenario(tmp_path / "missing.toml")


def test_one_node_alone_is_no_scenario() -> None:
    with pytest.raises(UsageError, match="nodes: at least two"):
        read({"title": "Alone", "duration_s": 60, "nodes": {"ada": 1}})


def test_a_trace_may_be_given_from_outside(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("0 CONN 1 2 up\n9 CONN 1 2 down\n")
    document = {"title": "T", "duration_s": 60, "contacts": {"model": "trace"}}
    assert read_scenario(document, tmp_path, trace).nodes == ("1", "2")
    with pytest.raises(UsageError, match="can be given only where"):
        read_scenario(SMALL, tmp_path, trace)


@pytest.mark.parametrize("name", [name for name in scenario_names() if name != "school"])
def test_every_scenario_that_is_shipped_can_be_read(name: str) -> None:
    path = find_scenario(name)
    assert path.read_text("utf-8").startswith("# ") and load_scenario(path).feeds


def test_the_school_can_be_read_with_any_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("start_s,end_s,a,b\n0,20,1,2\n")
    assert load_scenario(SCENARIOS / "school.toml", trace).nodes == ("1", "2")


def test_the_festival_is_walked_about() -> None:
    assert isinstance(load_scenario(SCENARIOS / "festival.toml").meetings, RandomWaypoint)


def test_a_scenario_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="neither a file nor one of classroom, demo"):
        find_scenario("nowhere")
