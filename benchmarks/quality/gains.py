"""What each part of `Relevance` gives, by itself and with the others: the same records and questions, other indexes.

The engine is asked directly, so that a part can be switched off; the server asks it in the same way.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.page import table
from benchmarks.quality.beir import read_collection, write_chunks
from benchmarks.quality.known_item import Item, context_words, judge, write_decisions
from benchmarks.quality.measures import Grades, first_rank, ndcg, recall
from benchmarks.quality.results import Section
from benchmarks.quality.turns import SESSION, read_asked, write_turns
from benchmarks.texts import read_decisions
from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import EngineOptions
from cognition_engines.models import EVERYTHING, Viewer
from cognition_engines.queries.decisions import Question
from cognition_engines.queries.knowledge import KnowledgeQuestion
from cognition_engines.queries.recall.results import RecallRequest
from cognition_engines.relevance import RELEVANCE, Relevance
from cognition_engines.sync_engine import SyncEngine

Ask = Callable[[SyncEngine, str], Sequence[str]]  # the ids of the first results for the name of a question
Measure = Callable[[Sequence[str], Grades], float]

PLAIN: Final = Relevance(
    stop_words=False, title_weight=1, adjacent=(1.0,), dates_in_words=False, phrase_weight=0.0, date_weight=0.0
)
PARTS: Final[Mapping[str, Relevance]] = {
    "none": PLAIN,
    "stop words": replace(PLAIN, stop_words=True),
    "title three times": replace(PLAIN, title_weight=RELEVANCE.title_weight),
    "three turns each side, weighted": replace(PLAIN, adjacent=RELEVANCE.adjacent),
    "dates in words": replace(PLAIN, dates_in_words=True),
    "phrases": replace(PLAIN, phrase_weight=RELEVANCE.phrase_weight),
    "times in questions": replace(PLAIN, date_weight=RELEVANCE.date_weight),
    "all without times in questions": replace(RELEVANCE, date_weight=0.0),
    "all": RELEVANCE,
}
_DRAWS: Final = 2000  # of the bootstrap


@dataclass(frozen=True, slots=True)
class GainSet:
    """One set: how its records are written, what is asked of them, and by which figures the answers are judged."""

    name: str
    write: Callable[[Path], None]
    ask: Ask
    judgements: Mapping[str, Grades]
    measures: Mapping[str, Measure]


def measure_gains(sets: Iterable[GainSet], embedder: Embedder, kept: Path, say: Callable[[str], None]) -> list[Section]:
    """One table for each set: every part by itself and all of them, with the 95 % interval of the first figure."""
    return [_measured(each, embedder, kept / "gains" / each.name, say) for each in sets]


def gain_sets(conversations: Iterable[Path], decisions: Iterable[Path], beir: Iterable[Path]) -> list[GainSet]:
    """The sets of these folders."""
    found = [_conversations(folder) for folder in conversations]
    for folder in decisions:
        found += _decisions(folder)
    return [*found, *map(_documents, beir)]


def _measured(each: GainSet, embedder: Embedder, folder: Path, say: Callable[[str], None]) -> Section:
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
            answers = {id: each.ask(engine, id) for id in each.judgements}
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


def _conversations(folder: Path) -> GainSet:
    """Questions of categories 1 to 4, seen from its end by a reader of one conversation, which is a project."""
    asked = read_asked(folder)
    questions = {each.id: each for each in asked.questions}
    ends = {turn.conversation_id: datetime.fromisoformat(turn.ts) for turn in asked.turns if turn.ts is not None}

    def ask(engine: SyncEngine, id: str) -> list[str]:
        question = questions[id]
        viewer = Viewer(EVERYTHING.clearance, frozenset({question.conversation}))
        request = RecallRequest(
            viewer,
            query=question.query,
            limit=50,
            expand=False,
            include_events=False,
            include_entities=False,
            as_of=ends.get(question.conversation),
        )
        answer = engine.recall(request)
        return [str(each.stored.record.id).removeprefix("art_") for each in answer.results] if answer else []

    return GainSet(
        folder.name,
        lambda path: write_turns(asked.turns, path),
        ask,
        {each.id: each.evidence for each in asked.questions},
        {"turn R@10": recall, "MRR": first_rank, "session R@5": _session_recall},
    )


def _session_recall(found: Sequence[str], grades: Grades) -> float:
    """The share of the sessions of what is relevant that are among the first five sessions found."""
    sessions = list(dict.fromkeys(SESSION.sub("", id) for id in found))
    return recall(sessions, {SESSION.sub("", id): 1 for id in grades}, 5)


def _decisions(folder: Path) -> list[GainSet]:
    """Each record asked for by its title, and by the first words of its context; what has the same is as good."""
    items = [Item(f"item-{number:05d}", text.title, text.body) for number, text in enumerate(read_decisions(folder))]
    by_context = [replace(item, query=words) for item in items if (words := context_words(item.text)) is not None]

    def made(name: str, asked: Sequence[Item]) -> GainSet:
        queries = {item.id: item.query for item in asked}

        def ask(engine: SyncEngine, id: str) -> list[str]:
            return [str(match.decision.id) for match in engine.query_decisions(Question(queries[id], limit=10))]

        return GainSet(
            name, lambda path: write_decisions(items, path, whole=True), ask, judge(asked), {"nDCG@10": ndcg}
        )

    return [made(f"{folder.name} by title", items), made(f"{folder.name} by context", by_context)]


def _documents(folder: Path) -> GainSet:
    collection = read_collection(folder)

    def ask(engine: SyncEngine, id: str) -> list[str]:
        found = engine.search_knowledge(KnowledgeQuestion(collection.queries[id], EVERYTHING, limit=10))
        return [str(match.record.id) for match in found]

    return GainSet(
        folder.name, lambda path: write_chunks(collection, path), ask, collection.judgements, {"nDCG@10": ndcg}
    )
