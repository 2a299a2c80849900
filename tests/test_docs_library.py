"""The example of the core as a library, in docs/tour.md, runs and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    ((example, shown),) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, flags=re.M | re.S)
    program = tmp_path / "example.py"
    program.write_text(example, encoding="utf-8")
    # As a stranger runs it: another process, where nothing of this test is loaded.
    surroundings = {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=surroundings)
    assert (done.stderr, done.stdout) == ("", shown)
    assert [path.name for path in tmp_path.iterdir()] == ["example.py"]
