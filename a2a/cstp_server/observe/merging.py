"""Metrics and readiness of several workers as those of one server."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import Metric
from prometheus_client.registry import Collector

from cstp_server.observe.readiness import Readiness, Status

# Gauges that do not add up: all workers state the same, or the one that is worst off counts.
_HIGHEST: Final = frozenset(
    {
        *("cstp_limiter_state", "cstp_index_lag", "cstp_index_records", "cstp_index_windows"),
        *("cstp_audit_failing", "cstp_draining", "cstp_source_age_seconds", "python_info"),
    }
)
_LOWEST: Final = frozenset({"cstp_part_up", "cstp_source_up", "process_start_time_seconds"})
_CREATED: Final = "_created"  # a sample of counters and histograms that is a time
COUNTERS: Final = frozenset({"counter", "histogram"})
_WORST_FIRST: Final[Sequence[Status]] = ("unavailable", "draining", "degraded", "ready")
_STATES: Final = ("down", "rebuilding", "degraded")  # of a part, the worst first; all others are well
WORKERS: Final = "workers"  # the part that is down while one of them does not answer

SampleKey = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """One metric of one worker: its values by name and labels."""

    name: str
    documentation: str
    type: str
    samples: Mapping[SampleKey, float]


def families_of(metrics: Iterable[Metric]) -> list[MetricFamily]:
    """Return the collected metrics of a registry."""
    return [
        MetricFamily(
            one.name,
            one.documentation,
            one.type,
            {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in one.samples},
        )
        for one in metrics
    ]


def merged(workers: Iterable[Sequence[MetricFamily]]) -> list[MetricFamily]:
    """Return the sum of the metrics of all workers: counters, histograms and gauges that count."""
    found: dict[str, MetricFamily] = {}
    for family in (family for families in workers for family in families):
        before = found.get(family.name)
        found[family.name] = family if before is None else _both(before, family)
    return list(found.values())


def _both(one: MetricFamily, other: MetricFamily) -> MetricFamily:
    samples = dict(one.samples)
    for key, value in other.samples.items():
        samples[key] = _joined(one.name, key[0], samples[key], value) if key in samples else value
    return MetricFamily(one.name, one.documentation, one.type, samples)


def _joined(family: str, sample: str, one: float, other: float) -> float:
    if family in _LOWEST or sample.endswith(_CREATED):
        return min(one, other)
    return max(one, other) if family in _HIGHEST else one + other


class MergedMetrics(Collector):
    """Families in the order of their first worker, for prometheus_client to write."""

    def __init__(self, families: Iterable[MetricFamily]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterable[Metric]:
        for family in self._families:
            metric = Metric(family.name, family.documentation, family.type)
            for (name, labels), value in family.samples.items():
                metric.add_sample(name, dict(labels), value)
            yield metric


def all_ready(workers: Sequence[Readiness | None]) -> Readiness:
    """Return the worst state of all workers, part by part; None stands for a worker that does not answer."""
    seen = [one for one in workers if one is not None]
    parts = {
        name: _worst([one.parts[name] for one in seen if name in one.parts])
        for name in dict.fromkeys(name for one in seen for name in one.parts)
    }
    statuses: set[Status] = {one.status for one in seen}
    if len(seen) < len(workers):
        statuses.add("unavailable")
    parts[WORKERS] = "ready" if len(seen) == len(workers) else "down"
    last = [one.last_seq for one in seen if one.last_seq is not None]
    return Readiness(next(one for one in _WORST_FIRST if one in statuses), parts, max(last, default=None))


def _worst(states: Sequence[str]) -> str:
    return next((state for state in _STATES if state in states), states[0])
