"""A node's settings: defaults, one commented TOML file, and what is wrong with it said by name."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from contentdb.errors import UsageError
from contentdb.model import MAX_INTEGER, MIN_INTEGER
from contentdb.settings import Limits

Group = TypeVar("Group")

SETTINGS = "settings.toml"  # in the home
DEFAULT_FILE = """\
# Settings of this passerby node. Every line below shows the default; take away the # in front to change it.
# A node reads this file once, when it starts.

[hello]
# interval_s = 1.0       # fixed, 0.1 to 3600; without it: 1 s when things move, backing off when nothing does
# port = 4747            # UDP; everybody who is to hear each other needs the same
# interfaces = []        # names such as "wlan0"; empty: all that are up
# mdns = true            # be found by mDNS too, where broadcast is filtered

[sessions]
# port = 0               # TCP; 0: whichever is free
# clients = 3            # how many neighbours to download from at once
# servers = 3            # how many neighbours to serve at once
# serving = "concurrent" # or "sequential": one after the other
# service_s = 30         # how long one neighbour is served while others wait
# silence_s = 15         # a session in which nothing moves for so long is closed

[storage]
# max_bytes = 8589934592       # everything together
# max_feed_bytes = 4294967296  # one feed
# max_feed_entries = 1000000
# max_feed_age_s = 31622400

[api]
# tcp = false            # true: apps come over TCP on loopback, each with a token, instead of a Unix socket
# port = 0               # for that; 0: whichever is free

[dashboard]
# enabled = true         # a page for your browser, on this machine only
# port = 4748            # any other that is free if this is taken

[logbook]
# keep_days = 30
"""


@dataclass(frozen=True, slots=True)
class HelloSettings:
    interval_s: float | None = None
    port: int = 4747
    interfaces: tuple[str, ...] = ()
    mdns: bool = True

    def __post_init__(self) -> None:
        if self.interval_s is not None:
            _within("hello.interval_s", self.interval_s, 0.1, 3600)
        _within("hello.port", self.port, 1, 65535)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    port: int = 0
    clients: int = 3
    servers: int = 3
    serving: str = "concurrent"
    service_s: float = 30.0
    silence_s: float = 15.0
    handshake_s: float = 10.0
    least_rate: int = 4096  # bytes a second, while others wait

    def __post_init__(self) -> None:
        _within("sessions.port", self.port, 0, 65535)
        _within("sessions.clients", self.clients, 0, 64)
        _within("sessions.servers", self.servers, 0, 64)
        _within("sessions.service_s", self.service_s, 1, 3600)
        _within("sessions.silence_s", self.silence_s, 1, 3600)
        _within("sessions.handshake_s", self.handshake_s, 1, 3600)
        _within("sessions.least_rate", self.least_rate, 0, 2**30)
        if self.serving not in ("concurrent", "sequential"):
            raise UsageError(f"sessions.serving is concurrent or sequential; got {self.serving!r}")


@dataclass(frozen=True, slots=True)
class ApiSettings:
    tcp: bool = False
    port: int = 0

    def __post_init__(self) -> None:
        _within("api.port", self.port, 0, 65535)


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    enabled: bool = True
    port: int = 4748

    def __post_init__(self) -> None:
        _within("dashboard.port", self.port, 0, 65535)


@dataclass(frozen=True, slots=True)
class LogbookSettings:
    keep_days: int = 30

    def __post_init__(self) -> None:
        _within("logbook.keep_days", self.keep_days, 0, 3650)


@dataclass(frozen=True, slots=True)
class Settings:
    hello: HelloSettings = field(default_factory=HelloSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    storage: Limits = field(default_factory=Limits)
    api: ApiSettings = field(default_factory=ApiSettings)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    logbook: LogbookSettings = field(default_factory=LogbookSettings)


def parse_settings(text: str) -> Settings:
    """Read a settings file; UsageError names the line or the setting that is wrong."""
    try:
        groups = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for brackets and digits by the thousand
        raise UsageError(f"the settings file is not valid TOML: {error}") from None
    return settings_of(groups)


def settings_of(groups: Mapping[str, Any]) -> Settings:
    """The settings in groups of a TOML document, which may be part of another; UsageError as above."""
    known = {
        "hello": HelloSettings,
        "sessions": SessionSettings,
        "storage": Limits,
        "api": ApiSettings,
        "dashboard": DashboardSettings,
        "logbook": LogbookSettings,
    }
    for name in groups:
        if name not in known:
            raise UsageError(f"there is no group [{name}] of settings; there are {', '.join(known)}")
    return Settings(**{name: _group(name, kind, groups.get(name, {})) for name, kind in known.items()})


def _group(name: str, kind: type[Group], given: Any) -> Group:
    if not isinstance(given, dict):
        raise UsageError(f"{name} is a group of settings: write [{name}] and the settings below it")
    defaults = kind()
    types = {each.name: type(getattr(defaults, each.name)) for each in fields(kind)}  # type: ignore[arg-type]
    values = {}
    for setting, value in given.items():
        if setting not in types:
            raise UsageError(f"there is no setting {name}.{setting}; there are {', '.join(types)}")
        values[setting] = _typed(f"{name}.{setting}", value, types[setting])
    return kind(**values)


def _typed(name: str, value: Any, kind: type) -> Any:
    if kind is tuple:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise UsageError(f"{name} is a list of names; got {_shown(value)}")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        raise UsageError(f"{name} is a number of at most 64 bits; this one is larger")
    if kind in (float, type(None)) and is_number:
        return float(value)
    if type(value) is kind:
        return value
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    raise UsageError(f"{name} is {wanted.get(kind, 'a number')}; got {_shown(value)}")


def _shown(value: Any) -> str:
    """What stands inside a list or a group may be a number that Python does not write out."""
    return f"{value!r:.80}" if isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise UsageError(f"{name} is {least} to {most}; got {value}")
