"""What must hold in a world that has come to rest, whatever happened in it before."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from contentdb.identity import verify_batch
from contentdb.model import Entry
from contentdb.names import EntryKey, FeedId
from contentdb.selector import parse
from contentdb.subscriptions import Subscription
from evaluation.simulator.simnode import SimNode

Newest = dict[EntryKey, Entry]


def violations(nodes: Sequence[SimNode], feeds: Sequence[FeedId], at: int) -> list[str]:
    """What is wrong, in words, node by node."""
    newest = _newest(nodes, feeds, at)
    checks: tuple[Callable[[SimNode], Iterable[str]], ...] = (
        lambda node: _unsigned(node, feeds, at),
        _damaged,
        _delivered_twice,
        lambda node: _lacking(node, newest),
        lambda node: _undelivered(node, newest),
        lambda node: _outlived(node, newest, at),
        _left_open,
        lambda node: node.store.problems(),
    )
    return [f"{node.name}: {wrong}" for node in nodes for check in checks for wrong in check(node)]


def _newest(nodes: Sequence[SimNode], feeds: Sequence[FeedId], at: int) -> Newest:
    """The last version of every entry that any node holds, tombstones among them."""
    newest: Newest = {}
    for node in nodes:
        for feed in feeds:
            for key in node.store.entries.keys(feed, at, tombstones=True):
                entry = node.store.entry_of_row(key)
                if entry.key not in newest or newest[entry.key].updated < entry.updated:
                    newest[entry.key] = entry
    return newest


def _unsigned(node: SimNode, feeds: Sequence[FeedId], at: int) -> Iterator[str]:
    for feed in feeds:
        keys = node.store.entries.keys(feed, at, tombstones=True)
        signed = [signed for _, signed in node.store.entries.signed(keys)]
        if len(signed) != len(keys) or not all(verify_batch(signed)):
            yield f"holds entries of {feed} without a valid signature"


def _damaged(node: SimNode) -> Iterator[str]:
    for root in node.store.blobs.roots():
        if wrong := node.store.blobs.verify(root):
            yield f"holds chunks {wrong} of {root} that do not verify"


def _delivered_twice(node: SimNode) -> Iterator[str]:
    for (app, _, entry, version), count in Counter(node.deliveries).items():
        if count > 1:
            yield f"delivered version {version.hex()[:8]} of {entry} to {app} {count} times"


def _wanted(node: SimNode, newest: Newest) -> Iterator[tuple[Subscription, Entry]]:
    for subscription in node.store.subscriptions.all():
        selector = parse(subscription.selector)
        for key, entry in newest.items():
            is_shown = key.feed == subscription.feed and not entry.retracted
            if is_shown and selector.evaluate(entry.selectable()) is True:
                yield subscription, entry


def _lacking(node: SimNode, newest: Newest) -> Iterator[str]:
    for subscription, entry in _wanted(node, newest):
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
    for subscription, entry in _wanted(node, newest):
        row = node.store.entries.by_key(entry.key)
        if row is not None and (subscription.app, row.id, row.version) not in given:
            yield f"holds {entry.id} and did not deliver it to {subscription.app}"


def _outlived(node: SimNode, newest: Newest, at: int) -> Iterator[str]:
    for feed in sorted({subscription.feed for subscription in node.store.subscriptions.all()}):
        for key in node.store.entries.keys(feed, at):
            entry = node.store.entry_of_row(key)
            if newest[entry.key].retracted:
                yield f"still shows {entry.id}, which was retracted"


def _left_open(node: SimNode) -> Iterator[str]:
    for session in node.core.sessions:
        yield f"has session {session.number} open as {session.role}"
