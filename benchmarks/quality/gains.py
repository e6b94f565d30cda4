"""The gain of each part of `Relevance`, alone and with the others, and each mode beside its control.

The engine is asked directly, so that a part can be switched off; the server asks it in the same way. A plain BM25 of
the same texts is the control of every mode: tantivy's default, its tokenizer, its k1 and b, one index of the texts that
a question may find. The control of hybrid is the better of its legs.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import tantivy

from benchmarks.options import show_progress
from benchmarks.page import table, verdict
from benchmarks.quality.asked_sets import AskedSet
from benchmarks.quality.table import Section
from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import EngineOptions
from cognition_engines.models import Mode
from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.search.signals.table import SIGNALS
from cognition_engines.sync_engine import SyncEngine

# The signals that can be switched off, by their names in the tables: the setting of each.
SWITCHES: Final[Mapping[str, str]] = {
    {
        "phrase": "phrases",
        "date": "times in questions",
        "speaker": "speakers in questions",
        "statement": "statements",
    }.get(signal.name, signal.name): signal.setting
    for signal in SIGNALS
    if signal.setting is not None
}
_OFF: Final[Mapping[str, Any]] = dict.fromkeys(SWITCHES.values(), 0.0)
PLAIN: Final = replace(Relevance(stop_words=False, title_weight=1, adjacent=(1.0,), dates_in_words=False), **_OFF)


def _switched(setting: str, weight: float) -> dict[str, Any]:
    return {setting: weight}


PARTS: Final[Mapping[str, Relevance]] = {
    "none": PLAIN,
    "stop words": replace(PLAIN, stop_words=True),
    "title three times": replace(PLAIN, title_weight=RELEVANCE.title_weight),
    "three turns each side, weighted": replace(PLAIN, adjacent=RELEVANCE.adjacent),
    "dates in words": replace(PLAIN, dates_in_words=True),
    **{name: replace(PLAIN, **_switched(setting, getattr(RELEVANCE, setting))) for name, setting in SWITCHES.items()},
    **{f"all without {name}": replace(RELEVANCE, **_switched(setting, 0.0)) for name, setting in SWITCHES.items()},
    "all": RELEVANCE,
}
_DRAWS: Final = 2000  # of the bootstrap
_LIMIT: Final = 50  # results of plain BM25
_HEADS: Final = (
    "set", "figure", "plain BM25", "keyword", "semantic", "hybrid", "keyword ≥ plain", "hybrid ≥ legs"
)  # fmt: skip

Figures = Mapping[str, np.ndarray]  # a figure of each question, by the name of the measure


def measure_gains(sets: Iterable[AskedSet], embedder: Embedder, kept: Path) -> list[Section]:
    """Return one section for each set and one for the controls.

    A set has a table of every part alone and all of them, with the 95 % interval of the first figure.
    """
    sections, controls = [], []
    for each in sets:
        gains, modes = _measure_set(each, embedder, kept / "gains" / each.name)
        controls.append(_control_row(each, modes))
        sections.append(Section(f"Gains: {each.name}", [f"{len(each.judgements)} questions."], [_table(gains)]))
    lines = ["Keyword mode compared with a plain BM25 of the same texts, and hybrid with the better of its legs."]
    return [*sections, Section("Controls", lines, [table(_HEADS, controls)])]


def _measure_set(
    each: AskedSet, embedder: Embedder, folder: Path
) -> tuple[dict[str, Figures], dict[Mode | None, Figures]]:
    """Return the figures of every part in hybrid mode, and of plain BM25 (None) and every mode with all parts."""
    folder.mkdir(parents=True, exist_ok=True)
    store = f"sqlite:///{(folder / 'records.sqlite3').absolute()}"
    records = folder / "records.jsonl"
    each.write(records)
    gains: dict[str, Figures] = {}
    modes: dict[Mode | None, Figures] = {None: _judge(each, _plain_answers(each))}
    show_progress(f"Gains: {each.name}: reading and embedding")
    for name, relevance in PARTS.items():
        indexes = folder / "indexes"
        shutil.rmtree(indexes, ignore_errors=True)
        with SyncEngine.open(store, indexes, embedder, EngineOptions(relevance=relevance)) as engine:
            if not gains:
                engine.ingest([records])
            for mode in Mode if relevance == RELEVANCE else (Mode.HYBRID,):
                modes[mode] = _judge(each, {id: each.ask(engine, id, mode) for id in each.judgements})
        gains[name] = modes[Mode.HYBRID]
        means = (f"{measure} {values.mean():.3f}" for measure, values in gains[name].items())
        show_progress(f"  {name}: " + ", ".join(means))
    return gains, modes


def _judge(each: AskedSet, answers: Mapping[str, Sequence[str]]) -> Figures:
    return {
        measure: np.array([grade(answers[id], grades) for id, grades in each.judgements.items()])
        for measure, grade in each.measures.items()
    }


def _plain_answers(each: AskedSet) -> dict[str, Sequence[str]]:
    searches = {scope: plain_bm25(texts) for scope, texts in each.texts.items()}
    return {id: searches[scope](query) for id, (scope, query) in each.queries.items() if id in each.judgements}


def plain_bm25(texts: Mapping[str, str]) -> Callable[[str], Sequence[str]]:
    """Return a search of `texts`: from the words of a query to at most fifty ids, best first."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for id, text in texts.items():
        writer.add_document(tantivy.Document(id=id, text=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[str]:
        parsed, _ = index.parse_query_lenient(query, ["text"])
        return [searcher.doc(place)["id"][0] for _, place in searcher.search(parsed, _LIMIT).hits]

    return search


def _control_row(each: AskedSet, modes: Mapping[Mode | None, Figures]) -> list[str]:
    measure = next(iter(each.measures))
    ways = (None, Mode.KEYWORD, Mode.SEMANTIC, Mode.HYBRID)
    plain, keyword, semantic, hybrid = figures = [float(modes[way][measure].mean()) for way in ways]
    cells = [f"{figure:.3f}" for figure in figures]
    return [each.name, measure, *cells, verdict(keyword >= plain), verdict(hybrid >= max(keyword, semantic))]


def _table(figures: Mapping[str, Figures]) -> str:
    base, every = next(iter(figures.values())), list(figures.values())[-1]
    rows = []
    for name, values in figures.items():
        first = next(iter(values))
        same = every if name.startswith("all without") else base
        if values is not same and name != "all" and np.array_equal(values[first], same[first]):
            continue  # the part changes nothing for this set
        gain = "" if values is base else _interval(values[first] - base[first])
        rows.append([name, *(f"{each.mean():.3f}" for each in values.values()), gain])
    return table(["part", *base, "gain (95 % bootstrap)"], rows)


def _interval(differences: np.ndarray) -> str:
    draws = np.random.default_rng(1).integers(0, len(differences), (_DRAWS, len(differences)))
    low, high = np.percentile(differences[draws].mean(axis=1), (2.5, 97.5))
    return f"{differences.mean():+.3f} ({low:+.3f} to {high:+.3f})"
