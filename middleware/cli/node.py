"""The command that runs a node."""

import argparse
import asyncio
import logging
import sys
from dataclasses import replace

from contentdb.errors import UsageError
from middleware.cli.background import LOG_FORMAT, let_go, log_into_file, start
from middleware.cli.desk import Desk
from middleware.config import DEFAULT_FILE, SETTINGS, Settings, parse_settings
from middleware.service import Service


def up(desk: Desk, options: argparse.Namespace) -> int:
    """Run until interrupted. The home belongs to this process meanwhile; others reach it by its socket."""
    if options.detach:
        return start(desk, options)
    if desk.is_running:
        raise UsageError(f"a node runs in {desk.home} already; `passerby status` tells how it is")
    settings = _settings(desk, options)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    log_into_file(desk)
    store, secret = desk.store, desk.keys.node()

    async def serve() -> None:
        service = Service(desk.home, store, secret, settings)
        await service.run(_announce)

    def _announce(service: Service) -> None:
        near = f"hello on UDP port {settings.hello.port}, sessions on TCP port {service.port}"
        desk.say(f"this node is up: {near}; what it holds is public to whoever is near. Ctrl-C stops it")
        dashboard = service.home.dashboard
        if dashboard is not None:
            desk.say(f"its dashboard, for your browser only: {dashboard}")
        document = {"node_id": service.node.id, "port": service.port, "dashboard": dashboard}
        desk.show(document, [service.node.id])
        sys.stdout.flush()
        if options.detached:
            let_go()

    asyncio.run(serve())
    desk.say("stopped; nothing is lost")
    return 0


def _settings(desk: Desk, options: argparse.Namespace) -> Settings:
    desk.store  # noqa: B018  # makes the home, private, if there is none
    path = desk.home / SETTINGS
    try:
        if not path.exists():
            path.write_text(DEFAULT_FILE, encoding="utf-8")
        settings = parse_settings(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    hello, sessions = settings.hello, settings.sessions
    if options.hello_interval is not None:
        hello = replace(hello, interval_s=options.hello_interval)
    if options.hello_port is not None:
        hello = replace(hello, port=options.hello_port)
    if options.interface:
        hello = replace(hello, interfaces=tuple(options.interface))
    if options.port is not None:
        sessions = replace(sessions, port=options.port)
    return replace(settings, hello=hello, sessions=sessions)
