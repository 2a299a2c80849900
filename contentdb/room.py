"""How much more one batch may bring: nothing that is own or pinned ever goes to make room for it."""

from collections.abc import Callable

from contentdb.counts import Counts
from contentdb.settings import Limits


class Room:
    """What a full store still takes. `flush` writes rows that are only queued, so that they are counted."""

    def __init__(self, counts: Counts, limits: Limits, flush: Callable[[], None]) -> None:
        self._counts, self._limits, self._flush = counts, limits, flush
        self._pinned = counts.pinned()
        self._protected: int | None = None  # bytes that are never evicted; counted when it first matters

    def take(self, feed: int, entries: int, size: int, *, is_kept: bool) -> bool:
        """Would so much more fit in if all went that may go? If so, it is counted."""
        limits, pinned = self._limits, self._pinned.get(feed)
        if pinned is not None:
            entries, in_feed = pinned[0] + entries, pinned[1] + size
            if entries > limits.max_feed_entries or in_feed > limits.max_feed_bytes:
                return False
        if self._protected is None and self._counts.total() + size > limits.max_bytes:
            self._flush()
            self._protected = self._counts.protected_bytes()
        if self._protected is not None:
            if self._protected + size > limits.max_bytes:
                return False
            self._protected += size if is_kept or pinned is not None else 0
        if pinned is not None:
            self._pinned[feed] = (entries, in_feed)
        return True
