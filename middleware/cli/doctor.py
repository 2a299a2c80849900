"""The command that examines the machine, its networks and the home, and says what to do about each fault."""

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from contentdb.errors import StoreError, UsageError
from contentdb.names import Address
from discovery import probing, trials
from discovery.interfaces import Link, current_links, split_ip_address
from discovery.trials import Finding, Level
from middleware.api.address import socket_path
from middleware.cli.desk import Desk
from middleware.config import SETTINGS, Settings, parse_settings
from middleware.health import Clocks, Disk, judge_clock, judge_disk

MAX_ASKED = 8


def doctor(desk: Desk, options: argparse.Namespace) -> int:
    """Everything is examined, whatever is found to be wrong before. Status 1 if something is."""
    began = time.time(), time.monotonic()
    settings, found = _settings(desk.home)
    kept, faults = _kept(desk)
    found += faults
    port = kept.get("hello_port") or (settings.hello.port if settings else Settings().hello.port)
    wanted = tuple(options.interface) or (settings.hello.interfaces if settings else ())
    found += _network(wanted, port, kept, is_running=kept.get("neighbours") is not None)
    passed = time.time() - began[0], time.monotonic() - began[1]
    clocks = Clocks(desk.now(), _newest_file_at(desk.home), *passed, waiting=kept.get("waiting", 0))
    found += [*judge_clock(clocks), judge_disk(_disk(desk.home, kept)), *_socket(desk.home)]
    return _shown(desk, found, has_full_text=kept.get("full_text"))


def _shown(desk: Desk, found: list[Finding], *, has_full_text: bool | None) -> int:
    problems = [each.text for each in found if each.level is Level.WRONG]
    notes = [each.text for each in found if each.level is Level.NOTE]
    if has_full_text is False:
        notes.append("this SQLite has no FTS5: LIKE searches read every entry")
    checks = [{"check": each.check, "level": each.level.value, "text": each.text} for each in found]
    document = {
        "home": str(desk.home),
        "problems": problems,
        "notes": notes,
        "checks": checks,
        "full_text": has_full_text,
    }
    for note in notes:
        desk.say(note)
    desk.show(document, problems or [f"all is well in {desk.home}"])
    return 1 if problems else 0


# -- the home


def _settings(home: Path) -> tuple[Settings | None, list[Finding]]:
    path = home / SETTINGS
    try:
        settings = parse_settings(path.read_text(encoding="utf-8")) if path.exists() else Settings()
        return settings, [Finding("settings", Level.GOOD, f"{path} can be read")]
    except (OSError, UnicodeDecodeError, UsageError) as error:
        text = f"{path}: {error}; correct it, or remove it to have the defaults"
        return None, [Finding("settings", Level.WRONG, text)]


def _kept(desk: Desk) -> tuple[dict[str, Any], list[Finding]]:
    """What the node, or the store itself, says of what is kept; a store that cannot be opened is a fault."""
    try:
        kept: dict[str, Any] = desk.call("check")
    except (StoreError, UsageError) as error:
        return {}, [Finding("store", Level.WRONG, str(error))]
    found = [Finding("store", Level.WRONG, text) for text in kept["problems"]]
    found += [Finding("store", Level.NOTE, text) for text in kept["notes"]]
    return kept, found or [Finding("store", Level.GOOD, "what is kept is sound, and so are the keys")]


def _newest_file_at(home: Path) -> int:
    newest = 0.0
    for name in ("passerby.sqlite", "passerby.sqlite-wal", "keys"):
        try:
            newest = max(newest, (home / name).stat().st_mtime)
        except OSError:
            continue
    return round(newest * 1000)


def _disk(home: Path, kept: dict[str, Any]) -> Disk:
    try:
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(b"x")
            file.flush()
        room = os.statvfs(home)
    except OSError as error:
        return Disk(0, error.strerror or str(error))
    except AttributeError:  # a system without statvfs
        return Disk(2**62)
    return Disk(room.f_bavail * room.f_frsize, "", kept.get("used", 0), kept.get("limit", 0))


def _socket(home: Path) -> list[Finding]:
    if socket_path(str(home)) is not None:
        return []
    text = "the path of the home is long, so apps reach the node by a socket in the runtime folder"
    return [Finding("socket", Level.GOOD, text)]


# -- networks


def _network(wanted: tuple[str, ...], port: int, kept: dict[str, Any], *, is_running: bool) -> list[Finding]:
    every = current_links()
    links = [each for each in sorted(every) if (each.name in wanted if wanted else not _is_loopback(each))]
    missing = [name for name in wanted if name not in {each.name for each in links}]
    found = [
        Finding("network", Level.WRONG, f"there is no interface {name} that is up; `ip address` lists them")
        for name in missing
    ]
    if links or not wanted:
        idle = probing.idle_interfaces(every)
        found += trials.judge_links(links, probing.try_links(links), port, idle=idle)
    found.append(trials.judge_port(port, probing.port_error(port)))
    found.append(trials.judge_listeners(port, probing.count_listeners(port), is_running=is_running))
    if kept.get("neighbours") == 0 or any(each.level is not Level.GOOD for each in found):
        found += trials.judge_rules(probing.firewall_rules(), port)
    return [*found, *_company(links, kept)]


def _is_loopback(link: Link) -> bool:
    return link.address.startswith("127.") or link.address == "::1"


def _company(links: list[Link], kept: dict[str, Any]) -> list[Finding]:
    neighbours = kept.get("neighbours")
    found = trials.judge_company(neighbours)
    near = [host for address in kept.get("remembered", ()) if (host := _host_here(address, links))]
    gateway = probing.default_gateway()
    if neighbours or not near or not gateway:
        return found
    asked = list(dict.fromkeys(near))[:MAX_ASKED]
    answers = probing.answering([gateway, *asked])
    return [*found, *trials.judge_isolation(gateway, answers, asked, has_neighbours=bool(neighbours))]


def _host_here(address: str, links: list[Link]) -> str:
    """The IPv4 host of an address that lies in one of our networks; "" of any other."""
    host, _, _ = split_ip_address(Address(address)) or ("", "", 0)
    if not host or ":" in host:
        return ""
    return host if any(not each.is_ipv6 and each.reaches(host, "") for each in links) else ""
