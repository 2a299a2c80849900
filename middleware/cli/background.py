"""A node in the background: started by a command that ends when it is ready, with its log in a file."""

import argparse
import logging
import os
import subprocess
import sys
from logging.handlers import RotatingFileHandler

from contentdb.errors import UsageError
from middleware.cli.desk import Desk

LOG_FILE = "node.log"
# A day of meeting people is a few hundred kilobytes; the last of them is what one looks for.
MAX_LOG_BYTES, OLD_LOGS = 1_000_000, 3
LOG_FORMAT = "%(asctime)s %(message)s"


def log_into_file(desk: Desk) -> None:
    """Keep what the node tells of itself in the home, where nobody else reads it."""
    path = desk.home / LOG_FILE
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    keeper = RotatingFileHandler(path, maxBytes=MAX_LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8")
    keeper.setFormatter(logging.Formatter(LOG_FORMAT))
    logging.getLogger().addHandler(keeper)


def start(desk: Desk, options: argparse.Namespace) -> int:
    """Start the node as a process of its own and wait until it is ready, or has said why it is not."""
    command = [sys.executable, "-P", "-m", "passerby", "--home", str(desk.home), "up", "--detached"]
    for name in ("hello_interval", "port", "hello_port"):
        value = getattr(options, name)
        command += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    command += [word for name in options.interface for word in ("--interface", name)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None and child.stderr is not None
    node = child.stdout.readline().strip()
    if not node:
        told = child.stderr.read().strip().removeprefix("passerby: ")
        raise UsageError(told or "the node ended at once and did not say why; try it without --detach")
    desk.say(f"a node is up, in the background; `passerby down` stops it, {desk.home / LOG_FILE} is its log")
    return desk.show({"node_id": node, "pid": child.pid}, [node])


def let_go() -> None:
    """From now on nobody listens: whoever started us has what it waited for, and ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
