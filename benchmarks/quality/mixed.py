"""One search over all kinds, next to the method of the right kind: the same questions over the same records.

The engine is asked directly; the server asks it in the same way.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.page import table
from benchmarks.quality.measures import Grades, ndcg
from benchmarks.quality.mixed_corpus import write_mixed
from benchmarks.quality.results import Section
from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import Record
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.queries.decisions import Question
from cognition_engines.queries.episodes import EpisodeQuestion
from cognition_engines.queries.everything import SearchRequest
from cognition_engines.queries.knowledge import KnowledgeQuestion
from cognition_engines.queries.phrase_lift import Phrases
from cognition_engines.queries.recall.results import RecallRequest
from cognition_engines.queries.search import Query, Search, SearchScope
from cognition_engines.relevance import RELEVANCE
from cognition_engines.retrieval.fusion import CANDIDATES, fuse_parts
from cognition_engines.spaces import SEARCHED

QUESTIONS: Final = Path(__file__).with_name("mixed_questions.jsonl")
_LIMIT: Final = 50  # several chunks are of one document, of which the first counts

Ask = Callable[[Engine, "MixedQuestion"], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class MixedQuestion:
    """What a person would ask, the kind that the answer was looked for in, and the ids that answer it."""

    kind: str
    text: str
    relevant: Grades


def read_questions(path: Path = QUESTIONS) -> list[MixedQuestion]:
    """The questions, one a line."""
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [MixedQuestion(each["kind"], each["question"], dict.fromkeys(each["relevant"], 1)) for each in entries]


def open_mixed(data: Path, embedder: Embedder, kept: Path) -> Engine:
    """An engine over the records of all folders of `data`, which are embedded where `kept` does not have them."""
    folder = kept / "mixed"
    folder.mkdir(parents=True, exist_ok=True)
    write_mixed(data, folder / "records.jsonl")
    engine = Engine.open(f"sqlite:///{(folder / 'records.sqlite3').absolute()}", folder / "indexes", embedder)
    asyncio.run(engine.ingest([folder / "records.jsonl"]))
    return engine


def measure_mixed(data: Path, embedder: Embedder, kept: Path, say: Callable[[str], None]) -> Section:
    """nDCG@10 of each way to ask, over all questions and over those of each kind."""
    say(f"Mixed: {data.name}: reading and embedding")
    engine = open_mixed(data, embedder, kept)
    questions = read_questions()
    try:
        figures = {name: asyncio.run(_gains(engine, ask, questions)) for name, ask in _WAYS.items()}
    finally:
        engine.close()
    rows = []
    for kind in ("all", *dict.fromkeys(each.kind for each in questions)):
        chosen = [number for number, each in enumerate(questions) if kind in ("all", each.kind)]
        means = [sum(gains[number] for number in chosen) / len(chosen) for gains in figures.values()]
        rows.append([kind, str(len(chosen)), *(f"{mean:.3f}" for mean in means)])
        say(f"  {kind}: " + ", ".join(f"{name} {mean:.3f}" for name, mean in zip(figures, means, strict=True)))
    lines = [
        f"{len(questions)} questions, written by a language model from the records; nDCG@10 of the ids that answer.",
        "Of each way: `cstp.search` without kinds; the method that knows the kind (`cstp.queryDecisions`, "
        "`cstp.searchKnowledge`, `cstp.findEpisodes`, `cstp.recall`); and, as a control, all spaces in one union with "
        "scores scaled min-max.",
        "Chunks count as their document, and runs of one task are equally good.",
    ]
    return Section(f"Mixed kinds: {data.name}", lines, [], [table(["kind", "questions", *figures], rows)])


async def _gains(engine: Engine, ask: Ask, questions: Sequence[MixedQuestion]) -> list[float]:
    return [ndcg(await ask(engine, each), each.relevant) for each in questions]


def name_of(record: Record) -> str:
    """The id that a question names: of a chunk, that of its document."""
    if isinstance(record, Chunk):
        return str(record.source_id)
    if isinstance(record, ArtifactChunk):
        return record.artifact_id
    return str(record.id)


async def _search(engine: Engine, asked: MixedQuestion) -> list[str]:
    found = await engine.search(SearchRequest(asked.text, EVERYTHING, limit=_LIMIT))
    return [name_of(each.stored.record) for each in found]


async def _right(engine: Engine, asked: MixedQuestion) -> list[str]:
    return await _METHODS[asked.kind](engine, asked.text)


async def _decisions(engine: Engine, text: str) -> list[str]:
    found = await engine.query_decisions(Question(text, viewer=EVERYTHING, limit=_LIMIT))
    return [str(match.decision.id) for match in found]


async def _knowledge(engine: Engine, text: str) -> list[str]:
    found = await engine.search_knowledge(KnowledgeQuestion(text, EVERYTHING, limit=_LIMIT))
    return [name_of(match.record) for match in found]


async def _episodes(engine: Engine, text: str) -> list[str]:
    found = await engine.find_episodes(EpisodeQuestion(text, EVERYTHING, limit=_LIMIT))
    return [str(match.episode.id) for match in found]


async def _recall(engine: Engine, text: str) -> list[str]:
    """Results, each with the events that it brings."""
    answer = await engine.recall(RecallRequest(EVERYTHING, query=text, limit=10, expand=False, include_entities=False))
    results = [] if answer is None else answer.results
    return [name_of(each.record) for result in results for each in (result.stored, *result.events)]


async def _union(engine: Engine, asked: MixedQuestion) -> list[str]:
    caller = engine.pools.caller(None)
    phrases = Phrases(engine.records, RELEVANCE)
    query = Query(asked.text, EVERYTHING, Mode.HYBRID, [SearchScope(space, ()) for space in SEARCHED])
    parts, vector = await Search(engine.indexes, engine.embeddings, engine.pools).parts(caller, query, CANDIDATES)
    hits = phrases.lift(asked.text, EVERYTHING, parts, fuse_parts(parts, vector, _LIMIT, groups=True))
    keys = [int(parts[hit.part].snapshot.keys[hit.row]) for hit in hits]
    read = engine.records.reads.by_keys(keys, EVERYTHING)
    return [name_of(read[key].record) for key in keys]


_METHODS: Final[Mapping[str, Callable[[Engine, str], Awaitable[list[str]]]]] = {
    "decision": _decisions,
    "chunk": _knowledge,
    "extraction": _knowledge,
    "episode": _episodes,
    "artifact": _recall,
    "turn": _recall,
    "event": _recall,
}
_WAYS: Final[Mapping[str, Ask]] = {
    "the right method": _right,
    "cstp.search": _search,
    "one union, min-max": _union,
}
