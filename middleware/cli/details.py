"""One entry in full, as `get` shows it: who wrote it, who vouches for it, its words, attributes and files."""

from typing import Any

from contentdb.attributes import Time
from contentdb.names import fingerprint
from middleware.cli.words import aligned, paragraphs, shorten, show_attribute, show_size, show_time

INDENT = "  "
SHORT_FINGERPRINT = 9
NAMELESS = "(no name)"


def writer(entry: dict[str, Any]) -> str:
    """Anybody may call himself anything; the fingerprint beside the name tells who it is.

    Whoever imports an entry signs it: then the fingerprint is his, and the name is not.
    """
    beginning, name = fingerprint(entry["author"])[:SHORT_FINGERPRINT], entry["author_name"]
    if entry["source"] is not None:
        return f"{shorten(name or NAMELESS)} (imported: {beginning})"
    return beginning if name in (None, beginning) else f"{shorten(name)} {beginning}"


def details(entry: dict[str, Any], now: int) -> list[str]:
    lines = [("title", entry["title"]), ("id", entry["id"]), ("feed", entry["feed"]), *_people(entry)]
    lines += [(name, show_time(entry[name])) for name in ("published", "updated") if entry[name] is not None]
    if entry["expires"] is not None:
        over = " (over, so it is not listed)" if entry["expires"] <= now else ""
        lines.append(("expires", show_time(entry["expires"]) + over))
    lines += [("categories", ", ".join(entry["categories"]))] if entry["categories"] else []
    if entry["summary"]:
        lines.append(("summary", " ".join(paragraphs(entry["summary"], entry["summary_type"]))))
    if entry["source"] is not None:
        lines.append(("source", f"{entry['source']['title'] or '(no title)'}, {entry['source']['id']}"))
    lines += [("link", f"{link['href']} ({link['rel']})") for link in entry["links"]]
    lines += [("file", _file(enclosure, is_own=entry["own"])) for enclosure in entry["enclosures"]]
    return [*aligned(lines), *_attributes(entry), *_content(entry["content"])]


def _people(entry: dict[str, Any]) -> list[tuple[str, str]]:
    whole, name = fingerprint(entry["author"]), entry["author_name"]
    if entry["source"] is None:
        is_named = name not in (None, whole[:SHORT_FINGERPRINT])
        return [("author", f"{name}, {whole}" if is_named else whole), ("key", entry["author"])]
    importer = f"you, {whole}" if entry["own"] else whole
    return [("author", name or NAMELESS), ("imported by", importer), ("key", entry["author"])]


def _file(enclosure: dict[str, Any], *, is_own: bool) -> str:
    state = enclosure["path"]
    if state is None:
        here = show_size(enclosure["received"])
        state = f"not here any more, only {here} of it" if is_own else f"{here} received so far"
    return f"{enclosure['name']}, {show_size(enclosure['length'])}: {state}"


def _attributes(entry: dict[str, Any]) -> list[str]:
    """Under a heading of their own: an attribute may have any name, that of a line above too."""
    if not entry["attributes"]:
        return []
    typed = {
        name: Time(value) if name in entry["times"] else value for name, value in entry["attributes"].items()
    }
    shown = aligned([(name, show_attribute(value)) for name, value in typed.items()])
    return ["attributes", *(INDENT + line for line in shown)]


def _content(content: dict[str, Any] | None) -> list[str]:
    if content is None or not (content["text"] or content["src"]):
        return []
    if content["src"]:
        return [f"content, elsewhere: {content['src']}"]
    return ["content", *(INDENT + line for line in paragraphs(content["text"], content["type"]))]
