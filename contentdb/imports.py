"""Takes feeds in from files: signed bytes as they are, foreign entries signed by whoever imports them."""

import mimetypes
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from contentdb.absolute import Resolver
from contentdb.arrivals import Arrival, read_verified, verify_and_read
from contentdb.atom import ENCLOSURE_PREFIX, read_signed_descriptor, signed_of, without_ours, write_entry
from contentdb.blobs import safe_name
from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.foreign import FeedFile, first_page, is_relative, source_of
from contentdb.intake import Delivery, Fate, Outcome
from contentdb.library import Library
from contentdb.model import Enclosure, Entry, Link
from contentdb.names import FeedId, Root, fingerprint, parse_feed_id, parse_root
from contentdb.steps import Steps, run_steps

MAX_PROBLEMS = 50
MAX_NAMES = 3  # of refused entries, in one sentence
# Dates in foreign feeds have whole seconds; within one, we count changes that claim the same date.
DATE_STEP_MS = 1_000

_PROBLEMS = {"signature": "the signature does not fit the bytes and the author"}


@dataclass(slots=True)
class Report:
    """What an export or import did. `problems` are sentences for the person who asked for it."""

    feed: str = ""
    document: Path | None = None
    entries: int = 0
    retractions: int = 0
    files: int = 0
    known: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)
    _refusals: dict[str, list[str]] = field(default_factory=dict)

    def add_problem(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def refuse(self, name: str, reason: str) -> None:
        """Remember which entries a reason kept out; a thousand of them are still one sentence."""
        self.refused += 1
        self._refusals.setdefault(reason, []).append(name)

    def tell_refusals(self) -> None:
        for reason, names in self._refusals.items():
            some = ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")
            count = "an entry was" if len(names) == 1 else f"{len(names)} entries were"
            self.add_problem(f"{count} refused: {reason} ({some})")
        self._refusals.clear()


def import_feed(library: Library, path: Path, at: int) -> Report:
    """Take in an exported folder, or any Atom or RSS file. Raises UsageError if it cannot be read at all."""
    return run_steps(import_steps(library, path, at))


def import_steps(library: Library, path: Path, at: int) -> Steps[Report]:
    """The same in steps, of which any thread may do those that read documents and copy files."""
    report = Report()
    page: Path | None = first_page(path).absolute()
    seen: set[Path] = set()
    while page is not None:
        seen.add(page.resolve())
        try:
            file = yield partial(FeedFile.read, page, at)
        except UsageError as error:
            if len(seen) == 1:
                raise
            report.add_problem(f"{error}; the feed goes on there, and that part is missing")
            break
        for problem in file.problems:
            report.add_problem(problem)
        yield from _Page(library, file, at, report).take_in()
        page = _next_page(file, seen, report)
    report.tell_refusals()
    return report


def _next_page(file: FeedFile, seen: set[Path], report: Report) -> Path | None:
    link = file.next_link()
    if link is None:
        return None
    path = file.beside(link.href)
    if path is None:
        report.add_problem(f"the feed goes on in {link.href}, which is not beside {file.path.name}; not read")
    elif path in seen:
        report.add_problem(f"{file.path.name} says that the feed goes on in {path.name}, which came before")
        return None
    return path


class _Page:
    """One document on its way in."""

    def __init__(self, library: Library, file: FeedFile, at: int, report: Report) -> None:
        self._library, self._file, self._at, self._report = library, file, at, report
        self._store = library.store
        self._resolver = Resolver(file.feed)
        self._added: set[Root] = set()

    def take_in(self) -> Steps[None]:
        feed = self._descriptor()
        self._report.feed = self._report.feed or feed
        # Files that were unnamed before stay: they may be what is left of a lost database.
        before = set(self._store.blobs.roots())
        try:
            yield from self._take_entries(feed)
        finally:
            # Only ours: others may be publishing meanwhile, whose files nobody names yet either.
            with suppress(StoreError):
                self._store.drop_unnamed(sorted(self._added - before))
        self._report.files += sum(self._store.blobs.is_complete(root) for root in self._added - before)
        if self._resolver.left_out:
            self._report.add_problem("relative references that lead nowhere from here were left out")

    def _take_entries(self, feed: FeedId) -> Steps[None]:
        arrivals: list[Arrival] = []
        for entry in self._file.entries:
            arrivals += yield from self._arrival(entry, feed)
        is_own = [arrival.signed.author == self._library.key for arrival in arrivals]
        own = [arrival for arrival, ours in zip(arrivals, is_own, strict=True) if ours]
        others = [arrival for arrival, ours in zip(arrivals, is_own, strict=True) if not ours]
        self._store.ensure_room(sum(len(arrival.signed.data) for arrival in own))
        for group, ours in ((own, True), (others, False)):
            outcomes = self._store.take_in(group, Delivery(self._at, own=ours))
            for arrival, outcome in zip(group, outcomes, strict=True):
                self._count(arrival, outcome)

    def _count(self, arrival: Arrival, outcome: Outcome) -> None:
        if outcome.fate.is_gain and arrival.entry is not None and arrival.entry.retracted:
            self._report.retractions += 1
        elif outcome.fate.is_gain:
            self._report.entries += 1
        elif outcome.fate in (Fate.DUPLICATE, Fate.STALE):
            self._report.known += 1
        elif arrival.entry is not None:
            name, reason = arrival.entry.id, outcome.reason
            if reason == "blocked":
                reason = f"author {fingerprint(arrival.signed.author)} is blocked"
            if outcome.fate is Fate.REFUSED:
                self._report.refuse(name, reason)
            else:
                self._report.add_problem(f"{name} was {outcome.fate.value}: {reason}")

    def _descriptor(self) -> FeedId:
        feed = self._file.feed
        try:
            signed = signed_of(feed)
            if signed is None:
                return self._library.adopt_feed(self._resolver.feed(feed), self._at)
            described = read_signed_descriptor(signed.data)
            self._store.feeds.put_descriptor(signed, own=signed.author == self._library.key)
            return described.id
        except RemoteError as error:
            # Not adopted: somebody has signed this feed, and the true description may still arrive.
            self._report.add_problem(f"the feed's signed description was not taken: {error}")
            return parse_feed_id(feed.id)

    # -- entries

    def _arrival(self, entry: Entry, feed: FeedId) -> Steps[list[Arrival]]:
        """The entry as it was signed, or signed by us if nobody did; nothing if we have it or it is wrong."""
        try:
            signed = signed_of(entry)
            if signed is None:
                return (yield from self._sign(entry, feed))
            (arrival,) = verify_and_read([signed])
            if arrival.entry is None:
                self._report.refuse(entry.id, _PROBLEMS.get(arrival.problem, arrival.problem))
                return []
            if arrival.entry.feed != feed:
                self._report.refuse(entry.id, "it was signed for another feed than the document's")
                return []
            yield from self._add_signed_files(entry, arrival.entry)
            return [arrival]
        except (RemoteError, UsageError) as error:
            self._report.refuse(entry.id, str(error))
            return []

    def _add_signed_files(self, exported: Entry, signed: Entry) -> Steps[None]:
        wanted = {enclosure.root for enclosure in signed.enclosures}
        added = yield from self._add_files(exported)
        for enclosure in added.values():
            if enclosure.root not in wanted:
                self._report.add_problem(
                    f"{signed.id}: file {enclosure.name!r} is not the one that was signed; left out"
                )

    def _sign(self, entry: Entry, feed: FeedId) -> Steps[list[Arrival]]:
        files = yield from self._add_files(entry)
        others = tuple(link for link in entry.links if not (link.rel == "enclosure" and link.href in files))
        if any(link.rel == "enclosure" and not is_relative(link.href) for link in others):
            self._report.add_problem("files on the web are not fetched; the entries keep links to them")
        foreign = self._resolver.entry(replace(without_ours(entry), links=others))
        ours = replace(
            foreign,
            feed=feed,
            author=self._library.key,
            enclosures=tuple(files.values()),
            source=foreign.source or self._resolver.source(source_of(self._file.feed)),
        )
        held = self._held(ours)
        if held is not None and self._is_same(ours, held):
            self._report.known += 1
            return []
        if held is not None and not held.retracted:
            # Our key signs for every feed we take over; none may replace what is ours or came from another.
            if (held.source and held.source.id) != (ours.source and ours.source.id):
                raise UsageError("an entry of yours that came from elsewhere has this id")
            ours = self._dated(ours, held)
        return read_verified([self._library.sign(write_entry(ours))])

    def _held(self, ours: Entry) -> Entry | None:
        row = self._store.entries.by_key(ours.key)
        return None if row is None else self._store.entry_of_row(row.key)

    def _is_same(self, ours: Entry, held: Entry) -> bool:
        """Is only the news about its feed new, or a date that we gave? That alone makes no new version."""
        known = replace(ours, source=held.source)
        if self._is_dated_here(ours, held):
            known = replace(known, updated=held.updated)
        return write_entry(known) == write_entry(held)

    def _is_dated_here(self, ours: Entry, held: Entry) -> bool:
        is_next = ours.updated <= held.updated < ours.updated + DATE_STEP_MS
        return ours.id in self._file.undated or is_next

    def _dated(self, ours: Entry, held: Entry) -> Entry:
        """A change under the same date is a change: without a later date of ours nobody would take it."""
        if not self._is_dated_here(ours, held):
            return ours
        return replace(ours, updated=max(ours.updated, held.updated + 1))

    # -- files

    def _add_files(self, entry: Entry) -> Steps[dict[str, Enclosure]]:
        """Files that lie beside the document, by the reference the entry names them with."""
        found: dict[str, Enclosure] = {}
        for link in entry.links:
            if link.rel == "enclosure" and link.href not in found:
                if is_relative(link.href):
                    enclosure = yield from self._add_file(entry, link)
                else:
                    enclosure = self._stored_file(link)
                if enclosure is not None:
                    found[link.href] = enclosure
        return found

    def _stored_file(self, link: Link) -> Enclosure | None:
        """A file that the document names by its root, since it is in our store already."""
        if not (link.href.startswith(ENCLOSURE_PREFIX) and link.title and link.type):
            return None
        root, blobs = parse_root(link.href.removeprefix(ENCLOSURE_PREFIX)), self._store.blobs
        is_here = blobs.is_complete(root) and blobs.length(root) == link.length
        return Enclosure(safe_name(link.title), link.type, blobs.length(root), root) if is_here else None

    def _add_file(self, entry: Entry, link: Link) -> Steps[Enclosure | None]:
        path = self._file.beside(link.href)
        if path is None:
            self._report.add_problem(f"{entry.id}: file {link.href!r} is not beside the feed; left out")
            return None
        try:
            self._store.ensure_room(path.stat().st_size)
            root, length = yield partial(self._store.blobs.add_file, path)
            self._added.add(root)
        except (OSError, UsageError) as error:
            self._report.add_problem(f"{entry.id}: file {path.name!r} was left out: {error}")
            return None
        name = safe_name(link.title or path.name)
        kind = link.type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Enclosure(name, kind, length, root)
