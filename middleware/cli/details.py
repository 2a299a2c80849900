"""One entry in full, as `get` shows it: who wrote it, who vouches for it, its words, attributes and files."""

from contentdb.identity import fingerprint
from contentdb.model import Content, Entry
from contentdb.query import EntryRow
from middleware.api.documents import Document
from middleware.cli.desk import Desk
from middleware.cli.words import aligned, paragraphs, shorten, show_attribute, show_size, show_time

INDENT = "  "
SHORT_FINGERPRINT = 9
NAMELESS = "(no name)"


def writer(document: Document) -> str:
    """Anybody may call himself anything; the fingerprint beside the name tells who it is.

    Whoever imports an entry signs it: then the fingerprint is his, and the name is not.
    """
    beginning, name = fingerprint(document["author"])[:SHORT_FINGERPRINT], document["author_name"]
    if document["source"] is not None:
        return f"{shorten(name or NAMELESS)} (imported: {beginning})"
    return beginning if name in (None, beginning) else f"{shorten(name)} {beginning}"


def details(desk: Desk, row: EntryRow, entry: Entry, document: Document) -> list[str]:
    lines = [("title", row.title), ("id", row.id), ("feed", row.feed), *_people(row, document)]
    for name, at in (("published", row.published), ("updated", row.updated)):
        lines += [(name, show_time(at))] if at is not None else []
    if row.expires is not None:
        is_over = row.expires <= desk.now()
        lines.append(
            ("expires", show_time(row.expires) + (" (over, so it is not listed)" if is_over else ""))
        )
    lines += [("categories", ", ".join(document["categories"]))] if row.categories else []
    if entry.summary:
        lines.append(("summary", " ".join(paragraphs(entry.summary, entry.summary.type))))
    if entry.source is not None:
        lines.append(("source", f"{entry.source.title or '(no title)'}, {entry.source.id}"))
    for link in entry.links:
        lines.append(("link", f"{link.href} ({link.rel})"))
    for enclosure in document["enclosures"]:
        lines.append(("file", _file(enclosure, is_own=bool(row.own))))
    return [*aligned(lines), *_attributes(entry), *_content(entry.content)]


def _people(row: EntryRow, document: Document) -> list[tuple[str, str]]:
    whole, name = fingerprint(row.author), document["author_name"]
    if document["source"] is None:
        is_named = name not in (None, whole[:SHORT_FINGERPRINT])
        return [("author", f"{name}, {whole}" if is_named else whole), ("key", row.author)]
    importer = f"you, {whole}" if row.own else whole
    return [("author", name or NAMELESS), ("imported by", importer), ("key", row.author)]


def _file(enclosure: Document, *, is_own: bool) -> str:
    state = enclosure["path"]
    if state is None:
        here = show_size(enclosure["received"])
        state = f"not here any more, only {here} of it" if is_own else f"{here} received so far"
    return f"{enclosure['name']}, {show_size(enclosure['length'])}: {state}"


def _attributes(entry: Entry) -> list[str]:
    """Under a heading of their own: an attribute may have any name, that of a line above too."""
    if not entry.attributes:
        return []
    shown = aligned([(name, show_attribute(value)) for name, value in entry.attributes.items()])
    return ["attributes", *(INDENT + line for line in shown)]


def _content(content: Content | None) -> list[str]:
    if content is None or not (content.text or content.src):
        return []
    if content.src:
        return [f"content, elsewhere: {content.src}"]
    return ["content", *(INDENT + line for line in paragraphs(content.text, content.type))]
