"""The façade: the names that people outside may rely on. `python -m passerby` is the command line."""

import io
import os
import sys
from collections.abc import Sequence

__version__ = "0.1.0"

# Verbs that measure; nothing of them is loaded for the others.
_MEASURING = ("bench", "simulate")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, 1 (it failed, with one sentence) or 2 (usage)."""
    if argv is None:
        _open_what_is_closed()
        _spare_the_terminal()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in _MEASURING:
        from evaluation.cli import main as measure

        return measure(arguments)
    from middleware.cli.main import main as command

    return command(arguments, version=__version__)


def _open_what_is_closed() -> None:
    """Who closes a stream (`>&-`) wants to hear nothing; the next file opened must not take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: that of the closed stream
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (to the end)


def _spare_the_terminal() -> None:
    """A character that the terminal does not know is shown as an escape, and ends nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
