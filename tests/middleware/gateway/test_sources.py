"""What a gateway remembers, on disk and in hours of waiting."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contentdb.errors import StoreError, UsageError
from contentdb.names import Root
from middleware.gateway.answers import DAY_S
from middleware.gateway.keeping import Shelf
from middleware.gateway.sources import (
    MAX_SOURCES,
    Memory,
    Partial,
    Source,
    TakenFile,
    checked,
    decode_sources,
    encode_sources,
)

NOW = 1_790_000_000_000
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 2**53)
taken = st.builds(TakenFile, texts, texts, numbers, st.integers(0, 2**64).map(lambda n: Root(f"{n:064x}")))
memories = st.builds(
    Memory,
    validated=texts, etag=texts, modified=texts, visited_at=numbers, changed_at=numbers, failures=numbers,
    wait_until=numbers, problem=texts, title=texts, dates=st.dictionaries(texts, numbers, max_size=3),
    files=st.dictionaries(texts, taken, max_size=3), tries=st.dictionaries(texts, numbers, max_size=3),
    partial=st.none() | st.builds(Partial, texts, texts),
)  # fmt: skip
sources = st.builds(
    Source, st.integers(0, 99).map(lambda n: f"https://{n}.example/"), max_entries=numbers,
    files=st.booleans(), private=st.booleans(), memory=memories,
)  # fmt: skip


@given(st.lists(sources, max_size=4))
def test_what_is_written_is_read_again(many: list[Source]) -> None:
    known = {source.address: source for source in many}
    assert decode_sources(encode_sources(known)) == known


@given(
    st.binary(max_size=80)
    | st.recursive(st.none() | texts | numbers, st.lists).map(lambda x: json.dumps(x).encode())
)
def test_rubbish_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(UsageError):
        decode_sources(data)


@given(
    sources,
    st.sampled_from(["address", "memory", "max_entries", "files"]),
    st.none() | texts | st.lists(numbers),
)
def test_a_source_of_another_form_is_refused(source: Source, name: str, value: object) -> None:
    document = json.loads(encode_sources({source.address: source}))
    document["sources"][0][name] = value
    if name == "address" and isinstance(value, str):
        return
    with pytest.raises(UsageError):
        decode_sources(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [("files", "none"), ("dates", []), ("dates", {"a": float("inf")}), ("tries", {"a": "x"})],
)
def test_a_memory_of_another_form_is_refused(name: str, value: object) -> None:
    document = json.loads(encode_sources({"/a": Source("/a")}))
    document["sources"][0]["memory"][name] = value
    with pytest.raises(UsageError, match="damaged"):
        decode_sources(json.dumps(document).encode())


def test_a_path_that_is_no_text_is_kept() -> None:
    source = Source("/tmp/\udcff.xml")
    assert decode_sources(encode_sources({source.address: source})) == {source.address: source}


def test_waiting_doubles_up_to_a_day_and_a_server_may_ask_for_more() -> None:
    source = Source("https://a.example/")
    waits = []
    for _ in range(14):
        source = source.failed("dead", NOW)
        waits.append((source.memory.wait_until - NOW) // 1000)
    assert waits[:3] == [60, 120, 240] and waits[-1] == DAY_S
    assert source.failed("busy", NOW, 3 * DAY_S).due_at(60, NOW) == NOW + 3 * DAY_S * 1000
    well = source.visited(source.memory, NOW)
    assert (well.due_at(1800, NOW), well.memory.failures, well.memory.problem) == (NOW + 1_800_000, 0, "")


def test_a_clock_that_was_wrong_puts_nothing_off_for_ever() -> None:
    source = Source("https://a.example/").failed("dead", NOW + 400 * DAY_S * 1000)
    assert not source.is_resting(NOW)
    assert source.due_at(1800, NOW) <= NOW


WRONG = [
    Source("https://u:p@a.example/"),
    Source("https://a.example/", max_entries=0),
    Source("https://a.example/", max_entries=9_999),
    Source("https://a.example/", feed="no iri"),
    Source("/tmp/feed.xml", private=True),
]


@pytest.mark.parametrize("source", WRONG)
def test_what_cannot_be_mirrored_is_refused(source: Source) -> None:
    with pytest.raises(UsageError):
        checked(source)


def test_sources_are_kept_privately_and_in_number(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "home")
    assert shelf.sources() == {}
    first = Source("https://a.example/")
    assert shelf.add(first) and not shelf.add(replace(first, title="T"))
    assert shelf.sources()["https://a.example/"].title == "T"
    state = tmp_path / "home" / "gateway" / "sources.json"
    assert state.stat().st_mode & 0o777 == 0o600 and state.parent.stat().st_mode & 0o777 == 0o700
    many = {f"https://{n}.example/": Source(f"https://{n}.example/") for n in range(MAX_SOURCES)}
    state.write_bytes(encode_sources(many))
    with pytest.raises(UsageError, match="at most"):
        shelf.add(first)
    state.write_bytes(b"{")
    with pytest.raises(StoreError, match="move it away"):
        shelf.sources()


def test_other_settings_keep_what_is_known_and_ask_for_all_again(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    source = Source(
        "https://a.example/", memory=Memory(validated="https://a.example/", etag='"1"', visited_at=NOW)
    )
    shelf.add(source)
    shelf.add(Source("https://a.example/", files=False))
    kept = shelf.sources()["https://a.example/"]
    assert not kept.files and kept.memory == replace(source.memory, validated="")


def test_a_source_that_was_removed_during_a_visit_does_not_come_back(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    source = Source("https://a.example/")
    shelf.add(source)
    shelf.remove(source.address)
    shelf.visited(source)
    assert shelf.sources() == {}


def test_only_one_gateway_runs_in_a_home(tmp_path: Path) -> None:
    def complain() -> None:
        raise UsageError("busy")

    with (
        Shelf(tmp_path).locked("running", busy=complain),
        pytest.raises(UsageError, match="busy"),
        Shelf(tmp_path).locked("running", busy=complain),
    ):
        pass
    with Shelf(tmp_path).locked("running", busy=complain):
        pass
