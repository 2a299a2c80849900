"""The command line: runs the command that the arguments name, and turns every failure into one sentence."""

import importlib
import os
import sys
from collections.abc import Sequence

from contentdb.errors import RemoteError, StoreError, UsageError
from middleware.cli.arguments import build_parser as build_parser
from middleware.cli.arguments import parse, printable

EXIT_OK, EXIT_FAILED = 0, 1


def main(argv: Sequence[str]) -> int:
    """Run one command, e.g. ``main(["feeds", "--json"])``; returns the exit status."""
    try:
        options = parse(list(argv))
    except SystemExit as stopped:  # argparse has said why
        return int(stopped.code or 0)
    module, _, function = options.run.partition(":")
    try:
        # Imported only now: `passerby --help` and a mistyped word need neither SQLite nor cryptography.
        from middleware.cli.desk import Desk

        command = getattr(importlib.import_module(f"middleware.cli.{module}"), function)
        with Desk(options.home, as_json=options.json) as desk:
            status = int(command(desk, options))
        sys.stdout.flush()  # here, where a full disk or a reader that has gone can still be told
        return status
    except (UsageError, StoreError, RemoteError) as error:
        return _complain(str(error))
    except BrokenPipeError:
        # Whoever read our output has gone, as `| head` does; Python must not complain about it at exit.
        _discard_output()
        return EXIT_OK
    except OSError as error:
        _discard_output()
        return _complain(f"{error.filename or 'the output'}: {error.strerror or error}")
    except (KeyboardInterrupt, EOFError):
        return _complain("stopped")


def _discard_output() -> None:
    """What could not be written must not be tried again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> int:
    sys.stderr.write(f"passerby: {printable(message)}\n")
    return EXIT_FAILED
