"""The arguments of the commands that look around: whom to meet, what they have, what goes on."""

import argparse
from typing import TYPE_CHECKING

from middleware.cli.parsing import command, positive

if TYPE_CHECKING:
    from middleware.cli.parsing import Verbs

# Whoever looks longer wants a program that stays: an app.
MAX_LOOK_S = 86_400.0


def looking_commands(verbs: "Verbs") -> None:
    meet = command(verbs, "meet", "looking:meet", "look for somebody at an address, from now on")
    meet.add_argument(
        "address", metavar="ADDRESS", help="such as 192.0.2.7 or 192.0.2.7:4747, of a hello port"
    )
    discover = command(verbs, "discover", "looking:discover", "list feeds that neighbours have, as they come")
    discover.add_argument(
        "selector", nargs="?", default="", metavar="SELECTOR", help="such as \"title LIKE '%%jazz%%'\""
    )
    discover.add_argument(
        "--for",
        dest="seconds",
        type=_seconds,
        default=10.0,
        metavar="S",
        help="how many seconds to look; default: 10",
    )
    logbook = command(verbs, "logbook", "noted:logbook", "show what the node met and moved")
    logbook.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    logbook.add_argument("--limit", type=positive, default=100, metavar="N", help="the last so many; 100")
    token = command(
        verbs, "token", "people:token", "let an app in over TCP; without a name, list those let in"
    )
    token.add_argument("app", nargs="?", metavar="APP", help="its name, as it connects by")
    token.add_argument("--revoke", action="store_true", help="no longer let it in")
    command(verbs, "watch", "watch:watch", "show live who is near, what is on its way and what arrives")
    demo = command(verbs, "demo", "demo:demo", "show with three nodes on this machine how content travels")
    demo.add_argument("--slow", action="store_true", help="pause after each step, and show the dashboards")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_LOOK_S:
        raise argparse.ArgumentTypeError(f"expected seconds, up to {MAX_LOOK_S:.0f}; got {text[:40]!r}")
    return seconds
