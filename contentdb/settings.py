"""The store's limits, each with the reason for its default."""

from dataclasses import dataclass

from contentdb.errors import UsageError

DAY_S = 86_400
# Free this much more than needed, so that what is full is not cleared once per arrival.
SLACK = 0.02


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the store keeps, and how much of it strangers may fill.

    The defaults suit a laptop or a phone with some gigabytes to spare; a node's settings file overrides them.
    """

    max_bytes: int = 8 * 2**30
    # Half of all space: one feed never crowds out the others.
    max_feed_bytes: int = 4 * 2**30
    max_feed_entries: int = 1_000_000
    max_feed_age_s: int = 366 * DAY_S
    # More than a person follows. Feeds that somebody here subscribes to are not refused by it.
    max_feeds: int = 10_000
    # Feeds we have only heard of: a description, and nothing in them. The newest are kept.
    max_discovered: int = 5_000
    max_discovered_bytes: int = 16 * 2**20
    # Keys first seen less than a day of running time ago share this part of each feed's quota.
    stranger_share: float = 0.2
    stranger_s: int = DAY_S
    # What one delivering neighbour may bring in a day.
    peer_day_bytes: int = 4 * 2**30
    peer_day_entries: int = 500_000
    # Entries further ahead of our clock than this wait in the car park.
    max_ahead_s: int = DAY_S
    max_parked: int = 1_000
    # No neighbour fills the car park alone.
    max_parked_per_source: int = 100
    # Expired and aged entries are deleted after so much running time, so that a clock that jumps destroys
    # nothing.
    expired_s: int = DAY_S
    # Rows that remember removed entries; the oldest become their feed's floor.
    max_removed: int = 200_000
    max_known_versions: int = 200_000
    max_ledger_rows: int = 500_000
    max_peers: int = 10_000

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) >= 0:
                raise UsageError(f"the limit {name} must not be negative; got {getattr(self, name)}")
        if self.stranger_share > 1:
            raise UsageError(f"stranger_share is a part of one; got {self.stranger_share}")
