"""Commands about feeds and subscriptions."""

from pathlib import Path

import pytest

from tests.middleware.command import Commands

FEED_KEYS = {"id", "title", "updated", "categories", "entries", "subscribed", "owned", "listed"}
SUBSCRIPTION_KEYS = {"id", "app", "feed", "where", "files", "max_age", "max_count"}


def test_a_created_feed_is_described_and_listed(run: Commands) -> None:
    feed = run.json("feed", "create", "Jazz", "--category", "music", "--category", "live", "--subtitle", "s")
    assert set(feed) == FEED_KEYS
    assert feed["title"] == "Jazz" and feed["categories"] == ["music", "live"]
    assert (feed["entries"], feed["updated"], feed["subscribed"]) == (0, None, False)
    assert (feed["owned"], feed["listed"]) == (False, True)
    assert run.json("feeds") == [feed]


def test_without_json_the_id_alone_is_the_result(run: Commands) -> None:
    ran = run("feed", "create", "Jazz", "--id", "urn:example:jazz")
    assert (ran.status, ran.out) == (0, "urn:example:jazz\n")
    assert ran.err == "passerby: created Jazz (open: anybody may write)\n"


def test_feeds_are_listed_in_a_table(run: Commands, feed: str) -> None:
    ran = run("feeds")
    titles, row = ran.out.splitlines()
    assert titles.split() == ["ENTRIES", "NEWEST", "TITLE", "ID"]
    assert row.split("  ")[0] == "0" and row.endswith(feed) and "Street music" in row


def test_no_feeds_are_an_empty_list_and_a_hint(run: Commands) -> None:
    ran = run("feeds", "--json")
    assert ran.document == []
    assert "no feeds yet" in ran.err


def test_feeds_are_chosen_by_a_selector(run: Commands, feed: str) -> None:
    run("feed", "create", "News")
    assert [found["title"] for found in run.json("feeds", "title LIKE 'Street%'")] == ["Street music"]
    assert run("feeds", "title = 'nothing'").err == "passerby: no feed matches\n"
    assert "column" in run.fails("feeds", "title = ")


def test_an_id_is_taken_once(run: Commands) -> None:
    run("feed", "create", "Jazz", "--id", "urn:example:jazz")
    assert "exists already" in run.fails("feed", "create", "Blues", "--id", "urn:example:jazz")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("", "--id", "urn:x:y"), "needs a title"),
        (("T", "--id", "no iri"), "absolute IRI"),
        (("T", "--id", "urn:passerby:owned:" + "0" * 64 + ":x"), "belong to owned feeds"),
        (("T", "--id", "urn:x:y", "--owned"), "leave out the id"),
        (("T", "--language", "no language"), "language tag"),
        (("a\x1bb",), "U+001B"),
    ],
)
def test_a_feed_that_cannot_be_is_refused(run: Commands, words: tuple[str, ...], expected: str) -> None:
    assert expected in run.fails("feed", "create", *words)
    assert run.json("feeds") == []


def test_an_unlisted_feed_says_so(run: Commands) -> None:
    assert run.json("feed", "create", "Secret", "--unlisted")["listed"] is False


def test_two_feeds_of_one_title_are_told_apart_by_id(run: Commands, feed: str) -> None:
    other = run.json("feed", "create", "Street music")["id"]
    sentence = run.fails("publish", "Street music", "--title", "T")
    assert feed in sentence and other in sentence
    assert run.json("publish", other, "--title", "T")["feed"] == other


# -- owned feeds


def test_writers_of_an_owned_feed_come_and_go(run: Commands, tmp_path: Path) -> None:
    owned = run.json("feed", "create", "Diary", "--owned")
    me, guest = run.json("me")["key"], run.json("me", home=tmp_path / "guest")["key"]
    assert owned["owned"] is True and me in owned["id"]
    nobody = {"feed": owned["id"], "owner": me, "writers": [], "changed": False}
    assert run.json("feed", "writers", "Diary") == nobody
    assert run.json("feed", "writers", "Diary", "add", guest)["writers"] == [guest]
    assert run.json("feed", "writers", "Diary", "add", guest)["writers"] == [guest]
    listed = run("feed", "writers", "Diary").out
    assert guest in listed and "owner" in listed
    assert "always write" in run.fails("feed", "writers", "Diary", "add", me)
    assert "refuses it" in run("feed", "writers", "Diary", "remove", guest).err
    assert "not among the writers" in run.fails("feed", "writers", "Diary", "remove", guest)


def test_writers_need_an_owned_feed_and_a_key(run: Commands, feed: str) -> None:
    assert "open feed" in run.fails("feed", "writers", feed)
    run("feed", "create", "Diary", "--owned")
    assert "64 hexadecimal" in run.fails("feed", "writers", "Diary", "add", "abc")
    assert "say whom to add" in run.fails("feed", "writers", "Diary", "add", status=2)
    assert "invalid choice" in run.fails("feed", "writers", "Diary", "change", "abc", status=2)


def test_a_stranger_may_not_write_to_an_owned_feed_until_added(run: Commands, tmp_path: Path) -> None:
    guest = tmp_path / "guest"
    run("feed", "create", "Diary", "--owned")
    run("feed", "export", "Diary", "--into", str(tmp_path / "first"))
    run("feed", "import", str(tmp_path / "first"), home=guest)
    assert "ask its owner" in run.fails("publish", "Diary", "--title", "T", home=guest)
    assert "not yours" in run.fails("feed", "writers", "Diary", "add", run.json("me")["key"], home=guest)
    run("feed", "writers", "Diary", "add", run.json("me", home=guest)["key"])
    run("feed", "export", "Diary", "--into", str(tmp_path / "second"))
    run("feed", "import", str(tmp_path / "second"), home=guest)
    assert run("publish", "Diary", "--title", "T", home=guest).status == 0


# -- subscriptions


def test_a_subscription_is_made_listed_and_ended(run: Commands, feed: str) -> None:
    words = ("--where", "genre = 'jazz'", "--files", "max=20M")
    made = run.json("subscribe", "Street music", *words)
    assert set(made) == SUBSCRIPTION_KEYS
    assert made["feed"] == feed and made["files"] == "max=20971520" and made["where"] == "genre = 'jazz'"
    assert run.json("subscriptions") == [made]
    assert run.json("feeds")[0]["subscribed"] is True
    table = run("subscriptions").out
    assert "max=20971520" in table and "genre = 'jazz'" in table
    assert run.json("unsubscribe", str(made["id"])) == [made]
    assert run("subscriptions").err == "passerby: no subscriptions yet; make one: passerby subscribe FEED\n"


def test_one_may_subscribe_to_a_feed_nobody_near_has(run: Commands) -> None:
    ran = run("subscribe", "urn:example:far")
    assert (ran.status, ran.out) == (0, "1\n")
    ended = run("unsubscribe", "urn:example:far")
    assert (ended.out, ended.err) == ("1\n", "passerby: unsubscribed from urn:example:far\n")


def test_a_subscription_that_makes_no_sense_is_refused(run: Commands, feed: str) -> None:
    assert "column" in run.fails("subscribe", feed, "--where", "a = ")
    assert "all, none or max" in run.fails("subscribe", feed, "--files", "some")
    assert "a size is" in run.fails("subscribe", feed, "--files", "max=big")
    assert "there is no feed 'Nothing'" in run.fails("subscribe", "Nothing")
    assert "absolute IRI" in run.fails("subscribe", "a b:c")
    assert run.json("subscriptions") == []


@pytest.mark.parametrize("what", ["7", "0", "9" * 30, "9" * 5000])
def test_a_subscription_that_is_not_there_cannot_be_ended(run: Commands, what: str) -> None:
    assert "there is no such subscription" in run.fails("unsubscribe", what)


def test_a_feed_that_is_not_subscribed_cannot_be_unsubscribed(run: Commands, feed: str) -> None:
    assert "app cli is not subscribed" in run.fails("unsubscribe", feed)
    assert "there is no feed" in run.fails("unsubscribe", "Nothing")


def test_an_ambiguous_title_with_a_colon_is_no_id(run: Commands) -> None:
    for _ in range(2):
        run("feed", "create", "Live:music")
    assert "2 feeds are titled" in run.fails("subscribe", "Live:music")
