"""The server's state for `GET /metrics`, read at each scrape."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.engine import Engine
from cognition_engines.ingest.options import SourceState
from cstp_server.limits.bodies import Bodies
from cstp_server.limits.followers import FollowerPlaces
from cstp_server.limits.gate import Gate
from cstp_server.limits.limiter import Limiter
from cstp_server.observe.readiness import Readiness


@dataclass(slots=True, eq=False)
class StateGauges(Collector):
    """`readiness` is what was last seen; the caller of a scrape looks first, and may have the records counted."""

    gate: Gate
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
        yield from self._pools()
        yield _gauge("cstp_requests_running", "Running requests.", self.gate.running)
        yield _gauge("cstp_requests_waiting", "Requests that wait to run.", self.gate.waiting)
        yield _gauge("cstp_followers", "Calls and streams that wait for changes.", self.followers.taken)
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
        for index in self.engine.indexes.all:
            covered = {"columns": index.snapshot.seq, "keywords": index.keywords.seq}
            if index.vectors is not None:
                covered["vectors"] = index.vectors.seq
            for name, seq in covered.items():
                lag.add_metric((index.space.name, name), max(0, (last_seq or 0) - seq) / 1_000_000)
            records.add_metric((index.space.name,), index.snapshot.alive_count)
            windows.add_metric((index.space.name,), len(index.snapshot.vectors))
        yield from (records, windows) if last_seq is None else (lag, records, windows)

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
