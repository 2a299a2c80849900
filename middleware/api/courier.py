"""Brings entries to the apps that subscribed to them, and remembers what they have finished with."""

from collections.abc import Iterable
from dataclasses import dataclass

from contentdb.ledger import Event, Happening
from contentdb.names import FeedId
from contentdb.subscriptions import Subscription
from middleware.api.deliveries import Deliveries
from middleware.api.documents import entry_document
from middleware.api.effects import ApiEffect, Send
from middleware.api.home import Home
from middleware.api.messages import CallError, Code, RequestId, encode_result, encode_value
from middleware.delivery import Due

# Entries whose files are on their way, of which one app is told how far they are.
MAX_SHOWN = 256


@dataclass(slots=True)
class Taker:
    """A connection that takes entries."""

    number: int
    deliveries: Deliveries


class Courier:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._delivery = home.node.delivery
        self._takers: dict[int, Taker] = {}  # by connection
        self._taken: dict[int, Taker] = {}  # by subscription
        self._finished: list[Due] = []  # acknowledged, and not written yet
        self._acknowledgements: list[tuple[int, RequestId, int]] = []
        self._hungry: dict[int, Taker] = {}  # those that may be sent more, by connection
        self._written: dict[tuple[int, bytes], bytes] = {}  # entries as JSON, for one turn

    # -- who takes what

    def check_free(self, number: int, subscription: Subscription) -> None:
        """Two connections that shared a subscription would each get a part of it, and neither would know."""
        taker = self._taken.get(subscription.key)
        if taker is not None and taker.number != number:
            raise CallError(
                f"another running app is called {subscription.app} and takes this subscription; "
                f'give this one a name of its own, such as "{subscription.app}-2"',
                Code.TAKEN,
            )

    def attach(self, number: int, subscription: Subscription, *, is_partial: bool) -> None:
        taker = self._takers.setdefault(number, Taker(number, Deliveries(self._delivery)))
        taker.deliveries.attach(subscription)
        self._taken[subscription.key] = taker
        self._hungry[number] = taker
        if is_partial:
            self._delivery.partial.add(subscription.key)
        else:
            self._delivery.partial.discard(subscription.key)

    def detach(self, key: int) -> None:
        taker = self._taken.pop(key, None)
        self._delivery.partial.discard(key)
        if taker is not None:
            taker.deliveries.detach(key)
            self._hungry[taker.number] = taker

    def lost(self, number: int) -> None:
        """The app is gone; what it had not finished with is for its next life."""
        taker = self._takers.pop(number, None)
        self._hungry.pop(number, None)
        for key in taker.deliveries.attached if taker is not None else ():
            self._taken.pop(key, None)
            self._delivery.partial.discard(key)

    def renew(self, feed: FeedId) -> None:
        for key, taker in self._taken.items():
            if taker.deliveries.attached[key].subscription.feed == feed:
                taker.deliveries.renew(key)
                self._hungry[taker.number] = taker

    # -- entries out

    def came(self, due: Due) -> list[ApiEffect]:
        """The node has something for a subscription; if nobody takes it now, the store keeps it."""
        taker = self._taken.get(due.subscription.key)
        if taker is None:
            return []
        if taker.deliveries.came(due):
            return [self._sent(taker, due)]
        self._hungry[taker.number] = taker
        return []

    def pull(self) -> list[ApiEffect]:
        """More for those that have room for it."""
        effects: list[ApiEffect] = []
        for number, taker in list(self._hungry.items()):
            effects += [self._sent(taker, due) for due in taker.deliveries.pull(self._home.at())]
            if not taker.deliveries.has_more:
                self._hungry.pop(number, None)
        return effects

    @property
    def has_work(self) -> bool:
        return bool(self._hungry or self._acknowledgements)

    def turn_ended(self) -> None:
        self._written.clear()

    def _sent(self, taker: Taker, due: Due) -> Send:
        mark = taker.deliveries.sent(due)
        head = b'{"jsonrpc":"2.0","method":"entry","params":{"subscription":%d,"mark":"%s","entry":' % (
            due.subscription.key,
            mark.encode(),
        )
        return Send(taker.number, head + self._entry(due) + b"}}\n")

    def _entry(self, due: Due) -> bytes:
        key = (due.entry.key, due.entry.version)
        written = self._written.get(key)
        if written is None:
            written = encode_value(entry_document(self._home.store, due.entry))
            if due.is_complete:
                self._written[key] = written
        return written

    # -- acknowledgements

    def done(self, number: int, request: RequestId, marks: Iterable[str]) -> None:
        """The app has finished with these. They are written, and this is answered, at the end of the turn."""
        taker = self._takers.get(number)
        count = 0
        for mark in marks if taker is not None else ():
            due = taker.deliveries.done(mark) if taker is not None else None
            if due is not None and taker is not None:
                count += 1
                self._hungry[number] = taker
                if due.is_complete:
                    self._finished.append(due)
                else:
                    self._show(taker, due)
        self._acknowledgements.append((number, request, count))

    # -- entries whose files are on their way

    def _show(self, taker: Taker, due: Due) -> None:
        shown = taker.deliveries.attached[due.subscription.key].shown
        if len(shown) < MAX_SHOWN or due.entry.key in shown:
            shown.setdefault(due.entry.key, 0)

    @property
    def is_showing(self) -> bool:
        return any(taker.deliveries.attached[key].shown for key, taker in self._taken.items())

    def tick(self) -> list[ApiEffect]:
        """Now and then: tell those who want it how far files are."""
        effects: list[ApiEffect] = []
        for key, taker in self._taken.items():
            attached = taker.deliveries.attached[key]
            due_now = self._delivery.due_to(attached.subscription, list(attached.shown), self._home.at())
            by_row = {due.entry.key: due for due in due_now}
            for row, told in list(attached.shown.items()):
                due = by_row.get(row)
                if due is None or due.is_complete:
                    del attached.shown[row]  # what is complete comes by itself
                    continue
                files = self._home.store.enclosures(row)
                received = sum(self._home.store.blobs.received(each.root) for each in files)
                if received > told and taker.deliveries.came(due):
                    attached.shown[row] = received
                    effects.append(self._sent(taker, due))
        return effects

    def write_marks(self) -> list[ApiEffect]:
        finished, self._finished = self._finished, []
        if finished:
            at = self._home.at()
            with self._home.store.transaction():
                self._home.node.delivered(finished, self._home.monotonic(), at)
                self._home.store.ledger.write(
                    [Happening(d.entry.id, at, Event.DELIVERED, d.subscription.app) for d in finished]
                )
        answers, self._acknowledgements = self._acknowledgements, []
        return [
            Send(number, encode_result(request, {"marked": count}))
            for number, request, count in answers
            if request is not None
        ]
