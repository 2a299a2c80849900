"""The words of HTML, for a terminal: no tags, no scripts, a line for each block."""

import html
import re

# Stops at the next `<`, so that rubbish costs no more than its length.
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*|!--)?[^<>]*>")
_SILENT = frozenset(("script", "style"))
_BLOCKS = frozenset(
    ("p", "div", "br", "li", "ul", "ol", "tr", "table", "blockquote", "pre", "hr", "section", "article")
) | {f"h{level}" for level in range(1, 7)}


def words_of(markup: str) -> str:
    words: list[str] = []
    silenced_by, end = "", 0
    for tag in _TAG.finditer(markup):
        if not silenced_by:
            words.append(_words(markup[end : tag.start()]))
        end, name = tag.end(), (tag[2] or "").lower()
        if silenced_by:
            silenced_by = "" if tag[1] and name == silenced_by else silenced_by
        elif name in _SILENT and not tag[1]:
            silenced_by = name
        elif name in _BLOCKS:
            words.append("\n")
    words += [] if silenced_by else [_words(markup[end:])]
    lines = (" ".join(line.split()) for line in "".join(words).split("\n"))
    return "\n".join(line for line in lines if line)


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(text))
