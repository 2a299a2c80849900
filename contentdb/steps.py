"""Work in steps: what takes long leaves as a call that any thread may make, and its result comes back.

    def export(...) -> Steps[Report]:
        pages = store.pages()                   # here, where the store is
        yield partial(write, pages)             # anywhere: it touches no store
        return Report(...)

A node has such calls made by its workers and goes on meanwhile; `run_steps` makes them where it stands.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, TypeAlias, TypeVar

from contentdb.errors import RemoteError, StoreError

Result = TypeVar("Result")
Step: TypeAlias = Callable[[], Any]
Steps: TypeAlias = Generator[Step, Any, Result]


def run_steps(steps: Steps[Result]) -> Result:
    """Make all calls here, one after the other."""
    with closing(steps):
        try:
            step = next(steps)
            while True:
                try:
                    result = step()
                except (RemoteError, StoreError, OSError, ValueError) as error:  # which steps may deal with
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            value: Result = end.value
            return value
