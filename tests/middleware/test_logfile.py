"""The logbook on disk: a file a day, numbers that go on, and old days removed."""

from pathlib import Path

from middleware.logfile import DAY_MS, LogbookFile

NOON = 1_790_000_000_000 // DAY_MS * DAY_MS + DAY_MS // 2


def line(seq: int) -> str:
    return f'{{"seq":{seq}}}'


def test_each_day_has_its_file_which_nobody_else_reads_and_old_ones_go(tmp_path: Path) -> None:
    folder = tmp_path / "logbook"
    file = LogbookFile(folder, keep_days=2)
    for day in range(5):
        file.write([line(day)], NOON + day * DAY_MS)
    file.close()
    left = sorted(folder.iterdir())
    assert [path.read_text() for path in left] == [line(day) + "\n" for day in (2, 3, 4)]
    assert {path.stat().st_mode & 0o777 for path in left} == {
        0o600
    } and folder.stat().st_mode & 0o777 == 0o700


def test_what_is_not_a_logbook_stays(tmp_path: Path) -> None:
    (tmp_path / "1999-notes.jsonl").write_text("mine")
    file = LogbookFile(tmp_path, keep_days=0)
    file.write([line(1)], NOON)
    file.close()
    assert (tmp_path / "1999-notes.jsonl").read_text() == "mine"


def test_numbers_go_on_after_a_line_that_a_kill_cut_short(tmp_path: Path) -> None:
    file = LogbookFile(tmp_path, keep_days=30)
    assert file.next_seq() == 1
    file.write([line(1), line(2)], NOON)
    file.close()
    with open(next(tmp_path.glob("*.jsonl")), "a") as cut:
        cut.write('{"seq":3,"at')
    assert LogbookFile(tmp_path, keep_days=30).next_seq() == 3
