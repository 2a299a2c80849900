"""What is shown, and what is hidden: expiry, retraction, blocked keys, imports, files that are not here."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from contentdb.store import Store
from middleware.cli.markup import words_of
from middleware.cli.words import dates_in, table
from tests.contentdb.makers import author, make_descriptor, make_signed
from tests.middleware.command import Commands

LONG_AGO = 1_600_000_000_000
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:example:blog</id><title>Blog</title>
<updated>2020-03-03T03:03:03Z</updated><author><name>Eva</name></author>
<entry><id>urn:example:post</id><title>Post</title><updated>2020-02-02T02:02:02Z</updated>
<link href="https://example.org/post"/><summary type="html">&lt;i&gt;Short&lt;/i&gt;</summary>
<content type="html">&lt;p&gt;First &amp;amp; last&lt;/p&gt;&lt;script&gt;evil()&lt;/script&gt;words</content>
</entry></feed>"""


@pytest.fixture
def expired(run: Commands) -> Commands:
    """A home with one entry that is over and one that is not."""
    with Store.open(run.home, entropy=os.urandom) as store:
        store.feeds.trust(author(1).key, own=True)
        store.feeds.put_descriptor(make_descriptor(author(1)), own=True)
        store.publish(make_signed(author(1), 1, updated=LONG_AGO, expires=LONG_AGO + 1), LONG_AGO)
        store.publish(make_signed(author(1), 2, updated=LONG_AGO - 1), LONG_AGO)
    return run


@pytest.fixture
def imported(run: Commands, tmp_path: Path) -> Commands:
    (tmp_path / "blog.xml").write_text(ATOM, encoding="utf-8")
    assert run("feed", "import", str(tmp_path / "blog.xml")).status == 0
    return run


@pytest.fixture
def guest(run: Commands, feed: str, tmp_path: Path) -> Callable[[str], str]:
    """Publishes in the same feed under another key, and brings it here."""
    other = tmp_path / "guest"

    def publish(title: str) -> str:
        run("feed", "export", feed, "--into", str(tmp_path / f"to {title}"))
        run("feed", "import", str(tmp_path / f"to {title}"), home=other)
        key = run.json("publish", feed, "--title", title, home=other)["author"]
        run("feed", "export", feed, "--into", str(tmp_path / f"from {title}"), home=other)
        run("feed", "import", str(tmp_path / f"from {title}"))
        return str(key)

    return publish


# -- what is over


def test_feeds_and_storage_count_what_entries_shows(expired: Commands) -> None:
    (shown,) = expired.json("entries")
    (feed,) = expired.json("feeds")
    assert (feed["entries"], feed["updated"]) == (1, shown["updated"])
    storage = expired.json("storage")
    assert (storage["entries"], storage["hidden"]) == (2, 1)
    assert "2 entries in 1 feed, 1 of them not shown" in expired("storage").out
    with Store.open(expired.home, entropy=os.urandom) as store:
        store.publish(make_signed(author(1), 2, updated=LONG_AGO, retracted=True), LONG_AGO)
    assert expired.json("entries") == [] and expired.json("feeds")[0]["entries"] == 0
    assert expired.json("feeds")[0]["updated"] is None and expired.json("storage")["hidden"] == 2


def test_get_and_why_say_that_an_entry_is_over(expired: Commands) -> None:
    assert "(over, so it is not listed)" in expired("get", "urn:example:entry:1").out
    assert "(over" not in expired("get", "urn:example:entry:2").out
    events = expired.json("why", "urn:example:entry:1")["events"]
    assert [event["event"] for event in events] == ["published", "expired"]
    assert events[1]["at"] == LONG_AGO + 1


def test_a_pin_promises_no_more_than_it_keeps(expired: Commands) -> None:
    said = expired("pin", "urn:example:entry:1").err
    assert said.endswith("pinned; it is never evicted, and not deleted when it expires\n")


# -- retraction


def test_a_retraction_travels_with_an_export(run: Commands, feed: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run("publish", feed, "--title", "T", "--id", "urn:example:e")
    run("feed", "export", feed, "--into", str(tmp_path / "one"))
    run("feed", "import", str(tmp_path / "one"), home=other)
    run("retract", "urn:example:e")
    said = run("feed", "export", feed, "--into", str(tmp_path / "two")).err
    assert said == f"passerby: wrote 0 entries, 1 retraction and 0 files into {tmp_path / 'two'}\n"
    assert run.json("feed", "import", str(tmp_path / "two"), home=other)["retractions"] == 1
    assert run.json("entries", home=other) == [] and run.json("feeds", home=other)[0]["entries"] == 0


# -- blocked keys


def test_entries_of_a_blocked_key_are_hidden_and_counted(
    run: Commands, feed: str, guest: Callable[[str], str]
) -> None:
    run("publish", feed, "--title", "mine")
    key = guest("spam")
    run("block", key)
    ran = run("entries", "--limit", "1")
    assert "mine" in ran.out and "spam" not in ran.out
    assert ran.err == "passerby: not shown: 1 entry of keys you block\n"
    assert run.json("feeds")[0]["entries"] == 1
    run("block", key, "--undo")
    assert {entry["title"] for entry in run.json("entries")} == {"mine", "spam"}


def test_block_alone_is_never_silent_and_undo_needs_a_key(run: Commands) -> None:
    assert run("block").err == "passerby: nobody is blocked\n"
    assert "say whom" in run.fails("block", "--undo", status=2)


# -- imports


def test_get_shows_the_words_and_links_of_an_imported_entry(imported: Commands) -> None:
    shown = imported("get", "urn:example:post").out.splitlines()
    assert shown[shown.index("content") + 1 :] == ["  First & last", "  words"]
    assert any(line.split() == ["link", "https://example.org/post", "(alternate)"] for line in shown)
    assert any(line.split() == ["summary", "Short"] for line in shown)
    entry = imported.json("get", "urn:example:post")
    assert entry["content"]["type"] == "html" and entry["content"]["text"].startswith("<p>First")
    assert entry["links"][0]["href"] == "https://example.org/post"
    assert entry["source"] == {"id": "urn:example:blog", "title": "Blog"}


def test_my_fingerprint_does_not_stand_beside_a_foreign_name(imported: Commands) -> None:
    fingerprint = imported.json("me")["fingerprint"]
    shown = imported("get", "urn:example:post").out
    assert f"imported by  you, {fingerprint}\n" in shown and "Eva," not in shown
    assert f"Eva (imported: {fingerprint[:9]})" in imported("entries").out


def test_nothing_is_fetched_from_the_web(run: Commands) -> None:
    assert "passerby gateway add http://example.org" in run.fails(
        "feed", "import", "http://example.org/feed.xml"
    )


def test_who_has_no_name_is_not_named_by_half_a_fingerprint(run: Commands, feed: str) -> None:
    entry = run.json("publish", feed, "--title", "T")["id"]
    author_line = run("get", entry).out.splitlines()[3]
    assert author_line.split(maxsplit=1) == ["author", run.json("me")["fingerprint"]]


# -- files


def test_a_file_that_is_not_here_is_not_listed_as_if_it_were(
    run: Commands, feed: str, tmp_path: Path
) -> None:
    (tmp_path / "song").write_bytes(bytes(50_000))
    entry = run.json("publish", feed, "--title", "T", "--file", str(tmp_path / "song"))
    Path(entry["enclosures"][0]["path"]).unlink()
    assert "1 (0 B of 49 KiB)" in run("entries").out
    ran = run("get", entry["id"], "--into", str(tmp_path / "out"))
    assert ran.status == 1 and "not here any more; publish the entry again" in ran.err
    assert "not here any more" in ran.out


def test_a_path_that_is_no_file_is_told_once(run: Commands, feed: str, tmp_path: Path) -> None:
    assert "got nothing" in run.fails("publish", feed, "--title", "T", "--file", "")
    sentence = run.fails("publish", feed, "--title", "T", "--file", str(tmp_path))
    assert sentence.startswith(f"{tmp_path} is a folder; ") and sentence.count(str(tmp_path)) == 1


# -- words


def test_a_date_in_a_selector_is_answered_with_its_milliseconds(run: Commands, feed: str) -> None:
    run("publish", feed, "--title", "T")
    said = run("entries", "--where", "updated > 2030-01-01").err
    ((_, moment),) = dates_in("updated > 2030-01-01")
    assert f"times are in milliseconds: {moment} is 2030-01-01 here" in said
    assert run("entries", "--where", "title <> '2030-01-01' AND updated > 2030 - 1").err == ""
    assert str(moment) in run("feeds", "updated > 2030-01-01").err


def test_a_table_is_no_wider_than_the_terminal() -> None:
    rows = [("1", "a title of many words that goes on and on", "urn:uuid:" + "0" * 36)]
    assert table(("N", "TITLE", "ID"), rows)[1].endswith("0" * 36)
    for width in (30, 60, 80):
        assert max(map(len, table(("N", "TITLE", "ID"), rows, width=width))) <= width
    assert table(("N", "TITLE", "ID"), rows, width=80)[1].endswith("0" * 36)


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<h1>A</h1><p>b<br/>c</p>", "A\nb\nc"),
        ("a &lt;b&gt; <i>c</i>", "a <b> c"),
        ("<style>x</style>a<script>b<i>c</i></script>d", "ad"),
        ("<![foo <!-- a --> b", "<![foo b"),
        ("1 < 2", "1 < 2"),
        ("<" * 100_000, "<" * 100_000),
        ("<script>" * 10_000, ""),
    ],
)
def test_markup_is_shown_as_its_words(markup: str, words: str) -> None:
    assert words_of(markup) == words
