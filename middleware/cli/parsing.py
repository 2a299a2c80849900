"""What all commands share in how their words are read: the parser, its common options, and its examples."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from middleware.cli.streams import printable

if TYPE_CHECKING:
    Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"

EXIT_USAGE = 2


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"passerby: {printable(message)}; see `{self.prog} --help`\n")

    def print_help(self, file: Any = None) -> None:
        """argparse would not say that nothing could be written."""
        (file or sys.stdout).write(self.format_help())

    def format_help(self) -> str:
        """Examples are looked up only now: a command that runs needs none."""
        if self.epilog is None:
            from middleware.cli.examples import EXAMPLES

            lines = EXAMPLES.get(self.prog.partition(" ")[2], ())
            self.epilog = "\n  ".join(["examples:", *lines]) if lines else None
        return super().format_help()


def common(parser: argparse.ArgumentParser, *, is_root: bool) -> None:
    """--home and --json may stand before or after the command; the later parser must not undo the first."""
    home = None if is_root else argparse.SUPPRESS
    parser.add_argument(
        "--home", type=_folder, default=home, metavar="DIR", help="the folder everything is kept in"
    )
    as_json = False if is_root else argparse.SUPPRESS
    parser.add_argument("--json", action="store_true", default=as_json, help="print one JSON document")


def command(verbs: "Verbs", name: str, run: str, help_: str) -> argparse.ArgumentParser:
    """A command that `run`, module:function of middleware/cli, does."""
    parser = verbs.add_parser(
        name,
        help=help_,
        description=help_[0].upper() + help_[1:] + ".",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    common(parser, is_root=False)
    return parser


def positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 999999999; got {text[:40]!r}")
    return int(text)


def _folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a folder; got nothing")
    return Path(text)
