"""The doctor's judgement of clocks and disks."""

from discovery.trials import Level
from middleware.health import DAY_MS, MIN_FREE_BYTES, Clocks, Disk, judge_clock, judge_disk
from tests.contentdb.makers import NOW


def test_a_clock_that_cannot_be_right_is_named() -> None:
    (lost,) = judge_clock(Clocks(1_000, 0, 1.0, 1.0))
    assert lost.level is Level.WRONG and "1970" in lost.text
    (back,) = judge_clock(Clocks(NOW, NOW + 2 * DAY_MS, 1.0, 1.0))
    assert back.level is Level.WRONG and "this home was written to on" in back.text
    (jump,) = judge_clock(Clocks(NOW, NOW, 3601.0, 1.0))
    assert "jumped by +3600.0 s" in jump.text
    (waiting,) = judge_clock(Clocks(NOW, NOW, 1.0, 1.0, waiting=2))
    assert waiting.level is Level.NOTE and waiting.text.startswith("2 entries wait")
    assert [f.level for f in judge_clock(Clocks(NOW, NOW, 1.0, 1.1))] == [Level.GOOD]


def test_a_disk_that_is_full_or_cannot_be_written_is_wrong() -> None:
    assert "Read-only file system" in judge_disk(Disk(0, "Read-only file system")).text
    assert judge_disk(Disk(MIN_FREE_BYTES - 1)).level is Level.WRONG
    tight = judge_disk(Disk(MIN_FREE_BYTES, used=5, limit=MIN_FREE_BYTES + 6))
    assert tight.level is Level.NOTE and "max_bytes" in tight.text
    assert judge_disk(Disk(MIN_FREE_BYTES, used=5, limit=10)).level is Level.GOOD
