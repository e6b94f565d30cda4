"""One call end to end: HTTP over loopback to the real server, every mode under every filter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.controls import LIMIT, BruteForce, RawChroma, recall
from benchmarks.corpus import QUESTIONS, Question
from benchmarks.measure import Measured, Timing, Variant, take_turns
from benchmarks.serving import Caller, found_places
from cognition_engines.embedding.base import Embedder
from cognition_engines.models import Mode
from cognition_engines.store.values import FloatArray
from cstp.values.decision_searches import QueryFilters

_EMBEDDING: Final = "embedding"
_WHERE_EVERY: Final = 10  # a `where` of Chroma takes hundreds of milliseconds: one round in ten asks for it


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
    """Return the rows, and the time to embed one query alone. Raises NotServing when a call fails."""
    for query in asked.known:
        found_places(caller.ask(query, QueryFilters(), Mode.SEMANTIC, LIMIT))
    variants = [
        variant
        for place, question in enumerate(QUESTIONS)
        for variant in _variants(caller, raw, brute, asked, place, question)
    ]
    embedding = Variant(_EMBEDDING, lambda number: embedder.embed_query(_pick(asked.fresh, number, 0)))
    measured = take_turns([*variants, embedding], rounds)
    return [_row(question, brute, measured) for question in QUESTIONS], measured[_EMBEDDING].timing


def _variants(
    caller: Caller, raw: RawChroma | None, brute: BruteForce, asked: Asked, place: int, question: Question
) -> Iterator[Variant[Any]]:
    """Yield the ways to ask with the filter at `place`; round n asks for the nth query."""
    filters = question.filters

    def ask(mode: Mode) -> Callable[[int], Any]:
        return lambda number: caller.ask(asked.known[number % len(asked.known)], filters, mode, LIMIT)

    def vector(number: int) -> FloatArray:
        return asked.vectors[number % len(asked.vectors)]

    for mode in Mode:
        yield Variant(f"{question.name}/{mode}", ask(mode))
    yield Variant(
        f"{question.name}/fresh",
        lambda number: caller.ask(_pick(asked.fresh, number, place), filters, Mode.HYBRID, LIMIT),
    )
    yield Variant(f"{question.name}/brute", lambda number: brute.nearest(vector(number), brute.mask(filters)))
    if raw is not None:
        every = 1 if filters == QueryFilters() else _WHERE_EVERY
        yield Variant(f"{question.name}/chroma", lambda number: raw.nearest(vector(number), filters), every)


def _pick(queries: Sequence[str], number: int, place: int) -> str:
    """Return another query for every round and filter, until all have been asked."""
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
