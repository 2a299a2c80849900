"""Rations how fast strangers may make us keep something new.

Anybody may invent ids and source addresses by the thousand. Whoever comes first is served first from two
rations, one for each host and one for all. When they are used up, the newcomer waits, which costs a few bytes
in a table of fixed size, and is served from a third ration when it is heard again: a real node repeats its
hello every second, an inventor has moved on to other ids by then.
"""

from hashlib import blake2b
from random import Random

from contentdb.names import NodeId

# Together the 64 new ids a second of the specification.
FIRST_PER_S = 32.0
AGAIN_PER_S = 32.0
# A machine with eight nodes is found at once. All hosts of a /24 together stay below the ration for all.
HOST_BURST = 8.0
HOST_PER_S = 0.125
# Four times the neighbours there may be. The host that was idle longest is forgotten, and its debt with it.
MAX_HOSTS = 4096
# With 5,000 invented ids a second, three of four that wait are still there a second later. 2 MB when full.
WAITING_SLOTS = 2**14


class Ration:
    """So many at once, and so many a second after that."""

    __slots__ = ("_at", "_burst", "_left", "_per_s")

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s, self._burst = per_s, burst
        self._left, self._at = burst, float("-inf")

    def take(self, now: float) -> bool:
        """Take one if there is one."""
        if self.available_at(now) > now:
            return False
        self._left -= 1.0
        return True

    def available_at(self, now: float) -> float:
        """When one can be taken: ``now`` or later."""
        if now > self._at:
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
            self._at = now
        # A hair below one, or rounding would make a timer that fires at the moment we name come in vain.
        return now if self._left >= 1.0 - 1e-9 else now + (1.0 - self._left) / self._per_s


class Admission:
    """Decides whether a claimed id that is new at a host may be kept."""

    def __init__(self, rng: Random) -> None:
        # Secret, so that nobody can aim at the slot of another.
        self._salt = rng.randbytes(16)
        self._first = Ration(FIRST_PER_S, FIRST_PER_S)
        self._again = Ration(AGAIN_PER_S, AGAIN_PER_S)
        self._hosts: dict[str, Ration] = {}
        self._waiting: dict[int, int] = {}

    def admits(self, node: NodeId, host: str, now: float) -> bool:
        ration = self._ration_of(host)
        if ration.available_at(now) <= now and self._first.take(now):
            return ration.take(now)
        mark = blake2b(f"{node} {host}".encode(), digest_size=8, key=self._salt).digest()
        slot, fingerprint = int.from_bytes(mark[:4], "big") % WAITING_SLOTS, int.from_bytes(mark[4:], "big")
        if self._waiting.get(slot) != fingerprint:
            self._waiting[slot] = fingerprint
            return False
        if not self._again.take(now):
            return False
        del self._waiting[slot]
        return True

    def _ration_of(self, host: str) -> Ration:
        ration = self._hosts.pop(host, None)
        if ration is None:
            if len(self._hosts) >= MAX_HOSTS:
                del self._hosts[next(iter(self._hosts))]
            ration = Ration(HOST_PER_S, HOST_BURST)
        self._hosts[host] = ration
        return ration
