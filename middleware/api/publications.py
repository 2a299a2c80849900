"""Publishing for many apps at once: what has arrived is signed and stored under one flush of the disk.

A flush costs a millisecond or more whatever it carries, so an app that sends on without waiting for each
answer is many times faster. Nothing is acknowledged before it is durable.
"""

from dataclasses import dataclass
from typing import Any

from contentdb.errors import StoreError, UsageError
from contentdb.library import Draft, Published, Ready
from contentdb.model import Enclosure, Entry
from contentdb.names import FeedId
from middleware.api.calls import find_call
from middleware.api.effects import ApiEffect, CopyFiles, Send
from middleware.api.entries import document_of, draft_of
from middleware.api.home import Home
from middleware.api.messages import RequestId, code_of, encode_error, encode_result

# Entries under one flush; by then its share in each is small, and others should get their turn.
MAX_BATCH = 512


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants to hear what became of a publication; no request: nobody does."""

    connection: int
    request: RequestId


class Publications:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._parameters = find_call("publish").parameters
        self._ready: list[tuple[Asked, Ready]] = []
        self._copying: dict[int, tuple[Asked, FeedId, Draft]] = {}
        self._next_job = 1

    @property
    def is_waiting(self) -> bool:
        return bool(self._ready)

    def asked(self, asked: Asked, app: str, params: dict[str, Any]) -> list[ApiEffect]:
        """Put a publication in line; raises what is wrong with it."""
        feed, draft = draft_of(self._home, app, **self._parameters.checked(params))
        if not draft.files:
            self._ready.append((asked, Ready(feed, draft)))
            return []
        job, self._next_job = self._next_job, self._next_job + 1
        self._copying[job] = (asked, feed, draft)
        return [CopyFiles(job, draft.files)]  # type: ignore[arg-type]  # a call has no other files than paths

    def files_copied(self, job: int, copied: tuple[Enclosure, ...] | Exception) -> list[ApiEffect]:
        asked, feed, draft = self._copying.pop(job)
        if isinstance(copied, Exception):
            return _refusal(asked, copied)
        self._ready.append((asked, Ready(feed, draft, copied)))
        return []

    def flush(self) -> list[ApiEffect]:
        """Store what is in line, durably, and acknowledge it."""
        effects: list[ApiEffect] = []
        batch, self._ready = self._ready[:MAX_BATCH], self._ready[MAX_BATCH:]
        if not batch:
            return effects
        try:
            outcomes = self._home.library.publish_many([ready for _, ready in batch], self._home.at())
        except StoreError as error:
            return [effect for asked, _ in batch for effect in _refusal(asked, error)]
        stored: dict[int, Entry] = {}
        for (asked, ready), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Published):
                stored[outcome.key] = outcome.entry
                effects += self._acknowledgement(asked, outcome)
            else:
                effects += _refusal(asked, outcome)
                self._drop_copies(ready)
        self._home.published(stored)
        return effects

    def _acknowledgement(self, asked: Asked, published: Published) -> list[ApiEffect]:
        if asked.request is None:
            return []
        return [Send(asked.connection, encode_result(asked.request, document_of(self._home, published)))]

    def _drop_copies(self, ready: Ready) -> None:
        """Files of a refused entry go again, unless another one that is in line has the same."""
        needed = {each.root for _, other in self._ready for each in other.enclosures}
        self._home.store.drop_unnamed([each.root for each in ready.enclosures if each.root not in needed])


def _refusal(asked: Asked, error: Exception) -> list[ApiEffect]:
    if asked.request is None:
        return []
    if not isinstance(error, UsageError | StoreError):
        raise error
    return [Send(asked.connection, encode_error(asked.request, code_of(error), str(error)))]
