"""Agents' stored knowledge, through the engine: all of a call or none, and never on another agent's record."""

from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.writing.knowledge import read_given
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound
from cstp.values.knowledge import SearchKnowledgeParams, StoreKnowledgeResult
from cstp.values.records import ForgetResult
from tests.writing.written import forget, knowledge, write

WRITE = frozenset({"read", "write"})
ANN = WriteCaller("ann", EVERYTHING, WRITE)
BEN = WriteCaller("ben", EVERYTHING, WRITE)
ROOT = WriteCaller("root", EVERYTHING, WRITE | {"admin"})
PUBLIC = WriteCaller("pat", Viewer(), WRITE)
SOURCE = {
    "kind": "source",
    "id": "tides",
    "title": "Tides",
    "content": "# Spring\n\nThe sun and the moon pull together.\n",
}
CHUNK = {"kind": "chunk", "id": "neap", "sourceId": "tides", "content": "Neap tides are the lowest."}
WARNING = {
    "kind": "extraction",
    "type": "warning",
    "sourceId": "tides",
    "content": {"title": "Wind against tide", "description": "Waves grow steep."},
}


async def store(engine: Engine, writer: WriteCaller, *sent: dict[str, Any], **others: Any) -> StoreKnowledgeResult:
    done = await write(engine, writer, knowledge(sent, **others))
    assert isinstance(done, StoreKnowledgeResult)
    await engine.reached(done.seq, seconds=60)
    return done


async def words_found(engine: Engine, words: str, viewer: Viewer = EVERYTHING) -> int:
    return len((await engine.search_knowledge(SearchKnowledgeParams(query=words), viewer)).results)


async def test_all_of_a_call_is_found_and_its_records_name_their_source(engine: Engine) -> None:
    done = await store(engine, ANN, WARNING, CHUNK, SOURCE)
    assert [(one.kind, one.status, one.num_chunks) for one in done.records] == [
        ("extraction", "created", 0),
        ("chunk", "created", 0),
        ("source", "created", 1),
    ]
    for words in ("moon", "neap", "steep"):
        assert await words_found(engine, words) == 1, words
    (match,) = (await engine.search_knowledge(SearchKnowledgeParams(query="neap"), EVERYTHING)).results
    assert match.source is not None
    assert (match.source.title, match.source.source_id) == ("Tides", done.records[2].id)


async def test_storing_again_changes_exactly_the_differences(engine: Engine) -> None:
    first = await store(engine, ANN, SOURCE, CHUNK, WARNING)
    same = await store(engine, ANN, SOURCE, CHUNK, WARNING)
    assert 0 < same.seq <= first.seq  # of the records themselves
    assert {one.status for one in same.records} == {"unchanged"}
    assert [one.id for one in same.records] == [one.id for one in first.records]
    changed = await store(engine, ANN, SOURCE | {"content": "# Spring\n\nOnly the moon.\n"})
    assert [one.status for one in changed.records] == ["changed"]
    assert (await words_found(engine, "sun"), await words_found(engine, "moon")) == (0, 1)
    assert engine.records.counts().get(Kind.CHUNK, 0) == 2


async def test_an_overlong_member_is_refused_by_its_path() -> None:
    with pytest.raises(InvalidParams) as refused:
        read_given([{"kind": "chunk", "content": "a" * 32_769, "tags": ["t"] * 101}])
    assert [one.field for one in refused.value.violations] == ["records[0].content", "records[0].tags"]


async def test_a_name_refers_to_the_agents_own_records_and_hidden_names_count_as_unknown(engine: Engine) -> None:
    mine = await store(engine, ANN, SOURCE, sensitivity=Sensitivity.SENSITIVE)
    with pytest.raises(Forbidden):
        await store(engine, BEN, SOURCE | {"title": "Other"})
    theirs = await store(engine, PUBLIC, SOURCE | {"title": "Other"})
    assert [one.status for one in theirs.records] == ["created"]
    assert theirs.records[0].id != mine.records[0].id
    with pytest.raises(NotFound):
        await store(engine, PUBLIC, CHUNK | {"sourceId": mine.records[0].id})
    assert await words_found(engine, "sun", Viewer()) == 1


async def test_the_passages_of_a_source_stay_its_owners_when_another_agent_amends_it(engine: Engine) -> None:
    await store(engine, ANN, SOURCE)
    amended = await store(engine, ROOT, SOURCE | {"content": "# Spring\n\nThe moon pulls more.\n"})
    assert [(one.status, one.num_chunks) for one in amended.records] == [("changed", 1)]
    (match,) = (await engine.search_knowledge(SearchKnowledgeParams(query="moon"), EVERYTHING)).results
    with pytest.raises(Forbidden):
        await write(engine, BEN, forget(match.id))
    done = await write(engine, ANN, forget(match.id))
    assert isinstance(done, ForgetResult)
    assert done.kind == "chunk"


async def test_file_content_stays_the_files(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "chunks.jsonl"
    file.write_text('{"kind": "chunk", "id": "neap", "content": "From a file."}\n')
    await engine.ingest([file], Options())
    with pytest.raises(Conflict) as refused:
        await store(engine, ANN, {"kind": "chunk", "id": "neap", "content": "From an agent."})
    assert refused.value.reason == "fileOwned"


async def test_a_repeated_call_names_no_record_its_agent_sees_no_longer(engine: Engine) -> None:
    async def sent(writer: WriteCaller, *records: dict[str, Any], level: Sensitivity = Sensitivity.NORMAL) -> None:
        asked = knowledge(records, sensitivity=level)
        await write(engine, writer, asked, "key" if writer is PUBLIC else None)

    admin = WriteCaller("root", EVERYTHING, WRITE | {"admin"})
    await sent(PUBLIC, SOURCE, CHUNK)
    await sent(PUBLIC, SOURCE, CHUNK)  # is answered again
    await sent(admin, CHUNK | {"sourceId": None}, level=Sensitivity.SENSITIVE)
    with pytest.raises(Conflict, match="a new key") as conflict:
        await sent(PUBLIC, SOURCE, CHUNK)
    assert conflict.value.id is None
    await sent(admin, SOURCE, level=Sensitivity.SENSITIVE)
    with pytest.raises(Conflict, match="first call") as conflict:
        await sent(PUBLIC, CHUNK)
    assert conflict.value.id is None
