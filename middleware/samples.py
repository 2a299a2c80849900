"""What a node counts and measures all the time, noted every few minutes: hellos, and how the battery is."""

from collections.abc import Callable
from dataclasses import dataclass

from middleware.device.base import Battery
from middleware.logbook import BatterySampled, HellosCounted, Logbook

# Twelve lines an hour; a battery shows no change in less.
EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class HelloCounts:
    """Datagrams since the start: those sent, the hellos among those received, and the rest of these."""

    sent: int = 0
    received: int = 0
    dropped: int = 0


class Samples:
    def __init__(
        self,
        logbook: Logbook,
        hellos: Callable[[], HelloCounts],
        battery: Callable[[], Battery | None],
        now: float,
    ) -> None:
        self._logbook, self._hellos, self._battery = logbook, hellos, battery
        self._counted, self._since = HelloCounts(), now

    def look(self, now: float, at: int) -> None:
        """Note what there is to note, if it is time."""
        if now >= self._since + EVERY_S:
            self.take(now, at)

    def take(self, now: float, at: int) -> None:
        """Note it now; also at the end, so that nothing counted is left out."""
        before, self._counted = self._counted, self._hellos()
        fact = HellosCounted(
            self._counted.sent - before.sent,
            self._counted.received - before.received,
            self._counted.dropped - before.dropped,
            round(now - self._since, 3),
        )
        self._since = now
        self._logbook.note(fact, now, at)
        battery = self._battery()
        if battery is not None:
            sample = BatterySampled(
                battery.percent, battery.is_charging, battery.microamperes, battery.microvolts
            )
            self._logbook.note(sample, now, at)
