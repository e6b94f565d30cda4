"""Sets of questions with known answers, which are asked of the engine itself, in any mode."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from benchmarks.quality.beir import read_collection, write_chunks
from benchmarks.quality.conversations import SESSION, Conversations, Question, read_asked, read_beam, write_turns
from benchmarks.quality.known_item import Item, context_words, judge, write_decisions
from benchmarks.quality.measures import Grades, first_rank, ndcg, recall
from benchmarks.texts import read_decisions
from cognition_engines.models import EVERYTHING, Mode, Viewer
from cognition_engines.sync_engine import SyncEngine
from cstp.values.decision_searches import QueryDecisionsParams
from cstp.values.knowledge import SearchKnowledgeParams
from cstp.values.recall import RecallParams

Ask = Callable[[SyncEngine, str, Mode], Sequence[str]]  # the ids of the first results for the name of a question
Measure = Callable[[Sequence[str], Grades], float]
EVERYWHERE: Final = ""  # the scope of questions that are asked of all texts


@dataclass(frozen=True, slots=True)
class AskedSet:
    """One set: how its records are written, what is asked of them, and by which figures the answers are judged.

    `texts` are the texts of the records by id, by the scope in which a question may find them: a conversation, or
    EVERYWHERE. `queries` have the scope and the words of each question.
    """

    name: str
    write: Callable[[Path], None]
    ask: Ask
    judgements: Mapping[str, Grades]
    measures: Mapping[str, Measure]
    texts: Mapping[str, Mapping[str, str]]
    queries: Mapping[str, tuple[str, str]]


def asked_sets(
    conversations: Iterable[Path], decisions: Iterable[Path], beir: Iterable[Path], beam: Iterable[Path]
) -> list[AskedSet]:
    """Return the sets of these folders."""
    found = [
        _turns(
            folder.name, read_asked(folder), {"turn R@10": recall, "MRR": first_rank, "session R@5": _session_recall}
        )
        for folder in conversations
    ]
    found += [_turns(f"BEAM {folder.name}", read_beam(folder), {"nDCG@10": ndcg, "R@10": recall}) for folder in beam]
    for folder in decisions:
        found += _decisions(folder)
    return [*found, *map(_documents, beir)]


def _turns(name: str, asked: Conversations, measures: Mapping[str, Measure]) -> AskedSet:
    """Return questions asked at the end of a conversation, by a reader of this one, which is a project."""
    questions = {each.id: each for each in asked.questions}
    ends: dict[str, datetime] = {}
    texts: dict[str, dict[str, str]] = {}
    for turn in asked.turns:
        texts.setdefault(turn.conversation_id, {})[turn.id] = turn.content
        if turn.ts is not None:
            ends[turn.conversation_id] = datetime.fromisoformat(turn.ts)

    def ask(engine: SyncEngine, id: str, mode: Mode) -> list[str]:
        question = questions[id]
        viewer = Viewer(EVERYTHING.clearance, frozenset({question.conversation}))
        answer = engine.recall(_params(question, ends.get(question.conversation), mode), viewer)
        return [each.id.removeprefix("art_") for each in answer.results]

    return AskedSet(
        name,
        lambda path: write_turns(asked.turns, path),
        ask,
        {each.id: each.evidence for each in asked.questions},
        measures,
        texts,
        {each.id: (each.conversation, each.query) for each in asked.questions},
    )


def _params(question: Question, end: datetime | None, mode: Mode) -> RecallParams:
    return RecallParams(
        query=question.query,
        mode=mode.value,
        limit=50,
        expand=False,
        include_events=False,
        include_entities=False,
        as_of=end,
    )


def _session_recall(found: Sequence[str], grades: Grades) -> float:
    """Return the share of the sessions of what is relevant that are among the first five sessions found."""
    sessions = list(dict.fromkeys(SESSION.sub("", id) for id in found))
    return recall(sessions, {SESSION.sub("", id): 1 for id in grades}, 5)


def _decisions(folder: Path) -> list[AskedSet]:
    """Return sets that ask for each record by its title, and by the first words of its context."""
    items = [Item(f"item-{number:05d}", text.title, text.body) for number, text in enumerate(read_decisions(folder))]
    by_context = [replace(item, query=words) for item in items if (words := context_words(item.text)) is not None]
    texts = {EVERYWHERE: {item.id: f"{item.query}\n{item.text}" for item in items}}

    def made(name: str, asked: Sequence[Item]) -> AskedSet:
        queries = {item.id: (EVERYWHERE, item.query) for item in asked}

        def ask(engine: SyncEngine, id: str, mode: Mode) -> list[str]:
            found = engine.query_decisions(QueryDecisionsParams(query=queries[id][1], mode=mode.value, limit=10))
            return [match.id for match in found.decisions]

        def write(path: Path) -> None:
            write_decisions(items, path, whole=True)

        return AskedSet(name, write, ask, judge(asked), {"nDCG@10": ndcg}, texts, queries)

    return [made(f"{folder.name} by title", items), made(f"{folder.name} by context", by_context)]


def _documents(folder: Path) -> AskedSet:
    collection = read_collection(folder)

    def ask(engine: SyncEngine, id: str, mode: Mode) -> list[str]:
        params = SearchKnowledgeParams(query=collection.queries[id], mode=mode.value)
        return [match.id for match in engine.search_knowledge(params, EVERYTHING).results]

    return AskedSet(
        folder.name,
        lambda path: write_chunks(collection, path),
        ask,
        collection.judgements,
        {"nDCG@10": ndcg},
        {EVERYWHERE: {id: f"{each.title}\n{each.text}" for id, each in collection.documents.items()}},
        {id: (EVERYWHERE, query) for id, query in collection.queries.items()},
    )
