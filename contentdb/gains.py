"""What the store gained last, by short ids: enough for a neighbour to see that it knows all of that already.

Every revision is one gain: a version of an entry, a version of a feed's descriptor, or a file that became
complete. Only the last are kept, and only while the store is open.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import islice

from contentdb.database import Database
from contentdb.lookup import seen
from contentdb.names import FeedId, Root

MAX_NAMED = 16  # as many as a hello has room for
_TAG_PREFIX = b"passerby feed tag v1\0"
_MASK = 0xFFFF_FFFF_FFFF_FFFF

_NAMED = (
    "SELECT EXISTS (SELECT 1 FROM feeds WHERE short_id = ?) "
    "OR EXISTS (SELECT 1 FROM enclosures WHERE root BETWEEN ? AND ?)"
)


FILE_TAG = "00"  # of no feed: whoever wants the file knows it from an entry


@lru_cache(maxsize=4096)  # the feeds of a large library; any more are hashed again
def feed_tag(feed: FeedId) -> str:
    """Two digits by which others see that a gain is of no feed they want."""
    return f"{1 + sha256(_TAG_PREFIX + feed.encode()).digest()[0] % 255:02x}"


def file_gain(root: Root) -> int:
    """The short id under which a file counts as a gain, as the database has it: signed."""
    return int.from_bytes(bytes.fromhex(root[:16]), signed=True)


class Gains:
    def __init__(self, database: Database) -> None:
        self._database = database

    def recent(self, most: int = MAX_NAMED) -> tuple[str, ...]:
        """The last gains without a gap, the newest last, each as 16 hexadecimal digits."""
        last = list(islice(reversed(self._database.recent), most))
        return tuple(f"{short_id & _MASK:016x}" for short_id in reversed(last))

    def recent_tags(self, most: int = MAX_NAMED) -> tuple[str, ...]:
        """The tags of the feeds that these are of, in the same order."""
        last = list(islice(reversed(self._database.recent_tags), most))
        return tuple(reversed(last))

    @property
    def sum(self) -> str:
        """All that was ever gained, combined by exclusive or, as 16 digits."""
        return f"{self._database.gain_sum & _MASK:016x}"

    def came_together(self, count: int, before: str, after: str) -> bool:
        """Whether so many gains in a row of ours are those that took a neighbour's sum from one to the other.

        In whatever order. That others give the same sum is as likely as two short ids alike.
        """
        recent = [short_id & _MASK for short_id in reversed(self._database.recent)]
        if not 0 < count <= len(recent):
            return False
        differ = int(before, 16) ^ int(after, 16)
        for short_id in islice(recent, count):
            differ ^= short_id
        for newest, next_older in zip(recent, islice(recent, count, None), strict=False):
            if not differ:
                return True
            differ ^= newest ^ next_older
        return not differ

    def has_seen(self, gains: tuple[str, ...]) -> bool:
        """Whether each of these is something that we hold, held, refused, or name: nothing to ask for."""
        return next(self._unseen(gains), None) is None

    def has_seen_any(self, gains: tuple[str, ...]) -> bool:
        return len(list(self._unseen(gains))) < len(set(gains))

    def _unseen(self, gains: tuple[str, ...]) -> Iterator[int]:
        missing = {int.from_bytes(bytes.fromhex(each), signed=True) for each in gains}
        if missing:
            missing.difference_update(*seen(self._database, missing))
        return (short_id for short_id in sorted(missing) if not self._is_named(short_id))

    def _is_named(self, short_id: int) -> bool:
        """A descriptor, or a file that an entry here names: whether its bytes are wanted, downloads know."""
        first = f"{short_id & _MASK:016x}"
        (is_named,) = self._database.connection.execute(_NAMED, (short_id, first, first + "g")).fetchone()
        return bool(is_named)
