"""When to say hello: at intervals, less often while nothing happens, at once when our pair changed."""

from dataclasses import dataclass
from math import ceil
from random import Random

from contentdb.errors import UsageError
from contentdb.names import NodeId
from discovery.admission import Ration
from discovery.effects import Effect, SendHello
from discovery.hello import MAX_NEXT_S, MIN_NEXT_S, Claim, Hello, telling

JITTER = 0.1
MIN_GAP_S = 0.1
# Ten entries published one by one are each told at once; a long download is told about once a second.
QUICK_BURST, QUICK_PER_S = 10.0, 1.0


@dataclass(frozen=True, slots=True)
class HelloSettings:
    """How often to say hello, and what to say in each."""

    interval_s: float = 1.0
    backs_off: bool = True  # off if the owner has set an interval
    quiet_s: float = 60.0
    max_interval_s: float = 16.0
    can: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        longest_s = MAX_NEXT_S / (1 + JITTER)
        for name, value in (("interval_s", self.interval_s), ("max_interval_s", self.max_interval_s)):
            if not MIN_NEXT_S <= value <= longest_s:
                raise UsageError(f"{name} is 0.1 to {longest_s:.0f} seconds; got {value}")
        if self.quiet_s < 0:
            raise UsageError(f"quiet_s is at least 0; got {self.quiet_s}")


class HelloSchedule:
    """Decides when the next hello goes out, and what it says."""

    def __init__(self, own: NodeId, settings: HelloSettings, rng: Random) -> None:
        self._own, self._settings, self._rng = own, settings, rng
        self._interval_s = settings.interval_s
        self._quick = Ration(QUICK_PER_S, QUICK_BURST)
        self._state: tuple[Claim, int] | None = None
        self._said: Hello | None = None
        self._sent_at = self._stirred_at = float("-inf")
        self.hello_at = float("inf")

    @property
    def is_started(self) -> bool:
        return self._state is not None

    def hello(self, *, is_answer: bool = False, asks: bool = False) -> Hello:
        assert self._state is not None
        # Thousandths, rounded up: never less than the longest wait.
        next_s = min(MAX_NEXT_S, ceil(self._interval_s * (1 + JITTER) * 1000) / 1000)
        said = self._said
        if said is None or (said.next_s, said.is_answer, said.asks) != (next_s, is_answer, asks):
            (epoch, revision, gained, sum, of), port = self._state
            can = self._settings.can
            bare = Hello(
                self._own, port, epoch, revision, next_s, can, is_answer=is_answer, asks=asks, sum=sum
            )
            # Kept: a quiet node says the same all day, and whoever sends it sees that it is.
            self._said = said = telling(bare, gained, of)
        return said

    def pair_changed(self, claim: Claim, port: int, now: float) -> list[Effect]:
        if self._state is not None and (*self._state[0][:2], self._state[1]) == (*claim[:2], port):
            return []
        self._state, self._said = (claim, port), None
        return self._early(now)

    def link_came_up(self, now: float) -> list[Effect]:
        return [] if self._state is None else self._early(now)

    def stirred(self, now: float) -> None:
        """Something happened, so more may: back to the set interval."""
        self._stirred_at = now
        if self._state is not None and self._interval_s > self._settings.interval_s:
            self._interval_s = self._settings.interval_s
            self.hello_at = min(self.hello_at, now + self._wait_s())

    def timer_fired(self, now: float) -> list[Effect]:
        if now < self.hello_at:
            return []
        self._choose_interval(now)
        self._sent_at = now
        self.hello_at = now + self._wait_s()
        return [SendHello(self.hello())]

    def _early(self, now: float) -> list[Effect]:
        self.stirred(now)
        if self._quick.take(now):
            self.hello_at = min(self.hello_at, max(now, self._sent_at + MIN_GAP_S))
        return self.timer_fired(now)

    def _choose_interval(self, now: float) -> None:
        settings = self._settings
        if settings.backs_off and now - self._stirred_at >= settings.quiet_s:
            longest_s = max(settings.max_interval_s, settings.interval_s)
            self._interval_s = min(2 * self._interval_s, longest_s)
        else:
            self._interval_s = settings.interval_s

    def _wait_s(self) -> float:
        return max(MIN_GAP_S, self._interval_s * self._rng.uniform(1 - JITTER, 1 + JITTER))
