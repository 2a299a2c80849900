"""What the shell of a node does when its disk fails under it."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from contentdb.errors import StoreError
from contentdb.identity import NodeSecret
from contentdb.names import NodeId
from contentdb.store import Store
from middleware.config import DashboardSettings, SessionSettings, Settings
from middleware.service import Service

NO_DASHBOARD = Settings(dashboard=DashboardSettings(enabled=False), sessions=SessionSettings(port=0))


def meet_many(store: Store) -> None:
    """More than fits on a disk that is full."""
    for number in range(100_000):
        store.peers.met(NodeId(f"{number:040x}"), at=1)


def test_a_full_disk_ends_a_node_with_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path, entropy=os.urandom) as store:
        store.owner_name = "Ann"

        def ready(_: Service) -> None:
            with store.transaction() as connection:
                connection.execute("PRAGMA max_page_count = 1")
            asyncio.get_running_loop().call_soon(meet_many, store)

        async def serve() -> None:
            service = Service(tmp_path, store, NodeSecret.generate(os.urandom), NO_DASHBOARD)
            await asyncio.wait_for(service.run(ready), timeout=60)

        with pytest.raises(StoreError, match="is full; nothing was lost"):
            asyncio.run(serve())
    gc.collect()  # the traceback holds a cursor, and that the file, as long as this process lives
    with Store.open(tmp_path, entropy=os.urandom) as again:
        assert again.owner_name == "Ann" and again.problems() == []


def test_a_logbook_that_cannot_be_written_ends_a_node_too(tmp_path: Path) -> None:
    (tmp_path / "logbook").write_text("in the way", encoding="utf-8")
    with Store.open(tmp_path, entropy=os.urandom) as store:

        async def serve() -> None:
            service = Service(tmp_path, store, NodeSecret.generate(os.urandom), NO_DASHBOARD)
            await asyncio.wait_for(service.run(), timeout=60)

        with pytest.raises(StoreError, match="cannot write the logbook"):
            asyncio.run(serve())
