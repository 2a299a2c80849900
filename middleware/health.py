"""Core of the doctor's look at the machine: clock, disk and home, from figures that a shell has read."""

from dataclasses import dataclass

from discovery.trials import Finding, Level
from middleware.cli.words import show_size, show_time

FIRST_YEAR_MS, LAST_YEAR_MS = 1_735_689_600_000, 4_102_444_800_000  # 2025 and 2100
DAY_MS = 86_400_000
# What a clock that is being slewed may differ from a steady one within the seconds an examination takes.
MAX_DRIFT_S = 0.5
# SQLite needs room for its journal, and a download for its file.
MIN_FREE_BYTES = 100 << 20
TIGHT_BYTES = 1 << 30  # the limit of a store is what it may take, and few need all of it


@dataclass(frozen=True, slots=True)
class Clocks:
    at: int  # what the wall clock shows, in milliseconds
    newest_file_at: int  # when something in the home was last written, by the wall clock of then
    wall_s: float  # what passed meanwhile by the wall clock, and by a steady one
    steady_s: float
    waiting: int = 0  # entries that are dated more than a day ahead


def judge_clock(clocks: Clocks) -> list[Finding]:
    shown = show_time(clocks.at)
    if not FIRST_YEAR_MS <= clocks.at <= LAST_YEAR_MS:
        text = f"the clock shows {shown}, which cannot be; set it, or entries seem expired or to come"
        return [Finding("clock", Level.WRONG, text)]
    found = []
    if clocks.newest_file_at > clocks.at + DAY_MS:
        written = show_time(clocks.newest_file_at)
        text = f"the clock shows {shown}, but this home was written to on {written}; set the clock"
        found.append(Finding("clock", Level.WRONG, text))
    jump_s = clocks.wall_s - clocks.steady_s
    if abs(jump_s) > MAX_DRIFT_S:
        text = f"the clock jumped by {jump_s:+.1f} s while this ran; see which program sets it"
        found.append(Finding("clock", Level.WRONG, text))
    if clocks.waiting:
        entries = "1 entry waits, dated" if clocks.waiting == 1 else f"{clocks.waiting} entries wait, dated"
        text = f"{entries} more than a day after {shown}, which this clock shows: one of the clocks is wrong"
        found.append(Finding("clock", Level.NOTE, text))
    return found or [Finding("clock", Level.GOOD, f"the clock shows {shown}")]


@dataclass(frozen=True, slots=True)
class Disk:
    free: int
    error: str = ""  # why nothing can be written in the home; "" if something can
    used: int = 0
    limit: int = 0


def judge_disk(disk: Disk) -> Finding:
    if disk.error:
        text = f"nothing can be written to the home: {disk.error}; make it writable, or choose another --home"
        return Finding("disk", Level.WRONG, text)
    free = show_size(disk.free)
    if disk.free < MIN_FREE_BYTES:
        text = f"only {free} are free on the disk; free some, or nothing more can be stored"
        return Finding("disk", Level.WRONG, text)
    growth = disk.limit - disk.used
    if disk.free < min(growth, TIGHT_BYTES):
        text = f"{free} are free on the disk, and the store may grow by {show_size(growth)}; lower max_bytes"
        return Finding("disk", Level.NOTE, text + " in the settings")
    return Finding("disk", Level.GOOD, f"{free} are free on the disk")
