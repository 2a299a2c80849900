"""The one table of calls: what an app may ask of a node, and what the command line does without one.

    result = run(home, "cli", "entries", {"where": "genre = 'jazz'"})

Parameters and results are what JSON can say. A call checks all it is given; its errors are sentences.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from contentdb.steps import run_steps
from middleware.api import checking, entries, feeds, interests, nodes, people
from middleware.api.home import Home
from middleware.api.messages import CallError, Code
from middleware.api.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Call:
    run: Callable[..., Any]
    parameters: Parameters


def _call(run: Callable[..., Any], like: Callable[..., Any] | None = None) -> Call:
    return Call(run, Parameters(like or run))


CALLS: dict[str, Call] = {
    "create_feed": _call(feeds.create_feed),
    "feeds": _call(feeds.feeds),
    "writers": _call(feeds.writers),
    "export_feed": _call(feeds.export),
    "import_feed": _call(feeds.import_),
    "publish": _call(entries.publish, like=entries.draft_of),
    "retract": _call(entries.retract),
    "entries": _call(entries.entries),
    "entry": _call(entries.entry),
    "pin": _call(entries.pin),
    "why": _call(entries.why),
    "subscribe": _call(interests.subscribe),
    "unsubscribe": _call(interests.unsubscribe),
    "subscriptions": _call(interests.subscriptions),
    "me": _call(people.me),
    "export_me": _call(people.export_me),
    "import_me": _call(people.import_me),
    "block": _call(people.block),
    "blocked": _call(people.blocked),
    "storage": _call(people.storage),
    "check": _call(checking.check),
    "tokens": _call(people.tokens),
    "make_token": _call(people.make_token),
    "revoke_token": _call(people.revoke_token),
    "settings": _call(people.settings),
    "status": _call(nodes.status),
    "neighbours": _call(nodes.neighbours),
    "sessions": _call(nodes.sessions),
    "transfers": _call(nodes.transfers),
    "meet": _call(nodes.meet),
    "contacts": _call(nodes.contacts),
    "logbook": _call(nodes.logbook),
    "stop": _call(nodes.stop),
}


def find_call(method: str) -> Call:
    call = CALLS.get(method)
    if call is None:
        raise CallError(f"there is no call {method[:80]!r}; docs/api.md lists them", Code.NO_SUCH_CALL)
    return call


def run(home: Home, app: str, method: str, params: dict[str, Any]) -> Any:
    """Do what a call says, for an app of this name; what comes back is JSON."""
    result = begin(home, app, method, params)
    return run_steps(result) if isinstance(result, Generator) else result


def begin(home: Home, app: str, method: str, params: dict[str, Any]) -> Any:
    """The same, but of a call that takes long what comes back are its steps (`contentdb.steps`)."""
    call = find_call(method)
    return call.run(home, app, **call.parameters.checked(params))
