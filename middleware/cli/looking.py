"""Commands that look beyond this node: somebody at an address, and the feeds that neighbours have."""

import argparse
import sys
import time

from middleware.cli.desk import Desk
from middleware.cli.words import shorten, show_number


def meet(desk: Desk, options: argparse.Namespace) -> int:
    found = desk.running.call("meet", {"address": options.address})
    desk.say(f"looks for somebody at {options.address} from now on; `passerby neighbours` shows who is there")
    return desk.show(found, [found["address"]])


def discover(desk: Desk, options: argparse.Namespace) -> int:
    """A line for each feed when it is seen; in JSON, one list of all at the end."""
    from middleware.client.conversation import Inbox

    desk.hint_at_dates(options.selector)
    node = desk.running
    inbox = node.open_inbox(Inbox("discover", {"where": options.selector}))
    seen = []
    ends_at = time.monotonic() + options.seconds
    try:
        while taken := node.take(lambda: [inbox], ends_at - time.monotonic()):
            feed = taken[1]["feed"]
            seen.append(feed)
            if not desk.as_json:
                desk.show(feed, [f"{shorten(feed['title'])}  {feed['id']}"])
                sys.stdout.flush()
    except KeyboardInterrupt:
        pass  # seen enough
    number = show_number(len(seen), "feed")
    desk.say(f"saw {number} at neighbours" + ("; `passerby subscribe ID` asks for one" if seen else ""))
    return desk.show(seen) if desk.as_json else 0
