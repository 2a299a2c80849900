"""Visits to a real server: what becomes of feeds of every kind in a real store, first and later."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contentdb.exchange import export_feed
from contentdb.imports import Report, import_feed
from contentdb.library import Draft, FeedDraft, Library
from contentdb.model import Entry
from contentdb.query import Selection
from contentdb.store import Store
from middleware.gateway.fetch import Fetcher
from middleware.gateway.sources import MAX_TRIES, Memory, Source, checked
from middleware.gateway.visiting import Visit, Visitor
from tests.contentdb.makers import NOW, author, entropy
from tests.middleware.gateway.webserver import Asked, Web, web_server

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:example:blog</id><title>Blog</title>
<updated>2020-03-03T03:03:03Z</updated><author><name>Eva</name></author>{entries}</feed>"""
POST = """<entry><id>urn:example:post:{number}</id><title>Post {number}</title>
<updated>2020-02-{number:02}T02:02:02Z</updated><content>{words}</content>{links}</entry>"""
RSS = """<rss version="2.0"><channel><title>Talks</title><link>https://talks.example/</link>{items}</channel></rss>"""
ITEM = """<item><guid isPermaLink="false">talk-{number}</guid><title>Talk {number}</title>
<pubDate>Sat, 0{number} Feb 2020 02:02:02 GMT</pubDate>
<enclosure url="{url}" type="audio/mpeg" length="{length}"/></item>"""


def post(number: int, words: str = "Words", links: str = "") -> str:
    return POST.format(number=number, words=words, links=links)


def atom(*entries: str) -> bytes:
    return ATOM.format(entries="".join(entries)).encode()


def podcast(*items: tuple[int, str, int]) -> bytes:
    return RSS.format(
        items="".join(ITEM.format(number=number, url=url, length=length) for number, url, length in items)
    ).encode()


class Gateway:
    """One home with a gateway in it."""

    def __init__(self, folder: Path, number: int = 1) -> None:
        self.store = Store.open(folder / "home", entropy=entropy(number))
        self.library = Library(self.store, author(number), entropy=entropy(number + 100))
        self.kept: dict[str, Source] = {}
        self.at = NOW
        self.folder = folder / "gateway"
        self._visitor = Visitor(self.folder, Fetcher(), self._take_in, self._keep)

    def _take_in(self, document: Path) -> Report:
        return import_feed(self.library, document, self.at)

    def _keep(self, source: Source) -> None:
        self.kept[source.address] = source

    def visit(self, address: str, **fields: Any) -> Visit:
        """With what earlier visits left, a minute after the last one."""
        self.at += 60_000
        fields = {"private": address.startswith("http")} | fields
        source = checked(Source(address, **fields))
        old = self.kept.get(source.address)
        return self._visitor.visit(source if old is None else replace(source, memory=old.memory), self.at)

    def entries(self) -> list[Entry]:
        rows = self.store.entries.select(Selection(self.at + 1, newest_first=False))
        return [self.store.entry_of_row(row.key) for row in rows]

    def titles(self) -> list[str]:
        return [str(entry.title) for entry in self.entries()]

    def content_of(self, entry: Entry, number: int = 0) -> bytes:
        path = self.store.blobs.path(entry.enclosures[number].root)
        assert path is not None
        return path.read_bytes()


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    made = Gateway(tmp_path)
    with made.store:
        yield made


# -- feeds


def test_atom_is_signed_anew_under_the_address_of_its_feed_with_its_source_kept(
    gateway: Gateway, web: Web
) -> None:
    web.serve("/feed", atom(post(1), post(2)))
    visit = gateway.visit(web.url("/feed"))
    assert (visit.entries, visit.problem, visit.problems) == (2, "", [])
    (row,) = gateway.store.feeds.rows()
    assert row.id == web.url("/feed") and row.feed is not None and row.feed.title == "Blog"
    first = gateway.entries()[0]
    assert first.author == gateway.library.key
    assert first.source is not None and first.source.id == "urn:example:blog" and first.source.title == "Blog"
    assert first.id == "urn:example:post:1"


def test_nothing_new_is_asked_for_by_the_servers_own_marks_and_costs_nothing(
    gateway: Gateway, web: Web
) -> None:
    web.serve("/feed", atom(post(1)), Last_Modified="Sat, 01 Feb 2020 00:00:00 GMT")
    gateway.visit(web.url("/feed"))
    revision = gateway.store.revision
    assert gateway.visit(web.url("/feed")).is_unchanged
    assert gateway.store.revision == revision
    _path, headers = web.asked[-1]
    assert headers["If-None-Match"] and headers["If-Modified-Since"] == "Sat, 01 Feb 2020 00:00:00 GMT"


def test_only_what_changed_is_published_again(gateway: Gateway, web: Web) -> None:
    web.serve("/feed", atom(post(1), post(2)))
    gateway.visit(web.url("/feed"))
    before = gateway.store.revision
    web.serve("/feed", atom(post(1), post(2, words="Other words"), post(3)))
    visit = gateway.visit(web.url("/feed"))
    assert (visit.entries, visit.known) == (2, 1)
    assert gateway.store.revision == before + 2
    assert [entry.content and entry.content.text for entry in gateway.entries()] == [
        "Words",
        "Other words",
        "Words",
    ]


def test_a_server_without_marks_is_read_again_and_nothing_published_twice(gateway: Gateway, web: Web) -> None:
    web.answers["/feed"] = lambda asked: asked.reply(podcast((1, "https://talks.example/1.mp3", 9)))
    for number in range(3):
        visit = gateway.visit(web.url("/feed"), files=False)
        assert visit.entries == (1 if number == 0 else 0)


def test_what_has_no_date_keeps_the_one_of_the_first_visit(gateway: Gateway, web: Web) -> None:
    item = "<item><guid>a{0}</guid><title>A{1}</title></item>"
    for words, new in (("", 1), ("", 0), (" changed", 1), (" changed", 0)):
        web.serve("/feed", RSS.format(items=item.format(1, words)).encode(), ETag=f'"{gateway.at}"')
        assert gateway.visit(web.url("/feed")).entries == new
    assert gateway.titles() == ["A changed"]


def test_only_the_newest_entries_are_taken_over(gateway: Gateway, web: Web) -> None:
    web.serve("/feed", atom(*(post(number) for number in range(1, 10))))
    gateway.visit(web.url("/feed"), max_entries=3)
    assert gateway.titles() == ["Post 7", "Post 8", "Post 9"]


def test_a_title_and_a_feed_may_be_chosen(gateway: Gateway, web: Web) -> None:
    web.serve("/feed", atom(post(1)))
    gateway.visit(web.url("/feed"), title="Ours")
    web.serve("/more", atom(post(2)))
    gateway.visit(web.url("/more"), feed="urn:example:collected")
    titles = {row.id: str(row.feed.title) for row in gateway.store.feeds.rows() if row.feed}
    assert titles == {web.url("/feed"): "Ours", "urn:example:collected": "Blog"}


def test_a_feed_of_the_web_replaces_nothing_that_is_the_owners_or_of_another_feed(
    gateway: Gateway, web: Web
) -> None:
    feed = gateway.library.create_feed(FeedDraft("Mine", id="urn:example:mine"), NOW)
    gateway.library.publish(feed.id, Draft("My own words", id="urn:example:post:1"), NOW)
    web.serve("/feed", atom(post(1), post(2)))
    other = atom(post(2, words="False")).replace(b"urn:example:blog", b"urn:example:thief")
    web.serve("/other", other)
    assert gateway.visit(web.url("/feed"), feed=feed.id).refused == 1
    assert gateway.visit(web.url("/other"), feed=feed.id).refused == 1
    assert sorted(gateway.titles()) == ["My own words", "Post 2"]
    assert all(entry.content is None or entry.content.text != "False" for entry in gateway.entries())


def test_relative_references_start_where_the_document_was_found(gateway: Gateway, web: Web) -> None:
    web.serve("/a/feed", atom(post(1, links='<link href="../post/1"/>')))
    web.redirect("/old", "/a/feed")
    gateway.visit(web.url("/old"))
    (entry,) = gateway.entries()
    assert [link.href for link in entry.links] == [web.url("/post/1")]
    assert entry.feed == web.url("/old")


def test_signed_entries_of_a_feed_that_somebody_put_on_the_web_stay_signed(
    gateway: Gateway, web: Web, tmp_path: Path
) -> None:
    (tmp_path / "song.ogg").write_bytes(b"la" * 9_000)
    with Store.open(tmp_path / "other", entropy=entropy(3)) as store:
        other = Library(store, author(9), entropy=entropy(4))
        feed = other.create_feed(FeedDraft("Street music", id="urn:example:music"), NOW)
        other.publish(feed.id, Draft("Corner", files=(tmp_path / "song.ogg",)), NOW)
        export_feed(store, feed.id, tmp_path / "out", NOW + 1)
    for path in (tmp_path / "out").rglob("*.*"):
        web.serve("/" + path.relative_to(tmp_path / "out").as_posix(), path.read_bytes())
    visit = gateway.visit(web.url("/feed.xml"))
    (entry,) = gateway.entries()
    assert (visit.entries, visit.files, entry.author, entry.feed) == (
        1,
        1,
        author(9).key,
        "urn:example:music",
    )
    assert gateway.content_of(entry) == b"la" * 9_000


def test_a_text_that_is_too_long_is_left_out_and_the_entry_is_not(gateway: Gateway, web: Web) -> None:
    web.serve("/feed", atom(post(1, words="x" * 150_000)))
    visit = gateway.visit(web.url("/feed"))
    assert visit.entries == 1 and "too long" in visit.problems[0]


BAD = [b"", b"not xml", b"<html><body>hello</body></html>", b"\x1f\x8b rubbish",
       b'<!DOCTYPE a [<!ENTITY b "c">]><rss version="2.0"><channel/></rss>']  # fmt: skip


@pytest.mark.parametrize("body", BAD)
def test_what_is_no_feed_is_one_sentence_and_waited_for(gateway: Gateway, web: Web, body: bytes) -> None:
    web.serve("/feed", body)
    waits = []
    for _ in range(3):
        visit = gateway.visit(web.url("/feed"))
        assert visit.problem and "\n" not in visit.problem
        waits.append(visit.source.memory.wait_until - gateway.at)
    assert waits == [60_000, 120_000, 240_000]
    web.serve("/feed", atom(post(1)))
    assert gateway.visit(web.url("/feed")).source.memory.failures == 0


def test_a_server_that_asks_for_patience_gets_it(gateway: Gateway, web: Web) -> None:
    web.answers["/feed"] = lambda asked: asked.reply(b"", 429, Retry_After="7200")
    visit = gateway.visit(web.url("/feed"))
    assert visit.source.memory.wait_until == gateway.at + 7_200_000
    assert visit.source.is_resting(gateway.at) and not visit.source.is_resting(gateway.at + 7_200_000)


# -- files


def test_a_podcast_comes_with_its_files_once(gateway: Gateway, web: Web) -> None:
    web.serve("/1.mp3", b"one" * 20_000)
    web.serve("/2.mp3", b"two" * 20_000)
    web.serve("/feed", podcast((1, web.url("/1.mp3"), 60_000), (2, web.url("/2.mp3"), 60_000)))
    assert gateway.visit(web.url("/feed")).files == 2
    entries = gateway.entries()
    assert [gateway.content_of(entry) for entry in entries] == [b"one" * 20_000, b"two" * 20_000]
    enclosure = entries[0].enclosures[0]
    assert (enclosure.name, enclosure.type) == ("1.mp3", "audio/mpeg")
    web.serve("/feed", podcast((1, web.url("/1.mp3"), 60_000), (2, web.url("/2.mp3"), 60_001)))
    assert gateway.visit(web.url("/feed")).entries == 0  # only what the server says of its length is new
    assert web.paths().count("/1.mp3") == web.paths().count("/2.mp3") == 1
    assert not list((gateway.folder / "partial").iterdir()) and not (gateway.folder / "staging").exists()


def test_a_new_version_of_an_entry_keeps_the_file_without_another_download(
    gateway: Gateway, web: Web
) -> None:
    web.serve("/1.mp3", b"one" * 20_000)
    link = f'<link rel="enclosure" href="{web.url("/1.mp3")}" title="First"/>'
    web.serve("/feed", atom(post(1, links=link)))
    gateway.visit(web.url("/feed"))
    web.serve("/feed", atom(post(1, words="Corrected", links=link)))
    assert gateway.visit(web.url("/feed")).entries == 1
    (entry,) = gateway.entries()
    assert entry.enclosures[0].name == "First" and gateway.content_of(entry) == b"one" * 20_000
    assert web.paths().count("/1.mp3") == 1


def test_files_that_are_too_large_gone_or_not_wanted_stay_links(gateway: Gateway, web: Web) -> None:
    web.serve("/big.mp3", b"x" * 5_000)
    web.answers["/liar.mp3"] = lambda asked: asked.reply(b"y" * 5_000)
    items = [(1, web.url("/big.mp3"), 5_000), (2, web.url("/liar.mp3"), 10), (3, web.url("/gone.mp3"), 10)]
    web.serve("/feed", podcast(*items))
    visit = gateway.visit(web.url("/feed"), max_file=1_000)
    assert (visit.entries, visit.files) == (3, 0)
    for entry, (_number, url, _length) in zip(gateway.entries(), items, strict=True):
        assert not entry.enclosures and url in [link.href for link in entry.links]
    assert "/big.mp3" not in web.paths()  # the feed itself says that it is too large
    web.serve("/feed", podcast(*items), ETag='"again"')
    gateway.visit(web.url("/feed"), max_file=1_000)
    assert web.paths().count("/gone.mp3") == 1


def test_a_file_on_another_private_place_is_not_fetched_for_a_feed(gateway: Gateway, web: Web) -> None:
    """Or a feed could publish what only the gateway's owner can reach."""
    with web_server() as intranet:
        intranet.serve("/payroll", b"secret")
        web.serve("/feed", podcast((1, intranet.url("/payroll"), 6), (2, "file:///etc/passwd", 6)))
        for _ in range(MAX_TRIES):
            gateway.visit(web.url("/feed"))
        assert intranet.asked == []
    assert gateway.titles() == ["Talk 1", "Talk 2"] and not any(
        entry.enclosures for entry in gateway.entries()
    )


def test_a_download_goes_on_where_it_stopped(gateway: Gateway, web: Web) -> None:
    body = os.urandom(200_000)
    web.serve("/talk.mp3", body, ETag='"t"')
    whole = web.answers["/talk.mp3"]

    def stop_early(asked: Asked) -> None:
        asked.send_raw("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", 'ETag: "t"')
        asked.wfile.write(body[:150_000])

    web.answers["/talk.mp3"] = stop_early
    web.serve("/feed", podcast((1, web.url("/talk.mp3"), len(body))))
    first = gateway.visit(web.url("/feed"))
    assert first.entries == 0 and gateway.titles() == [] and "middle" in first.problems[-1]
    web.answers["/talk.mp3"] = whole
    assert gateway.visit(web.url("/feed")).files == 1  # the document is unchanged, and asked for all the same
    assert web.asked[-1][1]["Range"] == "bytes=150000-" and web.asked[-1][1]["If-Range"] == '"t"'
    assert gateway.content_of(gateway.entries()[0]) == body


def test_a_download_that_makes_progress_is_never_given_up(gateway: Gateway, web: Web) -> None:
    body, step = os.urandom(6 * 2**20), 2**20

    def give_some(asked: Asked) -> None:
        start = int(asked.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        status = "206 Partial Content" if start else "200 OK"
        whole = f"Content-Range: bytes {start}-{len(body) - 1}/{len(body)}"
        asked.send_raw(f"HTTP/1.1 {status}", f"Content-Length: {len(body) - start}", 'ETag: "t"', whole)
        asked.wfile.write(body[start : start + step])

    web.answers["/talk.mp3"] = give_some
    web.serve("/feed", podcast((1, web.url("/talk.mp3"), len(body))))
    for _ in range(2 * MAX_TRIES - 1):
        assert gateway.visit(web.url("/feed")).entries == 0
    assert gateway.visit(web.url("/feed")).files == 1
    assert gateway.content_of(gateway.entries()[0]) == body


def test_a_file_that_changed_meanwhile_is_fetched_anew(gateway: Gateway, web: Web) -> None:
    def stop_early(asked: Asked) -> None:
        asked.send_raw("HTTP/1.1 200 OK", "Content-Length: 9000", 'ETag: "old"', "", "old bytes")

    web.answers["/talk.mp3"] = stop_early
    web.serve("/feed", podcast((1, web.url("/talk.mp3"), 9_000)))
    gateway.visit(web.url("/feed"))
    web.serve("/talk.mp3", b"new" * 3_000, ETag='"new"')
    gateway.visit(web.url("/feed"))
    assert gateway.content_of(gateway.entries()[0]) == b"new" * 3_000


def test_a_part_that_does_not_fit_is_thrown_away(gateway: Gateway, web: Web) -> None:
    def stop_early(asked: Asked) -> None:
        asked.send_raw("HTTP/1.1 200 OK", "Content-Length: 9000", 'ETag: "t"', "", "part")

    web.answers["/talk.mp3"] = stop_early
    web.serve("/feed", podcast((1, web.url("/talk.mp3"), 9_000)))
    gateway.visit(web.url("/feed"))
    web.answers["/talk.mp3"] = lambda asked: asked.reply(
        b"?", 206, Content_Range="bytes 7-7/9000", ETag='"t"'
    )
    assert "another part" in gateway.visit(web.url("/feed")).problems[-1]
    web.serve("/talk.mp3", b"new" * 3_000, ETag='"t"')
    gateway.visit(web.url("/feed"))
    assert gateway.content_of(gateway.entries()[0]) == b"new" * 3_000


def test_an_entry_whose_file_never_comes_is_published_with_a_link_in_the_end(
    gateway: Gateway, web: Web
) -> None:
    web.answers["/talk.mp3"] = lambda asked: asked.reply(b"", 500)
    web.serve("/feed", podcast((1, web.url("/talk.mp3"), 9), (2, web.url("/gone.mp3"), 9)))
    for number in range(MAX_TRIES):
        assert gateway.titles() == ([] if number == 0 else ["Talk 2"])
        gateway.visit(web.url("/feed"))
    gateway.visit(web.url("/feed"))
    assert gateway.titles() == ["Talk 1", "Talk 2"]
    assert gateway.visit(web.url("/feed")).is_unchanged


# -- local files


def test_a_file_is_mirrored_with_what_lies_beside_it_when_it_changes(
    gateway: Gateway, tmp_path: Path
) -> None:
    folder = tmp_path / "stick"
    folder.mkdir()
    (folder / "song.ogg").write_bytes(b"la" * 100)
    link = '<link rel="enclosure" href="song.ogg" type="audio/ogg"/>'
    stolen = '<link rel="enclosure" href="../home/keys/author.key"/>'
    (folder / "blog.xml").write_bytes(atom(post(1, links=link), post(2, links=stolen)))
    path = str(folder / "blog.xml")
    visit = gateway.visit(path)
    assert (visit.entries, visit.files, visit.feed) == (2, 1, "urn:example:blog")
    first, second = gateway.entries()
    assert first.enclosures[0].name == "song.ogg" and gateway.content_of(first) == b"la" * 100
    assert not second.enclosures and not second.links
    assert gateway.visit(path).is_unchanged
    (folder / "blog.xml").write_bytes(atom(post(1, links=link), post(3)))
    assert gateway.visit(path).entries == 1


# -- what is kept


def test_all_memory_may_be_lost_and_nothing_is_published_twice(gateway: Gateway, web: Web) -> None:
    web.serve("/1.mp3", b"one" * 20_000)
    web.serve("/feed", podcast((1, web.url("/1.mp3"), 60_000)))
    gateway.visit(web.url("/feed"))
    revision = gateway.store.revision
    address = web.url("/feed")
    gateway.kept[address] = replace(gateway.kept[address], memory=Memory())
    assert gateway.visit(address).known == 1
    assert gateway.store.revision == revision


def test_what_leaves_the_document_leaves_the_memory_and_not_the_store(gateway: Gateway, web: Web) -> None:
    for name in ("/1.mp3", "/2.mp3"):
        web.serve(name, name.encode())
    web.serve("/feed", podcast((1, web.url("/1.mp3"), 6)))
    gateway.visit(web.url("/feed"))
    web.serve("/feed", podcast((2, web.url("/2.mp3"), 6)))
    gateway.visit(web.url("/feed"))
    assert list(gateway.kept[web.url("/feed")].memory.files) == [web.url("/2.mp3")]
    assert gateway.titles() == ["Talk 1", "Talk 2"]
