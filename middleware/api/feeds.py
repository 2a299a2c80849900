"""Calls about feeds."""

from pathlib import Path

from contentdb.blobs import safe_name
from contentdb.errors import UsageError
from contentdb.exchange import Report, export_steps, import_steps
from contentdb.identity import check_author_key
from contentdb.library import FeedDraft
from contentdb.names import AuthorKey, FeedId, owner_of
from contentdb.selector import parse
from contentdb.steps import Steps
from middleware.api.documents import Document, check_category, feed_document, find_feed, shown_feeds
from middleware.api.home import Home


def create_feed(
    home: Home,
    app: str,
    *,
    title: str,
    id: str | None = None,
    subtitle: str | None = None,
    categories: list[str] | None = None,
    language: str | None = None,
    owned: bool = False,
    listed: bool = True,
) -> Document:
    for category in categories or ():
        check_category(category)
    draft = FeedDraft(
        title,
        id=id,
        subtitle=subtitle,
        categories=tuple(categories or ()),
        language=language,
        is_owned=owned,
        is_listed=listed,
    )
    feed = home.library.create_feed(draft, home.at())
    home.changed()
    (row,) = home.store.feeds.rows([feed.id])
    return feed_document(row)


def feeds(home: Home, app: str, *, where: str = "") -> list[Document]:
    selector = parse(where)
    return [
        feed_document(row)
        for row in shown_feeds(home.store, home.at())
        if not selector.text
        or (row.feed is not None and selector.evaluate(row.feed.selectable(row.updated)) is True)
    ]


def writers(
    home: Home, app: str, *, feed: str, add: str | None = None, remove: str | None = None
) -> Document:
    row = find_feed(home.store, feed)
    owner = owner_of(row.id)
    if owner is None:
        raise UsageError(f"{row.id} is an open feed: anybody may write to it, and there is no list")
    current = row.feed.writers if row.feed is not None else ()
    changed = _changed(current, add, remove)
    if owner == home.library.key in (add, remove):
        raise UsageError("you own this feed and may always write to it; the list is for others")
    is_changed = changed != current
    if is_changed:
        current = home.library.set_writers(row.id, changed, home.at()).writers
        home.changed()
    return {"feed": row.id, "owner": owner, "writers": list(current), "changed": is_changed}


def _changed(current: tuple[AuthorKey, ...], add: str | None, remove: str | None) -> tuple[AuthorKey, ...]:
    if add is not None:
        current = tuple(dict.fromkeys((*current, check_author_key(add))))
    if remove is None:
        return current
    gone = check_author_key(remove)
    if gone not in current:
        raise UsageError(f"{gone} is not among the writers")
    return tuple(key for key in current if key != gone)


def export(
    home: Home, app: str, *, feed: str, into: Path | None = None, beside: Path | None = None
) -> Steps[Document]:
    """Into a new or empty folder, or into one named after the feed in the folder `beside`."""
    row = find_feed(home.store, feed)
    if into is None and beside is None:
        raise UsageError("say where to: a new folder (into), or the folder to make one in (beside)")
    title = str(row.feed.title) if row.feed is not None else "feed"
    folder = into or (beside or Path()) / safe_name(title)
    done = yield from export_steps(home.store, row.id, folder, home.at())
    return _report_document(done, str(done.document))


def import_(home: Home, app: str, *, file: Path) -> Steps[Document]:
    done = yield from import_steps(home.library, file, home.at())
    home.imported(FeedId(done.feed))
    return _report_document(done, str(file))


def _report_document(done: Report, file: str) -> Document:
    return {
        "feed": done.feed,
        "file": file,
        "entries": done.entries,
        "retractions": done.retractions,
        "files": done.files,
        "known": done.known,
        "refused": done.refused,
        "problems": list(done.problems),
    }
