"""Publishing for many apps at once: what has arrived is signed and stored under one flush of the disk.

A flush costs a millisecond or more whatever it carries, so an app that sends on without waiting for each
answer is many times faster. Nothing is acknowledged before it is durable.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from contentdb.errors import StoreError, UsageError
from contentdb.library import Draft, OpenFile, Published, Ready
from contentdb.model import Entry
from contentdb.names import FeedId
from contentdb.steps import Steps
from middleware.api.calls import find_call
from middleware.api.effects import ApiEffect, Send
from middleware.api.entries import document_of, draft_of
from middleware.api.home import Home
from middleware.api.jobs import Asked, Jobs, refusal
from middleware.api.messages import encode_result
from middleware.api.parameters import Files, Passed

# Entries under one flush; by then its share in each is small, and others should get their turn.
MAX_BATCH = 512


class Publications:
    def __init__(self, home: Home, jobs: Jobs) -> None:
        self._home, self._jobs = home, jobs
        self._parameters = find_call("publish").parameters
        self._ready: list[tuple[Asked, Ready]] = []

    @property
    def is_waiting(self) -> bool:
        return bool(self._ready)

    def asked(
        self, asked: Asked, app: str, params: dict[str, Any], passed: dict[int, int]
    ) -> list[ApiEffect]:
        """Put a publication in line; raises what is wrong with it.

        `passed` are the open files of the connection by number; those that this one names are ours then.
        """
        given = self._parameters.checked(params)
        used = [file.number for file in given.get("files") or () if isinstance(file, Passed)]
        if used:
            given["files"] = _opened(given["files"], passed)
        feed, draft = draft_of(self._home, app, **given)
        if draft.files:
            effects = self._jobs.begin(asked, self._copied(asked, feed, draft))
            for number in used:
                del passed[number]
            return effects
        self._ready.append((asked, Ready(feed, draft)))
        return []

    def _copied(self, asked: Asked, feed: FeedId, draft: Draft) -> Steps[list[ApiEffect]]:
        try:
            enclosures = yield partial(self._home.library.enclose, draft.files)
        finally:
            for file in draft.files:
                if isinstance(file, OpenFile):
                    file.close()
        self._ready.append((asked, Ready(feed, draft, enclosures)))
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
            return [effect for asked, _ in batch for effect in refusal(asked, error)]
        stored: dict[int, Entry] = {}
        for (asked, ready), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Published):
                stored[outcome.key] = outcome.entry
                effects += self._acknowledgement(asked, outcome)
            else:
                effects += refusal(asked, outcome)
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


def _opened(files: Iterable[Path | Passed | OpenFile], passed: dict[int, int]) -> Files:
    opened: Files = []
    left = dict(passed)
    for file in files:
        if isinstance(file, Passed):
            descriptor = left.pop(file.number, None)
            if descriptor is None:
                raise UsageError(
                    f"no open file {file.number} came with this, or it was used; hand it over again"
                )
            file = OpenFile(file.name, descriptor)
        opened.append(file)
    return opened
