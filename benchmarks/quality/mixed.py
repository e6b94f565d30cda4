"""One search over all kinds, next to the method of the right kind: the same questions over the same records.

The engine is asked directly; the server asks it in the same way. Ids of records name their origin, so that
questions can name them without a word of the data.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.options import show_progress
from benchmarks.page import table
from benchmarks.quality.conversations import read_asked
from benchmarks.quality.measures import Grades, ndcg
from benchmarks.quality.memory_corpus import Members, read_corpus
from benchmarks.quality.table import Section
from benchmarks.texts import read_decision_files, read_objects, write_records
from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import Record
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.queries.search import Search, SearchHits
from cognition_engines.relevance import RELEVANCE
from cognition_engines.search.query import Query, QueryParser, Ranking, SearchScope
from cognition_engines.search.record_texts import RecordTexts
from cognition_engines.search.signals import phrases, statements
from cognition_engines.spaces import SEARCHED
from cstp.values.decision_searches import QueryDecisionsParams
from cstp.values.episodes import FindEpisodesParams
from cstp.values.everything import SearchParams
from cstp.values.knowledge import SearchKnowledgeParams
from cstp.values.recall import ChunkMetadata, RecallItem, RecallParams

QUESTIONS: Final = Path(__file__).with_name("mixed_questions.jsonl")
FOLDERS: Final = ("decisions", "knowledge", "extractions", "episodes", "memory", "conversations")
_LIMIT: Final = 50  # several chunks are of one document, of which the first counts

Ask = Callable[[Engine, "MixedQuestion"], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class MixedQuestion:
    """A question, the kind in which its answer was looked for, and the ids that answer it."""

    kind: str
    text: str
    relevant: Grades


def read_questions(path: Path = QUESTIONS) -> list[MixedQuestion]:
    """Return the questions of a file of one a line."""
    return [
        MixedQuestion(each["kind"], each["question"], dict.fromkeys(each["relevant"], 1)) for each in read_objects(path)
    ]


def open_mixed(data: Path, embedder: Embedder, kept: Path) -> Engine:
    """Return an engine over the records of all folders of `data`, which are embedded unless `kept` has them."""
    folder = kept / "mixed"
    folder.mkdir(parents=True, exist_ok=True)
    write_records(read_mixed(data), folder / "records.jsonl")
    engine = Engine.open(f"sqlite:///{(folder / 'records.sqlite3').absolute()}", folder / "indexes", embedder)
    asyncio.run(engine.ingest([folder / "records.jsonl"]))
    return engine


def measure_mixed(data: Path, embedder: Embedder, kept: Path) -> Section:
    """Return nDCG@10 of each way to ask, over all questions and over those of each kind."""
    show_progress(f"Mixed: {data.name}: reading and embedding")
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
        show_progress(
            f"  {kind}: " + ", ".join(f"{name} {mean:.3f}" for name, mean in zip(figures, means, strict=True))
        )
    lines = [
        f"{len(questions)} questions, written by a language model from the records; nDCG@10 of the ids that answer.",
        "Of each way: `cstp.search` without kinds; the method that knows the kind (`cstp.queryDecisions`, "
        "`cstp.searchKnowledge`, `cstp.findEpisodes`, `cstp.recall`); and, as a control, all spaces in one union with "
        "scores scaled min-max.",
        "Chunks count as their document, and runs of one task are equally good.",
    ]
    return Section(f"Mixed kinds: {data.name}", lines, [table(["kind", "questions", *figures], rows)])


async def _gains(engine: Engine, ask: Ask, questions: Sequence[MixedQuestion]) -> list[float]:
    return [ndcg(await ask(engine, each), each.relevant) for each in questions]


def name_of(record: Record) -> str:
    """Return the id that a question names: of a chunk, that of its document."""
    if isinstance(record, Chunk):
        return str(record.source_id)
    if isinstance(record, ArtifactChunk):
        return record.artifact_id
    return str(record.id)


async def _search(engine: Engine, asked: MixedQuestion) -> list[str]:
    found = await engine.search(SearchParams(query=asked.text, limit=_LIMIT), EVERYTHING)
    return [str(each.source_id if each.type == "chunk" else each.id) for each in found.results]


async def _right(engine: Engine, asked: MixedQuestion) -> list[str]:
    return await _METHODS[asked.kind](engine, asked.text)


async def _find_decisions(engine: Engine, text: str) -> list[str]:
    found = await engine.query_decisions(QueryDecisionsParams(query=text, limit=_LIMIT), EVERYTHING)
    return [match.id for match in found.decisions]


async def _knowledge(engine: Engine, text: str) -> list[str]:
    found = await engine.search_knowledge(SearchKnowledgeParams(query=text, limit=_LIMIT), EVERYTHING)
    return [
        str(match.source and match.source.source_id) if match.type == "chunk" else match.id for match in found.results
    ]


async def _episodes(engine: Engine, text: str) -> list[str]:
    found = await engine.find_episodes(FindEpisodesParams(query=text, limit=_LIMIT), EVERYTHING)
    return [str(match.id) for match in found.episodes]


async def _recall(engine: Engine, text: str) -> list[str]:
    """Return results, each followed by its events."""
    asked = RecallParams(query=text, limit=10, expand=False, include_entities=False)
    results = (await engine.recall(asked, EVERYTHING)).results
    return [name for each in results for name in (_document_of(each), *(event.id for event in each.events))]


def _document_of(item: RecallItem) -> str:
    """Return the id of a result, or that of the document of a chunk."""
    found = item.metadata
    return str((found.source_id or found.artifact_id) if isinstance(found, ChunkMetadata) else item.id)


async def _union(engine: Engine, asked: MixedQuestion) -> list[str]:
    signals = phrases.SIGNAL, statements.SIGNAL
    texts = RecordTexts(engine.records, engine.indexes.set_aside, [each.share for each in signals])
    searching = Search(engine.indexes, engine.embeddings, engine.pools, QueryParser(RELEVANCE), texts, signals)
    scopes = [SearchScope(space, ()) for space in SEARCHED]
    query = Query(asked.text, EVERYTHING, Mode.HYBRID, scopes, _LIMIT, ranking=Ranking(groups=True))

    def read(found: SearchHits) -> list[str]:
        keys = found.keys()
        stored = engine.records.reads.by_keys(keys, EVERYTHING)
        return [name_of(stored[key].record) for key in keys]

    _, names = await searching.find(engine.pools.caller(None), query, read)
    return names


def read_mixed(data: Path) -> Iterator[Members]:
    """Yield every record, sources cut into chunks by `ingest`."""
    yield from _decisions(data / "decisions")
    yield from (_document(each) for each in read_objects(data / "knowledge" / "documents.jsonl"))
    yield from (_pattern(each) for each in read_objects(data / "extractions" / "patterns.jsonl") if each["solution"])
    yield from (
        _episode(number, each) for number, each in enumerate(read_objects(data / "episodes" / "episodes.jsonl"), 1)
    )
    yield from read_corpus(data / "memory")
    for turn in read_asked(data / "conversations").turns:
        yield {name: getattr(turn, name) for name in turn.__slots__}


def _decisions(folder: Path) -> Iterator[Members]:
    """Yield decisions. The id is the path of the file, without its ending, below the folder of its repository."""
    for path, drafts in read_decision_files(folder):
        place = path.relative_to(folder)
        stem = place.parent.name if place.stem == "README" else place.stem
        name = f"{place.parts[0].partition('+')[2]}/{stem}"
        for number, draft in enumerate(drafts):
            id = f"{name}#{number}" if number else name
            yield {"kind": "decision", "id": id, "title": draft.title, "text": draft.text}


def _document(entry: Members) -> Members:
    return {"kind": "source", "id": entry["doc_id"], **{name: entry[name] for name in ("title", "markdown", "tags")}}


def _pattern(entry: Members) -> Members:
    """Return a pattern. The id is that of its document, with `pattern/` in front."""
    name = Path(entry["source"]["path"]).parent.name
    content: dict[str, Any] = {"name": entry["name"], "problem": entry["problem"], "solution": entry["solution"]}
    trade_offs = [line.strip() for line in (entry["tradeoffs"] or "").splitlines() if line.strip()]
    return {
        "kind": "extraction",
        "id": f"pattern/{name}",
        "type": "pattern",
        "content": content | {"trade_offs": trade_offs},
        "topics": entry["topics"],
        "source_id": f"jdp/{name}",
    }


def _episode(number: int, entry: Members) -> Members:
    return {
        "kind": "episode",
        "id": number,
        "query": entry["query"],
        "reward": entry["reward"],
        "reflection": entry["reflection"],
        "tags": [entry["env"]],
    }


_METHODS: Final[Mapping[str, Callable[[Engine, str], Awaitable[list[str]]]]] = {
    "decision": _find_decisions,
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
