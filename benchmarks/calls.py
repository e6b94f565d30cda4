"""One call end to end: HTTP over loopback to the real server, every mode under every filter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.controls import LIMIT, BruteForce, RawChroma, control_variants, recall
from benchmarks.corpus import QUESTIONS, Question
from benchmarks.measure import Measured, Timing, Variant, take_turns
from benchmarks.serving import Caller, found_places
from cognition_engines.embedding.base import Embedder
from cognition_engines.models import Filters, Mode
from cognition_engines.store.values import FloatArray

_EMBEDDING: Final = "embedding"


@dataclass(frozen=True, slots=True)
class CallRow:
    """One filter. The first three ask for texts that the server has embedded before, `fresh` (hybrid) for new ones."""

    name: str
    matches: int
    hybrid: Timing
    semantic: Timing
    keyword: Timing
    fresh: Timing
    chroma: Timing | None
    brute_force: Timing
    recall: float  # of the semantic mode


@dataclass(frozen=True, slots=True)
class Asked:
    """The queries of a run: `known` ones are asked in every variant, `fresh` ones once in a thousand calls at most."""

    known: Sequence[str]
    vectors: Sequence[FloatArray]  # of the known ones
    fresh: Sequence[str]


def measure_calls(
    caller: Caller, raw: RawChroma | None, brute: BruteForce, embedder: Embedder, asked: Asked, rounds: int
) -> tuple[list[CallRow], Timing]:
    """The rows, and what embedding one query alone takes. Raises NotServing when a call fails."""
    for query in asked.known:
        found_places(caller.ask(query, Filters(), Mode.SEMANTIC, LIMIT))
    variants: list[Variant[Any]] = []
    controls: list[Variant[Any]] = []
    for place, question in enumerate(QUESTIONS):
        variants += [_known(caller, question, mode, asked.known) for mode in Mode]
        variants.append(_fresh(caller, question, place, asked.fresh))
        controls += control_variants(raw, brute, question.name, question.filters, asked.vectors)
    embedding = Variant(_EMBEDDING, lambda number: embedder.embed_query(_pick(asked.fresh, number, 0)))
    measured = take_turns([*variants, *controls, embedding], rounds)
    return [_row(question, brute, measured) for question in QUESTIONS], measured[_EMBEDDING].timing


def _known(caller: Caller, question: Question, mode: Mode, queries: Sequence[str]) -> Variant[Any]:
    return Variant(
        f"{question.name}/{mode}",
        lambda number: caller.ask(queries[number % len(queries)], question.filters, mode, LIMIT),
    )


def _fresh(caller: Caller, question: Question, place: int, queries: Sequence[str]) -> Variant[Any]:
    return Variant(
        f"{question.name}/fresh",
        lambda number: caller.ask(_pick(queries, number, place), question.filters, Mode.HYBRID, LIMIT),
    )


def _pick(queries: Sequence[str], number: int, place: int) -> str:
    """Another query for every round and filter, until all have been asked."""
    return queries[(number * len(QUESTIONS) + place) % len(queries)]


def _row(question: Question, brute: BruteForce, measured: dict[str, Measured[Any]]) -> CallRow:
    def timing(name: str) -> Timing:
        return measured[f"{question.name}/{name}"].timing

    for mode in (*Mode, "fresh"):
        for body in measured[f"{question.name}/{mode}"].results:
            found_places(body)
    found = [found_places(body) for body in measured[f"{question.name}/{Mode.SEMANTIC}"].results]
    return CallRow(
        name=question.name,
        matches=int(np.count_nonzero(brute.mask(question.filters))),
        hybrid=timing(Mode.HYBRID),
        semantic=timing(Mode.SEMANTIC),
        keyword=timing(Mode.KEYWORD),
        fresh=timing("fresh"),
        chroma=timing("chroma") if f"{question.name}/chroma" in measured else None,
        brute_force=timing("brute"),
        recall=recall(found, measured[f"{question.name}/brute"].results),
    )
