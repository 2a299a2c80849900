"""What the command line understands: every command, its arguments, and what --help says of them."""

import argparse
import os
from typing import TYPE_CHECKING

from middleware.cli.looking_arguments import looking_commands
from middleware.cli.parsing import Parser
from middleware.cli.parsing import command as _command
from middleware.cli.parsing import common as _common
from middleware.cli.parsing import positive as _positive

if TYPE_CHECKING:
    from middleware.cli.parsing import Verbs

EPILOG = "Everything is kept in one folder: --home DIR, or PASSERBY_HOME, or the platform's data folder."
FEED = "a feed's id, or its title if only one has it"
ENTRY = "an entry's id, or the beginning of it: four characters or more"
# Named as the file system names them, which need not be text; everything else a person says is text.
PATHS = ("home", "file", "into", "source")


def build_parser(version: str = "") -> Parser:
    parser = Parser(
        prog="passerby", description="Content that travels with people.", epilog=EPILOG, allow_abbrev=False
    )
    _common(parser, is_root=True)
    parser.add_argument("--version", action="version", version=f"passerby {version}")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _node_commands(verbs)
    _feed_commands(verbs)
    _subscription_commands(verbs)
    _entry_commands(verbs)
    _people_commands(verbs)
    looking_commands(verbs)
    _gateway_commands(verbs)
    _bundle_command(verbs)
    _completion_command(verbs)
    # Listed for --help only; passerby.main hands this over before this parser is asked.
    bench = verbs.add_parser("bench", help="run the benchmarks")
    bench.set_defaults(run="bench")
    return parser


def parse(argv: list[str], version: str = "") -> argparse.Namespace:
    """The options of one command; a SystemExit, after a sentence, if there is none in these words."""
    parser = build_parser(version)
    options = parser.parse_args(argv)
    for name, value in vars(options).items():
        if name not in PATHS:
            setattr(options, name, _as_text(parser, value))
    if options.run == "bench":
        parser.error("bench comes first and knows no --home: passerby bench")
    if options.run == "people:me" and options.action == "import" and options.file is None:
        parser.error("say which backup: passerby me import FILE")
    if options.run == "people:me" and options.replace and options.action != "import":
        parser.error("--replace belongs to `passerby me import FILE`")
    if options.run == "feed:writers" and options.change and options.key is None:
        parser.error(f"say whom to {options.change}: passerby feed writers FEED {options.change} KEY")
    if options.run == "people:token" and options.revoke and options.app is None:
        parser.error("say whose: passerby token APP --revoke")
    if options.run == "people:block" and options.undo and options.key is None:
        parser.error("say whom you no longer block: passerby block KEY --undo")
    return options


def _as_text(parser: Parser, value: object) -> object:
    """Python marks bytes that the locale does not know; most likely they are UTF-8 all the same."""
    if isinstance(value, list):
        return [_as_text(parser, each) for each in value]
    if not isinstance(value, str):
        return value
    try:
        return os.fsencode(value).decode("utf-8")
    except UnicodeDecodeError:
        return parser.error(f"expected text in UTF-8; got {value[:80]!r}")
    except UnicodeEncodeError:  # more than the locale can say, so it came from a program and is text
        return value


def _node_commands(verbs: "Verbs") -> None:
    up = _command(verbs, "up", "node:up", "run a node: meet whoever is near and exchange, until Ctrl-C")
    up.add_argument(
        "--hello-interval", type=float, metavar="S", help="say hello every so many seconds, 0.1 to 3600"
    )
    up.add_argument("--interface", action="append", default=[], metavar="NAME", help="only there")
    up.add_argument("--port", type=int, metavar="TCP", help="for sessions; any that is free if not given")
    up.add_argument("--hello-port", type=int, metavar="UDP", help="for hellos; 4747 if not given")
    up.add_argument("--detach", action="store_true", help="run in the background; return when it is ready")
    up.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)  # what --detach starts

    _command(verbs, "down", "running:down", "stop the node that runs in this home")
    _command(verbs, "status", "running:status", "how the running node is")
    _command(verbs, "neighbours", "running:neighbours", "list who is near")


def _feed_commands(verbs: "Verbs") -> None:
    feed = verbs.add_parser("feed", help="make, share and load feeds", allow_abbrev=False)
    _common(feed, is_root=False)
    actions = feed.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)
    create = _command(actions, "create", "feed:create", "make a feed")
    create.add_argument("title", metavar="TITLE")
    create.add_argument("--id", metavar="IRI", help="its permanent id; made up if not given")
    create.add_argument("--subtitle", metavar="TEXT")
    create.add_argument(
        "--category", action="append", default=[], metavar="C", help="may be given several times"
    )
    create.add_argument("--language", metavar="TAG", help="such as en or pt-BR")
    create.add_argument("--owned", action="store_true", help="only you, and whom you add, may write")
    create.add_argument("--unlisted", action="store_true", help="shown only to who knows its id")
    writers = _command(actions, "writers", "feed:writers", "show or change who may write to an owned feed")
    writers.add_argument("feed", metavar="FEED", help=FEED)
    writers.add_argument("change", nargs="?", choices=("add", "remove"), help="add or remove this key")
    writers.add_argument("key", nargs="?", metavar="KEY", help="as `passerby me` shows it to its owner")
    export = _command(actions, "export", "feed:export", "write a feed as Atom, with its files beside it")
    export.add_argument("feed", metavar="FEED", help=FEED)
    export.add_argument(
        "--into", metavar="DIR", help="a new or empty folder; named after the feed if not given"
    )
    load = _command(actions, "import", "feed:import_", "take in an exported feed, or any Atom or RSS file")
    load.add_argument("file", metavar="FILE", help="the document, or the folder of an export")
    feeds = _command(verbs, "feeds", "feed:listing", "list the feeds that are here")
    feeds.add_argument(
        "selector", nargs="?", default="", metavar="SELECTOR", help="such as \"title LIKE '%%jazz%%'\""
    )


def _subscription_commands(verbs: "Verbs") -> None:
    subscribe = _command(verbs, "subscribe", "feed:subscribe", "ask for a feed, or for a part of it")
    subscribe.add_argument("feed", metavar="FEED", help=FEED + "; or the id of one that is not here yet")
    subscribe.add_argument("--where", default="", metavar="SELECTOR", help="such as \"genre = 'jazz'\"")
    subscribe.add_argument("--files", default="all", metavar="all|none|max=SIZE", help="default: all")
    unsubscribe = _command(verbs, "unsubscribe", "feed:unsubscribe", "no longer ask for it")
    unsubscribe.add_argument("what", metavar="ID|FEED", help="the number of one subscription, or a feed")
    _command(verbs, "subscriptions", "feed:subscriptions", "list what is asked for")


def _entry_commands(verbs: "Verbs") -> None:
    publish = _command(verbs, "publish", "entry:publish", "publish an entry, or a new version of one")
    publish.add_argument("feed", metavar="FEED", help=FEED)
    publish.add_argument("--title", required=True, metavar="T")
    publish.add_argument("--summary", metavar="S")
    publish.add_argument(
        "--attr",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="or name:type=value; several allowed",
    )
    publish.add_argument("--category", action="append", default=[], metavar="C", help="several allowed")
    publish.add_argument("--file", action="append", default=[], metavar="PATH", help="several allowed")
    publish.add_argument("--language", metavar="TAG", help="such as en or pt-BR")
    publish.add_argument("--expires", metavar="WHEN", help="a date, or a span such as 12h or 3d")
    publish.add_argument("--id", metavar="IRI", help="of an own entry: publishes a new version of it")
    entries = _command(verbs, "entries", "entry:listing", "list entries, newest first")
    entries.add_argument("feed", nargs="?", metavar="FEED", help=FEED)
    entries.add_argument("--where", default="", metavar="SELECTOR", help="such as \"genre = 'jazz'\"")
    entries.add_argument("--limit", type=_positive, default=100, metavar="N", help="default: %(default)s")
    get = _one_entry(verbs, "get", "show an entry, and copy its files")
    get.add_argument("--into", metavar="DIR", help="copy its files into this folder")
    _one_entry(verbs, "retract", "take an own entry back, wherever that news arrives")
    pin = _one_entry(verbs, "pin", "never evict this entry or feed", "ENTRY|FEED", f"{ENTRY}; or {FEED}")
    pin.add_argument("--undo", action="store_true", help="let it be evicted again")
    _one_entry(verbs, "why", "tell what happened to an entry")


def _one_entry(
    verbs: "Verbs", name: str, help_: str, metavar: str = "ENTRY", what: str = ENTRY
) -> argparse.ArgumentParser:
    parser = _command(verbs, name, f"entry:{name}", help_)
    parser.add_argument("entry", metavar=metavar, help=what)
    parser.add_argument("--feed", metavar="FEED", help="if several feeds have an entry of this id")
    parser.add_argument("--author", metavar="KEY", help="if several authors do; the beginning is enough")
    return parser


def _gateway_commands(verbs: "Verbs") -> None:
    gateway = verbs.add_parser("gateway", help="mirror feeds of the web for who is near", allow_abbrev=False)
    _common(gateway, is_root=False)
    actions = gateway.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)
    add = _command(actions, "add", "gateway:add", "mirror an Atom, RSS or podcast feed from now on")
    add.add_argument("source", metavar="URL|FILE", help="the address of the feed, or a file")
    into = add.add_mutually_exclusive_group()
    into.add_argument("--feed", metavar="FEED", help="publish to this feed; else to one of its own")
    into.add_argument("--title", metavar="T", help="of the feed; its own if not given")
    add.add_argument("--max-entries", type=_positive, metavar="N", help="only so many, the newest; 20")
    add.add_argument("--max-file", metavar="SIZE", help="larger files stay where they are; 100M")
    add.add_argument("--no-files", action="store_true", help="no files at all, only links to them")
    add.add_argument(
        "--allow-private", action="store_true", help="it is on your own network, and you trust it"
    )
    _command(actions, "list", "gateway:listing", "list what is mirrored, and how the last visit went")
    remove = _command(actions, "remove", "gateway:remove", "mirror it no longer; what was published stays")
    remove.add_argument("source", metavar="URL|FILE", help="as `passerby gateway list` shows it")
    run = _command(actions, "run", "gateway:run", "visit what is mirrored, again and again, until Ctrl-C")
    run.add_argument("--every", type=_every, default=1800, metavar="S", help="seconds; default: %(default)s")
    run.add_argument("--once", action="store_true", help="visit each source once, and end")


def _bundle_command(verbs: "Verbs") -> None:
    bundle = _command(verbs, "bundle", "bundle:bundle", "pack the program for machines without internet")
    bundle.add_argument("--into", metavar="FILE", help="or a folder; named after this platform if not given")


def _completion_command(verbs: "Verbs") -> None:
    completion = _command(
        verbs, "completion", "completion:completion", "print a script by which a shell completes commands"
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the one that is to complete")


def _people_commands(verbs: "Verbs") -> None:
    me = _command(verbs, "me", "people:me", "show, name, save or restore your author key")
    me.add_argument("action", nargs="?", choices=("export", "import"), help="save, or restore, your key")
    me.add_argument("file", nargs="?", metavar="FILE", help="the backup; export prints it if not given")
    me.add_argument("--name", metavar="N", help="the name that stands beside your fingerprint")
    me.add_argument("--replace", action="store_true", help="with import: no longer write with the key here")
    block = _command(
        verbs, "block", "people:block", "refuse what a key signs; without a key, list those refused"
    )
    block.add_argument("key", nargs="?", metavar="KEY", help="64 digits, as `passerby get` shows it")
    block.add_argument("--undo", action="store_true", help="no longer refuse it")
    _command(verbs, "storage", "people:storage", "show what is kept and how much of it")
    doctor = _command(verbs, "doctor", "doctor:doctor", "examine networks, machine and all that is kept")
    doctor.add_argument("--interface", action="append", default=[], metavar="NAME", help="only there")


def _every(text: str) -> int:
    """Servers of others answer these visits, so not more often than once a minute."""
    seconds = _positive(text)
    if not 60 <= seconds <= 604_800:
        raise argparse.ArgumentTypeError(f"expected 60 to 604800 seconds; got {seconds}")
    return seconds
