"""Merged metrics and readiness of several workers as those of a single server, and each worker's share of bounds."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from cstp_server.observe.readiness import Readiness, Status
from cstp_server.settings import Settings
from cstp_server.workers.membership import SHARED_OUT, share_of
from cstp_server.workers.scrape import MergedMetrics, all_ready, read_counters

READY = Readiness("ready", {"records": "ready", "embedder": "off"}, 7)


def worker(calls: dict[str, int], seconds: list[float], **gauges: float) -> Iterable[Metric]:
    """Return a worker's counts."""
    registry = CollectorRegistry()
    counter = Counter("calls", "Calls.", ("method",), registry=registry)
    for method, number in calls.items():
        counter.labels(method).inc(number)
    histogram = Histogram("seconds", "Seconds.", buckets=(1, 2), registry=registry)
    for each in seconds:
        histogram.observe(each)
    for name, value in gauges.items():
        Gauge(name, "A gauge.", registry=registry).set(value)
    return registry.collect()


def samples(*workers: Iterable[Metric]) -> dict[str, float]:
    """Return sums by name and labels, as read from the written text; without times."""
    text = generate_latest(MergedMetrics(workers)).decode()
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_counters_and_histograms_add_up_including_those_of_a_single_worker() -> None:
    one = worker({"whoami": 2, "recall": 1}, [0.5, 1.5], running=1)
    other = worker({"whoami": 3, "forget": 4}, [0.5, 5.0], running=2)
    assert samples(one, other) == {
        "calls_total whoami": 5,
        "calls_total recall": 1,
        "calls_total forget": 4,
        "seconds_bucket 1.0": 2,
        "seconds_bucket 2.0": 3,
        "seconds_bucket +Inf": 4,
        "seconds_count": 4,
        "seconds_sum": 7.5,
        "running": 3,
    }


def test_written_counts_are_read_again_and_a_part_of_them_counts_nothing(tmp_path: Path) -> None:
    file, counted = tmp_path / "1.counters", list(worker({"whoami": 2}, [0.5]))
    text = openmetrics.generate_latest(MergedMetrics([counted]))
    file.write_bytes(text)
    assert samples(read_counters(file)) == samples(counted)
    for end in range(0, len(text) - 1, 7):
        file.write_bytes(text[:end])
        assert read_counters(file) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cstp_requests_running", 3),
        ("cstp_index_records", 2),
        ("cstp_draining", 2),
        ("cstp_part_up", 1),
        ("process_start_time_seconds", 1),
        ("process_resident_memory_bytes", 3),
    ],
)
def test_noncounting_gauges_are_those_of_the_worst_worker(name: str, expected: float) -> None:
    assert samples(worker({}, [], **{name: 1}), worker({}, [], **{name: 2}))[name] == expected


@pytest.mark.parametrize(
    ("statuses", "status", "http"),
    [
        (["ready", "ready"], "ready", 200),
        (["ready", "degraded"], "degraded", 200),
        (["degraded", "draining"], "draining", 503),
        (["unavailable", "draining"], "unavailable", 503),
    ],
)
def test_all_are_as_ready_as_the_worst_worker(statuses: list[Status], status: Status, http: int) -> None:
    seen = all_ready([Readiness(one, {"records": "ready"}, None) for one in statuses])
    assert (seen.status, seen.http_status) == (status, http)


def test_a_part_is_as_well_as_its_worst_worker_and_a_worker_without_an_answer_is_down() -> None:
    down = Readiness("unavailable", {"records": "down", "embedder": "off"}, None)
    assert all_ready([READY, down]).parts == {"records": "down", "embedder": "off", "workers": "ready"}
    assert all_ready([READY, READY]) == Readiness("ready", {**READY.parts, "workers": "ready"}, 7)
    lacking = all_ready([READY, None])
    assert (lacking.status, lacking.parts["workers"], lacking.last_seq) == ("unavailable", "down", 7)


def test_bounds_are_shared_out_and_rounded_up() -> None:
    whole = Settings.model_validate({"server": {"max_in_flight": 7, "max_queue": 0}, "vectors": {"memory_mb": 100}})
    share = share_of(whole, 3)
    assert (share.server.max_in_flight, share.server.max_queue, share.vectors.memory_mb) == (3, 0, 34)
    kept = set(type(whole.server).model_fields) - set(SHARED_OUT)
    assert all(getattr(share.server, name) == getattr(whole.server, name) for name in kept)
    assert (share_of(Settings(), 4).vectors.memory_mb or 0) > 0
