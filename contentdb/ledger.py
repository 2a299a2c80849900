"""What happened to each entry: state changes only, the newest ones kept, for the question "why"."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from contentdb.database import Database


class Event(StrEnum):
    PUBLISHED = "published"
    RECEIVED = "received"
    OFFERED = "offered"
    WITHHELD = "withheld"
    REFUSED = "refused"
    PARKED = "parked"
    DELIVERED = "delivered"
    EXPIRED = "expired"
    EVICTED = "evicted"
    RETRACTED = "retracted"


class Happening(NamedTuple):
    entry: str  # the entry's id; one id may name entries of several authors, the detail tells them apart
    at: int
    event: Event
    detail: str


# A peer that offers rubbish must not write books into our database.
MAX_DETAIL_CHARACTERS = 300
MAX_PER_ENTRY_SHOWN = 200
# Of lines that are renewed, so many neighbours are remembered for each entry and event, the latest ones.
MAX_TELLERS = 32
# How our meetings with neighbours ended is no entry's story, and no IRI has such a name.
MEETINGS = "(meetings)"


def about_feed(feed: str) -> str:
    """Where the ledger keeps what concerns a feed, and no entry that we could name."""
    return f"(feed) {feed}"


class Ledger:
    def __init__(self, database: Database, max_rows: int) -> None:
        self._run = database.connection
        self._database = database
        self._max_rows = max_rows

    def write(self, happenings: Sequence[Happening]) -> None:
        self._run.executemany(
            "INSERT INTO ledger (entry, at, event, detail) VALUES (?,?,?,?)",
            [(id, at, str(event), detail[:MAX_DETAIL_CHARACTERS]) for id, at, event, detail in happenings],
        )

    def note(self, happening: Happening) -> None:
        """Write one state change; what is already the entry's newest line is not repeated."""
        newest = self._run.execute(
            "SELECT event, detail FROM ledger WHERE entry = ? ORDER BY key DESC LIMIT 1", (happening.entry,)
        ).fetchone()
        if newest != (happening.event.value, happening.detail[:MAX_DETAIL_CHARACTERS]):
            with self._database.transaction():
                self.write([happening])

    def renew(self, happenings: Sequence[Happening]) -> None:
        """Write lines that are true of a neighbour, the first word of the detail, until it comes again.

        There is one for each entry, event and neighbour: whoever comes often does not fill the ledger.
        """
        with self._database.transaction():
            for entry, at, event, detail in happenings:
                self._strike(entry, event, detail.partition(" ")[0])
                self.write([Happening(entry, at, event, detail)])
                self._run.execute(
                    "DELETE FROM ledger WHERE entry = ? AND event = ? AND key <= (SELECT key FROM ledger "
                    "WHERE entry = ? AND event = ? ORDER BY key DESC LIMIT 1 OFFSET ?)",
                    (entry, str(event), entry, str(event), MAX_TELLERS),
                )

    def strike(self, entry: str, event: Event, who: str) -> None:
        """What was renewed of this neighbour is over."""
        with self._database.transaction():
            self._strike(entry, event, who)

    def _strike(self, entry: str, event: Event, who: str) -> None:
        self._run.execute(
            "DELETE FROM ledger WHERE entry = ? AND event = ? AND (detail = ? OR substr(detail, 1, ?) = ?)",
            (entry, str(event), who, len(who) + 1, who + " "),
        )

    def of(self, entry: str) -> list[Happening]:
        """What happened to the entries with this id, oldest first; of very much, the newest."""
        rows = self._run.execute(
            "SELECT entry, at, event, detail FROM ledger WHERE entry = ? ORDER BY key DESC LIMIT ?",
            (entry, MAX_PER_ENTRY_SHOWN),
        ).fetchall()
        return [Happening(entry, at, Event(event), detail) for entry, at, event, detail in reversed(rows)]

    def prune(self) -> None:
        (newest,) = self._run.execute("SELECT coalesce(max(key), 0) FROM ledger").fetchone()
        self._run.execute("DELETE FROM ledger WHERE key <= ?", (newest - self._max_rows,))
