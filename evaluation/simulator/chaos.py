"""Random lives of random nodes: whatever happens, the same few things must hold at the end.

    python -m evaluation.simulator.chaos --seeds 200

Nodes meet and part at any moment, links are slow and break in the middle of a message, hellos are lost, and
people publish, replace, retract and subscribe meanwhile. Then everybody is in range for long, and nothing may
be missing, wrong, given twice or still going on. A seed that
fails is printed with the command that repeats it.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations

from contentdb.model import Entry
from contentdb.names import FeedId
from evaluation.simulator.invariants import violations
from evaluation.simulator.radio import Link
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World
from middleware.config import SessionSettings, Settings

GENRES = ("jazz", "folk", "rock")
SELECTORS = ("", "", "genre = 'jazz'", "genre <> 'folk'", "stars > 2", "genre = 'rock' AND stars < 4")
FILES = ("all", "all", "none", "max=50000", "max=0")
MAX_FILE_BYTES = 300_000
# Long enough for the longest wait after failures and for the slowest of the links.
QUIET_S = 900.0
SILENCE_S = 60.0


class Life:
    """One world, and what happens in it by chance."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.rng = self.world.rng
        self.nodes: list[SimNode] = []
        for number in range(self.rng.randint(3, 8)):
            self.nodes += self.world.add_nodes(f"node{number}", settings=self._settings())
        self.feeds = [self._anybody().create_feed(f"feed {n}").id for n in range(self.rng.randint(1, 4))]
        self._published: list[tuple[SimNode, Entry]] = []
        self._subscribed = 0

    def happen(self) -> None:
        deeds = (self._connect, self._part, self._publish, self._replace, self._retract, self._subscribe)
        weights = (10, 6, 6, 2, 1, 3)
        for _ in self.nodes:
            self._subscribe()
        for _ in range(self.rng.randint(10, 60)):
            (deed,) = self.rng.choices(deeds, weights)
            deed()
            self.world.run(self.rng.expovariate(0.5))

    def come_to_rest(self) -> list[str]:
        """Everybody is in range of everybody, until nothing happens any more."""
        for one, two in combinations(self.nodes, 2):
            self.world.connect(one, two)
        self.world.run(QUIET_S - SILENCE_S)
        opened = self.world.streams_opened
        self.world.run(SILENCE_S)
        restless = self.world.streams_opened - opened
        noise = [f"{restless} connections in the last {SILENCE_S:g} s of quiet"] if restless else []
        return noise + violations(self.nodes, self.feeds, self.world.at)

    def _settings(self) -> Settings:
        serving = self.rng.choice(("concurrent", "sequential"))
        return Settings(
            sessions=SessionSettings(
                serving=serving,
                servers=self.rng.randint(1, 4),
                clients=self.rng.randint(1, 3),
                service_s=self.rng.choice((2, 30)),
            )
        )

    def _anybody(self) -> SimNode:
        return self.rng.choice(self.nodes)

    def _connect(self) -> None:
        one, two = self.rng.sample(self.nodes, 2)
        rate = 10 ** self.rng.uniform(4, 6.5)
        cut_after = int(10 ** self.rng.uniform(0, 6)) if self.rng.random() < 0.5 else None
        loss = self.rng.choice((0.0, 0.0, 0.2, 0.6))
        self.world.connect(one, two, Link(rate, self.rng.uniform(0, 0.2), loss, cut_after))

    def _part(self) -> None:
        one, two = self.rng.sample(self.nodes, 2)
        self.world.part(one, two)

    def _subscribe(self) -> None:
        self._subscribed += 1
        self._anybody().subscribe(
            self.rng.choice(self.feeds),
            self.rng.choice(SELECTORS),
            app=f"app{self._subscribed}",
            files=self.rng.choice(FILES),
        )

    def _file(self) -> bytes | None:
        if self.rng.random() < 0.6:
            return None
        return self.rng.randbytes(self.rng.choice((0, 1, self.rng.randint(0, MAX_FILE_BYTES))))

    def _publish(self) -> None:
        feed = self.rng.choice(self.feeds)
        writers = [node for node in self.nodes if node.store.feeds.descriptor(feed) is not None]
        node = self.rng.choice(writers)
        for _ in range(self.rng.choice((1, 1, 1, 2, 10))):
            self._published.append((node, self._say(node, feed, None)))

    def _say(self, node: SimNode, feed: FeedId, old: Entry | None) -> Entry:
        return node.publish(
            feed,
            "something",
            self._file(),
            replaces=None if old is None else old.id,
            genre=self.rng.choice(GENRES),
            stars=self.rng.randint(1, 5),
        )

    def _replace(self) -> None:
        if self._published:
            at = self.rng.randrange(len(self._published))
            node, old = self._published[at]
            self._published[at] = (node, self._say(node, old.key.feed, old))

    def _retract(self) -> None:
        if self._published:
            node, entry = self._published.pop(self.rng.randrange(len(self._published)))
            node.retract(entry)


def run_seed(seed: int) -> list[str]:
    """Live one life; returns what was wrong at its end, in words."""
    life = Life(seed)
    life.happen()
    return life.come_to_rest()


def run_seeds(first: int, count: int) -> int:
    """Live many; returns how many went wrong, and prints for each how to repeat it."""
    failed = 0
    for seed in range(first, first + count):
        command = f"python -m evaluation.simulator.chaos --seeds 1 --first {seed}"
        try:
            wrong = run_seed(seed)
        except Exception as error:
            error.add_note(f"seed {seed}: {command}")
            raise
        if wrong:
            failed += 1
            print(f"seed {seed}: {command}")
            print("".join(f"  {line}\n" for line in wrong), end="", flush=True)
        sys.stderr.write(f"\r{seed - first + 1} of {count} seeds, {failed} failed")
    sys.stderr.write("\n")
    return failed


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.simulator.chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    options = parser.parse_args(argv)
    return 1 if run_seeds(options.first, options.seeds) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
