"""What one connected app is given of its subscriptions: a window at a time, the rest waits in the store.

An entry that the app has not acknowledged is *in flight*. While there are few of those, the next ones are
sent; while there are many, rows of further ones are remembered, and if these get too many as well, only that
something was passed over: the store is then read again. So an app may be as slow as it likes.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from contentdb.subscriptions import Subscription
from middleware.delivery import START, Delivery, Due

# Unacknowledged entries of one connection: enough to keep a quick app busy, little to repeat after a crash.
WINDOW = 256
# Looked up at once for one subscription, before it is the turn of the next.
BATCH = 64
# Rows, small integers, that are remembered for a subscription whose app is slow.
MAX_QUEUED = 1_000
# Of these, what is known of so many of a connection is kept as well, about a kilobyte each.
MAX_KNOWN = 1_000
# Candidates looked at in one turn: others wait meanwhile.
MAX_LOOKS = 200


@dataclass(slots=True)
class Attached:
    """A subscription whose entries a connection takes."""

    subscription: Subscription
    queue: deque[int] = field(default_factory=deque)
    queued: set[int] = field(default_factory=set)
    scanned: tuple[int, int] | None = START  # how far the store was read; None: to its end
    has_missed: bool = False  # something came that the queue had no place for
    shown: dict[int, int] = field(default_factory=dict)  # rows whose files are on their way: bytes told

    @property
    def is_idle(self) -> bool:
        return not self.queue and self.scanned is None and not self.has_missed

    def add(self, key: int) -> None:
        if key in self.queued:
            return
        if len(self.queue) >= MAX_QUEUED:
            self.has_missed = True
            return
        self.queue.append(key)
        self.queued.add(key)

    def next(self) -> int:
        key = self.queue.popleft()
        self.queued.discard(key)
        return key


class Deliveries:
    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self.attached: dict[int, Attached] = {}
        self.in_flight: dict[str, Due] = {}
        self._flying: set[tuple[int, int]] = set()  # subscription and row of each
        self._again: set[tuple[int, int]] = set()  # those of them that changed meanwhile
        # What became due and waits in a queue: it need not be read and matched again when its turn comes.
        self._known: dict[tuple[int, int], Due] = {}
        self._turns: deque[int] = deque()  # subscriptions with something to look at, in turn

    def attach(self, subscription: Subscription) -> None:
        known = self.attached.get(subscription.key)
        if known is None:
            self.attached[subscription.key] = Attached(subscription)
        else:  # its options may be others
            known.subscription, known.scanned = subscription, START
            self._forget_known(subscription.key)
        self._hungry(subscription.key)

    def detach(self, key: int) -> None:
        self.attached.pop(key, None)
        self._forget_known(key)
        for mark in [mark for mark, due in self.in_flight.items() if due.subscription.key == key]:
            self._land(mark)
        self._again = {place for place in self._again if place[0] != key}

    def _forget_known(self, key: int) -> None:
        self._known = {place: due for place, due in self._known.items() if place[0] != key}

    def renew(self, key: int) -> None:
        """Read the store again for this one: entries came by a way that told nobody."""
        self.attached[key].scanned = START
        self._hungry(key)

    @property
    def has_more(self) -> bool:
        """Is there something to look at, and room for it?"""
        return bool(self._turns) and len(self.in_flight) < WINDOW

    def came(self, due: Due) -> bool:
        """An entry has become due: True if it is to be sent at once."""
        place = (due.subscription.key, due.entry.key)
        attached = self.attached.get(due.subscription.key)
        if attached is None:
            return False
        if place in self._flying:  # another version of it, or its files are complete now
            self._again.add(place)
            return False
        if attached.is_idle and len(self.in_flight) < WINDOW:
            return True
        attached.add(due.entry.key)
        if len(self._known) < MAX_KNOWN and due.entry.key in attached.queued:
            self._known[due.subscription.key, due.entry.key] = due
        self._hungry(due.subscription.key)
        return False

    def pull(self, at: int) -> Iterator[Due]:
        """What is to be sent now, in turn over the subscriptions; each counts as sent when it is yielded."""
        looks = 0
        while self._turns and len(self.in_flight) < WINDOW and looks < MAX_LOOKS:
            key = self._turns.popleft()
            attached = self.attached.get(key)
            if attached is None:
                continue
            self._fill(attached, at)
            if not attached.queue:
                continue
            room = min(BATCH, WINDOW - len(self.in_flight), len(attached.queue))
            looks += room
            rows = [attached.next() for _ in range(room)]
            self._turns.append(key)
            yield from self._due(attached.subscription, rows, at)

    def _due(self, subscription: Subscription, rows: list[int], at: int) -> list[Due]:
        """What is due of these rows of a queue, in their order."""
        known: list[Due] = []
        others: list[int] = []
        for row in rows:
            due = self._known.pop((subscription.key, row), None)
            if (subscription.key, row) in self._flying:
                self._again.add((subscription.key, row))
                continue
            if due is None or not due.is_complete or due.is_copy or subscription.max_count is not None:
                others.append(row)
            else:
                known.append(due)
        found = self._delivery.still_due(known, at) if known else []
        found += self._delivery.due_to(subscription, others, at) if others else []
        by_row = {due.entry.key: due for due in found}
        return [by_row[row] for row in rows if row in by_row]

    def _fill(self, attached: Attached, at: int) -> None:
        if attached.queue:
            return
        if attached.scanned is None and attached.has_missed:
            attached.scanned, attached.has_missed = START, False
        if attached.scanned is not None:
            found = self._delivery.candidates(
                attached.subscription, at, after=attached.scanned, limit=MAX_QUEUED
            )
            attached.scanned = found[-1] if len(found) == MAX_QUEUED else None
            for _updated, row in found:
                attached.add(row)

    def sent(self, due: Due) -> str:
        """It is on its way; returns the mark under which the app acknowledges it."""
        mark = f"{due.entry.key}-{due.entry.version[:8].hex()}-{due.subscription.key}"
        if not due.is_complete:
            mark += "-partial"
        self.in_flight[mark] = due
        self._flying.add((due.subscription.key, due.entry.key))
        return mark

    def done(self, mark: str) -> Due | None:
        """The app has finished with it. Of marks that are not in flight, nothing is believed."""
        due = self._land(mark)
        if due is not None:
            place = (due.subscription.key, due.entry.key)
            if place in self._again:
                self._again.discard(place)
                self.attached[due.subscription.key].add(due.entry.key)
            self._hungry(due.subscription.key)
        return due

    def _land(self, mark: str) -> Due | None:
        due = self.in_flight.pop(mark, None)
        if due is not None:
            self._flying.discard((due.subscription.key, due.entry.key))
        return due

    def _hungry(self, key: int) -> None:
        attached = self.attached.get(key)
        if attached is not None and not attached.is_idle and key not in self._turns:
            self._turns.append(key)
