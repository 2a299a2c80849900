"""What spoils a link: bytes that change, come again or come late, and hellos that are lost on the way."""

from collections import deque
from random import Random

# Enough to bring back what is long out of date; each is at most a frame.
MAX_RECORDED = 16
MAX_LATE_S = 8.0


class Disturbance:
    """Spoils each datagram and each piece of a stream with these probabilities."""

    def __init__(self, rng: Random, *, hellos: float, streams: float) -> None:
        self._rng, self._hellos, self._streams = rng, hellos, streams
        self._heard: deque[bytes] = deque(maxlen=MAX_RECORDED)
        self._passed: deque[bytes] = deque(maxlen=MAX_RECORDED)

    def datagram(self, data: bytes) -> list[tuple[float, bytes]]:
        self._heard.append(data)
        if self._rng.random() >= self._hellos:
            return [(0.0, data)]
        late_s = self._rng.uniform(0, MAX_LATE_S)
        kind = self._rng.choice(("lost", "late", "twice", "old", "damaged"))
        match kind:
            case "late":
                return [(late_s, data)]
            case "twice":
                return [(0.0, data), (late_s, data)]
            case "old":
                return [(0.0, self._rng.choice(self._heard)), (late_s, data)]
            case "damaged":
                return [(0.0, self._damaged(data))]
        return []

    def piece(self, data: bytes) -> bytes:
        self._passed.append(data)
        if self._rng.random() >= self._streams:
            return data
        match self._rng.choice(("damaged", "again", "old", "short", "long")):
            case "damaged":
                return self._damaged(data)
            case "again":
                return data + data
            case "old":
                return self._rng.choice(self._passed)
            case "short":
                return data[: self._rng.randrange(len(data))]
            case _:
                return data + self._rng.randbytes(self._rng.randint(1, 100))

    def _damaged(self, data: bytes) -> bytes:
        """One byte is another: often a bit, sometimes a digit in place of a digit."""
        at = self._rng.randrange(len(data))
        other = data[at] ^ 1 << self._rng.randrange(8)
        return data[:at] + bytes([other]) + data[at + 1 :]
