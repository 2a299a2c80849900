"""What came of a scenario, from the logbooks of its nodes: one document for programs, one page for people."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from evaluation.simulator.stage import Goal, Stage
from middleware.fairness import jain_index
from middleware.logbook import EntryDelivered, EntryReceived, Line, SessionEnded, SessionRefused


class Tallies:
    """Sums over the facts of all nodes; a day of a thousand nodes is too much to keep line by line."""

    def __init__(self) -> None:
        self.reached: dict[Goal, float] = {}
        self.ends: Counter[str] = Counter()  # of client sessions
        self.sums: Counter[str] = Counter()
        self.refused = self.received = 0

    def take(self, node: str, lines: Iterable[Line]) -> None:
        for line in lines:
            match line.fact:
                case EntryDelivered() as fact:
                    self.reached.setdefault((fact.entry, node, fact.app), line.now)  # type: ignore[arg-type]
                case SessionEnded(role="client") as fact:
                    self._ended(fact)
                case SessionRefused():
                    self.refused += 1
                case EntryReceived():
                    self.received += 1

    def _ended(self, fact: SessionEnded) -> None:
        whole_or_why = fact.reason.partition(":")[0]
        self.ends["whole" if whole_or_why == "done" else whole_or_why] += 1
        for name in ("useless_entries", "chunks", "false_positives", "withheld", "useful_bytes"):
            self.sums[name] += getattr(fact, name)
        self.sums["bytes"] += fact.bytes_in + fact.bytes_out


def document(stage: Stage, seed: int, tallies: Tallies) -> dict[str, Any]:
    """Everything that was measured; the same for the same scenario and seed, to the last byte."""
    world, sums = stage.world, tallies.sums
    delays = sorted(at - stage.goals[goal] for goal, at in tallies.reached.items() if goal in stage.goals)
    return {
        "scenario": stage.scenario.title,
        "seed": seed,
        "nodes": len(stage.scenario.nodes),
        "duration_s": stage.scenario.duration_s,
        "contacts": world.contacts,
        "hellos": {"sent": world.hellos_sent, "heard": world.hellos_heard},
        "entries": {
            "published": len(stage.published),
            "received": tallies.received,
            "useless": sums["useless_entries"],
            "withheld": sums["withheld"],
        },
        "delivered": {
            "wanted": len(stage.goals),
            "delivered": len(delays),
            "ratio": round(len(delays) / len(stage.goals), 6) if stage.goals else None,
            "delay_s": _spread(delays),
        },
        "sessions": {
            "opened": world.streams_opened,
            "ended": dict(sorted(tallies.ends.items())),
            "refused": tallies.refused,
        },
        "bytes": {"useful": sums["useful_bytes"], "overhead": sums["bytes"] - sums["useful_bytes"]},
        "fairness": _fairness(stage, tallies),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {
        "median": round(quantile(values, 0.5), 3),
        "p90": round(quantile(values, 0.9), 3),
        "most": round(values[-1], 3),
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least of the values that so large a share of them does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _fairness(stage: Stage, tallies: Tallies) -> dict[str, Any] | None:
    """Jain's index over the bytes that each subscriber wanted and was given."""
    given: dict[tuple[str, str, str], float] = {}
    for entry, node, app in stage.goals:
        said = stage.published[entry]
        who = (node, app, said.entry.key.feed)
        given[who] = given.get(who, 0.0) + (said.size if (entry, node, app) in tallies.reached else 0)
    if not given:
        return None
    amounts = sorted(given.values())
    return {
        "subscriptions": len(given),
        "jain": round(jain_index(amounts), 4),
        "least": amounts[0],
        "most": amounts[-1],
    }


def page(outcome: dict[str, Any]) -> str:
    """The same for people."""
    hellos, entries, sessions = outcome["hellos"], outcome["entries"], outcome["sessions"]
    ended = ", ".join(f"{count:,} {why}" for why, count in sessions["ended"].items())
    rows = [
        ("scenario", f"{outcome['scenario']}, seed {outcome['seed']}"),
        ("nodes", f"{outcome['nodes']:,}, for {_span(outcome['duration_s'])}"),
        ("contacts", f"{outcome['contacts']:,}"),
        ("hellos", f"{hellos['sent']:,} sent, {hellos['heard']:,} heard"),
        ("entries", f"{entries['published']:,} published, {entries['received']:,} received"),
        *_delivered(outcome["delivered"]),
        ("sessions", f"{sessions['opened']:,}: {ended or 'none ended'}; {sessions['refused']:,} refused"),
        _spent(outcome["bytes"]),
    ]
    if outcome["fairness"] is not None:
        jain, among = outcome["fairness"]["jain"], outcome["fairness"]["subscriptions"]
        rows.append(("fairness", f"{jain:.3f} (Jain's index over the bytes of {among:,} subscriptions)"))
    return "".join(f"{name:<10} {text}\n" for name, text in rows)


def _delivered(delivered: dict[str, Any]) -> list[tuple[str, str]]:
    delay = delivered["delay_s"]
    spread = ", ".join(f"{name} {_span(value)}" for name, value in delay.items()) if delay else "-"
    count = f"{delivered['delivered']:,} of {delivered['wanted']:,}"
    return [("delivered", count + _share(delivered["ratio"])), ("delay", spread)]


def _spent(spent: dict[str, int]) -> tuple[str, str]:
    total = spent["useful"] + spent["overhead"]
    share = _share(spent["overhead"] / total if total else None)
    return "bytes", f"{spent['useful']:,} useful, {spent['overhead']:,} overhead{share}"


def _share(ratio: float | None) -> str:
    return "" if ratio is None else f" ({ratio:.1%})"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
