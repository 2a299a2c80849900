"""What the store gained last, by short ids: enough for a neighbour to see that it knows all of that already.

Every revision is one gain: a version of an entry, a version of a feed's descriptor, or a file that became
complete. Only the last few are kept, and only while the store is open.
"""

from contentdb.database import Database
from contentdb.lookup import seen
from contentdb.names import Root

_MASK = 0xFFFF_FFFF_FFFF_FFFF


def file_gain(root: Root) -> int:
    """The short id under which a file counts as a gain, as the database has it: signed."""
    return int.from_bytes(bytes.fromhex(root[:16]), signed=True)


class Gains:
    def __init__(self, database: Database) -> None:
        self._database = database

    def recent(self) -> tuple[str, ...]:
        """The last gains without a gap, the newest last, each as 16 hexadecimal digits."""
        return tuple(f"{short_id & _MASK:016x}" for short_id in self._database.recent)

    def has_seen(self, gains: tuple[str, ...]) -> bool:
        """Whether each of these is something that we hold, held, refused, or name: nothing to ask for."""
        missing = {int.from_bytes(bytes.fromhex(each), signed=True) for each in gains}
        if missing:
            missing.difference_update(*seen(self._database, missing))
        return all(self._is_described(each) or self._is_named(each) for each in sorted(missing))

    def _is_described(self, short_id: int) -> bool:
        return self._has("SELECT 1 FROM feeds WHERE short_id = ?", short_id)

    def _is_named(self, short_id: int) -> bool:
        """A file that an entry here names: whether its bytes are wanted, the downloads know."""
        first = f"{short_id & _MASK:016x}"
        return self._has("SELECT 1 FROM enclosures WHERE root BETWEEN ? AND ?", first, first + "g")

    def _has(self, query: str, *parameters: str | int) -> bool:
        return self._database.connection.execute(query + " LIMIT 1", parameters).fetchone() is not None
