"""The parts of a scenario, and how each is read from its table of the TOML document."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from contentdb.attributes import AttributeValue
from contentdb.errors import UsageError
from contentdb.selector import parse
from evaluation.simulator.contacts import Contact, merged
from evaluation.simulator.mobility import RandomWaypoint
from evaluation.simulator.tables import Table
from evaluation.simulator.traces import read_trace

DAYS_S = 100 * 86_400.0
ALL = "all"
MODELS = ("everybody", "random-waypoint", "trace", "list")
MAX_FILE_BYTES = 10**8  # files of simulated nodes lie in memory

Groups = dict[str, tuple[str, ...]]  # each node is a group of its own as well
Attributes = dict[str, tuple[AttributeValue, ...]]  # of several values one is chosen by chance
Meetings = RandomWaypoint | tuple[Contact, ...] | None  # None: everybody is always in range of everybody


@dataclass(frozen=True, slots=True)
class Radio:
    rate_bytes_s: float = 2_500_000.0
    delay_s: float = 0.005
    loss: float = 0.0  # of hellos
    air: str = "apart"  # or shared: everybody in range shares the rate
    parting: str = "silent"  # or told: both ends of a stream learn at once that it is broken
    cut_share: float = 0.0  # of contacts in which a stream is cut
    cut_within_bytes: int = 1_000_000  # after so many bytes at most


@dataclass(frozen=True, slots=True)
class Feeds:
    """One feed, or many of a kind."""

    name: str
    count: int
    by: tuple[str, ...]
    entries: int
    first_s: float
    every_s: float
    file_bytes: tuple[int, int]
    attributes: Attributes

    def names(self) -> list[str]:
        return [self.name] if self.count == 1 else [f"{self.name}{n}" for n in range(1, self.count + 1)]


@dataclass(frozen=True, slots=True)
class Wants:
    feeds: tuple[str, ...]
    nodes: tuple[str, ...]
    share: float  # of these nodes, by chance
    where: str
    files: str
    at_s: float
    app: str


@dataclass(frozen=True, slots=True)
class Faults:
    kill_every_s: float = 0.0  # how long a node lives on average before it is killed; 0: for ever
    restart_after_s: float = 30.0


def read_radio(table: Table) -> Radio:
    default = Radio()
    radio = Radio(
        rate_bytes_s=table.number("rate_bytes_s", default.rate_bytes_s, least=100),
        delay_s=table.number("delay_s", default.delay_s, most=60),
        loss=table.number("loss", default.loss, most=1),
        air=table.choice("air", ("apart", "shared"), default.air),
        parting=table.choice("parting", ("silent", "told"), default.parting),
        cut_share=table.number("cut_share", default.cut_share, most=1),
        cut_within_bytes=table.whole("cut_within_bytes", default.cut_within_bytes, least=1),
    )
    table.done()
    return radio


def read_meetings(table: Table, folder: Path, trace: Path | None) -> Meetings:
    model = table.choice("model", MODELS, "everybody")
    if trace is not None and model != "trace":
        raise UsageError(f"contacts.model is {model}; a trace can be given only where it is trace")
    meetings: Meetings = None
    if model == "random-waypoint":
        meetings = _walking(table)
    elif model == "trace":
        path = folder / table.text("path", "" if trace else None)
        meetings = tuple(read_trace(trace or path))
    elif model == "list":
        meetings = tuple(merged(_listed(table, row) for row in table.rows("list")))
    table.done()
    return meetings


def _walking(table: Table) -> RandomWaypoint:
    default = RandomWaypoint()
    values = {each.name: table.number(each.name, getattr(default, each.name)) for each in fields(default)}
    try:
        return RandomWaypoint(**values)
    except UsageError as error:
        raise UsageError(f"contacts.{error}") from None


def _listed(table: Table, row: Any) -> Contact:
    match row:
        case [int() | float() as start_s, int() | float() as end_s, str() as one, str() as two]:
            if 0 <= start_s < end_s <= DAYS_S and one != two:
                return Contact(float(start_s), float(end_s), min(one, two), max(one, two))
    raise UsageError(f'{table.name("list")} has rows [from_s, to_s, "one", "another"]; got {row!r:.60}')


def read_feeds(table: Table, groups: Groups) -> Feeds:
    feeds = Feeds(
        name=table.text("name"),
        count=table.whole("count", 1, least=1, most=10_000),
        by=_chosen(table, "by", groups),
        entries=table.whole("entries", 1, most=1_000_000),
        first_s=table.number("first_s", 0.0, most=DAYS_S),
        every_s=table.number("every_s", 60.0, most=DAYS_S),
        file_bytes=_bounds(table),
        attributes=_attributes(table.plain("attributes"), table.name("attributes")),
    )
    table.done()
    return feeds


def _bounds(table: Table) -> tuple[int, int]:
    """The size of files: a number, or a list of the least and the most."""
    given = table.value("file_bytes", 0)
    least, most = given if isinstance(given, list) and len(given) == 2 else (given, given)
    if type(least) is not int or type(most) is not int or not 0 <= least <= most <= MAX_FILE_BYTES:
        raise table.wrong("file_bytes", f"a size up to {MAX_FILE_BYTES}, or a list of the least and the most")
    return least, most


def _attributes(values: dict[str, Any], path: str) -> Attributes:
    attributes: Attributes = {}
    for name, value in values.items():
        choices = value if isinstance(value, list) else [value]
        if not choices or not all(isinstance(each, str | int | float) for each in choices):
            raise UsageError(
                f"{path}.{name} is a text, a number, true or false, or a list of these to choose from"
            )
        attributes[name] = tuple(choices)
    return attributes


def read_wants(table: Table, groups: Groups, feeds: list[str]) -> Wants:
    wants = Wants(
        feeds=table.texts("feeds", [ALL]),
        nodes=_chosen(table, "nodes", groups),
        share=table.number("share", 1.0, most=1),
        where=table.text("where", ""),
        files=_files(table),
        at_s=table.number("at_s", 0.0, most=DAYS_S),
        app=table.text("app", "app"),
    )
    table.done()
    for name in wants.feeds:
        if name != ALL and name not in feeds:
            raise table.wrong("feeds", f"a list of feeds, among them {', '.join(feeds[:5]) or 'none'}")
    try:
        parse(wants.where)
    except UsageError as error:
        raise UsageError(f"{table.name('where')}: {error}") from None
    return wants


def _files(table: Table) -> str:
    files = table.text("files", "all")
    if re.fullmatch(r"all|none|max=[0-9]{1,15}", files) is None:
        raise table.wrong("files", "all, none or max=BYTES")
    return files


def _chosen(table: Table, key: str, groups: Groups) -> tuple[str, ...]:
    names = table.texts(key, [ALL])
    for name in names:
        if name not in groups:
            raise table.wrong(key, f"a list of nodes or groups, among them {', '.join(list(groups)[:5])}")
    return names


def read_faults(table: Table) -> Faults:
    default = Faults()
    faults = Faults(
        kill_every_s=table.number("kill_every_s", default.kill_every_s, most=DAYS_S),
        restart_after_s=table.number("restart_after_s", default.restart_after_s, most=DAYS_S),
    )
    table.done()
    return faults
