"""Imports from people one does not trust, and from programs that know nothing of passerby."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contentdb.atom import read_signed_entry
from contentdb.errors import UsageError
from contentdb.exchange import Report, export_feed, import_feed
from contentdb.foreign import MAX_FEED_BYTES, FeedFile
from contentdb.library import Draft, FeedDraft, Library
from contentdb.model import Entry
from contentdb.names import EntryId, EntryKey, FeedId
from contentdb.store import Store
from tests.contentdb.makers import NOW, author, entropy

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>urn:example:blog</id><title>Blog</title><updated>{updated}</updated>
<author><name>Eva</name><uri>eva.html</uri></author>{links}
<entry><id>urn:example:post</id><title type="html">&lt;b&gt;Post&lt;/b&gt;</title>
<updated>2020-02-02T02:02:02Z</updated><published>2019-01-01T00:00:00Z</published>
<content>Words</content>{enclosure}</entry></feed>"""
POST = EntryId("urn:example:post")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Store.open(tmp_path / "home", entropy=entropy(1)) as store:
        yield Library(store, author(1), entropy=entropy(2), name="Ana")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Somebody else's feed, with one entry and one file."""
    (tmp_path / "song.ogg").write_bytes(bytes(range(256)) * 90)
    with Store.open(tmp_path / "other", entropy=entropy(3)) as store:
        other = Library(store, author(2), entropy=entropy(4))
        feed = other.create_feed(FeedDraft("Street music", id="urn:example:music"), NOW)
        other.publish(feed.id, Draft("Corner", id="urn:example:e", files=(tmp_path / "song.ogg",)), NOW)
        export_feed(store, feed.id, tmp_path / "out", NOW + 1)
    return tmp_path / "out"


def write_atom(
    folder: Path, *, enclosure: str = "", links: str = "", updated: str = "2020-03-03T03:03:03Z"
) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "blog.xml"
    path.write_text(ATOM.format(enclosure=enclosure, links=links, updated=updated), encoding="utf-8")
    return path


def edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def counts(report: Report) -> tuple[int, int, int, int]:
    return report.entries, report.files, report.known, report.refused


def post(library: Library) -> Entry:
    entry = library.store.entry(EntryKey(FeedId("urn:example:blog"), library.key, POST))
    assert entry is not None
    return entry


# -- exports that were tampered with


def test_a_changed_file_is_not_taken_for_the_signed_one(library: Library, exported: Path) -> None:
    (exported / "files" / "song.ogg").write_bytes(b"something else")
    report = import_feed(library, exported, NOW + 1)
    assert counts(report) == (1, 0, 0, 0) and library.store.blobs.roots() == []
    assert report.problems == ["urn:example:e: file 'song.ogg' is not the one that was signed; left out"]


def test_what_stands_around_the_signed_bytes_is_not_believed(library: Library, exported: Path) -> None:
    edit(exported / "feed.xml", (">Corner<", ">Lies<"), (">Street music<", ">More lies<"))
    assert counts(import_feed(library, exported, NOW + 1)) == (1, 1, 0, 0)
    (row,) = library.store.feeds.rows()
    assert row.feed is not None and row.feed.title == "Street music"
    entry = library.store.entry(EntryKey(row.id, author(2).key, EntryId("urn:example:e")))
    assert entry is not None and entry.title == "Corner"


@pytest.mark.parametrize("of", ["entry", "descriptor"])
@pytest.mark.parametrize("how", ["signature", "base64", "author", "twice"])
def test_tampered_signed_bytes_are_refused(library: Library, exported: Path, of: str, how: str) -> None:
    document = exported / "feed.xml"
    head, *carriers = document.read_text(encoding="utf-8").split("<p:signed ")
    number = 0 if of == "descriptor" else 1
    carrier = carriers[number]
    if how == "signature":
        carrier = carrier.replace('signature="', 'signature="AAAA', 1).replace("==", "=", 1)[:]
        carrier = carriers[number].replace(carriers[number].split('signature="')[1][:4], "AAAA", 1)
    elif how == "base64":
        carrier = carrier.replace(">", ">!", 1)
    elif how == "author":
        carrier = carrier.replace(author(2).key, author(3).key, 1)
    else:
        carrier = carrier.split("</p:signed>")[0] + "</p:signed><p:signed " + carrier
    carriers[number] = carrier
    document.write_text("<p:signed ".join([head, *carriers]), encoding="utf-8")
    report = import_feed(library, exported, NOW + 1)
    assert len(report.problems) == 1
    if of == "entry":
        assert counts(report) == (0, 0, 0, 1) and library.store.blobs.roots() == []
    else:
        assert counts(report) == (1, 1, 0, 0)
        assert library.store.feeds.descriptor(FeedId("urn:example:music")) is None


def test_an_owned_feed_takes_nothing_its_owner_did_not_allow(library: Library, tmp_path: Path) -> None:
    owned = f"urn:passerby:owned:{author(2).key}:diary"
    path = write_atom(tmp_path / "in")
    edit(path, ("urn:example:blog", owned))
    with pytest.raises(UsageError, match="owned by somebody else"):
        import_feed(library, path, NOW)
    assert library.store.feeds.rows() == []


# -- references that lead elsewhere


@pytest.mark.parametrize(
    "href",
    [
        "../secret", "..%2Fsecret", "%2e%2e/secret", "/etc/passwd", "file:///etc/passwd", "file:secret",
        "link", "files/../../secret", "//localhost/etc/passwd", "folder", "missing", "x%00y", "a" * 2000,
        "pipe", "circle", "",
    ],
)  # fmt: skip
def test_a_reference_out_of_the_folder_brings_nothing_in(library: Library, tmp_path: Path, href: str) -> None:
    (tmp_path / "secret").write_text("secret")
    inside = tmp_path / "in"
    path = write_atom(inside, enclosure=f'<link rel="enclosure" href="{href}" length="6"/>')
    (inside / "folder").mkdir()
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "circle").symlink_to(inside / "circle")
    os.mkfifo(inside / "pipe")
    report = import_feed(library, path, NOW)
    assert counts(report) == (1, 0, 0, 0)
    assert library.store.blobs.roots() == [] and post(library).enclosures == ()


@pytest.mark.parametrize("href", ["../next.xml", "/etc/passwd", "https://example.org/2", "missing.xml"])
def test_a_next_page_elsewhere_is_told_and_not_read(library: Library, tmp_path: Path, href: str) -> None:
    (tmp_path / "next.xml").write_text("rubbish")
    report = import_feed(library, write_atom(tmp_path / "in", links=f'<link rel="next" href="{href}"/>'), NOW)
    assert counts(report) == (1, 0, 0, 0)
    assert any(f"goes on in {href}" in problem and "not read" in problem for problem in report.problems)


def test_pages_in_a_circle_end(library: Library, tmp_path: Path) -> None:
    path = write_atom(tmp_path / "in", links='<link rel="next" href="./two.xml"/>')
    text = path.read_text().replace("urn:example:post", "urn:example:second")
    (tmp_path / "in" / "two.xml").write_text(text.replace("./two.xml", "blog.xml"))
    report = import_feed(library, path, NOW)
    assert counts(report) == (2, 0, 0, 0)
    assert any("which came before" in problem for problem in report.problems)


def test_a_broken_second_page_does_not_undo_the_first(library: Library, tmp_path: Path) -> None:
    path = write_atom(tmp_path / "in", links='<link rel="next" href="two.xml"/>')
    (tmp_path / "in" / "two.xml").write_text("rubbish")
    report = import_feed(library, path, NOW)
    assert counts(report) == (1, 0, 0, 0)
    assert any("that part is missing" in problem for problem in report.problems)


# -- foreign Atom


def test_foreign_atom_is_signed_by_its_importer_with_its_source_kept(
    library: Library, tmp_path: Path
) -> None:
    report = import_feed(library, write_atom(tmp_path / "in"), NOW)
    assert (report.feed, counts(report)) == ("urn:example:blog", (1, 0, 0, 0))
    entry = post(library)
    assert (entry.author, entry.id, entry.language) == (library.key, POST, "en")
    assert (entry.updated, entry.published) == (1_580_608_922_000, 1_546_300_800_000)
    assert (str(entry.title), entry.title.type) == ("<b>Post</b>", "html")
    assert entry.source is not None and entry.source.id == "urn:example:blog"
    assert entry.source.authors[0].name == "Eva" and entry.source.title == "Blog"
    (row,) = library.store.feeds.rows()
    assert row.own and row.feed is not None and row.feed.signer == library.key


def test_relative_references_are_resolved_where_the_feed_says_it_is(library: Library, tmp_path: Path) -> None:
    report = import_feed(library, write_atom(tmp_path / "in"), NOW)
    assert report.problems == ["relative references that lead nowhere from here were left out"]
    links = '<link rel="self" href="https://example.org/a/blog.xml"/>'
    path = write_atom(tmp_path / "in", links=links, enclosure='<link href="post.html"/>')
    edit(path, ("urn:example:post", "urn:example:other"))
    assert import_feed(library, path, NOW).problems == []
    key = EntryKey(FeedId("urn:example:blog"), library.key, EntryId("urn:example:other"))
    entry = library.store.entry(key)
    assert entry is not None and entry.links[0].href == "https://example.org/a/post.html"
    assert entry.source is not None and entry.source.authors[0].uri == "https://example.org/a/eva.html"


def test_files_beside_a_foreign_feed_become_enclosures(library: Library, tmp_path: Path) -> None:
    both = '<link rel="enclosure" type="audio/ogg" title="The song" href="my%20song.ogg"/>'
    both += '<link href="my%20song.ogg"/>'
    path = write_atom(tmp_path / "in", enclosure=both, links='<link rel="self" href="https://example.org/"/>')
    (tmp_path / "in" / "my song.ogg").write_bytes(b"la la la")
    assert counts(import_feed(library, path, NOW)) == (1, 1, 0, 0)
    entry = post(library)
    (enclosure,) = entry.enclosures
    assert (enclosure.name, enclosure.type, enclosure.length) == ("The song", "audio/ogg", 8)
    assert [link.href for link in entry.links] == ["https://example.org/my%20song.ogg"]
    assert library.store.blobs.is_complete(enclosure.root)
    assert counts(import_feed(library, path, NOW)) == (0, 0, 1, 0)


def test_news_about_the_feed_alone_makes_no_new_versions(library: Library, tmp_path: Path) -> None:
    for day in range(1, 9):
        path = write_atom(tmp_path / "in", updated=f"2021-01-0{day}T00:00:00Z")
        assert counts(import_feed(library, path, NOW)) == ((1, 0, 0, 0) if day == 1 else (0, 0, 1, 0))
    assert post(library).source is not None


def test_a_later_version_replaces_an_imported_entry(library: Library, tmp_path: Path) -> None:
    path = write_atom(tmp_path / "in")
    import_feed(library, path, NOW)
    edit(path, ("2020-02-02", "2020-02-03"), ("Words", "Better words"))
    assert counts(import_feed(library, path, NOW)) == (1, 0, 0, 0)
    entry = post(library)
    assert entry.content is not None and entry.content.text == "Better words"


def test_more_files_than_an_entry_may_have_refuse_that_entry_only(library: Library, tmp_path: Path) -> None:
    links = "".join(f'<link rel="enclosure" href="{number}"/>' for number in range(33))
    path = write_atom(tmp_path / "in", enclosure=links)
    for number in range(33):
        (tmp_path / "in" / str(number)).write_text(str(number))
    report = import_feed(library, path, NOW)
    assert counts(report) == (0, 0, 0, 1) and library.store.blobs.roots() == []


# -- RSS


def write_rss(folder: Path, item: str, *, encoding: str = "utf-8") -> Path:
    path = folder / "feed.rss"
    head = f'<?xml version="1.0" encoding="{encoding}"?><rss version="2.0"><channel><title>Öl</title>'
    link = "<link>https://example.org/</link>"
    text = f"{head}{link}<item><guid>urn:example:post</guid>{item}</item></channel></rss>"
    path.write_bytes(text.encode(encoding))
    return path


def rss_post(library: Library) -> Entry:
    entry = library.store.entry(EntryKey(FeedId("https://example.org/"), library.key, POST))
    assert entry is not None
    return entry


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_valid_rss_is_called_rss_in_any_encoding(library: Library, tmp_path: Path, encoding: str) -> None:
    item = "<title>Größe</title><pubDate>Mon, 06 Jan 2020 00:00:00 GMT</pubDate>"
    report = import_feed(library, write_rss(tmp_path, item, encoding=encoding), NOW)
    assert report.problems == ["an RSS 2.0 document; read leniently"]
    assert counts(report) == (1, 0, 0, 0) and rss_post(library).title == "Größe"


def test_what_has_no_date_gets_that_of_the_import_and_keeps_it(library: Library, tmp_path: Path) -> None:
    path = write_rss(tmp_path, "<title>One</title>")
    assert "that of this import" in import_feed(library, path, NOW).problems[1]
    assert rss_post(library).updated == NOW
    assert counts(import_feed(library, path, NOW + 5_000)) == (0, 0, 1, 0)
    edit(path, ("One", "Two"))
    assert counts(import_feed(library, path, NOW + 9_000)) == (1, 0, 0, 0)
    assert (rss_post(library).title, rss_post(library).updated) == ("Two", NOW + 9_000)


def test_a_change_under_the_same_date_is_taken_each_time(library: Library, tmp_path: Path) -> None:
    path = write_rss(tmp_path, "<title>T0</title><pubDate>Mon, 06 Jan 2020 00:00:00 GMT</pubDate>")
    import_feed(library, path, NOW)
    for number in range(1, 5):
        edit(path, (f"T{number - 1}", f"T{number}"))
        assert counts(import_feed(library, path, NOW)) == (1, 0, 0, 0)
        assert counts(import_feed(library, path, NOW)) == (0, 0, 1, 0)
        assert rss_post(library).title == f"T{number}"


def test_an_older_document_changes_nothing(library: Library, tmp_path: Path) -> None:
    path = write_rss(tmp_path, "<title>New</title><pubDate>Mon, 06 Jan 2020 00:00:09 GMT</pubDate>")
    import_feed(library, path, NOW)
    edit(path, ("New", "Old"), ("00:00:09", "00:00:01"))
    assert counts(import_feed(library, path, NOW)) == (0, 0, 1, 0)
    assert rss_post(library).title == "New"


def test_what_was_retracted_does_not_come_back_by_the_next_import(library: Library, tmp_path: Path) -> None:
    path = write_rss(tmp_path, "<title>New</title><pubDate>Mon, 06 Jan 2020 00:00:09 GMT</pubDate>")
    import_feed(library, path, NOW)
    library.retract(rss_post(library).key, NOW)
    assert counts(import_feed(library, path, NOW + 1)) == (0, 0, 1, 0)
    assert rss_post(library).retracted


def test_a_file_on_the_web_stays_a_link_and_is_told(library: Library, tmp_path: Path) -> None:
    item = '<enclosure url="http://example.org/song.mp3" length="9" type="audio/mpeg"/><title>T</title>'
    report = import_feed(library, write_rss(tmp_path, item), NOW)
    assert "files on the web are not fetched; the entries keep links to them" in report.problems
    (link,) = rss_post(library).links
    assert (link.rel, link.href, link.length) == ("enclosure", "http://example.org/song.mp3", 9)


# -- what is refused


def test_refused_entries_are_named_in_one_sentence_per_reason(library: Library, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other", entropy=entropy(3)) as store:
        other = Library(store, author(2), entropy=entropy(4))
        feed = other.create_feed(FeedDraft("F", id="urn:example:f"), NOW)
        for number in range(20):
            other.publish(feed.id, Draft("T", id=f"urn:example:{number:02}"), NOW + number)
        export_feed(store, feed.id, tmp_path / "out", NOW + 30)
    library.store.feeds.block(author(2).key)
    report = import_feed(library, tmp_path / "out", NOW + 30)
    (problem,) = report.problems
    assert problem.startswith("20 entries were refused: author ") and report.refused == 20
    assert problem.endswith("(urn:example:19, urn:example:18, urn:example:17, ...)")


def test_an_entry_with_a_bad_signature_is_named(library: Library, exported: Path) -> None:
    document = exported / "feed.xml"
    head, descriptor, entry = document.read_text(encoding="utf-8").split("<p:signed ")
    begin = entry.split('signature="')[1][:4]
    document.write_text("<p:signed ".join([head, descriptor, entry.replace(begin, "AAAA", 1)]))
    expected = "an entry was refused: the signature does not fit the bytes and the author (urn:example:e)"
    assert import_feed(library, exported, NOW + 1).problems == [expected]


# -- what is no feed


@pytest.mark.parametrize(
    "data",
    [
        b"", b"rubbish", b"<html><body>Hello</body></html>", b"\x00\xff" * 500, b"{}", b"<feed", b"<?xml?>",
        b"http://127.0.0.1:9/feed", b"/etc/passwd", b"PK\x03\x04" + bytes(100),
    ],
)  # fmt: skip
def test_rubbish_is_refused_in_one_sentence(library: Library, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "rubbish").write_bytes(data)
    with pytest.raises(UsageError, match="is no feed") as refused:
        import_feed(library, tmp_path / "rubbish", NOW)
    assert "\n" not in str(refused.value) and library.store.feeds.rows() == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", ["", "<!-- <a> -->", "<?x <a> ?>"])
def test_a_doctype_is_refused(library: Library, tmp_path: Path, encoding: str, before: str) -> None:
    bomb = '<!DOCTYPE feed [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    text = f"{before}{bomb}" + ATOM.format(enclosure="&b;", links="", updated="2020-03-03T03:03:03Z")
    (tmp_path / "bomb.xml").write_bytes(text.encode(encoding))
    with pytest.raises(UsageError, match="DOCTYPE"):
        import_feed(library, tmp_path / "bomb.xml", NOW)


def test_a_doctype_in_the_text_of_an_article_is_only_text(library: Library, tmp_path: Path) -> None:
    item = "<item><description><![CDATA[<!DOCTYPE html>]]></description></item>"
    (tmp_path / "feed.rss").write_text(f"<rss version='2.0'><channel>{item}</channel></rss>")
    assert import_feed(library, tmp_path / "feed.rss", NOW).entries == 1


def test_a_document_over_the_bound_is_not_read(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "huge.xml"
    with path.open("wb") as file:
        file.truncate(MAX_FEED_BYTES + 1)
    with pytest.raises(UsageError, match="larger than 16777216 bytes"):
        import_feed(library, path, NOW)


@pytest.mark.parametrize("name", ["nothing", "folder", "pipe", "x" * 300])
def test_what_cannot_be_read_is_one_sentence(library: Library, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"cannot read|not a plain file"):
        import_feed(library, tmp_path / name, NOW)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_document_cut_or_changed_anywhere_never_ends_in_a_bug(
    tmp_path: Path, library: Library, data: st.DataObject
) -> None:
    whole = bytearray(ATOM.format(enclosure="", links="", updated="2020-03-03T03:03:03Z").encode())
    del whole[data.draw(st.integers(0, len(whole))) :]
    for at in data.draw(st.lists(st.integers(0, max(len(whole) - 1, 0)), max_size=3)):
        whole[at : at + 1] = data.draw(st.binary(max_size=2))
    (tmp_path / "cut.xml").write_bytes(whole)
    try:
        found = FeedFile.read(tmp_path / "cut.xml", NOW)
    except UsageError:
        return
    assert import_feed(library, tmp_path / "cut.xml", NOW).feed == found.feed.id
    for _, signed in library.store.entries.signed(library.store.entries.keys(found.feed.id, NOW)):
        assert read_signed_entry(signed.data).author == library.key
