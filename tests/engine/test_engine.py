"""The engine alone: opened, filled and queried without a server."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.sync_engine import SyncEngine
from cstp.errors import NotFound
from cstp.values.decision_searches import QueryDecisionsParams
from cstp.values.episodes import ListEpisodesParams
from cstp.values.extractions import ExtractionsParams
from cstp.values.knowledge import GetChunkParams, SearchKnowledgeParams
from cstp.values.recall import RecallParams
from cstp.values.session_context import GetSessionContextParams
from tests.kinds import entry
from tests.serving import SeededEmbedder
from tests.stores import Stores

ROOT = Path(__file__).parents[2]
RECORDS = [
    {"kind": "decision", "id": "dec_cache", "title": "Cache masks", "status": "accepted", "text": "Agents ask again."},
    {"kind": "decision", "id": "dec_guarded", "title": "Cache secrets", "text": "No.", "sensitivity": "sensitive"},
    {"kind": "source", "id": "src_book", "title": "A book"},
    {"kind": "chunk", "id": "chk_one", "content": "A cache keeps what was computed.", "source_id": "src_book"},
    {"kind": "extraction", "id": "ext_one", "type": "warning", "topics": ["cache"], "source_id": "src_book"}
    | {"content": {"title": "A cache may be stale", "description": "It keeps what has changed since."}},
    {"kind": "episode", "id": 7, "query": "cache", "reward": 0.5, "tags": ["cache"]},
]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return file


@pytest.fixture
def engine(tmp_path: Path, stores: Stores) -> Iterator[SyncEngine]:
    options = EngineOptions(vector_index=VectorChoice("chroma", stores.vectors))
    with SyncEngine.open(stores.records(tmp_path), tmp_path / "indexes", SeededEmbedder(), options) as opened:
        yield opened


def test_ingested_records_are_found_by_each_question_at_once(engine: SyncEngine, records: Path) -> None:
    summary = engine.ingest([records])
    assert (summary.new, summary.rejected) == (len(RECORDS), ())
    (match,) = engine.query_decisions("cache").decisions
    assert (match.id, match.status) == ("dec_cache", "accepted")
    assert {found.id for found in engine.search_knowledge("cache").results} == {"chk_one", "ext_one"}
    assert engine.get_chunk(GetChunkParams(chunk_id="chk_one")).content == "A cache keeps what was computed."
    assert [one.id for one in engine.list_episodes(ListEpisodesParams()).episodes] == [7]
    of_topic = ExtractionsParams(topic="cache")
    assert [one.source_title for one in engine.list_warnings(of_topic).results] == ["A book"]
    assert engine.list_patterns(of_topic).results == engine.list_extracted_decisions(of_topic).results == []
    assert {found.id for found in engine.search("cache").results} >= {"dec_cache", "chk_one", "ext_one", 7}
    assert {found.id for found in engine.recall("cache").results} >= {"dec_cache", "chk_one"}
    (by_id,) = engine.recall(RecallParams(id="chk_one")).results
    assert (by_id.id, by_id.content) == ("chk_one", "A cache keeps what was computed.")
    with pytest.raises(NotFound):
        engine.recall(RecallParams(id="chk_none"))


def test_ingest_takes_the_options_of_a_run(engine: SyncEngine, records: Path) -> None:
    assert engine.ingest([records], Options(dry_run=True)).new == len(RECORDS)
    assert engine.query_decisions("cache").decisions == []
    with pytest.raises(FileNotFoundError):
        engine.ingest([records.with_name("none.jsonl")])


async def test_questions_in_an_event_loop_do_not_wait_for_each_other(
    tmp_path: Path, stores: Stores, records: Path
) -> None:
    options = EngineOptions(vector_index=VectorChoice("chroma", stores.vectors))
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", None, options)
    await engine.ingest([records])
    assert engine.modes == (Mode.KEYWORD,)
    decisions, knowledge = await asyncio.gather(
        engine.query_decisions(QueryDecisionsParams(query="cache")),
        engine.search_knowledge(SearchKnowledgeParams(query="stale")),
    )
    assert ([match.id for match in decisions.decisions], [match.id for match in knowledge.results]) == (
        ["dec_cache"],
        ["ext_one"],
    )
    # a notebook already has a running loop
    face = SyncEngine(engine)
    assert [match.id for match in face.query_decisions("cache").decisions] == ["dec_cache"]
    await asyncio.to_thread(face.close)


async def test_a_briefing_of_the_program_itself_has_no_undecided_decisions(tmp_path: Path, stores: Stores) -> None:
    options = EngineOptions(vector_index=VectorChoice("chroma", stores.vectors))
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", None, options)
    made = entry(Kind.DECISION, "bread", title="Bake bread", status="draft")
    engine.records.put([replace(made, origin=replace(made.origin, recorded_by="ann"))], None)
    params = GetSessionContextParams(include=["ready"])
    briefings = [await engine.session_context(params, EVERYTHING, agent) for agent in ("ann", "ben", None)]
    assert [[one.id for one in briefing.ready or ()] for briefing in briefings] == [["bread"], [], []]
    engine.close()


@pytest.mark.long("computes with the packaged model, or over many records")
@pytest.mark.embedded_only("is a program")
def test_the_notebook_finds_decisions_in_three_lines(tmp_path: Path) -> None:
    for file in (ROOT / "docs" / "decisions").glob("00[01]*.md"):
        shutil.copy(file, tmp_path)
    command = [sys.executable, str(ROOT / "examples" / "notebook.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    titles = [line.split(maxsplit=2)[2] for line in done.stdout.splitlines()]
    assert len(titles) == 10
    assert "One store of truth, with indexes derived from it" in titles
    lines = (ROOT / "examples" / "notebook.py").read_text(encoding="utf-8").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("engine = "))
    assert [line.partition("(")[0] for line in lines[first : first + 3]] == [
        "engine = SyncEngine.open",
        "engine.ingest",
        "found = engine.query_decisions",
    ]
