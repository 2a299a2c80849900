from pathlib import Path

import pytest

from tests.middleware.command import Commands


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path / "home", capsys)


@pytest.fixture
def feed(run: Commands) -> str:
    """The id of an open feed called Street music."""
    return str(run.json("feed", "create", "Street music", "--category", "music")["id"])
