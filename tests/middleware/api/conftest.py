from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.middleware.api.serving import RawApp, Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "home")
    yield served
    served.stop()


@pytest.fixture
def app(served: Served) -> Iterator[RawApp]:
    app = RawApp(served.home)
    yield app
    app.close()


@pytest.fixture
def feed(app: RawApp) -> str:
    return str(app.call("create_feed", title="Street music", categories=["music"])["id"])
