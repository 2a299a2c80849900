"""What we ask of the device we run on."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Battery:
    percent: float
    is_charging: bool
    microamperes: int | None = None
    microvolts: int | None = None


class Device(Protocol):
    def battery(self) -> Battery | None:
        """How it is charged; None if there is no battery."""
