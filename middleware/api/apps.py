"""The core of the local API: connected apps, what they ask, and what is brought to them.

A shell passes in lines and what the node reports; what comes out are lines to send. Everything that an app
could pile up is bounded: unfinished lines (`messages.Lines`), entries in flight (`deliveries`), and what
waits to be sent, which the shell bounds by no longer reading from an app that does not read.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.steps import Steps
from contentdb.subscriptions import check_app
from middleware.api.calls import CALLS, begin
from middleware.api.courier import Courier
from middleware.api.discoveries import Discoveries
from middleware.api.effects import ApiEffect, Hang, Send
from middleware.api.home import Home
from middleware.api.jobs import Asked, Jobs, refusal
from middleware.api.messages import (
    API_VERSION,
    CallError,
    Code,
    MessageError,
    Request,
    decode_request,
    encode_error,
    encode_result,
)
from middleware.api.parameters import Parameters
from middleware.api.publications import Publications
from middleware.api.watching import Watching
from middleware.effects import Deliver, Effect, EntryGained, FeedsDiscovered

# More than a device runs; each costs a descriptor.
MAX_CONNECTIONS = 256


@dataclass(slots=True)
class App:
    """One connection. It has no name before its hello."""

    number: int
    needs_token: bool = False
    name: str = ""


class Apps:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._apps: dict[int, App] = {}
        self._courier = Courier(home)
        self._jobs = Jobs()
        self._publications = Publications(home, self._jobs)
        self._discoveries = Discoveries(home)
        self._watching = Watching(home)
        self._calls = {name: (getattr(self, name), parameters) for name, parameters in OF_CONNECTIONS.items()}

    # -- connections

    def connected(self, number: int, *, needs_token: bool = False) -> list[ApiEffect]:
        self._apps[number] = App(number, needs_token)
        return [Hang(number)] if len(self._apps) > MAX_CONNECTIONS else []

    def lost(self, number: int) -> None:
        if self._apps.pop(number, None) is not None:
            self._courier.lost(number)
            self._discoveries.lost(number)
            self._watching.lost(number)

    def line_received(
        self, number: int, line: bytes, passed: dict[int, int] | None = None
    ) -> list[ApiEffect]:
        """`passed` are the open files that came through this connection, by their numbers."""
        app = self._apps.get(number)
        if app is None:
            return []
        try:
            request = decode_request(line)
        except MessageError as error:
            return [Send(number, encode_error(error.id, error.code, str(error)))]
        try:
            return self._answered(app, request, {} if passed is None else passed)
        except (UsageError, StoreError, RemoteError, OSError) as error:
            return refusal(Asked(number, request.id), error)

    # -- requests

    def _answered(self, app: App, request: Request, passed: dict[int, int]) -> list[ApiEffect]:
        if not app.name and request.method != "hello":
            raise CallError("say hello first, with the name of your app", Code.NOT_ALLOWED)
        if request.method == "publish":
            asked = Asked(app.number, request.id)
            return self._publications.asked(asked, app.name, request.params, passed)
        # What was sent before is done before: a list must show what the same app published.
        effects = self._publications.flush() if self._publications.is_waiting else []
        try:
            result = self._result(app, request)
        except (UsageError, StoreError, RemoteError, OSError) as error:
            return [*effects, *refusal(Asked(app.number, request.id), error)]
        if isinstance(result, Generator):
            return [
                *effects,
                *self._jobs.begin(Asked(app.number, request.id), self._long(app, request, result)),
            ]
        if result is not None and request.id is not None:
            effects.append(Send(app.number, encode_result(request.id, result)))
        if request.method == "discover":
            effects += self._discoveries.as_it_is(result["id"])
        self._renew()
        effects += self._revoked()
        if request.method == "watch":
            effects += self._watching.as_it_is(result["id"])
        return effects

    def _result(self, app: App, request: Request) -> Any:
        own = self._calls.get(request.method)
        if own is not None:
            call, parameters = own
            return call(app, request, **parameters.checked(request.params))
        result = begin(self._home, app.name, request.method, request.params)
        if request.method == "subscribe" and request.params.get("deliver", True):
            subscription = self._home.store.subscriptions.get(result["id"])
            self._courier.check_free(app.number, subscription)
            self._courier.attach(app.number, subscription, is_partial=request.params.get("partial", False))
        if request.method == "unsubscribe":
            for gone in result:
                self._courier.detach(gone["id"])
        return result

    def _long(self, app: App, request: Request, steps: Steps[Any]) -> Steps[list[ApiEffect]]:
        result = yield from steps
        self._renew()
        return [] if request.id is None else [Send(app.number, encode_result(request.id, result))]

    def _renew(self) -> None:
        for feed in self._home.renewed_feeds:
            self._courier.renew(feed)
        self._home.renewed_feeds.clear()

    def _revoked(self) -> list[ApiEffect]:
        gone, self._home.revoked = self._home.revoked, []
        return [Hang(app.number) for app in self._apps.values() if app.needs_token and app.name in gone]

    def hello(self, caller: App, request: Request, *, app: str, token: str = "") -> dict[str, Any]:
        """The first call of every connection."""
        check_app(app)
        if caller.needs_token and not self._home.tokens.is_valid(app, token):
            raise CallError(
                f"{app} needs a valid token here; the call make_token makes one", Code.NOT_ALLOWED
            )
        caller.name = app
        return {"api": API_VERSION, "node_id": self._home.node.id}

    def done(self, caller: App, request: Request, *, marks: list[str]) -> None:
        """The app has finished with these entries; answered when that is written."""
        self._courier.done(caller.number, request.id, marks)

    def discover(self, caller: App, request: Request, *, where: str = "") -> dict[str, Any]:
        """Feeds seen at neighbours, now and as they come, until `undiscover` or the end of the connection."""
        return self._discoveries.discover(caller.number, where)

    def undiscover(self, caller: App, request: Request, *, id: int) -> dict[str, Any]:
        return self._discoveries.undiscover(caller.number, id)

    def watch(self, caller: App, request: Request) -> dict[str, Any]:
        """News of neighbours, sessions, transfers and arrivals, until `unwatch`."""
        return self._watching.watch(caller.number)

    def unwatch(self, caller: App, request: Request, *, id: int) -> dict[str, Any]:
        return self._watching.unwatch(caller.number, id)

    # -- what the node reports, and what waits

    def reported(self, effects: Iterable[Effect]) -> list[ApiEffect]:
        out: list[ApiEffect] = []
        for effect in effects:
            match effect:
                case Deliver(due):
                    out += self._courier.came(due)
                case EntryGained(key, peer):
                    out += self._watching.arrived(key, peer)
                case FeedsDiscovered(descriptors, peer):
                    out += self._discoveries.found(descriptors, peer)
        return out

    def worked(self, job: int, result: Any) -> list[ApiEffect]:
        """What came of a `Work`."""
        return self._jobs.worked(job, result)

    def close(self) -> None:
        self._jobs.close()

    @property
    def has_work(self) -> bool:
        """Is there something to do in a turn of its own?"""
        return self._publications.is_waiting or self._courier.has_work

    @property
    def wants_ticks(self) -> bool:
        """Does somebody want to be told now and then how things are?"""
        return self._watching.is_on or self._courier.is_showing

    def tick(self) -> list[ApiEffect]:
        watched = self._watching.tick() if self._watching.is_on else []
        return [*watched, *self._courier.tick()]

    def turn(self) -> list[ApiEffect]:
        """Store and acknowledge what has gathered, and send more to those who have room for it."""
        effects = self._publications.flush()
        effects += self._courier.write_marks()
        effects += self._courier.pull()
        self._courier.turn_ended()
        return effects


# Calls that are about the connection they come by, and so have no place in a command without a node.
OF_CONNECTIONS = {
    call.__name__: Parameters(call)
    for call in (Apps.hello, Apps.done, Apps.discover, Apps.undiscover, Apps.watch, Apps.unwatch)
}


def call_parameters() -> dict[str, list[str]]:
    """Every call there is, with the names of its parameters."""
    every = {name: call.parameters for name, call in CALLS.items()} | OF_CONNECTIONS
    return {name: list(parameters.kinds) for name, parameters in every.items()}
