"""What each part of `Relevance` gives, by itself and with the others: the same records and questions, other indexes.

The engine is asked directly, so that a part can be switched off; the server asks it in the same way.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.page import table
from benchmarks.quality.asked_sets import AskedSet
from benchmarks.quality.results import Section
from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import EngineOptions
from cognition_engines.models import Mode
from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.sync_engine import SyncEngine

PLAIN: Final = Relevance(
    stop_words=False,
    title_weight=1,
    adjacent=(1.0,),
    dates_in_words=False,
    phrase_weight=0.0,
    date_weight=0.0,
    speaker_weight=0.0,
    statement_weight=0.0,
)
PARTS: Final[Mapping[str, Relevance]] = {
    "none": PLAIN,
    "stop words": replace(PLAIN, stop_words=True),
    "title three times": replace(PLAIN, title_weight=RELEVANCE.title_weight),
    "three turns each side, weighted": replace(PLAIN, adjacent=RELEVANCE.adjacent),
    "dates in words": replace(PLAIN, dates_in_words=True),
    "phrases": replace(PLAIN, phrase_weight=RELEVANCE.phrase_weight),
    "times in questions": replace(PLAIN, date_weight=RELEVANCE.date_weight),
    "speakers in questions": replace(PLAIN, speaker_weight=RELEVANCE.speaker_weight),
    "all without times in questions": replace(RELEVANCE, date_weight=0.0),
    "all without speakers in questions": replace(RELEVANCE, speaker_weight=0.0),
    "all without statements": replace(RELEVANCE, statement_weight=0.0),
    "all": RELEVANCE,
}
_DRAWS: Final = 2000  # of the bootstrap


def measure_gains(
    sets: Iterable[AskedSet], embedder: Embedder, kept: Path, say: Callable[[str], None]
) -> list[Section]:
    """One table for each set: every part by itself and all of them, with the 95 % interval of the first figure."""
    return [_measured(each, embedder, kept / "gains" / each.name, say) for each in sets]


def _measured(each: AskedSet, embedder: Embedder, folder: Path, say: Callable[[str], None]) -> Section:
    folder.mkdir(parents=True, exist_ok=True)
    store = f"sqlite:///{(folder / 'records.sqlite3').absolute()}"
    records = folder / "records.jsonl"
    each.write(records)
    figures: dict[str, Mapping[str, np.ndarray]] = {}
    for number, (name, relevance) in enumerate(PARTS.items()):
        indexes = folder / "indexes"
        shutil.rmtree(indexes, ignore_errors=True)
        with SyncEngine.open(store, indexes, embedder, EngineOptions(relevance=relevance)) as engine:
            if number == 0:
                say(f"Gains: {each.name}: reading and embedding")
                engine.ingest([records])
            answers = {id: each.ask(engine, id, Mode.HYBRID) for id in each.judgements}
        figures[name] = {
            measure: np.array([grade(answers[id], grades) for id, grades in each.judgements.items()])
            for measure, grade in each.measures.items()
        }
        say(f"  {name}: " + ", ".join(f"{measure} {values.mean():.3f}" for measure, values in figures[name].items()))
    return Section(f"Gains: {each.name}", [f"{len(each.judgements)} questions."], [], [_table(figures)])


def _table(figures: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    base = next(iter(figures.values()))
    rows = []
    for name, values in figures.items():
        first = next(iter(values))
        gain = "" if values is base else _interval(values[first] - base[first])
        rows.append([name, *(f"{each.mean():.3f}" for each in values.values()), gain])
    return table(["part", *base, "gain (95 % bootstrap)"], rows)


def _interval(differences: np.ndarray) -> str:
    draws = np.random.default_rng(1).integers(0, len(differences), (_DRAWS, len(differences)))
    low, high = np.percentile(differences[draws].mean(axis=1), (2.5, 97.5))
    return f"{differences.mean():+.3f} ({low:+.3f} to {high:+.3f})"
