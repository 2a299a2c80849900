"""The verbs that measure: `bench` runs the benchmarks, `simulate` a scenario in the simulator."""

import argparse
import importlib
import json
import pkgutil
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import cast

import evaluation.benchmarks
from contentdb.errors import UsageError
from evaluation.benchmarks.harness import Row, as_table
from evaluation.benchmarks.meeting.nodes import BenchmarkFailed
from evaluation.benchmarks.meeting.peers import install_peers
from middleware.collector import relax_collector

Benchmark = Callable[[int, bool], list[Row]]

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
DEFAULT_ROUNDS = 5


def main(argv: Sequence[str]) -> int:
    """Run one measuring verb, e.g. ``main(["bench", "--quick"])``; returns the exit status."""
    options = build_parser().parse_args(argv)
    return _simulate(options) if options.verb == "simulate" else _bench(options)


def _simulate(options: argparse.Namespace) -> int:
    from evaluation.simulator.run import listing, simulate  # imports a whole node, which bench may not need

    relax_collector()
    if options.scenario == "chaos":
        from evaluation.simulator.chaos import main as chaos

        return chaos(["--seeds", str(options.seeds), "--first", str(options.seed)])
    try:
        if options.list:
            sys.stdout.write(listing())
            return EXIT_OK
        if options.scenario is None:
            raise UsageError("which scenario? Name a file, or one of those that `simulate --list` shows")
        printed = simulate(
            options.scenario,
            options.seed,
            as_json=options.json,
            trace=options.trace,
            logbooks=options.logbooks,
        )
    except UsageError as error:
        sys.stderr.write(f"passerby: {error}\n")
        return EXIT_FAILED
    except KeyboardInterrupt:
        sys.stderr.write("\npasserby: stopped before the end; nothing was measured\n")
        return EXIT_FAILED
    sys.stdout.write(printed)
    sys.stdout.flush()
    return EXIT_OK


def _bench(options: argparse.Namespace) -> int:
    # As Ctrl-C does, so that what a benchmark has started and written goes with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.peers:
        problem = install_peers()
        if problem:
            sys.stderr.write(f"passerby: {problem}\n")
            return EXIT_FAILED
        if not options.names:
            return EXIT_OK
    available = benchmark_names()
    unknown = [name for name in options.names if name not in available]
    if unknown:
        sys.stderr.write(
            f"passerby: no benchmark is named {unknown[0]!r}; there are: {', '.join(available)}\n"
        )
        return EXIT_USAGE
    try:
        results = run_benchmarks(options.names or available, options.rounds, quick=options.quick)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"passerby: this benchmark needs {error.name}; install it with passerby[fast]\n")
        return EXIT_FAILED
    except KeyboardInterrupt:
        sys.stderr.write("\npasserby: stopped before the end; nothing was measured\n")
        return EXIT_FAILED
    except BenchmarkFailed as error:
        sys.stderr.write(f"passerby: {error}\n")
        return EXIT_FAILED
    print(_as_document(results) if options.json else _as_one_table(results), flush=True)
    broken = any(row.kept is False for rows in results.values() for row in rows)
    return EXIT_FAILED if options.strict and broken else EXIT_OK


def benchmark_names() -> list[str]:
    """The modules in evaluation/benchmarks that have a ``run(rounds, quick)``, in alphabetical order."""
    found = sorted(module.name for module in pkgutil.iter_modules(evaluation.benchmarks.__path__))
    return [name for name in found if name != "harness" and _is_benchmark(name)]


def _is_benchmark(name: str) -> bool:
    try:
        return callable(getattr(_module(name), "run", None))
    except ModuleNotFoundError:
        return True  # what is missing is said when somebody runs it


def run_benchmarks(names: Sequence[str], rounds: int, *, quick: bool) -> dict[str, list[Row]]:
    """Run each in turn, never two at once: they would measure each other."""
    relax_collector()  # as in every process of ours
    results: dict[str, list[Row]] = {}
    for position, name in enumerate(names, start=1):
        sys.stderr.write(f"passerby: benchmark {position} of {len(names)}: {name} ...\n")
        benchmark = cast(Benchmark, _module(name).run)
        results[name] = benchmark(rounds, quick)
    return results


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="passerby", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    description = "Run benchmarks and show one table."
    bench = verbs.add_parser("bench", help="run benchmarks", description=description, allow_abbrev=False)
    bench.add_argument("names", nargs="*", metavar="NAME", help="which; all if none is named")
    bench.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    bench.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, not how fast")
    bench.add_argument(
        "--rounds", type=_positive, default=DEFAULT_ROUNDS, metavar="N", help="default: %(default)s"
    )
    bench.add_argument("--peers", action="store_true", help="install iperf3 and Syncthing, to compare with")
    bench.add_argument("--strict", action="store_true", help="exit with 1 if a promise is not kept")
    description = "Run a scenario in the simulator and show what came of it."
    simulate = verbs.add_parser(
        "simulate", help="run a scenario", description=description, allow_abbrev=False
    )
    simulate.add_argument("scenario", nargs="?", metavar="SCENARIO", help="a TOML file, or a name of --list")
    simulate.add_argument("--list", action="store_true", help="show the scenarios that come with passerby")
    simulate.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of all chance; default: %(default)s"
    )
    simulate.add_argument(
        "--seeds", type=_positive, default=200, metavar="N", help="how many, for chaos; default: %(default)s"
    )
    simulate.add_argument("--json", action="store_true", help="print one JSON document instead of the page")
    simulate.add_argument("--trace", type=Path, metavar="FILE", help="contacts, in place of those it names")
    simulate.add_argument("--logbooks", type=Path, metavar="DIR", help="write the logbook of each node there")
    return parser


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"evaluation.benchmarks.{name}")


def _as_one_table(results: dict[str, list[Row]]) -> str:
    return as_table([row for rows in results.values() for row in rows])


def _as_document(results: dict[str, list[Row]]) -> str:
    return json.dumps({name: [asdict(row) for row in rows] for name, rows in results.items()}, indent=2)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of rounds from 1 on; got {text!r}")
    return int(text)
