"""Calls that take long go on in steps: workers do what needs no store, and the node goes on meanwhile."""

from dataclasses import dataclass
from typing import Any

from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.steps import Steps
from middleware.api.effects import ApiEffect, Send, Work
from middleware.api.messages import CallError, RequestId, code_of, encode_error

# Of one connection at a time: each may keep a request of a megabyte, and they share two workers anyway.
MAX_JOBS = 64


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants to hear what becomes of a request; no request: nobody does."""

    connection: int
    request: RequestId


class Jobs:
    def __init__(self) -> None:
        self._running: dict[int, tuple[Asked, Steps[list[ApiEffect]]]] = {}
        self._next = 1

    def begin(self, asked: Asked, steps: Steps[list[ApiEffect]]) -> list[ApiEffect]:
        """Start what ends with these effects; raises what is wrong before its first step."""
        if sum(other.connection == asked.connection for other, _ in self._running.values()) >= MAX_JOBS:
            raise CallError(f"{MAX_JOBS} calls about files are not done yet; wait for some of them")
        job, self._next = self._next, self._next + 1
        self._running[job] = (asked, steps)
        return self.worked(job, None)

    def worked(self, job: int, result: Any) -> list[ApiEffect]:
        """What a worker returned, or the exception that it raised."""
        if job not in self._running:  # put away meanwhile
            return []
        asked, steps = self._running[job]
        try:
            step = steps.throw(result) if isinstance(result, Exception) else steps.send(result)
        except StopIteration as end:
            del self._running[job]
            effects: list[ApiEffect] = end.value
            return effects
        except (UsageError, StoreError, RemoteError, OSError) as error:
            del self._running[job]
            return refusal(asked, error)
        except BaseException:
            del self._running[job]
            raise
        return [Work(job, step)]

    def close(self) -> None:
        """Nobody works any more; what was begun is put away while there is still a store."""
        for _asked, steps in self._running.values():
            steps.close()
        self._running.clear()


def refusal(asked: Asked, error: Exception) -> list[ApiEffect]:
    if asked.request is None:
        return []
    message = f"{error.filename or ''}: {error.strerror}" if isinstance(error, OSError) else str(error)
    return [Send(asked.connection, encode_error(asked.request, code_of(error), message))]
