"""Metrics in Prometheus' text form, each documented."""

from pathlib import Path

from middleware.dashboard.metrics import METRICS, encode_metrics

STATUS = {
    "neighbours": 2, "feeds": 3, "entries": 4, "storage": {"used": 5, "limit": 6}, "revision": 7,
    "started": 1_790_000_000_123, "battery": {"percent": 81.5},
}  # fmt: skip
DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboard.md"


def test_every_metric_is_told_once_with_its_type() -> None:
    text = encode_metrics(STATUS, [{"role": "client"}, {"role": "client"}], [{}])
    lines = text.splitlines()
    for metric in METRICS:
        assert lines.count(f"# TYPE {metric.name} {metric.kind}") == 1
    assert 'passerby_sessions{role="client"} 2' in lines and 'passerby_sessions{role="server"} 0' in lines
    assert "passerby_start_time_seconds 1790000000" in lines and "passerby_battery_percent 81.5" in lines


def test_without_a_battery_none_is_told() -> None:
    assert "battery" not in encode_metrics({**STATUS, "battery": None}, [], [])


def test_every_metric_is_documented_and_no_other() -> None:
    rows = [
        line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `passerby_")
    ]
    assert [row.split(" | ")[:2] for row in rows] == [[f"| `{each.name}`", each.kind] for each in METRICS]
