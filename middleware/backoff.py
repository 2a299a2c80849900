"""Addresses at which dialling failed, and until when each is left alone."""

from random import Random

from contentdb.names import Address
from discovery.sightings import host_of

FIRST_BACKOFF_S, MAX_BACKOFF_S = 1.0, 300.0
# As many as there may be neighbours, with their hosts. Whoever failed longest ago is forgotten first.
MAX_FAILED = 2048


class Backoff:
    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._failed: dict[str, tuple[int, float]] = {}

    def failed(self, address: Address, now: float) -> None:
        for place in (address, host_of(address)):
            failures, _ = self._failed.pop(place, (0, 0.0))
            if len(self._failed) >= MAX_FAILED:
                del self._failed[next(iter(self._failed))]
            wait_s = min(FIRST_BACKOFF_S * 2**failures, MAX_BACKOFF_S) * self._rng.uniform(1.0, 1.2)
            self._failed[place] = (min(failures + 1, 16), now + wait_s)

    def succeeded(self, address: Address) -> None:
        self._failed.pop(address, None)
        self._failed.pop(host_of(address), None)

    def until(self, address: Address) -> float:
        """When this address may be tried again; 0 for one that did not fail."""
        return self._failed.get(address, (0, 0.0))[1]

    def failures(self, address: Address) -> int:
        """How often dialling failed at its host, whatever the port: who invents nodes invents ports too."""
        return self._failed.get(host_of(address), (0, 0.0))[0]
