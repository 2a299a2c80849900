"""What a laptop says of its battery, from folders as Linux has them."""

from pathlib import Path

import pytest

from middleware.device.base import Battery
from middleware.device.desktop import Desktop


def supply(folder: Path, name: str, **files: str) -> None:
    (folder / name).mkdir(parents=True)
    for file, text in files.items():
        (folder / name / file).write_text(text + "\n")


def test_a_battery_is_told_with_its_charge_and_current(tmp_path: Path) -> None:
    supply(tmp_path, "AC", type="Mains", online="1")
    supply(
        tmp_path, "BAT0", type="Battery", capacity="81", status="Discharging",
        current_now="1200000", voltage_now="11800000",
    )  # fmt: skip
    assert Desktop(tmp_path).battery() == Battery(81.0, False, 1_200_000, 11_800_000)


def test_a_battery_that_is_full_or_being_filled_is_charging(tmp_path: Path) -> None:
    supply(tmp_path, "BAT0", type="Battery", capacity="100", status="Full")
    assert Desktop(tmp_path).battery() == Battery(100.0, True)


def test_the_battery_of_a_mouse_is_not_ours(tmp_path: Path) -> None:
    supply(tmp_path, "hid-mouse", type="Battery", scope="Device", capacity="50")
    assert Desktop(tmp_path).battery() is None


@pytest.mark.parametrize("capacity", ["", "many", "-1", "101"])
def test_a_battery_that_says_nothing_sensible_is_none(tmp_path: Path, capacity: str) -> None:
    supply(tmp_path, "BAT0", type="Battery", capacity=capacity)
    assert Desktop(tmp_path).battery() is None


def test_a_machine_without_such_a_folder_has_none(tmp_path: Path) -> None:
    assert Desktop(tmp_path / "missing").battery() is None
