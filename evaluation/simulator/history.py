"""A digest of everything that went into and came out of every node: same seed, same digest."""

from hashlib import sha256


class History:
    def __init__(self) -> None:
        self._digest = sha256()
        self.events = 0

    def note(self, now: float, name: str, *what: object) -> None:
        self.events += 1
        for part in (now, name, *what):
            data = bytes(part) if isinstance(part, bytes | memoryview) else repr(part).encode()
            self._digest.update(b"%d:" % len(data))
            self._digest.update(data)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()
