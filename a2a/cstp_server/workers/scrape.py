"""Requests between a server's workers, over sockets in their folder, for `/metrics` and `/readyz`.

A worker also writes the counts into a file before returning them, and a replacement starts with those: no server
counter falls when a worker is replaced.
"""

import asyncio
import os
from asyncio import StreamReader, StreamWriter
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Final, TypeVar

import orjson
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from cstp_server.observe.metrics import StateGauges
from cstp_server.observe.readiness import NAMED_RECORDS, PROBE_SECONDS, Readiness, ReadinessCheck, Status
from cstp_server.workers.membership import Membership

# Gauges that do not add up: all workers report the same, or the worst value counts.
_HIGHEST: Final = frozenset(
    {
        *("cstp_limiter_state", "cstp_index_lag", "cstp_index_records", "cstp_index_windows"),
        *(
            "cstp_set_aside",
            "cstp_set_aside_record",
            "cstp_audit_failing",
            "cstp_draining",
            "cstp_source_age_seconds",
            "python_info",
        ),
    }
)
_LOWEST: Final = frozenset({"cstp_part_up", "cstp_source_up", "process_start_time_seconds"})
_CREATED: Final = "_created"  # a time among the samples of counters and histograms
COUNTERS: Final = frozenset({"counter", "histogram"})
_WORST_FIRST: Final[Sequence[Status]] = ("unavailable", "draining", "degraded", "ready")
_STATES: Final = ("down", "rebuilding", "degraded")  # of a part, the worst first; all others are well
WORKERS: Final = "workers"  # the part that is down while a worker does not answer
R = TypeVar("R")
SampleKey = tuple[str, frozenset[tuple[str, str]]]
_READINESS: Final = b"readiness\n"
_METRICS: Final = b"metrics\n"
_RECORDS: Final = b"metrics with records\n"
_ANSWER_SECONDS: Final = PROBE_SECONDS + 1.0
_WORKERS: Final = "cstp_workers"


@dataclass(frozen=True, slots=True)
class MergedMetrics(Collector):
    """The sum of all workers' metrics: counters, histograms and counting gauges."""

    workers: Sequence[Iterable[Metric]]

    def collect(self) -> Iterable[Metric]:
        """Return families in the order of their first worker."""
        found: dict[str, Metric] = {}
        samples: dict[str, dict[SampleKey, Sample]] = defaultdict(dict)
        for family in chain.from_iterable(self.workers):
            found.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            merged = samples[family.name]
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                merged[key] = _merge_samples(family.name, merged.get(key, sample), sample)
        for name, family in found.items():
            family.samples = list(samples[name].values())
        return found.values()


def _merge_samples(family: str, before: Sample, sample: Sample) -> Sample:
    if before is sample:
        return sample
    one, other = before.value, sample.value
    if family in _LOWEST or sample.name.endswith(_CREATED):
        return sample._replace(value=min(one, other))
    return sample._replace(value=max(one, other) if family in _HIGHEST else one + other)


def all_ready(workers: Sequence[Readiness | None]) -> Readiness:
    """Return the worst state of all workers, part by part; None is a worker without an answer."""
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
    notes = {tuple(sorted(note.items())): note for one in seen for note in one.set_aside}
    status = next(one for one in _WORST_FIRST if one in statuses)
    named, failing = tuple(notes.values())[-NAMED_RECORDS:], tuple(work for one in seen for work in one.failing)
    return Readiness(status, parts, max(last, default=None), named, failing)


def _worst(states: Sequence[str]) -> str:
    return next((state for state in _STATES if state in states), states[0])


class OwnMetrics:
    """The metrics of this process, added to the counts of former processes with the same number."""

    def __init__(
        self, registry: CollectorRegistry, gauges: StateGauges, readiness: ReadinessCheck, counters: Path
    ) -> None:
        self._registry = registry
        self._gauges = gauges
        self._readiness = readiness
        self._file = counters
        self._before = read_counters(counters)

    async def look(self, *, counts_records: bool) -> Sequence[Metric]:
        """Return the current state."""
        readiness = await self._readiness.look()
        self._gauges.readiness, self._gauges.counts_records = readiness, counts_records  # the next lines are one step
        found = list(MergedMetrics([self._registry.collect(), self._before]).collect())
        _write(self._file, [one for one in found if one.type in COUNTERS])
        return found


class Siblings:
    """The other workers. Without an answer in time, a worker counts with the last values, or as not ready."""

    def __init__(self, member: Membership, readiness: ReadinessCheck, own: OwnMetrics) -> None:
        self._member = member
        self._readiness = readiness
        self._own = own

    async def readiness(self) -> Readiness:
        """Return the readiness of all workers together."""
        own, *others = await asyncio.gather(
            self._readiness.look(), *(self._readiness_of(number) for number in self._member.others)
        )
        return all_ready([own, *others])

    async def metrics(self, *, counts_records: bool) -> bytes:
        """Return the sum over all workers, in Prometheus' text format."""
        asked = (self._metrics_of(number, counts_records=counts_records) for number in self._member.others)
        own, others = await asyncio.gather(self._own.look(counts_records=counts_records), asyncio.gather(*asked))
        answering = 1 + sum(one is not None for one in others)
        workers = Metric(_WORKERS, "Workers that answer.", "gauge")
        workers.add_sample(_WORKERS, {}, answering)
        found = [
            read_counters(self._member.counters(number)) if one is None else one
            for number, one in zip(self._member.others, others, strict=True)
        ]
        return generate_latest(MergedMetrics([own, *found, [workers]]))

    @asynccontextmanager
    async def answer_siblings(self) -> AsyncIterator[None]:
        """Answer the other workers during the body."""
        path = self._member.socket(self._member.number)
        path.unlink(missing_ok=True)  # of a killed worker
        server = await asyncio.start_unix_server(self._answer_scrape, path)
        try:
            yield
        finally:
            server.close()
            path.unlink(missing_ok=True)

    async def _answer_scrape(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError):  # the caller is disconnected
            try:
                question = await reader.readline()
                if question == _READINESS:
                    writer.write(orjson.dumps(asdict(await self._readiness.look())))
                else:
                    writer.write(_pack(await self._own.look(counts_records=question == _RECORDS)))
                await writer.drain()
            finally:
                writer.close()

    async def _readiness_of(self, number: int) -> Readiness | None:
        return await self._ask(number, _READINESS, lambda answer: Readiness(**orjson.loads(answer)))

    async def _metrics_of(self, number: int, *, counts_records: bool) -> Sequence[Metric] | None:
        return await self._ask(number, _RECORDS if counts_records else _METRICS, _unpack)

    async def _ask(self, number: int, question: bytes, read: Callable[[bytes], R]) -> R | None:
        """Return the answer of a worker; None without a whole answer."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._member.socket(number))
                try:
                    writer.write(question)
                    return read(await reader.read())
                finally:
                    writer.close()
        except (OSError, ValueError):
            return None


def read_counters(file: Path) -> Sequence[Metric]:
    """Return the last known counters of a worker; empty without a file."""
    try:
        return _unpack(file.read_bytes())
    except (OSError, ValueError):
        return ()


def _write(file: Path, families: Sequence[Metric]) -> None:
    draft = file.with_suffix(".new")
    with suppress(OSError):  # a full disk: the next worker of this number begins with less
        draft.write_bytes(_pack(families))
        os.replace(draft, file)


def _pack(families: Sequence[Metric]) -> bytes:
    """Return a text in the OpenMetrics format; the last line shows that it is complete."""
    text: bytes = openmetrics.generate_latest(MergedMetrics([families]))  # type: ignore[no-untyped-call]
    return text


def _unpack(text: bytes) -> Sequence[Metric]:
    """Read a text from `_pack`. Raise ValueError for any other or incomplete text."""
    return list(text_string_to_metric_families(text.decode()))  # type: ignore[no-untyped-call]
