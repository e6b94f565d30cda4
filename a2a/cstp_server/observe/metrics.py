"""The metrics of `GET /metrics`: calls and answers as they are counted, and the server's state at each scrape."""

import asyncio
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.engine import Engine
from cognition_engines.ingest.options import SourceState
from cstp_server.limits.admission import AdmissionGate, FollowerPlaces
from cstp_server.limits.bodies import Bodies
from cstp_server.limits.limiter import Limiter
from cstp_server.observe.readiness import Readiness

CALL_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15)  # seconds
LAG_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)  # seconds
LAG_EVERY: Final = 0.1  # seconds


@dataclass(slots=True)
class _Times:
    """A method's call durations: their number by bucket, the last for all above, and their sum."""

    numbers: list[int] = field(default_factory=lambda: [0] * (len(CALL_BUCKETS) + 1))
    seconds: float = 0.0


class CallMetrics(Collector):
    """Calls by method and error code (0 is a result) with their durations, and HTTP answers by status.

    Only the event loop counts, so nothing is locked: prometheus_client's own counters would take three times as long.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls: Counter[tuple[str, int]] = Counter()
        self._times: defaultdict[str, _Times] = defaultdict(_Times)
        self._answers: Counter[int] = Counter()
        registry.register(self)

    def count(self, method: str, code: int, seconds: float) -> None:
        """Count a call."""
        self._calls[method, code] += 1
        times = self._times[method]
        times.numbers[bisect_left(CALL_BUCKETS, seconds)] += 1
        times.seconds += seconds

    def count_answer(self, status: int) -> None:
        """Count an HTTP answer."""
        self._answers[status] += 1

    def collect(self) -> Iterable[Metric]:
        calls = CounterMetricFamily("cstp_calls", "Calls, by method and error code.", labels=("method", "code"))
        for (method, code), number in self._calls.items():
            calls.add_metric((method, str(code)), number)
        seconds = HistogramMetricFamily("cstp_call_seconds", "Duration of calls in seconds.", labels=("method",))
        for method, times in self._times.items():
            bounds = [*map(floatToGoString, CALL_BUCKETS), "+Inf"]
            buckets = list(zip(bounds, accumulate(times.numbers), strict=True))
            seconds.add_metric((method,), buckets, times.seconds)
        about = "Answers of /cstp and /mcp, and those to connections above the maximum, by status."
        answers = CounterMetricFamily("cstp_http_answers", about, labels=("status",))
        for status, number in self._answers.items():
            answers.add_metric((str(status),), number)
        return calls, seconds, answers


async def watch_loop(registry: CollectorRegistry) -> None:
    """Measure the delay of the event loop, until cancelled."""
    late = Histogram(
        "cstp_event_loop_lag_seconds", "Delay of the event loop in seconds.", buckets=LAG_BUCKETS, registry=registry
    )
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + LAG_EVERY
        await asyncio.sleep(LAG_EVERY)
        late.observe(max(0.0, clock() - due))


@dataclass(slots=True, eq=False)
class StateGauges(Collector):
    """`readiness` is the last known state; a scrape's caller updates it first, and may have the records counted."""

    gate: AdmissionGate
    bodies: Bodies
    limiter: Limiter
    engine: Engine
    followers: FollowerPlaces
    readiness: Readiness | None = field(default=None)
    counts_records: bool = field(default=False)

    def collect(self) -> Iterator[Metric]:
        yield from self._parts()
        if self.counts_records:
            yield from self._indexes()
        yield from self._set_aside()
        yield from self._background()
        yield from self._pools()
        yield _gauge("cstp_requests_running", "Running requests.", self.gate.running)
        yield _gauge("cstp_requests_waiting", "Requests that wait to run.", self.gate.waiting_calls)
        yield _gauge("cstp_followers", "Calls and streams that wait for changes.", self.followers.taken_places)
        yield _gauge("cstp_bodies_bytes", "Bytes of held bodies over 64 KiB.", self.bodies.held)
        audit = self.engine.audit.state
        yield _gauge("cstp_audit_waiting", "Audit rows that are not stored yet.", audit.waiting)
        yield _gauge("cstp_audit_failing", "1 while the store accepts no audit rows.", audit.failing)
        yield _gauge("cstp_draining", "1 when the server is stopping.", self.gate.draining)
        if self.counts_records and self.engine.sources is not None:
            yield from _sources(self.engine.sources.states)
        if self.engine.embeddings is not None:
            yield from self._embeddings(self.engine.embeddings)

    def _parts(self) -> Iterator[Metric]:
        if self.readiness is None:
            return
        up = GaugeMetricFamily("cstp_part_up", "0 if a part is down or degraded, else 1.", labels=("part",))
        for part, state in self.readiness.parts.items():
            up.add_metric((part,), state not in ("down", "degraded"))
        yield up
        limiter = GaugeMetricFamily("cstp_limiter_state", "1 for the store that counts limits now.", labels=("state",))
        for state in ("memory", "shared", "degraded"):
            limiter.add_metric((state,), self.limiter.state == state)
        yield limiter

    def _indexes(self) -> Iterator[Metric]:
        last_seq = None if self.readiness is None else self.readiness.last_seq
        labels = ("space", "index")
        lag = GaugeMetricFamily("cstp_index_lag", "Seconds that an index is behind the records.", labels=labels)
        records = GaugeMetricFamily("cstp_index_records", "Searchable records.", labels=("space",))
        windows = GaugeMetricFamily("cstp_index_windows", "Vectors in memory.", labels=("space",))
        for index in self.engine.indexes.all_spaces:
            covered = {"columns": index.snapshot.seq, "keywords": index.keywords.seq}
            if index.vectors is not None:
                covered["vectors"] = index.vectors.seq
            for name, seq in covered.items():
                lag.add_metric((index.space.name, name), max(0, (last_seq or 0) - seq) / 1_000_000)
            records.add_metric((index.space.name,), index.snapshot.alive_count)
            windows.add_metric((index.space.name,), len(index.snapshot.vectors))
        yield from (records, windows) if last_seq is None else (lag, records, windows)

    def _background(self) -> Iterator[Metric]:
        background = self.engine.indexes.background
        failing = GaugeMetricFamily("cstp_work_failing", "1 while background work fails.", labels=("work",))
        failures = CounterMetricFamily("cstp_work_failures", "Failed rounds of background work.", labels=("work",))
        now = {work.name for work in background.failing}
        for name, number in background.failures.items():
            failing.add_metric((name,), name in now)
            failures.add_metric((name,), number)
        yield from (failing, failures)

    def _set_aside(self) -> Iterator[Metric]:
        counts = GaugeMetricFamily("cstp_set_aside", "Records that a part cannot process.", labels=("part",))
        for part, number in Counter(note.part.value for note in self.engine.indexes.set_aside.records).items():
            counts.add_metric((part,), number)
        yield counts
        if self.counts_records and self.readiness is not None:
            labels = ("part", "id", "cause")
            records = GaugeMetricFamily(
                "cstp_set_aside_record", "1 for a record that a part cannot process.", labels=labels
            )
            for note in self.readiness.set_aside:
                records.add_metric([note[label] for label in labels], 1)
            yield records

    def _pools(self) -> Iterator[Metric]:
        threads = GaugeMetricFamily("cstp_pool_threads", "Threads of a pool.", labels=("pool",))
        running = GaugeMetricFamily("cstp_pool_running", "Running calls of a pool.", labels=("pool",))
        waiting = GaugeMetricFamily("cstp_pool_waiting", "Calls that wait for a thread.", labels=("pool",))
        for pool in self.engine.pools:
            load = pool.load
            threads.add_metric((pool.name,), load.threads)
            running.add_metric((pool.name,), load.running)
            waiting.add_metric((pool.name,), load.waiting)
        yield from (threads, running, waiting)

    def _embeddings(self, cache: QueryCache) -> Iterator[Metric]:
        yield CounterMetricFamily("cstp_embedding_cache_hits", "Queries with a cached vector.", cache.hits)
        yield CounterMetricFamily("cstp_embedding_cache_misses", "Queries that were embedded.", cache.misses)
        yield _gauge("cstp_embedding_cache_size", "Cached query vectors.", len(cache))


def _sources(states: Sequence[SourceState]) -> Iterator[Metric]:
    labels = ("source",)
    age = GaugeMetricFamily("cstp_source_age_seconds", "Seconds since a source was read completely.", labels=labels)
    up = GaugeMetricFamily("cstp_source_up", "0 if a source cannot be read, else 1.", labels=labels)
    for state in states:
        up.add_metric((state.address,), state.failure is None)
        if state.read_seconds_ago is not None:
            age.add_metric((state.address,), state.read_seconds_ago)
    yield from (age, up)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))
