"""How many chunks to have asked for at once, so that a link never waits for our next question."""

# Enough for a radio link of any delay we know; more is asked for where more comes in a second.
MIN_CHUNKS, MAX_CHUNKS = 32, 256
MEASURED_S = 0.25


class Window:
    """About a second's worth, as fast as the link has been so far: more would only make others wait."""

    def __init__(self) -> None:
        self.chunks = MIN_CHUNKS
        self._began, self._count = 0.0, 0

    def started(self, now: float) -> None:
        self._began, self._count = now, 0

    def received(self, chunks: int, now: float) -> None:
        self._count += chunks
        if now - self._began >= MEASURED_S:
            rate = round(self._count / (now - self._began))
            # Halved at most: one slow moment is not a slow link.
            self.chunks = min(max(rate, MIN_CHUNKS, self.chunks // 2), MAX_CHUNKS)
            self.started(now)
