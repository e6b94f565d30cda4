"""The search without the call around it, in this process: every filter, every path it could take, and their costs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.controls import LIMIT, BruteForce, RawChroma, control_variants, recall
from benchmarks.corpus import QUESTIONS, SHARES, Question, share_question
from benchmarks.measure import Measured, Timing, Variant, take_turns
from cognition_engines.engine import Engine
from cognition_engines.indexes.columns.snapshot import Floats, Ints, MaskCache, Snapshot
from cognition_engines.indexes.keywords.index import ViewerKeywords
from cognition_engines.indexes.keywords.text_documents import textual
from cognition_engines.models import Viewer
from cognition_engines.retrieval.fusion import CANDIDATES, Part, fuse_parts, with_bm25
from cognition_engines.retrieval.legs import gathered_products, keyword_leg, semantic_leg
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.values import FloatArray

_NEIGHBOURS: Final = (10, 30, 100, 200, 400, 800)
_GATHERED: Final = (1000, 2000, 5000, 10_000, 20_000)
_VIEWER: Final = Viewer()


@dataclass(frozen=True, slots=True)
class SearchRow:
    """One filter. `semantic` and `hybrid` go from a query vector to LIMIT rows, the mask included."""

    name: str
    matches: int
    semantic: Timing
    hybrid: Timing
    exact: Timing  # the semantic search without a neighbour index
    chroma: Timing | None
    brute_force: Timing
    recall: float
    chroma_recall: float | None


@dataclass(frozen=True, slots=True)
class Costs:
    """Microseconds, as the constants of `cognition_engines.retrieval.legs` have them."""

    gathered_vector: float | None  # None where there are too few vectors to tell
    streamed_vector: float
    neighbour_call: float | None  # None, and the next, where vectors are in memory and Chroma holds none
    neighbour: float | None


def measure_search(
    knowledge: Engine,
    raw: RawChroma | None,
    brute: BruteForce,
    queries: Sequence[str],
    vectors: Sequence[FloatArray],
    rounds: int,
) -> list[SearchRow]:
    """`vectors` are those of `queries`; round n asks for the nth."""
    snapshot = knowledge.indexes[DECISIONS].snapshot
    questions = [*QUESTIONS, *map(share_question, SHARES)]
    variants: list[Variant[list[int]]] = []
    for question in questions:
        variants += _ways(knowledge, snapshot, question, queries, vectors)
        chroma = raw if question in QUESTIONS else None
        variants += control_variants(chroma, brute, question.name, question.filters, vectors)
    measured = take_turns(variants, rounds)
    return [
        _row(question, int(np.count_nonzero(snapshot.mask(question.filters.conditions(), _VIEWER))), measured)
        for question in questions
    ]


def _ways(
    knowledge: Engine, known: Snapshot, question: Question, queries: Sequence[str], vectors: Sequence[FloatArray]
) -> list[Variant[list[int]]]:
    neighbours, words = (
        knowledge.indexes[DECISIONS].vectors,
        ViewerKeywords(knowledge.indexes[DECISIONS].keywords, _VIEWER),
    )

    def semantic(number: int) -> list[int]:
        snapshot = _unasked(known)
        mask = snapshot.mask(question.filters.conditions(), _VIEWER)
        return _places(snapshot, semantic_leg(snapshot, mask, vectors[number], LIMIT, neighbours, _VIEWER).rows)

    def exact(number: int) -> list[int]:
        snapshot = _unasked(known)
        mask = snapshot.mask(question.filters.conditions(), _VIEWER)
        return _places(snapshot, semantic_leg(snapshot, mask, vectors[number], LIMIT, None, _VIEWER).rows)

    def hybrid(number: int) -> list[int]:
        query, vector, snapshot = queries[number], vectors[number], _unasked(known)
        mask = snapshot.mask(question.filters.conditions(), _VIEWER)
        labelled = textual(question.filters.conditions())
        by_words = keyword_leg(snapshot, mask, query, CANDIDATES, words, _VIEWER, labelled)
        by_meaning = semantic_leg(snapshot, mask, vector, CANDIDATES, neighbours, _VIEWER)
        part = with_bm25(Part(_VIEWER, snapshot, mask, words, by_meaning, by_words), query)
        hits = fuse_parts([part], vector, LIMIT)
        return _places(snapshot, [hit.row for hit in hits])

    ways = (("semantic", semantic), ("exact", exact), ("hybrid", hybrid))
    return [Variant(f"{question.name}/{name}", run) for name, run in ways]


def _unasked(snapshot: Snapshot) -> Snapshot:
    """The same, remembering no mask: one that a filter asks for the first time is part of what a search takes."""
    return replace(snapshot, masks=MaskCache(len(snapshot.keys)))


def _row(question: Question, matches: int, measured: dict[str, Measured[list[int]]]) -> SearchRow:
    def of(name: str) -> Measured[list[int]]:
        return measured[f"{question.name}/{name}"]

    wanted = of("brute").results
    chroma = of("chroma") if f"{question.name}/chroma" in measured else None
    return SearchRow(
        name=question.name,
        matches=matches,
        semantic=of("semantic").timing,
        hybrid=of("hybrid").timing,
        exact=of("exact").timing,
        chroma=None if chroma is None else chroma.timing,
        brute_force=of("brute").timing,
        recall=recall(of("semantic").results, wanted),
        chroma_recall=None if chroma is None else recall(chroma.results, [wanted[n] for n in chroma.rounds]),
    )


def _places(snapshot: Snapshot, rows: Iterable[int]) -> list[int]:
    return [int(snapshot.ids[row].removeprefix("dec_")) for row in rows]


def measure_costs(knowledge: Engine, vectors: Sequence[FloatArray], rounds: int) -> Costs:
    """What the cost model of the search should believe on this machine, at this size."""
    snapshot, neighbours = knowledge.indexes[DECISIONS].snapshot, knowledge.indexes[DECISIONS].vectors
    held = snapshot.vectors_of(np.arange(len(snapshot.ids)))[0]  # from the store where Chroma holds them
    total = len(held)
    chosen = {
        count: np.sort(np.random.default_rng(count).choice(total, count, replace=False))
        for count in _GATHERED
        if count <= total // 2
    }
    asked = _NEIGHBOURS if neighbours is not None else ()
    variants: list[Variant[object]] = [Variant("streamed", lambda number: np.vecdot(held, vectors[number]))]
    variants += [Variant(f"gathered/{count}", _gather(held, chosen[count], vectors)) for count in chosen]
    variants += [Variant(f"nearest/{count}", _nearest(knowledge, count, vectors)) for count in asked]
    measured = take_turns(variants, rounds)

    def microseconds(name: str) -> float:
        return measured[name].timing.p50 * 1000

    gathered = [microseconds(f"gathered/{count}") / count for count in chosen]
    slope, start = (
        np.polyfit(asked, [microseconds(f"nearest/{count}") for count in asked], 1) if asked else (None, None)
    )
    return Costs(
        float(np.median(gathered)) if gathered else None,
        microseconds("streamed") / total,
        None if start is None else float(start),
        None if slope is None else float(slope),
    )


def _gather(held: Floats, places: Ints, vectors: Sequence[FloatArray]) -> Callable[[int], Floats]:
    return lambda number: gathered_products(held, places, vectors[number])


def _nearest(knowledge: Engine, count: int, vectors: Sequence[FloatArray]) -> Callable[[int], object]:
    neighbours = knowledge.indexes[DECISIONS].vectors
    assert neighbours is not None
    return lambda number: neighbours.nearest(vectors[number], count)
