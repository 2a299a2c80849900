"""The façade: the names that people outside may rely on. `python -m passerby` is the command line."""

import io
import sys
from collections.abc import Sequence

__version__ = "0.1.0"

# Verbs that measure; nothing of them is loaded for the others.
_MEASURING = ("bench",)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, 1 (it failed, with one sentence) or 2 (usage)."""
    if argv is None:
        _spare_the_terminal()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in _MEASURING:
        from evaluation.cli import main as measure

        return measure(arguments)
    from middleware.cli.main import main as command

    return command(arguments)


def _spare_the_terminal() -> None:
    """A character that the terminal does not know is shown as an escape, and ends nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
