"""What goes wrong between an app and its node."""

from contentdb.errors import UsageError
from middleware.api.messages import CallError, Code


class NodeNotRunning(CallError):
    """No node runs in this home; the message says how to start one."""

    def __init__(self, home: str) -> None:
        super().__init__(f"no node runs in {home}; start one with `passerby up`", Code.NOT_RUNNING)


class NodeGone(UsageError):
    """The node ended before it answered: what was asked may have been done or not."""


def call_error(error: dict[str, object]) -> CallError:
    """An error as the node sent it."""
    try:
        code = Code(int(str(error.get("code"))))
    except ValueError:  # of a newer node
        code = Code.REFUSED
    return CallError(str(error.get("message")), code)
