"""A person's content: makes feeds and entries, signs them with the author key, and stores them durably.

library = Library(store, author, entropy=os.urandom)
feed = library.create_feed(FeedDraft("Street music", categories=("music",)), at=now_ms)
entry = library.publish(feed.id, Draft("Corner of 5th", files=(Path("take1.ogg"),)), at=now_ms)
"""

import mimetypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from contentdb.arrivals import Arrival, arrival_of
from contentdb.atom import write_and_read_entry, write_descriptor, write_entry
from contentdb.blobs import Progress, safe_name
from contentdb.drafts import Attachment, Draft, FeedDraft, Published, Ready, size_of
from contentdb.errors import StoreError, UsageError
from contentdb.identity import AuthorSecret
from contentdb.intake import Fate
from contentdb.model import (
    MAX_ENCLOSURES,
    Category,
    Enclosure,
    Entry,
    Feed,
    Person,
    Signed,
    Text,
)
from contentdb.names import (
    AuthorKey,
    EntryKey,
    FeedId,
    fingerprint,
    owned_feed_id,
    owner_of,
    parse_entry_id,
    parse_feed_id,
)
from contentdb.openfile import OpenFile
from contentdb.store import Store
from contentdb.stored import stored_descriptor

__all__ = ["Attachment", "Draft", "FeedDraft", "Library", "OpenFile", "Published", "Ready"]


class Library:
    def __init__(
        self, store: Store, author: AuthorSecret, *, entropy: Callable[[int], bytes], name: str | None = None
    ) -> None:
        self.store = store
        self._author, self._entropy = author, entropy
        self._person = Person(name or fingerprint(author.key)[:9])
        store.feeds.trust(author.key, own=True)

    # -- feeds

    def create_feed(self, draft: FeedDraft, at: int) -> Feed:
        """Make a feed and sign its descriptor; raises UsageError if the id is taken or does not fit."""
        if not draft.title.strip():
            raise UsageError("a feed needs a title")
        feed = Feed(
            id=self._new_feed_id(draft),
            title=Text(draft.title),
            updated=at,
            subtitle=Text(draft.subtitle) if draft.subtitle else None,
            authors=(self._person,),
            categories=tuple(Category(term) for term in draft.categories),
            language=draft.language,
            signer=self._author.key,
            sequence=1,
            listed=draft.is_listed,
        )
        if self.store.feeds.descriptor(feed.id) is not None:
            raise UsageError(f"feed {feed.id} exists already; publish to it, or choose another id")
        self._put(feed)
        return feed

    def _new_feed_id(self, draft: FeedDraft) -> FeedId:
        if draft.is_owned:
            if draft.id is not None:
                raise UsageError(
                    "an owned feed's id is made from your key; leave out the id, or leave out owned"
                )
            return owned_feed_id(self._author.key, self._entropy(10).hex())
        feed_id = parse_feed_id(draft.id if draft.id is not None else self._new_iri())
        if feed_id.startswith("urn:passerby:owned:"):
            raise UsageError(
                "ids that start with urn:passerby:owned: belong to owned feeds; choose another id"
            )
        return feed_id

    def _new_iri(self) -> str:
        raw = bytearray(self._entropy(16))
        raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80  # a version 4 UUID, from our own entropy
        digits = raw.hex()
        return f"urn:uuid:{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    @property
    def key(self) -> AuthorKey:
        return self._author.key

    def sign(self, data: bytes) -> Signed:
        return self._author.sign_entry(data)

    def adopt_feed(self, foreign: Feed, at: int) -> FeedId:
        """Describe a feed that carries nobody's signature under its own id, unless somebody does already."""
        feed_id = parse_feed_id(foreign.id)
        if self.store.feeds.descriptor(feed_id) is None:
            if owner_of(feed_id) not in (None, self.key):
                raise UsageError(
                    f"feed {feed_id} is owned by somebody else, and nothing here is signed by them"
                )
            extensions = tuple(markup for markup in foreign.extensions if "urn:passerby:1" not in markup)
            links = tuple(link for link in foreign.links if link.rel != "next")
            self._put(
                replace(foreign, signer=self.key, sequence=1, updated=at, extensions=extensions, links=links)
            )
        return feed_id

    def _put(self, feed: Feed) -> None:
        self.store.feeds.put_descriptor(self._author.sign_descriptor(write_descriptor(feed)), own=True)

    def set_writers(self, feed_id: FeedId, writers: tuple[AuthorKey, ...], at: int) -> Feed:
        """Sign a new list of keys that may write to an owned feed; what was accepted before stays."""
        feed = self._feed(feed_id)
        if feed.owner != self._author.key:
            raise UsageError(f"feed {feed_id} is not yours to open; only its owner signs the list of writers")
        changed = replace(feed, writers=tuple(dict.fromkeys(writers)), sequence=feed.sequence + 1, updated=at)
        self._put(changed)
        return changed

    def _feed(self, feed_id: FeedId) -> Feed:
        signed = self.store.feeds.descriptor(feed_id)
        if signed is None:
            raise _no_feed(feed_id)
        return stored_descriptor(signed.data)

    # -- entries

    def publish(self, feed_id: FeedId, draft: Draft, at: int, *, progress: Progress | None = None) -> Entry:
        """Copy the files, sign the entry and store it; durable when this returns.

        With the id of an own entry in this feed, this is a new version and replaces the old one.
        """
        self.check(feed_id, draft, at)
        with self.store_nothing_unnamed(is_adding=bool(draft.files)):
            ready = Ready(feed_id, draft, self.enclose(draft.files, progress))
            (published,) = self.publish_many([ready], at)
        if isinstance(published, UsageError):
            raise published
        return published.entry

    # The same in three steps, for a node: of these only `enclose` takes long, and it may run on a worker.

    def check(self, feed_id: FeedId, draft: Draft, at: int) -> None:
        """Say whatever is wrong with the words and the place before gigabytes are copied."""
        if not draft.title.strip():
            raise UsageError("an entry needs a title")
        gate = self.store.feeds.gate(feed_id)
        if not gate.is_described:
            raise _no_feed(feed_id)
        if not gate.may_write(self._author.key):
            raise UsageError(f"feed {feed_id} is owned; ask its owner to add your key to its writers")
        if draft.files:
            write_entry(self._entry(feed_id, draft, (), at, None))
            if len(draft.files) > MAX_ENCLOSURES:
                raise UsageError(f"an entry has at most {MAX_ENCLOSURES} files; got {len(draft.files)}")
            self.store.ensure_room(sum(size_of(path) for path in draft.files))

    def enclose(
        self, files: Sequence[Path | Attachment | OpenFile], progress: Progress | None = None
    ) -> tuple[Enclosure, ...]:
        """Copy files in; touches nothing but the blobs, which threads may share."""
        return tuple(self._enclose(file, progress) for file in files)

    def publish_many(self, batch: Sequence[Ready], at: int) -> list[Published | UsageError]:
        """Sign and store several under one flush. What is wrong with one is said of that one only."""
        made: list[Entry | UsageError] = []
        newest: dict[EntryKey, Entry] = {}  # of this batch: the next version of an entry comes after it
        for ready in batch:
            try:
                entry = self._next_version(ready, newest, at)
                newest[entry.key] = entry
                made.append(entry)
            except UsageError as error:
                made.append(error)
        entries = [entry for entry in made if isinstance(entry, Entry)]
        stored = iter(self._store_many(entries, at))
        return [next(stored) if isinstance(entry, Entry) else entry for entry in made]

    def _next_version(self, ready: Ready, newest: Mapping[EntryKey, Entry], at: int) -> Entry:
        for enclosure in ready.enclosures:
            if not self.store.blobs.is_complete(enclosure.root) and enclosure.length:
                raise UsageError(f"the copy of {enclosure.name} is gone again; publish it once more")
        previous = None
        if ready.draft.id is not None:
            key = EntryKey(ready.feed, self._author.key, parse_entry_id(ready.draft.id))
            previous = newest.get(key) or self.store.entry(key)
        return self._entry(ready.feed, ready.draft, ready.enclosures, at, previous)

    def _store_many(self, entries: Sequence[Entry], at: int) -> list[Published | UsageError]:
        """Where the store refuses a batch for one of its entries, halves of it find out which."""
        if not entries:
            return []
        try:
            outcomes = self.store.publish_many([self._signed(entry) for entry in entries], at)
        except UsageError as error:
            if len(entries) == 1:
                return [error]
            middle = len(entries) // 2
            return [*self._store_many(entries[:middle], at), *self._store_many(entries[middle:], at)]
        return [
            Published(entry, outcome.key, is_new=outcome.fate is Fate.STORED)
            for entry, outcome in zip(entries, outcomes, strict=True)
        ]

    def _signed(self, entry: Entry) -> Arrival:
        data, read = write_and_read_entry(entry)
        return arrival_of(self._author.sign_entry(data), read)

    @contextmanager
    def store_nothing_unnamed(self, *, is_adding: bool = True) -> Iterator[None]:
        """Files added inside that no entry names at the end are removed again, however it ends.

        Files that were unnamed before stay: they may be what is left of a lost database.
        """
        before = frozenset(self.store.blobs.roots()) if is_adding else frozenset()
        try:
            yield
        finally:
            if is_adding:
                # A failing disk must not hide what failed first; the next opening sweeps what this leaves.
                with suppress(StoreError):
                    self.store.drop_unnamed(root for root in self.store.blobs.roots() if root not in before)

    def _entry(
        self,
        feed_id: FeedId,
        draft: Draft,
        enclosures: tuple[Enclosure, ...],
        at: int,
        previous: Entry | None,
    ) -> Entry:
        return Entry(
            id=parse_entry_id(draft.id if draft.id is not None else self._new_iri()),
            title=Text(draft.title),
            updated=at if previous is None else max(at, previous.updated + 1),
            published=at if previous is None else previous.published,
            authors=(self._person,),
            categories=tuple(Category(term) for term in draft.categories),
            summary=Text(draft.summary) if draft.summary else None,
            content=draft.content,
            links=draft.links,
            language=draft.language,
            feed=feed_id,
            author=self._author.key,
            attributes=draft.attributes,
            expires=draft.expires,
            enclosures=enclosures,
        )

    def _enclose(self, file: Path | Attachment | OpenFile, progress: Progress | None) -> Enclosure:
        if isinstance(file, Attachment):
            root, length = self.store.blobs.add_bytes(file.data)
        else:
            root, length = self.store.blobs.add_file(file, progress=progress)
        media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return Enclosure(safe_name(file.name), media_type, length, root)

    def retract(self, key: EntryKey, at: int) -> Entry:
        """Publish a tombstone: wherever it arrives, the entry disappears and does not come back."""
        entry = self.store.entry(key)
        if entry is None:
            raise UsageError(f"there is no entry {key.id} in feed {key.feed}")
        if key.author != self._author.key:
            raise UsageError(
                "only its author may retract an entry; `passerby block` hides an author from you"
            )
        tombstone = Entry(
            id=entry.id,
            title=Text("retracted"),
            updated=max(at, entry.updated + 1),
            published=entry.published,
            authors=entry.authors,
            feed=entry.feed,
            author=entry.author,
            retracted=True,
        )
        self.store.publish(self._author.sign_entry(write_entry(tombstone)), at)
        return tombstone


def _no_feed(feed_id: FeedId) -> UsageError:
    return UsageError(f"there is no feed {feed_id} here; `passerby feeds` lists them")
