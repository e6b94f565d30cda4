"""The page of `make bench`, written by the run that measured its figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.calls import CallRow
from benchmarks.corpus import ALL_SIX, ANOTHER_TOPIC, NONE
from benchmarks.ingesting import REQUIRED as INGEST_REQUIRED, IngestRow
from benchmarks.measure import Timing
from benchmarks.page import table, times, verdict
from benchmarks.serving import Filled
from benchmarks.starting import StartRow
from benchmarks.throughput import CONNECTIONS, LoadRow

FILTER_BOUND: Final = 1.5  # a filtered search costs at most so many times an unfiltered one
CHROMA_BOUND: Final = 50.0  # and at least so many times less than Chroma's `where`
_DEAREST: Final = (
    "what", "no filter, ms", "dearest filter, ms", "ratio", "kept", "another topic, ms", "ratio", "kept"
)  # fmt: skip
_STORES: Final = (
    "decisions", "records", "columns and keywords", "vectors", "ready, s", "over nothing, s", "memory, MB",
    "over nothing, MB"
)  # fmt: skip
_LOAD: Final = (
    "decisions",
    "query",
    "connections",
    "calls/s",
    "p50, ms",
    "p99, ms",
    "event loop's lag, p99, at most ms",
)
_CALLS: Final = (
    "decisions", "filter", "matches", "hybrid", "semantic", "keyword", "hybrid, new text", "raw Chroma", "brute force",
    "recall"
)  # fmt: skip

_READING: Final = """\
Reading the tables:

- A time is `p50 / p95` in milliseconds. All variants of a table took turns in one run, in another order each round, so
  that whatever else the machine did met all of them alike; compare medians within a table, not across runs.
- *(×)* after a time is its ratio to the same column's row "no filter". Other ratios name what they compare.
- *Whole call*: `cstp.queryDecisions` with limit 10 over HTTP on loopback, one connection, the real server in its own
  process. When the query text is *known*, the server has its vector in its cache; *new* texts are embedded in the
  call. A server caches the masks of recent filters until a record changes.
- *Raw Chroma*: an embedded collection of the same vectors, the same conditions as `where`, ten neighbours; with a
  filter in one round of ten. *Brute force*: numpy, every vector times the query, masked.
- *Recall* is recall@10 against brute force, of the semantic mode.
- Above 200,000 decisions raw Chroma is left out, and a cell is the median of 50 calls.
- "another topic" matches abstracts of papers while every query is about software: the worst case for an index that is
  asked without the filter.
- The vectors are those of real texts, extended by copies with seeded noise (cosine about 0.89 to their original) and
  other words in another order; all fields that are filtered are sampled at random, from a fixed seed."""


@dataclass(frozen=True, slots=True)
class Block:
    """Everything about one size, in decisions and in windows of their texts."""

    size: int
    windows: int
    filled: Filled
    calls: Sequence[CallRow]
    embedding: Timing  # of one query alone
    load: Sequence[LoadRow]
    start: StartRow


def render(cheap: str, ingest: IngestRow, blocks: Sequence[Block]) -> Iterable[str]:
    """Return the parts of the page; `cheap` is a table."""
    yield _READING
    yield from _promises(blocks)
    yield from _figures(ingest, blocks)
    yield "## The cheapest call"
    yield (
        f"`cstp.whoami` with a token, over {CONNECTIONS} connections, next to a bare starlette application that sends "
        "the body back; slices of a second in turn, medians. In batches, a call is an element."
    )
    yield cheap
    yield from _ingest(ingest, blocks)
    yield from _stores(blocks)


def _promises(blocks: Sequence[Block]) -> Iterable[str]:
    """Yield the two sentences that this project has to keep, at the largest size, each with its figure."""
    compared = [block for block in blocks if block.calls[0].chroma is not None]
    largest = max(compared or blocks, key=lambda block: block.size)
    columns = {
        "hybrid, known text": {row.name: row.hybrid.p50 for row in largest.calls},
        "hybrid, new text": {row.name: row.fresh.p50 for row in largest.calls},
        "semantic, known text": {row.name: row.semantic.p50 for row in largest.calls},
        "keyword, known text": {row.name: row.keyword.p50 for row in largest.calls},
    }
    dearest = []
    for what, column in columns.items():
        free, against = column[NONE.name], column.pop(ANOTHER_TOPIC.name)
        name = max(column, key=column.__getitem__)
        cells = [what, f"{free:.2f}", f"{column[name]:.2f} ({name})", *_kept(column[name] / free)]
        dearest.append([*cells, f"{against:.2f}", *_kept(against / free)])
    yield f"## What is promised, at {largest.size:,} decisions"
    yield f"A filtered call costs at most {FILTER_BOUND:g} times an unfiltered one, whatever the filter:"
    yield table(_DEAREST, dearest)
    where = next(row.chroma for row in largest.calls if row.name == ALL_SIX.name)
    if where is not None:  # too many for raw Chroma
        rows = []
        for what in ("semantic, known text", "hybrid, known text", "hybrid, new text"):
            ours = columns[what][ALL_SIX.name]
            ratio = where.p50 / ours
            rows.append([what, f"{ours:.2f}", f"{where.p50:.1f}", f"{ratio:.0f}", verdict(ratio >= CHROMA_BOUND)])
        yield f"All six conditions cost at least {CHROMA_BOUND:g} times less than Chroma's `where`:"
        yield table(["what", "ms", "Chroma's `where`, ms", "times less", "kept"], rows)


def _kept(ratio: float) -> list[str]:
    return [f"{ratio:.2f}", verdict(ratio <= FILTER_BOUND)]


def _figures(ingest: IngestRow, blocks: Sequence[Block]) -> Iterable[str]:
    """Yield the bounds of this project, with the figures of this run's machine."""
    share = ingest.ratio
    rows = [_figure("ingest, as a share of the model's own rate", share, "at least 0.90", share >= INGEST_REQUIRED)]
    for block in blocks:
        if block.size == 100_000:
            alone = next(row.found.p50 for row in block.load if row.connections == 1)
            lag = max(row.lag for row in block.load if row.connections == CONNECTIONS)
            start = block.start.seconds
            rows += [
                _figure("hybrid call alone at 100,000, known text, p50, ms", alone, "below 6", alone < 6),
                _figure("ready after a start with 100,000, s", start, "below 3", start < 3),
                _figure(f"lag of the event loop under {CONNECTIONS} clients, p99, ms, at most", lag, "20", lag <= 20),
            ]
        if block.size == 1_000_000:
            dearest = max(block.calls[1:], key=lambda row: row.semantic.p50)
            figure = dearest.semantic.p50
            rows.append(
                _figure(f"filtered call at 1,000,000 ({dearest.name}), p50, ms", figure, "below 10", figure < 10)
            )
    yield "Figures of this machine:"
    yield table(["what", "figure", "bound", "kept"], rows)


def _figure(what: str, figure: float, bound: str, kept: bool) -> list[str]:
    return [what, f"{figure:.2f}", bound, verdict(kept)]


def _ingest(row: IngestRow, blocks: Sequence[Block]) -> Iterable[str]:
    yield "## Ingest and embedding"
    yield (
        "`cstp ingest` of decisions of one window, next to a process that embeds the same texts with as many threads "
        "and does nothing else; in slices in turn, without the time that each process takes to start."
    )
    cells = [f"{row.decisions:,}", f"{row.rate:.1f}", f"{row.model_rate:.1f}", f"{row.ratio:.0%}"]
    cells += [f"{INGEST_REQUIRED:.0%}", verdict(row.ratio >= INGEST_REQUIRED), f"{row.megabytes:.0f}"]
    heads = ["decisions", "ingested/s", "embedded/s", "of the model", "at least", "kept", "peak memory, MB"]
    yield table(heads, [cells])
    yield "A query alone is embedded in:"
    yield table(["measured next to the calls at", "ms"], [[f"{each.size:,}", times(each.embedding)] for each in blocks])


def _stores(blocks: Sequence[Block]) -> Iterable[str]:
    yield "## The stores"
    yield (
        "*Records*, *columns and keywords* and *vectors* are the seconds until each had followed; *ready* is a start "
        "over the store, and over nothing; memory is resident then."
    )
    yield table(_STORES, [_store_cells(block) for block in blocks])
    yield "## Whole calls"
    calls = [(block, row) for block in blocks for row in block.calls]
    yield table(_CALLS, [[_size(block), *_call_cells(row, block.calls[0])] for block, row in calls])
    yield "## Under load, hybrid without filters"
    load = [[_size(block), *_load_cells(row)] for block in blocks for row in block.load]
    yield table(_LOAD, load)


def _size(block: Block) -> str:
    windows = f" of {block.windows / block.size:.1f} windows" if block.windows > block.size else ""
    return f"{block.size:,}{windows}"


def _store_cells(block: Block) -> list[str]:
    filled, start = block.filled, block.start
    seconds = (filled.records, filled.columns_and_keywords, filled.neighbours)
    return [
        _size(block),
        *(f"{each:.1f}" for each in seconds),
        *(f"{each:.2f}" for each in (start.seconds, start.empty_seconds)),
        *(f"{each:,.0f}" for each in (start.megabytes, start.empty_megabytes)),
    ]


def _load_cells(row: LoadRow) -> list[str]:
    found = row.found
    return [
        row.name,
        f"{row.connections}",
        f"{found.rate:,.0f}",
        f"{found.p50:.2f}",
        f"{found.p99:.2f}",
        f"{row.lag:.0f}",
    ]


def _call_cells(row: CallRow, free: CallRow) -> list[str]:
    return [
        row.name,
        f"{row.matches:,}",
        _against(row.hybrid, free.hybrid),
        _against(row.semantic, free.semantic),
        _against(row.keyword, free.keyword),
        _against(row.fresh, free.fresh),
        "" if row.chroma is None else _control(row.chroma, row.semantic),
        _control(row.brute_force, row.semantic),
        f"{row.recall:.3f}",
    ]


def _control(control: Timing, ours: Timing) -> str:
    return f"{times(control)} (semantic: {control.p50 / ours.p50:.1f} times less)"


def _against(timing: Timing, control: Timing) -> str:
    return times(timing) if timing is control else f"{times(timing)} (×{timing.p50 / control.p50:.2f})"
