"""The page of figures, written by the run that measured them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.calls import CallRow
from benchmarks.corpus import ALL_SIX, ANOTHER_TOPIC, NONE
from benchmarks.embedding import Rate
from benchmarks.ingesting import REQUIRED as INGEST_REQUIRED, IngestRow
from benchmarks.measure import Timing
from benchmarks.page import Run, page, table, times, verdict
from benchmarks.searching import Costs, SearchRow
from benchmarks.starting import StartRow
from benchmarks.throughput import LOADS, CheapRow, LoadRow

FILTER_BOUND: Final = 1.5  # a filtered search costs at most so many times an unfiltered one
_DEAREST: Final = (
    "what", "no filter, ms", "dearest filter, ms", "ratio", "kept", "another topic, ms", "ratio", "kept"
)  # fmt: skip
CHROMA_BOUND: Final = 50.0  # and at least so many times less than Chroma's `where`

_READING: Final = """\
How to read it:

- A time is `p50 / p95` in milliseconds. All variants of a table took turns in one run, in another order each round, so
  that whatever else the machine did met all of them alike; compare medians within a table, not across runs.
- *(×)* after a time is its ratio to the same column's row "no filter". Other ratios name what they compare.
- *Whole call*: `cstp.queryDecisions` with limit 10 over HTTP on loopback, one connection, the real server in its own
  process. When the query text is *known*, the server has its vector in its cache; *new* texts are embedded in the
  call. A server caches the masks of recent filters until a record changes.
- *Search alone*: from a query vector to ten rows, in this process; no HTTP, no embedding, no records. The mask is
  computed in each of them, none is cached.
- *Exact*: without a neighbour index, as the search itself is while vectors are in memory. *Raw Chroma*: an embedded
  collection of the same vectors, the same conditions as `where`, ten neighbours; with a filter in one round of ten.
  *Brute force*: numpy, every vector times the query, masked.
- *Recall* is recall@10 against brute force, of the semantic mode.
- Above 200,000 decisions raw Chroma is left out, and a cell is the median of 50 calls.
- Filters "at random" match records of any text. "another topic" matches abstracts of papers while every query is
  about software: the worst case for an index that is asked without the filter.
- The vectors are those of real texts, extended by copies with seeded noise (cosine about 0.89 to their original) and
  other words in another order; all fields that are filtered are sampled at random, from a fixed seed.
"""


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
    """Everything that a run found; no rates where the vectors of an earlier run were used."""

    rates: Sequence[Rate]
    cheap: Sequence[CheapRow]
    ingest: IngestRow
    blocks: Sequence[Block]


def render(run: Run[Results]) -> str:
    """The whole page, in Markdown."""
    results = run.found
    parts = [
        _READING.rstrip(),
        *_promises(results.blocks),
        *_figures(results),
        *_cheap(results.cheap),
        *_embedding(results),
        *_ingest(results.ingest),
        *(part for block in results.blocks for part in _block(block)),
        *_costs(results.blocks),
    ]
    return page("Benchmarks", "make bench", run, *parts)


def _promises(blocks: Sequence[Block]) -> Iterable[str]:
    """The two sentences that this project has to keep, at the largest size, each with its figure."""
    compared = [block for block in blocks if block.calls[0].chroma is not None]
    largest = max(compared or blocks, key=lambda block: block.size)
    calls = {
        "whole call, hybrid, known text": [(row.name, row.hybrid) for row in largest.calls],
        "whole call, hybrid, new text": [(row.name, row.fresh) for row in largest.calls],
        "whole call, semantic, known text": [(row.name, row.semantic) for row in largest.calls],
        "whole call, keyword, known text": [(row.name, row.keyword) for row in largest.calls],
        "search alone, semantic": [(row.name, row.semantic) for row in largest.searches],
        "search alone, hybrid": [(row.name, row.hybrid) for row in largest.searches],
    }
    dearest = []
    for what, column in calls.items():
        free = dict(column)[NONE.name].p50
        unrelated = [(name, timing) for name, timing in column if name != ANOTHER_TOPIC.name]
        name, timing = max(unrelated, key=lambda cell: cell[1].p50)
        against = dict(column)[ANOTHER_TOPIC.name].p50
        dearest.append(
            [
                what,
                f"{free:.2f}",
                f"{timing.p50:.2f} ({name})",
                *_kept(timing.p50 / free, FILTER_BOUND),
                f"{against:.2f}",
                *_kept(against / free, FILTER_BOUND),
            ]
        )
    chroma = _chroma_rows(largest)
    yield f"## What is promised, at {largest.size:,} decisions"
    yield f"A filtered search costs at most {FILTER_BOUND:g} times an unfiltered one, whatever the filter:"
    yield table(_DEAREST, dearest)
    if chroma:
        yield f"All six conditions cost at least {CHROMA_BOUND:g} times less than Chroma's `where`:"
        yield table(["what", "ms", "Chroma's `where`, ms", "times less", "kept"], chroma)


def _kept(ratio: float, bound: float) -> list[str]:
    return [f"{ratio:.2f}", verdict(ratio <= bound)]


def _chroma_rows(block: Block) -> list[list[str]]:
    call = next(row for row in block.calls if row.name == ALL_SIX.name)
    search = next(row for row in block.searches if row.name == ALL_SIX.name)
    if search.chroma is None or call.chroma is None:
        return []  # too many for raw Chroma
    pairs = (
        ("search alone, semantic", search.semantic, search.chroma),
        ("search alone, hybrid", search.hybrid, search.chroma),
        ("whole call, semantic, known text", call.semantic, call.chroma),
        ("whole call, hybrid, known text", call.hybrid, call.chroma),
        ("whole call, hybrid, new text", call.fresh, call.chroma),
    )
    rows = []
    for what, ours, theirs in pairs:
        ratio = theirs.p50 / ours.p50
        kept = "yes" if ratio >= CHROMA_BOUND else "no"
        rows.append([what, f"{ours.p50:.2f}", f"{theirs.p50:.1f}", f"{ratio:.0f}", kept])
    return rows


def _figures(results: Results) -> Iterable[str]:
    """What the project holds itself to, in figures of this run's machine."""
    share = results.ingest.ratio
    rows = [_figure("ingest, as a share of the model's own rate", share, "at least 0.90", share >= INGEST_REQUIRED)]
    for block in results.blocks:
        if block.size == 100_000:
            rows += _at_hundred_thousand(block)
        if block.size == 1_000_000:
            _, *filtered = block.searches
            dearest = max(filtered, key=lambda row: row.semantic.p50)
            name = f"filtered search at 1,000,000 ({dearest.name}), p50, ms"
            rows.append(_figure(name, dearest.semantic.p50, "below 10", dearest.semantic.p50 < 10))
    yield "Figures of this machine:"
    yield table(["what", "figure", "bound", "kept"], rows)


def _at_hundred_thousand(block: Block) -> Iterable[list[str]]:
    alone = next(row.p50 for row in block.load if row.connections == 1)
    lag = max(row.loop_lag for row in block.load if row.connections == LOADS[-1])
    yield _figure("hybrid call alone at 100,000, known text, p50, ms", alone, "below 6", alone < 6)
    yield _figure("ready after a start with 100,000, s", block.start.seconds, "below 3", block.start.seconds < 3)
    yield _figure(f"lag of the event loop under {LOADS[-1]} clients, p99, ms, at most", lag, "20", lag <= 20)


def _figure(what: str, figure: float, bound: str, kept: bool) -> list[str]:
    return [what, f"{figure:.2f}", bound, verdict(kept)]


def _cheap(rows: Sequence[CheapRow]) -> Iterable[str]:
    """The cheapest call, as a share of what a bare echo of the same framework does in the same seconds."""
    yield "## The cheapest call"
    yield (
        "`cstp.whoami` with a token, over 16 connections, next to a bare starlette application that sends the body "
        "back; slices of a second in turn, medians. In batches, a call is an element."
    )
    cells = []
    for row in rows:
        bound = "" if row.required is None else f"{row.required:.0%}"
        kept = "" if row.required is None else verdict(row.ratio >= row.required)
        share = "" if row.required is None else f"{row.ratio:.0%}"
        cells.append([row.name, f"{row.calls_per_second:,.0f}", share, bound, kept, f"{row.p50:.2f}", f"{row.p99:.2f}"])
    yield table(["what", "calls/s", "of the echo", "at least", "kept", "p50, ms", "p99, ms"], cells)


def _load(rows: Sequence[LoadRow]) -> Iterable[str]:
    yield "Under load, hybrid without filters:"
    cells = [
        [row.name, f"{row.connections}", f"{row.calls_per_second:,.0f}", *_two(row.p50, row.p99), f"{row.loop_lag:.0f}"]
        for row in rows
    ]
    yield table(["query", "connections", "calls/s", "p50, ms", "p99, ms", "event loop's lag, p99, at most ms"], cells)


def _embedding(results: Results) -> Iterable[str]:
    yield "## Embedding"
    if results.rates:
        rows = [
            [f"{rate.threads}", f"{rate.texts}"] + [f"{each / rate.seconds:.1f}" for each in (rate.texts, rate.windows)]
            for rate in results.rates
        ]
        yield table(["threads", "texts embedded", "texts/s", "windows/s"], rows)
    else:
        yield "The vectors of an earlier run were used; nothing was measured."
    queries = [[f"{block.size:,}", times(block.embedding)] for block in results.blocks]
    yield table(["measured next to the calls at", "one query, ms"], queries)


def _ingest(row: IngestRow) -> Iterable[str]:
    yield "## Ingest"
    yield (
        "`cstp ingest` of decisions of one window, next to a process that embeds the same texts with as many threads "
        "and does nothing else; in slices in turn, without the time that each process takes to start."
    )
    cells = [
        f"{row.decisions:,}",
        f"{row.rate:.1f}",
        f"{row.model_rate:.1f}",
        f"{row.ratio:.0%}",
        f"{INGEST_REQUIRED:.0%}",
        verdict(row.ratio >= INGEST_REQUIRED),
        f"{row.megabytes:.0f}",
    ]
    heads = ["decisions", "ingested/s", "embedded/s", "of the model", "at least", "kept", "peak memory, MB"]
    yield table(heads, [cells])


def _block(block: Block) -> Iterable[str]:
    per_record = f"{block.windows / block.size:.1f} windows each" if block.windows > block.size else "one window each"
    yield f"## {block.size:,} decisions, {per_record}"
    if block.store_seconds:
        yield (
            f"Filled in {block.store_seconds:.1f} s for the store, {block.columns_and_keywords_seconds:.1f} s for "
            f"columns and keywords; the vectors had followed after {block.indexes_seconds:.1f} s."
        )
    else:
        yield "The store was filled by earlier runs that were interrupted; how long that takes was not measured."
    start = block.start
    yield (
        f"A server over it is ready {start.seconds:.2f} s after its process began, over nothing "
        f"{start.empty_seconds:.2f} s; it then has {start.megabytes:,.0f} MB resident, over nothing "
        f"{start.empty_megabytes:,.0f} MB."
    )
    yield "Whole call:"
    yield _calls(block.calls)
    yield from _load(block.load)
    yield "Search alone:"
    yield _searches(block.searches)


def _calls(rows: Sequence[CallRow]) -> str:
    free = rows[0]
    heads = ["filter", "matches", "hybrid", "semantic", "keyword", "hybrid, new text", "raw Chroma", "brute force"]
    cells = [
        [
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
        for row in rows
    ]
    return table([*heads, "recall"], cells)


def _searches(rows: Sequence[SearchRow]) -> str:
    free = rows[0]
    heads = ["filter", "matches", "semantic", "hybrid", "exact", "raw Chroma", "brute force", "recall"]
    cells = [
        [
            row.name,
            f"{row.matches:,}",
            _against(row.semantic, free.semantic),
            _against(row.hybrid, free.hybrid),
            times(row.exact),
            "" if row.chroma is None else _control(row.chroma, row.semantic),
            _control(row.brute_force, row.semantic),
            f"{row.recall:.3f}",
            "" if row.chroma_recall is None else f"{row.chroma_recall:.3f}",
        ]
        for row in rows
    ]
    return table([*heads, "Chroma's recall"], cells)


def _control(control: Timing, ours: Timing) -> str:
    return f"{times(control)} (semantic: {control.p50 / ours.p50:.1f} times less)"


def _costs(blocks: Sequence[Block]) -> Iterable[str]:
    yield "## Constants of the cost model"
    yield "Microseconds, as `cognition_engines.retrieval.legs` has them."
    rows = [
        [
            *(f"{block.size:,}", f"{block.windows:,}"),
            *(_given(block.costs.gathered_vector, 3), _given(block.costs.streamed_vector, 3)),
            *(_given(block.costs.neighbour_call, 0), _given(block.costs.neighbour, 2)),
        ]
        for block in blocks
    ]
    yield table(["decisions", "windows", "GATHERED_VECTOR", "STREAMED_VECTOR", "NEIGHBOUR_CALL", "NEIGHBOUR"], rows)


def _two(*figures: float) -> list[str]:
    return [f"{figure:.2f}" for figure in figures]


def _given(figure: float | None, digits: int) -> str:
    return "" if figure is None else f"{figure:.{digits}f}"


def _against(timing: Timing, control: Timing) -> str:
    return times(timing) if timing is control else f"{times(timing)} (×{timing.p50 / control.p50:.2f})"
