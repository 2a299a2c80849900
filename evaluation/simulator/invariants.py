"""What must hold in a world that has come to rest, whatever happened in it before."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from contentdb.identity import verify_batch
from contentdb.model import Entry
from contentdb.names import EntryKey, FeedId
from contentdb.selector import parse
from contentdb.settings import DAY_S
from contentdb.subscriptions import Subscription
from evaluation.simulator.machine import Given
from evaluation.simulator.simnode import SimNode

Newest = dict[EntryKey, Entry]


@dataclass(frozen=True, slots=True)
class Claim:
    """A node said that it had published this, at this moment: nobody may lose it any more."""

    author: str
    entry: Entry
    now: float


def violations(nodes: Sequence[SimNode], feeds: Sequence[FeedId], claims: Sequence[Claim]) -> list[str]:
    """What is wrong, in words, node by node."""
    newest = _newest(nodes, feeds)
    checks: tuple[Callable[[SimNode], Iterable[str]], ...] = (
        _down,
        _unsigned,
        _unwanted,
        _damaged,
        _delivered_twice,
        lambda node: _lost(node, claims),
        lambda node: lacking(node, newest.values()),
        lambda node: _undelivered(node, newest),
        lambda node: _outlived(node, newest),
        _left_open,
        lambda node: node.store.problems(),
        lambda node: node.store.missing_files(),
        lambda node: node.store.unnamed_files(),
    )
    return [f"{node.name}: {wrong}" for node in nodes for check in checks for wrong in check(node)]


def _newest(nodes: Sequence[SimNode], feeds: Sequence[FeedId]) -> Newest:
    """The last version of every entry that any node holds, tombstones among them."""
    newest: Newest = {}
    for node in nodes:
        for feed in feeds:
            for key in node.store.entries.keys(feed, node.at, tombstones=True):
                entry = node.store.entry_of_row(key)
                if entry.key not in newest or newest[entry.key].updated < entry.updated:
                    newest[entry.key] = entry
    return newest


def is_ahead(entry: Entry, node: SimNode) -> bool:
    """Is it dated so far ahead that the node has to let it wait?"""
    return entry.updated > node.at + DAY_S * 1000


def _down(node: SimNode) -> Iterator[str]:
    if not node.is_running:
        yield f"is not running {node.failed}"


def _lost(node: SimNode, claims: Sequence[Claim]) -> Iterator[str]:
    for claim in claims:
        if claim.author == node.name:
            held = node.store.entry(claim.entry.key)
            if held is None or held.updated < claim.entry.updated:
                yield f"lost its own {claim.entry.id}, which was acknowledged"


def _unsigned(node: SimNode) -> Iterator[str]:
    for row in node.store.feeds.rows():
        keys = node.store.entries.keys(row.id, node.at, tombstones=True)
        signed = [signed for _, signed in node.store.entries.signed(keys)]
        if len(signed) != len(keys) or not all(verify_batch(signed)):
            yield f"holds entries of {row.id} without a valid signature"


def _unwanted(node: SimNode) -> Iterator[str]:
    """Nobody may fill a node with what no app of it asked for."""
    wanted = {subscription.feed for subscription in node.store.subscriptions.all()}
    for row in node.store.feeds.rows():
        for key in node.store.entries.keys(row.id, node.at, tombstones=True):
            entry = node.store.entry_of_row(key)
            if row.id not in wanted and entry.author != node.author.key:
                yield f"holds {entry.id} of {row.id}, to which nobody there subscribes"


def _damaged(node: SimNode) -> Iterator[str]:
    for root in node.store.blobs.roots():
        if wrong := node.store.blobs.verify(root):
            yield f"holds chunks {wrong} of {root} that do not verify"


def _delivered_twice(node: SimNode) -> Iterator[str]:
    done: set[tuple[str, FeedId, str, bytes]] = set()
    for given in node.machine.given:
        if _what(given) in done:
            yield f"delivered version {given.version.hex()[:8]} of {given.entry} to {given.app} again"
        if not given.is_excused:
            done.add(_what(given))


def _what(given: Given) -> tuple[str, FeedId, str, bytes]:
    return given.app, given.feed, given.entry, given.version


def _wanted(node: SimNode, entries: Iterable[Entry]) -> Iterator[tuple[Subscription, Entry]]:
    for subscription in node.store.subscriptions.all():
        selector = parse(subscription.selector)
        for entry in entries:
            is_shown = entry.feed == subscription.feed and not entry.retracted and not is_ahead(entry, node)
            if is_shown and selector.evaluate(entry.selectable()) is True:
                yield subscription, entry


def lacking(node: SimNode, entries: Iterable[Entry]) -> Iterator[str]:
    """What of these it wants and does not hold."""
    for subscription, entry in _wanted(node, entries):
        what = f"version {entry.updated} of {entry.id} for {subscription.app}"
        held = node.store.entry(entry.key)
        if held is None or held.updated < entry.updated:
            yield f"lacks {what}, and has {'no other' if held is None else held.updated}"
        for enclosure in entry.enclosures:
            if subscription.wants_file(enclosure.length) and not node.store.blobs.is_complete(enclosure.root):
                received = node.store.blobs.received(enclosure.root)
                yield f"has {received} of {enclosure.length} bytes of the file of {what}"


def _undelivered(node: SimNode, newest: Newest) -> Iterator[str]:
    given = {(app, entry, version) for app, _, entry, version in node.deliveries}
    for subscription, entry in _wanted(node, newest.values()):
        row = node.store.entries.by_key(entry.key)
        if row is not None and (subscription.app, row.id, row.version) not in given:
            yield f"holds {entry.id} and did not deliver it to {subscription.app}"


def _outlived(node: SimNode, newest: Newest) -> Iterator[str]:
    for feed in sorted({subscription.feed for subscription in node.store.subscriptions.all()}):
        for key in node.store.entries.keys(feed, node.at):
            entry = node.store.entry_of_row(key)
            if newest[entry.key].retracted and not is_ahead(newest[entry.key], node):
                yield f"still shows {entry.id}, which was retracted"


def _left_open(node: SimNode) -> Iterator[str]:
    for session in node.core.sessions:
        yield f"has session {session.number} open as {session.role}"
