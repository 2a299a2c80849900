"""Commands about entries and their files."""

import os
from pathlib import Path

import pytest

from tests.middleware.command import Commands

ENTRY_KEYS = {
    "id", "feed", "title", "updated", "published", "author", "attributes", "enclosures", "complete",
    "summary", "categories", "expires", "own", "pinned", "author_name", "source",
}  # fmt: skip
ENCLOSURE_KEYS = {"name", "type", "length", "root", "received", "path"}


@pytest.fixture
def song(tmp_path: Path) -> Path:
    path = tmp_path / "take 1.ogg"
    path.write_bytes(bytes(range(256)) * 100)
    return path


def test_a_published_entry_is_shown_as_it_is_kept(run: Commands, feed: str, song: Path) -> None:
    entry = run.json(
        "publish",
        "Street music",
        "--title",
        "Corner",
        "--summary",
        "S",
        "--category",
        "c",
        "--file",
        str(song),
    )
    assert set(entry) == ENTRY_KEYS
    (enclosure,) = entry["enclosures"]
    assert set(enclosure) == ENCLOSURE_KEYS
    assert (enclosure["name"], enclosure["type"]) == ("take 1.ogg", "audio/ogg")
    assert enclosure["length"] == enclosure["received"] == 25_600 and entry["complete"] is True
    assert Path(enclosure["path"]).read_bytes() == song.read_bytes()
    assert entry["published"] == entry["updated"] and entry["author"] == run.json("me")["key"]
    assert run.json("entries") == run.json("entries", "Street music") == [entry]
    whole = run.json("get", entry["id"])
    assert {name: whole[name] for name in ENTRY_KEYS} == entry
    assert whole.keys() - ENTRY_KEYS == {"content", "links", "summary_type", "times"}


def test_messages_go_to_standard_error_and_results_to_standard_output(
    run: Commands, feed: str, song: Path
) -> None:
    ran = run("publish", feed, "--title", "Corner", "--file", str(song))
    assert ran.out.startswith("urn:uuid:") and ran.out.count("\n") == 1
    assert ran.err == "passerby: published Corner with 1 file\n"
    titles, row = run("entries").out.splitlines()
    assert titles.split() == ["UPDATED", "BY", "FILES", "TITLE", "ID"]
    assert "1 (25 KiB)" in row and row.endswith(ran.out.strip())


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ("n=3", "n", 3),
        ("n=-3", "n", -3),
        ("n=9223372036854775807", "n", 2**63 - 1),
        ("share=0.5", "share", 0.5),
        ("share=1e3", "share", 1000.0),
        ("ok=true", "ok", True),
        ("ok=FALSE", "ok", False),
        ("when=2026-01-02T03:04:05Z", "when", 1_767_323_045_000),
        ("zip:string=01234", "zip", "01234"),
        ("zip=01234", "zip", 1234),
        ("n:decimal=3", "n", 3.0),
        ("n:string=true", "n", "true"),
        ("x=NaN", "x", "NaN"),
        ("x=inf", "x", "inf"),
        ("x=2026-13-45", "x", "2026-13-45"),
        ("mood=calm = good", "mood", "calm = good"),
        ("x=", "x", ""),
        ("x=٣", "x", "٣"),
        ("x=1_000", "x", "1_000"),
    ],
)
def test_an_attribute_gets_the_type_its_value_shows(
    run: Commands, feed: str, given: str, name: str, expected: object
) -> None:
    value = run.json("publish", feed, "--title", "T", "--attr", given)["attributes"][name]
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("n", "name=value"),
        ("=3", "name=value"),
        ("n=99999999999999999999", "more than 64 bits"),
        ("n=" + "9" * 5000, "more than 64 bits"),
        ("n:integer=1e3", "cannot be read as integer"),
        ("n:integer=9223372036854775808", "cannot be read as integer"),
        ("n:decimal=NaN", "cannot be read as decimal"),
        ("n=1e999", "finite"),
        ("n:boolean=yes", "cannot be read as boolean"),
        ("n:time=tomorrow", "cannot be read as time"),
        ("n:rubbish=1", "types are string"),
        ("two words=1", "a word of letters"),
        ("title=1", "built in"),
        ("like=1", "selector language"),
        ("n" * 300 + "=1", "at most 64 characters"),
    ],
)
def test_an_attribute_that_cannot_be_is_refused(run: Commands, feed: str, given: str, expected: str) -> None:
    assert expected in run.fails("publish", feed, "--title", "T", "--attr", given)
    assert run.json("entries") == []


def test_an_attribute_given_twice_is_refused(run: Commands, feed: str) -> None:
    assert "given twice" in run.fails("publish", feed, "--title", "T", "--attr", "a=1", "--attr", "a=2")


@pytest.mark.parametrize("category", ["a|b", "", "  "])
def test_a_category_that_no_selector_finds_is_refused(run: Commands, feed: str, category: str) -> None:
    assert "a category is" in run.fails("publish", feed, "--title", "T", "--category", category)
    assert "a category is" in run.fails("feed", "create", "F", "--category", category)


@pytest.mark.parametrize(
    ("span", "seconds"),
    [("90s", 90), ("5m", 300), ("90min", 5400), ("12h", 43_200), ("+3d", 259_200), ("1w", 604_800)],
)
def test_a_span_is_counted_from_now(run: Commands, feed: str, span: str, seconds: int) -> None:
    entry = run.json("publish", feed, "--title", "T", "--expires", span)
    # It is counted when the command starts, and published a moment later.
    assert round((entry["expires"] - entry["published"]) / 10_000) == round(seconds / 10)


def test_a_date_may_be_given_with_its_offset(run: Commands, feed: str) -> None:
    dates = ("2999-12-24T18:00+01:00", "2999-12-24 17:00Z", "2999-12-24T12:00:00-05:00")
    found = {run.json("publish", feed, "--title", "T", "--expires", date)["expires"] for date in dates}
    assert found == {32_503_050_000_000}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("soon", "a time is a date"),
        ("", "a time is a date"),
        ("2020-01-01", "over already"),
        ("0s", "over already"),
        ("999999999w", "beyond the year 9999"),
        ("2026-02-30", "a time is a date"),
        ("3", "a time is a date"),
    ],
)
def test_an_expiry_that_cannot_be_is_refused(run: Commands, feed: str, when: str, expected: str) -> None:
    assert expected in run.fails("publish", feed, "--title", "T", "--expires", when)


def test_entries_are_chosen_by_selector_and_limit(run: Commands, feed: str) -> None:
    for number in range(3):
        run("publish", feed, "--title", f"T{number}", "--attr", f"n={number}")
    assert [entry["title"] for entry in run.json("entries", "--where", "n >= 1")] == ["T2", "T1"]
    ran = run("entries", "--limit", "2")
    assert len(ran.out.splitlines()) == 3
    assert ran.err == "passerby: these are the newest 2; --limit shows more\n"
    assert run("entries", "--limit", "3").err == ""
    assert run("entries", "--where", "n = 9").err == "passerby: no entry matches\n"
    assert "column" in run.fails("entries", "--where", "n > > 1")
    for limit in ("0", "-1", "x", "9" * 5000):
        assert "--limit" in run.fails("entries", f"--limit={limit}", status=2)


def test_an_entry_is_found_by_the_beginning_of_its_id(run: Commands, feed: str) -> None:
    first = run.json("publish", feed, "--title", "A", "--id", "urn:example:aaaa1")["id"]
    run("publish", feed, "--title", "B", "--id", "urn:example:aaaa2")
    random_id = run.json("publish", feed, "--title", "C")["id"]
    assert run.json("get", random_id.removeprefix("urn:uuid:")[:8])["title"] == "C"
    assert run.json("get", "urn:example:aaaa1")["id"] == first
    sentence = run.fails("get", "urn:example:aaaa")
    assert "give more of the id" in sentence and "urn:example:aaaa2" in sentence
    assert "there is no entry 'urn:x'" in run.fails("get", "urn:x")
    assert "at least 4 characters" in run.fails("get", "aaa")


def test_entries_of_one_id_are_told_apart_by_feed_and_author(
    run: Commands, feed: str, tmp_path: Path
) -> None:
    run("feed", "create", "Other", "--id", "urn:example:other")
    for name in (feed, "urn:example:other"):
        run("publish", name, "--title", name, "--id", "urn:example:e")
    assert "choose by --feed or --author" in run.fails("get", "urn:example:e")
    assert run.json("get", "urn:example:e", "--feed", "Other")["title"] == "urn:example:other"
    guest = tmp_path / "guest"
    run("feed", "export", "Other", "--into", str(tmp_path / "out"))
    run("feed", "import", str(tmp_path / "out"), home=guest)
    mine = run.json("publish", "Other", "--title", "mine", "--id", "urn:example:e", home=guest)
    assert "choose by" in run.fails("pin", "urn:example:e", home=guest)
    assert run.json("get", "urn:example:e", "--author", mine["author"][:10], home=guest)["title"] == "mine"
    run("retract", "urn:example:e", home=guest)
    assert [entry["title"] for entry in run.json("entries", home=guest)] == ["urn:example:other"]


def test_get_copies_files_under_free_names(run: Commands, feed: str, song: Path, tmp_path: Path) -> None:
    entry = run.json("publish", feed, "--title", "T", "--file", str(song), "--file", str(song))
    folder = tmp_path / "new" / "folder"
    copied = run.json("get", entry["id"], "--into", str(folder))
    assert sorted(os.listdir(folder)) == ["take 1 (2).ogg", "take 1.ogg"]
    assert [Path(enclosure["path"]).read_bytes() for enclosure in copied["enclosures"]] == [
        song.read_bytes()
    ] * 2
    shown = run("get", entry["id"], "--into", str(folder)).out
    assert f"{folder}/take 1 (3).ogg" in shown


def test_get_shows_attributes_as_people_write_them(run: Commands, feed: str) -> None:
    run(
        "publish", feed, "--title", "T", "--id", "urn:x:1", "--attr", "ok=true",
        "--attr", "when=2026-01-02T03:04", "--attr", "a_rather_long_name=1",
    )  # fmt: skip
    shown = run("get", "urn:x:1").out.splitlines()
    lines = dict(line.split(maxsplit=1) for line in shown[shown.index("attributes") + 1 :])
    assert (lines["ok"], lines["when"], lines["a_rather_long_name"]) == ("true", "2026-01-02 03:04", "1")


def test_no_attribute_passes_for_a_line_of_ours(run: Commands, feed: str) -> None:
    entry = run.json(
        "publish", feed, "--title", "T", "--attr", "key=0000", "--attr", "file=x, 9 B: /etc/passwd"
    )
    shown = run("get", entry["id"]).out.splitlines()
    assert [line.split()[1] for line in shown if line.startswith("key ")] == [entry["author"]]
    assert not any(line.startswith("file") for line in shown)


def test_an_empty_file_is_complete(run: Commands, feed: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    entry = run.json("publish", feed, "--title", "T", "--file", str(tmp_path / "empty"))
    assert entry["complete"] is True and Path(entry["enclosures"][0]["path"]).stat().st_size == 0


def test_a_new_version_takes_the_place_of_the_old(run: Commands, feed: str, song: Path) -> None:
    first = run.json("publish", feed, "--title", "Old", "--id", "urn:example:e", "--file", str(song))
    second = run.json("publish", feed, "--title", "New", "--id", "urn:example:e")
    assert second["published"] == first["published"] and second["updated"] > first["updated"]
    assert [entry["title"] for entry in run.json("entries")] == ["New"]
    assert not Path(first["enclosures"][0]["path"]).exists()


def test_a_retracted_entry_is_gone_and_why_tells(run: Commands, feed: str) -> None:
    run("publish", feed, "--title", "T", "--id", "urn:example:e")
    assert set(run.json("retract", "urn:example:e")) == {"id", "feed", "updated", "title"}
    assert run.json("entries") == []
    assert "there is no entry" in run.fails("retract", "urn:example:e")
    told = run.json("why", "urn:example:e")
    assert set(told) == {"id", "lines", "events"} and set(told["events"][0]) == {"at", "event", "detail"}
    assert [event["event"] for event in told["events"]] == ["published", "retracted"]
    published, retracted = run("why", "urn:example:e").out.splitlines()
    assert published.startswith("you published it on ") and retracted.startswith("its author took it back on")
    assert [published, retracted] == told["lines"]
    unknown = run.fails("why", "urn:example:nothing")
    assert "nothing is known" in unknown and "you subscribe to no feed" in unknown


def test_only_its_author_may_retract_an_entry(run: Commands, feed: str, tmp_path: Path) -> None:
    run("publish", feed, "--title", "T", "--id", "urn:example:e")
    run("feed", "export", feed, "--into", str(tmp_path / "out"))
    run("feed", "import", str(tmp_path / "out"), home=tmp_path / "guest")
    assert "only its author" in run.fails("retract", "urn:example:e", home=tmp_path / "guest")


def test_entries_and_feeds_are_pinned_and_let_go(run: Commands, feed: str) -> None:
    entry = run.json("publish", feed, "--title", "T")["id"]
    assert run.json("pin", entry) == {"id": entry, "title": "T", "pinned": True}
    assert run.json("get", entry)["pinned"] is True
    assert run.json("pin", entry, "--undo")["pinned"] is False
    assert run.json("pin", "Street music") == {"id": feed, "title": "Street music", "pinned": True}
    assert "unpinned" in run("pin", feed, "--undo").err
    assert "there is no entry and no feed 'nothing'" in run.fails("pin", "nothing")
