"""The command line: runs the command that the arguments name, and turns every failure into one sentence."""

import importlib
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence

from contentdb.errors import RemoteError, StoreError, UsageError
from middleware.cli.arguments import build_parser as build_parser
from middleware.cli.arguments import parse
from middleware.cli.streams import discard, printable, tell
from middleware.collector import relax_collector

EXIT_OK, EXIT_FAILED = 0, 1


def main(
    argv: Sequence[str], *, version: str = "", measuring: Callable[[], ArgumentParser] | None = None
) -> int:
    """Run one command, e.g. ``main(["feeds", "--json"])``; returns the exit status.

    `measuring` makes the parser of commands that are not run here and yet completed by shells.
    """
    try:
        status = _run(argv, version, measuring)
        sys.stdout.flush()  # here, where a full disk or a reader that has gone can still be told
        return status
    except (UsageError, StoreError, RemoteError) as error:
        return _complain(str(error))
    except BrokenPipeError:
        # Whoever read our output has gone, as `| head` does; Python must not complain about it at exit.
        discard(sys.stdout)
        return EXIT_OK
    except OSError as error:
        discard(sys.stdout)
        return _complain(f"{error.filename or 'the output'}: {error.strerror or error}")
    except UnicodeEncodeError as error:
        # Texts are UTF-8 everywhere; only the names of files are written as the locale has it.
        return _complain(f"this locale has no way to write {error.object!r}; set LC_ALL=C.UTF-8")
    except (KeyboardInterrupt, EOFError):
        return _complain("stopped")


def _run(argv: Sequence[str], version: str, measuring: Callable[[], ArgumentParser] | None) -> int:
    try:
        options = parse(list(argv), version)
    except SystemExit as stopped:  # argparse has said why, or has shown its help
        discard(sys.stderr)
        return int(stopped.code or 0)
    # Imported only now: `passerby --help` and a mistyped word need neither SQLite nor cryptography.
    from middleware.cli.desk import Desk

    relax_collector()
    options.measuring = measuring
    module, _, function = options.run.partition(":")
    command = getattr(importlib.import_module(f"middleware.cli.{module}"), function)
    with Desk(options.home, as_json=options.json) as desk:
        return int(command(desk, options))


def _complain(message: str) -> int:
    tell(f"passerby: {printable(message)}\n")
    return EXIT_FAILED
