"""The one way to make a call, whether a node runs or not.

with reach(home, "cli") as node:
    feeds = node.call("feeds")
"""

from typing import TYPE_CHECKING

from middleware.client.connection import Connection
from middleware.client.errors import NodeNotRunning

if TYPE_CHECKING:
    from pathlib import Path

    from contentdb.blobs import Progress
    from middleware.api.local import InProcess


def reach(home: "Path", app: str, progress: "Progress | None" = None) -> "Connection | InProcess":
    """The node of this home; if none runs, the home itself, opened here. Then `progress` tells of files."""
    try:
        return Connection(str(home), app)
    except NodeNotRunning:
        from middleware.api.local import InProcess

        return InProcess(home, app, progress)
