"""What a run found, before it is written down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.calls import CallRow
from benchmarks.embedding import Rate
from benchmarks.ingesting import IngestRow
from benchmarks.measure import Timing
from benchmarks.searching import Costs, SearchRow
from benchmarks.starting import StartRow
from benchmarks.throughput import CheapRow, LoadRow


@dataclass(frozen=True, slots=True)
class RunFacts:
    """When, where, with what and from what."""

    date: str
    machine: str
    versions: Mapping[str, str]
    command: str
    minutes: float
    model: str
    texts: int
    decisions: int
    windows: int


@dataclass(frozen=True, slots=True)
class Block:
    """Everything about one size. The three durations are seconds, from the start of each step; 0 is not measured."""

    size: int
    windows: int
    store_seconds: float
    columns_and_keywords_seconds: float
    indexes_seconds: float
    calls: Sequence[CallRow]
    embedding: Timing
    searches: Sequence[SearchRow]
    costs: Costs
    load: Sequence[LoadRow]
    start: StartRow


@dataclass(frozen=True, slots=True)
class Results:
    facts: RunFacts
    rates: Sequence[Rate]
    cheap: Sequence[CheapRow]
    ingest: IngestRow
    blocks: Sequence[Block]
