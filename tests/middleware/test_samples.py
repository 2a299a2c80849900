"""Hellos and the battery in the logbook."""

import pytest

from contentdb.names import NodeId
from middleware.device.base import Battery
from middleware.logbook import BatterySampled, Fact, HellosCounted, Logbook
from middleware.samples import EVERY_S, HelloCounts, Samples


class Counter:
    """A node's beacon and battery, as far as they are counted."""

    def __init__(self, battery: Battery | None = None) -> None:
        self.logbook, self.counts = Logbook(NodeId("a" * 40)), HelloCounts()
        self.samples = Samples(self.logbook, lambda: self.counts, lambda: battery, now=100.0)

    def facts(self) -> list[Fact]:
        return [line.fact for line in self.logbook.take()]


def test_hellos_are_counted_from_line_to_line_and_at_the_end() -> None:
    counter = Counter()
    counter.counts = HelloCounts(sent=10, received=40, dropped=1)
    counter.samples.look(100.0 + EVERY_S - 0.1, 0)
    assert counter.facts() == []
    counter.samples.look(100.0 + EVERY_S, 0)
    assert counter.facts() == [HellosCounted(10, 40, 1, EVERY_S)]
    counter.counts = HelloCounts(sent=12, received=41, dropped=1)
    counter.samples.look(100.0 + EVERY_S + 1, 0)
    counter.samples.take(100.0 + EVERY_S + 2.5, 0)
    assert counter.facts() == [HellosCounted(2, 1, 0, 2.5)]


@pytest.mark.parametrize("battery", [Battery(71.0, False), Battery(100.0, True, -120_000, 3_900_000)])
def test_a_battery_is_sampled_where_there_is_one(battery: Battery) -> None:
    counter = Counter(battery)
    counter.samples.take(200.0, 0)
    sample = BatterySampled(battery.percent, battery.is_charging, battery.microamperes, battery.microvolts)
    assert counter.facts()[1:] == [sample]
