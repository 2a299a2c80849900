"""`simulate`: runs a scenario from one seed and says what came of it."""

import json
import sys
from pathlib import Path

from contentdb.errors import UsageError
from evaluation.simulator.outcome import Tallies, document, page
from evaluation.simulator.scenario import load_scenario
from evaluation.simulator.stage import Stage
from middleware.logbook import encode_line
from middleware.logfile import LogbookFile

SCENARIOS = Path(__file__).parent / "scenarios"
STEPS = 200  # so often the lines of all nodes are taken away, and progress is shown
KEEP_DAYS = 36_500  # what a simulation wrote is its owner's to remove


def find_scenario(name: str) -> Path:
    """A file, or one of those that come with us by its name."""
    if name in scenario_names():
        return SCENARIOS / f"{name}.toml"
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name} is neither a file nor one of {', '.join(scenario_names())}")
    return path


def scenario_names() -> list[str]:
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def listing() -> str:
    """The scenarios that come with us, and what each is about: its first line."""
    rows = [
        (name, (SCENARIOS / f"{name}.toml").read_text("utf-8").splitlines()[0]) for name in scenario_names()
    ]
    return "".join(f"{name:<10} {line.removeprefix('# ')}\n" for name, line in rows)


class Run:
    """One scenario from one seed, step by step."""

    def __init__(
        self, path: Path, seed: int, *, trace: Path | None = None, logbooks: Path | None = None
    ) -> None:
        self._seed = seed
        self.stage = Stage(load_scenario(path, trace), seed)
        self.tallies = Tallies()
        self._files = {} if logbooks is None else _files(logbooks, self.stage.scenario.nodes)

    def finish(self) -> dict[str, object]:
        """Let all of its time pass."""
        world, duration_s = self.stage.world, self.stage.scenario.duration_s
        for step in range(1, STEPS + 1):
            world.run(duration_s * step / STEPS - world.now)
            self._collect()
            self._show(step / STEPS)
        for node in world.nodes.values():
            node.stop()
        self._collect()
        return document(self.stage, self._seed, self.tallies)

    def _collect(self) -> None:
        for name, node in self.stage.world.nodes.items():
            lines = node.machine.logbook.take()
            self.tallies.take(name, lines)
            if name in self._files:
                self._files[name].write(map(encode_line, lines), node.at)
                self._files[name].close()  # a thousand open files are more than most systems allow

    def _show(self, share: float) -> None:
        if sys.stderr.isatty():
            reached, goals = len(self.tallies.reached), len(self.stage.goals)
            end = "\r\033[K" if share >= 1 else ""
            opened = self.stage.world.streams_opened
            sys.stderr.write(f"\r{share:4.0%}  {reached:,} of {goals:,} delivered, {opened:,} sessions{end}")
            sys.stderr.flush()


def _files(folder: Path, nodes: tuple[str, ...]) -> dict[str, LogbookFile]:
    """One folder for each node, as in a home; whatever was there before would be mixed with it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a folder for the logbooks that is")
    except OSError as error:
        raise UsageError(f"cannot write logbooks to {folder}: {error.strerror}") from None
    return {name: LogbookFile(folder / name, KEEP_DAYS) for name in nodes}


def simulate(
    name: str, seed: int, *, as_json: bool, trace: Path | None = None, logbooks: Path | None = None
) -> str:
    """What `simulate` prints."""
    outcome = Run(find_scenario(name), seed, trace=trace, logbooks=logbooks).finish()
    return json.dumps(outcome, indent=2) + "\n" if as_json else page(outcome)
