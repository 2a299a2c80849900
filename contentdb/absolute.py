"""Foreign feeds and entries without relative references, since a signed entry has no place it lies at."""

from dataclasses import replace

from contentdb.atom_values import is_absolute, resolve
from contentdb.model import Entry, Feed, Generator, Link, Person, Source, Text


class Resolver:
    """Resolves what the document's own address allows, leaves out the rest, and remembers that it did."""

    def __init__(self, feed: Feed, address: str | None = None) -> None:
        self._base = address or base_of(feed)
        self.left_out = 0

    def feed(self, feed: Feed) -> Feed:
        return replace(
            feed,
            title=self._words(feed.title),
            subtitle=feed.subtitle and self._words(feed.subtitle),
            rights=feed.rights and self._words(feed.rights),
            authors=self._people(feed.authors),
            contributors=self._people(feed.contributors),
            icon=self._iri(feed.icon),
            logo=self._iri(feed.logo),
            links=self.links(feed.links),
            generator=self._generator(feed.generator),
        )

    def source(self, source: Source) -> Source:
        return replace(
            source,
            title=source.title and self._words(source.title),
            subtitle=source.subtitle and self._words(source.subtitle),
            rights=source.rights and self._words(source.rights),
            authors=self._people(source.authors),
            contributors=self._people(source.contributors),
            icon=self._iri(source.icon),
            logo=self._iri(source.logo),
            links=self.links(source.links),
            generator=self._generator(source.generator),
        )

    def entry(self, entry: Entry) -> Entry:
        content = entry.content
        if content is not None:
            src = self._iri(content.src)
            base = content.base if content.base is None or is_absolute(content.base) else self._base
            # Content that was elsewhere, nobody knows where, is no content.
            is_lost = content.src is not None and src is None
            content = None if is_lost else replace(content, src=src, base=base)
        return replace(
            entry,
            title=self._words(entry.title),
            summary=entry.summary and self._words(entry.summary),
            rights=entry.rights and self._words(entry.rights),
            authors=self._people(entry.authors),
            contributors=self._people(entry.contributors),
            content=content,
            links=self.links(entry.links),
            source=None if entry.source is None else self.source(entry.source),
        )

    def _iri(self, text: str | None) -> str | None:
        if text is None:
            return None
        whole = resolve(self._base, text)
        if is_absolute(whole):
            return whole
        self.left_out += 1
        return None

    def _words(self, text: Text) -> Text:
        if text.base is None or is_absolute(text.base):
            return text
        return Text(text, text.type, language=text.language, base=self._base)

    def links(self, links: tuple[Link, ...]) -> tuple[Link, ...]:
        found = ((link, self._iri(link.href)) for link in links)
        return tuple(replace(link, href=href) for link, href in found if href is not None)

    def _people(self, people: tuple[Person, ...]) -> tuple[Person, ...]:
        return tuple(replace(person, uri=self._iri(person.uri)) for person in people)

    def _generator(self, generator: Generator | None) -> Generator | None:
        return None if generator is None else replace(generator, uri=self._iri(generator.uri))


def base_of(feed: Feed) -> str | None:
    """Where the feed says it is, or else what it is about: what its references most likely start from."""
    for rel in ("self", "alternate"):
        for link in feed.links:
            if link.rel == rel and link.href.startswith(("http://", "https://")) and is_absolute(link.href):
                return link.href
    return None
