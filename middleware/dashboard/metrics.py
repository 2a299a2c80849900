"""Numbers of a node in Prometheus' text form; each is documented in docs/dashboard.md."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: str
    help: str


NEIGHBOURS = Metric("passerby_neighbours", "gauge", "Nodes that are near now")
FEEDS = Metric("passerby_feeds", "gauge", "Feeds of which this node holds something")
ENTRIES = Metric("passerby_entries", "gauge", "Entries that this node holds")
SESSIONS = Metric("passerby_sessions", "gauge", "Sessions that are open now, by role")
TRANSFERS = Metric("passerby_transfers", "gauge", "Files that are wanted and not complete")
STORED = Metric("passerby_storage_bytes", "gauge", "Bytes of entries and files kept")
ROOM = Metric("passerby_storage_limit_bytes", "gauge", "Bytes that may be kept")
REVISION = Metric("passerby_revision", "counter", "How often the store has gained something in this epoch")
STARTED = Metric("passerby_start_time_seconds", "gauge", "When the node was started, in Unix seconds")
BATTERY = Metric("passerby_battery_percent", "gauge", "Charge of the battery, where there is one")
METRICS = (
    NEIGHBOURS, FEEDS, ENTRIES, SESSIONS, TRANSFERS, STORED, ROOM, REVISION, STARTED, BATTERY,
)  # fmt: skip


def encode_metrics(status: dict[str, Any], sessions: list[Any], transfers: list[Any]) -> str:
    """What a page shows of a node's status, its sessions and its transfers, as one page of text."""
    roles = [session["role"] for session in sessions]
    values: list[tuple[Metric, str, float]] = [
        (NEIGHBOURS, "", status["neighbours"]),
        (FEEDS, "", status["feeds"]),
        (ENTRIES, "", status["entries"]),
        *((SESSIONS, f'{{role="{role}"}}', roles.count(role)) for role in ("client", "server")),
        (TRANSFERS, "", len(transfers)),
        (STORED, "", status["storage"]["used"]),
        (ROOM, "", status["storage"]["limit"]),
        (REVISION, "", status["revision"]),
        (STARTED, "", status["started"] // 1000),
    ]
    if status.get("battery") is not None:
        values.append((BATTERY, "", status["battery"]["percent"]))
    lines, last = [], None
    for metric, labels, value in values:
        if metric is not last:
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
            last = metric
        lines.append(f"{metric.name}{labels} {value}")
    return "\n".join(lines) + "\n"
