"""A laptop or desktop computer: Linux tells about its batteries in /sys; elsewhere none is known of."""

from contextlib import suppress
from pathlib import Path

from middleware.device.base import Battery

POWER_SUPPLIES = Path("/sys/class/power_supply")


class Desktop:
    def __init__(self, power_supplies: Path = POWER_SUPPLIES) -> None:
        self._folder = power_supplies

    def battery(self) -> Battery | None:
        """The first battery of the machine itself; those of mice and keyboards say scope Device."""
        with suppress(OSError):
            for supply in sorted(self._folder.iterdir()):
                if _text(supply / "type") == "Battery" and _text(supply / "scope") != "Device":
                    found = _battery(supply)
                    if found is not None:
                        return found
        return None


def _battery(supply: Path) -> Battery | None:
    percent = _number(supply / "capacity")
    if percent is None or not 0 <= percent <= 100:
        return None
    current, voltage = _number(supply / "current_now"), _number(supply / "voltage_now")
    return Battery(float(percent), _text(supply / "status") in ("Charging", "Full"), current, voltage)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
