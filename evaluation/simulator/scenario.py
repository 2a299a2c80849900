"""A scenario: who is there, how they meet, what they publish and want. Written in TOML, read strictly.

docs/evaluation.md lists the keys. Nothing here is decided by chance: that is for whoever puts it on stage.
"""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contentdb.errors import UsageError
from evaluation.simulator.contacts import nodes_of
from evaluation.simulator.parts import (
    ALL,
    DAYS_S,
    Faults,
    Feeds,
    Groups,
    Meetings,
    Radio,
    Wants,
    read_faults,
    read_feeds,
    read_meetings,
    read_radio,
    read_wants,
)
from evaluation.simulator.tables import Table
from middleware.config import Settings, settings_of

MAX_NODES = 100_000
MAX_BYTES = 1_000_000  # of a scenario


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    duration_s: float
    nodes: tuple[str, ...]
    groups: Groups
    radio: Radio
    meetings: Meetings
    feeds: tuple[Feeds, ...]
    wants: tuple[Wants, ...]
    settings: Settings = field(default_factory=Settings)
    faults: Faults = field(default_factory=Faults)

    def members(self, names: tuple[str, ...]) -> list[str]:
        """The nodes that these groups and nodes stand for, each once."""
        return list(dict.fromkeys(node for name in names for node in self.groups[name]))


def load_scenario(path: Path, trace: Path | None = None) -> Scenario:
    """Read a scenario file; `trace` takes the place of the trace it names. UsageError says what is wrong."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, which is no scenario")
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    try:
        return read_scenario(document, path.parent, trace)
    except UsageError as error:
        raise UsageError(f"{path.name}: {error}") from None


def read_scenario(document: dict[str, Any], folder: Path, trace: Path | None = None) -> Scenario:
    top = Table(document)
    title, duration_s = top.text("title"), top.number("duration_s", least=0.1, most=DAYS_S)
    counted = _groups(top.table("nodes"))
    meetings = read_meetings(top.table("contacts"), folder, trace)
    groups = _with_nodes_of(meetings, counted)
    feeds = tuple(read_feeds(table, groups) for table in top.tables("feeds"))
    known = [name for each in feeds for name in each.names()]
    if len(set(known)) < len(known):
        raise UsageError(f"feeds: two have the name {next(n for n in known if known.count(n) > 1)}")
    scenario = Scenario(
        title=title,
        duration_s=duration_s,
        nodes=groups[ALL],
        groups=groups,
        radio=read_radio(top.table("radio")),
        meetings=meetings,
        feeds=feeds,
        wants=tuple(read_wants(table, groups, known) for table in top.tables("subscriptions")),
        settings=_settings(top.plain("settings")),
        faults=read_faults(top.table("faults")),
    )
    top.done()
    return scenario


def _groups(table: Table) -> Groups:
    """Each group by its name, and each node as a group of its own."""
    groups: Groups = {}
    every: list[str] = []
    for name in table.names():
        count = table.whole(name, least=1, most=MAX_NODES)
        members = (name,) if count == 1 else tuple(f"{name}{n}" for n in range(1, count + 1))
        for each in dict.fromkeys((name, *members)):
            if each in groups or each == ALL:
                raise UsageError(f"nodes: the name {each} is used twice")
            groups[each] = members if each == name else (each,)
        every += members
    groups[ALL] = tuple(every)
    if len(every) > MAX_NODES:
        raise UsageError(f"nodes: at most {MAX_NODES} together; got {len(every)}")
    return groups


def _with_nodes_of(meetings: Meetings, groups: Groups) -> Groups:
    """Without [nodes], those of the contacts are there; with it, contacts may name no others."""
    met = nodes_of(meetings) if isinstance(meetings, tuple) else []
    if not groups[ALL]:
        groups = {ALL: tuple(met), **{name: (name,) for name in met}}
    unknown = [name for name in met if groups.get(name) != (name,)]
    if unknown:
        raise UsageError(f"contacts: {unknown[0]} is none of the nodes")
    if len(groups[ALL]) < 2:
        raise UsageError("nodes: at least two are needed, or nobody meets anybody")
    return groups


def _settings(groups: dict[str, Any]) -> Settings:
    try:
        return settings_of(groups)
    except UsageError as error:
        raise UsageError(f"settings: {error}") from None
