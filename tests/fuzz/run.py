"""Tries inputs in processes of their own, each under a bound of CPU time and memory that is really measured.

The number of the input at work stands in shared memory, so that one that ends the whole process is known too.
"""

import os
import re
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from random import Random

from tests.fuzz.decoders import Decoder, material_of
from tests.fuzz.mutations import Material, make_input

TABLE = "tests.fuzz.decoders:DECODERS"
_PEAK = re.compile(rb"VmHWM:\s+([0-9]+) kB")
_CHECKED_EVERY = 1_000  # inputs between two looks at what the limit of CPU time has to be


@dataclass(frozen=True, slots=True)
class Bounds:
    """CPU time and growth that one input may cause; growth counts from the first input, so leaks show too.

    Of a million inputs here the slowest took 0.6 s of CPU time, and all of them 55 MiB; both are mostly the
    lenient feed parser's, for feeds of 200 kB.
    """

    cpu_s: float = 5.0
    hang_s: int = 20  # after so much more the process is ended, wherever it is
    grown_bytes: int = 96 * 2**20


@dataclass(frozen=True, slots=True)
class Job:
    seed: int
    numbers: range
    only: str = ""
    table: str = TABLE
    bounds: Bounds = Bounds()


@dataclass(frozen=True, slots=True)
class Failure:
    number: int
    decoder: str
    what: str
    data: bytes


@dataclass
class Report:
    inputs: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    slowest_s: float = 0.0
    slowest: int = 0
    grown_bytes: int = 0
    failure: Failure | None = None

    def add(self, other: "Report") -> None:
        self.inputs += other.inputs
        for mine, others in ((self.taken, other.taken), (self.refused, other.refused)):
            for name, count in others.items():
                mine[name] = mine.get(name, 0) + count
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest
        self.grown_bytes = max(self.grown_bytes, other.grown_bytes)
        self.failure = self.failure or other.failure


class Inputs:
    """Each input follows from the seed and its number alone, so that one is repeated without the others."""

    def __init__(self, table: str, only: str = "") -> None:
        module, _, name = table.partition(":")
        decoders: tuple[Decoder, ...] = getattr(import_module(module), name)
        self.decoders = [decoder for decoder in decoders if only in ("", decoder.name)]
        if not self.decoders:
            raise SystemExit(f"there is no decoder {only}; there are {', '.join(d.name for d in decoders)}")
        self._shares = [decoder.share for decoder in self.decoders]
        self._material: dict[str, Material] = {each.name: material_of(each) for each in self.decoders}

    def make(self, seed: int, number: int) -> tuple[Decoder, bytes]:
        rng = Random(f"{seed}/{number}")
        (decoder,) = rng.choices(self.decoders, self._shares)
        return decoder, make_input(rng, self._material[decoder.name])


def fuzz(jobs: list[Job]) -> Report:
    """Run each job in a process of its own, all at once; the report of them all."""
    spawn = get_context("spawn")  # a fresh process: what a test run holds in memory is no part of the bound
    started = []
    for job in jobs:
        receiver, sender = spawn.Pipe(duplex=False)
        at: Synchronized[int] = spawn.Value("q", job.numbers.start)
        process = spawn.Process(target=work, args=(job, sender, at))
        process.start()
        sender.close()
        started.append((job, process, receiver, at))
    report = Report()
    for job, process, receiver, at in started:
        try:
            report.add(receiver.recv())
        except EOFError:
            process.join()
            report.add(Report(failure=_ended(job, at.value, process.exitcode)))
        process.join()
    return report


def _ended(job: Job, number: int, status: int | None) -> Failure:
    decoder, data = Inputs(job.table, job.only).make(job.seed, number)
    return Failure(number, decoder.name, f"the process ended with status {status}: a crash or a hang", data)


def work(job: Job, sender: Connection, at: "Synchronized[int]") -> None:
    sender.send(_try_all(job, at))


def _try_all(job: Job, at: "Synchronized[int]") -> Report:
    inputs = Inputs(job.table, job.only)
    report, number_at_work = Report(), at.get_obj()  # one writer, so no lock for each input
    before = peak_bytes()
    _limit_memory(4 * job.bounds.grown_bytes)
    for number in job.numbers:
        if report.inputs % _CHECKED_EVERY == 0:
            _limit_cpu(job.bounds.hang_s)
        number_at_work.value = number
        decoder, data = inputs.make(job.seed, number)
        what = try_one(decoder, data, number, report, job.bounds)
        report.grown_bytes = peak_bytes() - before
        if not what and report.grown_bytes > job.bounds.grown_bytes:
            what = f"memory grew by {report.grown_bytes} bytes; at most {job.bounds.grown_bytes} are allowed"
        if what:
            report.failure = Failure(number, decoder.name, what, data)
            break
    return report


def try_one(decoder: Decoder, data: bytes, number: int, report: Report, bounds: Bounds) -> str:
    """Decode one input and count it; returns what is wrong with the decoder, or nothing."""
    outcomes, what = report.taken, ""
    start = time.process_time()
    try:
        decoder.decode(data)
    except decoder.refusal:
        outcomes = report.refused
    except Exception:
        what = traceback.format_exc(limit=-4)
    took_s = time.process_time() - start
    if took_s > report.slowest_s:
        report.slowest_s, report.slowest = took_s, number
    if not what and took_s > bounds.cpu_s:
        what = f"took {took_s:.1f} s of CPU time; at most {bounds.cpu_s} are allowed"
    report.inputs += 1
    outcomes[decoder.name] = outcomes.get(decoder.name, 0) + 1
    return what


def peak_bytes() -> int:
    """The most memory this process has ever had. `getrusage` would count what its parent had."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open("/proc/self/status", "rb", buffering=0) as status:
        found = _PEAK.search(status.read())
    return int(found[1]) * 1024 if found else 0


def _limit_memory(more_bytes: int) -> None:
    """So that what no measuring would survive does not take the machine down either."""
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as sizes:
            used = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + more_bytes, resource.RLIM_INFINITY))


def _limit_cpu(more_s: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + more_s, hard))
