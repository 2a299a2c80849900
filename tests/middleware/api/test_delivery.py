"""Entries come to apps that subscribed: once, in their order, and as fast as the app takes them."""

from typing import Any

from middleware.api.deliveries import MAX_QUEUED, WINDOW
from middleware.api.messages import Code
from tests.middleware.api.serving import RawApp, Served


def publish(app: RawApp, feed: str, titles: list[str], **more: Any) -> None:
    for number in [app.send("publish", feed=feed, title=title, **more) for title in titles]:
        assert "result" in app.message(number)


def test_what_the_store_has_comes_at_once_and_then_what_comes(app: RawApp, feed: str, served: Served) -> None:
    publish(app, feed, ["a", "b"])
    reader = RawApp(served.home, "reader")
    reader.call("subscribe", feed=feed)
    assert [reader.entry()["entry"]["title"] for _ in range(2)] == ["a", "b"]
    publish(app, feed, ["c"])
    assert reader.entry()["entry"]["title"] == "c"


def test_only_what_the_selector_matches_comes(app: RawApp, feed: str) -> None:
    app.call("subscribe", feed=feed, where="n > 1")
    for n in range(4):
        app.call("publish", feed=feed, title=str(n), attributes={"n": n})
    assert [app.entry()["entry"]["title"] for _ in range(2)] == ["2", "3"]


def test_an_acknowledged_entry_never_comes_again_and_another_does(
    app: RawApp, feed: str, served: Served
) -> None:
    publish(app, feed, ["a", "b"])
    first = RawApp(served.home, "reader")
    first.call("subscribe", feed=feed)
    finished, unfinished = first.entry(), first.entry()
    assert first.call("done", marks=[finished["mark"]]) == {"marked": 1}
    first.close()
    second = RawApp(served.home, "reader")
    second.call("subscribe", feed=feed)
    assert second.entry() == unfinished
    served_again = served
    served_again.stop()
    served_again.start()
    third = RawApp(served.home, "reader")
    third.call("subscribe", feed=feed)
    assert third.entry()["mark"] == unfinished["mark"]


def test_no_more_than_a_window_is_sent_to_an_app_that_acknowledges_nothing(app: RawApp, feed: str) -> None:
    count = WINDOW + 36
    publish(app, feed, [str(n) for n in range(count)])
    app.call("subscribe", feed=feed)
    marks = [app.entry()["mark"] for _ in range(WINDOW)]
    app.call("feeds")
    assert not any(note.get("method") == "entry" for note in app.notes)
    app.call("done", marks=marks)
    rest = [app.entry()["entry"]["title"] for _ in range(36)]
    assert rest == [str(n) for n in range(WINDOW, count)]


def test_a_slow_app_gets_everything_though_its_queue_was_full(app: RawApp, feed: str, served: Served) -> None:
    reader = RawApp(served.home, "reader")
    reader.call("subscribe", feed=feed)
    count = WINDOW + MAX_QUEUED + 500
    for start in range(0, count, 500):
        publish(app, feed, [str(n) for n in range(start, min(start + 500, count))])
    seen = []
    for _ in range(count):
        given = reader.entry()
        seen.append(given["entry"]["title"])
        reader.send("done", marks=[given["mark"]])
    assert sorted(seen, key=int) == [str(n) for n in range(count)]


def test_a_new_version_comes_though_the_old_one_was_finished(app: RawApp, feed: str) -> None:
    app.call("subscribe", feed=feed)
    app.call("publish", feed=feed, title="old", id="urn:example:1")
    app.call("done", marks=[app.entry()["mark"]])
    app.call("publish", feed=feed, title="new", id="urn:example:1")
    assert app.entry()["entry"]["title"] == "new"


def test_two_apps_of_one_name_do_not_share_a_subscription(app: RawApp, feed: str, served: Served) -> None:
    app.call("subscribe", feed=feed)
    twin = RawApp(served.home, "raw")
    code, message = twin.refused("subscribe", feed=feed)
    assert code == Code.TAKEN and '"raw-2"' in message
    twin.call("subscribe", feed=feed, where="n = 1")
    app.close()
    while True:  # until the node has seen the end of the other
        answer = twin.message(twin.send("subscribe", feed=feed))
        if "result" in answer:
            break


def test_what_was_unsubscribed_comes_no_more(app: RawApp, feed: str) -> None:
    made = app.call("subscribe", feed=feed)
    assert app.call("unsubscribe", id=made["id"]) == [made]
    publish(app, feed, ["a"])
    app.call("feeds")
    assert not any(note.get("method") == "entry" for note in app.notes)


def test_only_the_newest_come_of_a_subscription_that_counts(app: RawApp, feed: str) -> None:
    publish(app, feed, ["a", "b", "c"])
    app.call("subscribe", feed=feed, max_count=2)
    assert [app.entry()["entry"]["title"] for _ in range(2)] == ["b", "c"]
    publish(app, feed, ["d"])
    assert app.entry()["entry"]["title"] == "d"
