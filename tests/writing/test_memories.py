"""Agents' memories, through the engine: complete, once, found at once, and never on another agent's record."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.store.write_transaction import Author, read_transaction
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound
from cstp.values.episodes import (
    FindEpisodesParams,
    GetEpisodeParams,
    ListEpisodesParams,
    StoreEpisodeParams,
    StoreEpisodeResult,
)
from cstp.values.memories import GivenActor, GivenEvent, RememberParams, RememberResult
from cstp.values.recall import RecallParams
from cstp.values.records import ForgetResult
from tests.serving import SeededEmbedder
from tests.stores import Stores
from tests.writing.written import episode, forget, memory, write, written

WRITE = frozenset({"read", "write"})
ANN = WriteCaller("ann", EVERYTHING, WRITE)
BEN = WriteCaller("ben", EVERYTHING, WRITE)
ADMIN = WriteCaller("root", EVERYTHING, WRITE | {"admin"})
PUBLIC = WriteCaller("pat", Viewer(), WRITE)
LONG = "\n\n".join(f"Paragraph {number} is about berths and tides." for number in range(250))
TURNS = '{"kind": "turn", "conversation_id": "radio", "turn_index": 0, "content": "From a file."}\n'


def lesson(query: str, reward: float = 0.0, reflection: str = "Measure first.", **others: Any) -> StoreEpisodeParams:
    return episode(query=query, reward=reward, reflection=reflection, **others)


def turn(content: str, index: int | None = 0, **others: Any) -> RememberParams:
    return memory(content=content, conversation_id="radio", turn_index=index, **others)


def page(content: str, **others: Any) -> RememberParams:
    return memory(content=content, source="wiki", source_id="page-7", **others)


async def remembered(
    engine: Engine, writer: WriteCaller, asked: RememberParams, key: str | None = None
) -> RememberResult:
    done = await write(engine, writer, asked, key)
    assert isinstance(done, RememberResult)
    return done


async def shown(engine: Engine, seq: int) -> None:
    """Wait until searches show a write."""
    await engine.reached(seq, seconds=60)


async def found_episodes(engine: Engine, words: str, **others: Any) -> list[str]:
    viewer = others.pop("viewer", EVERYTHING)
    found = await engine.find_episodes(FindEpisodesParams(query=words, **others), viewer)
    return [match.query for match in found.episodes]


async def test_an_episode_is_found_by_its_attempts_and_lessons_and_listed_as_before(engine: Engine) -> None:
    done = await write(engine, ANN, lesson("Berth a ship", -0.5, "Ask for the draught.", tags=("berths",)))
    assert isinstance(done, StoreEpisodeResult)
    assert done.created
    await shown(engine, done.seq)
    for words in ("berth", "draught"):
        assert await found_episodes(engine, words) == ["Berth a ship"], words
    assert await found_episodes(engine, "draught", tags=["berths"], min_reward=-0.5, max_reward=-0.5)
    for others in ({"tags": ["Berths"]}, {"min_reward": -0.4}, {"max_reward": -0.6}):
        assert await found_episodes(engine, "draught", **others) == [], others
    (listed,) = (await engine.list_episodes(ListEpisodesParams(), EVERYTHING)).episodes
    whole = await engine.get_episode(GetEpisodeParams(id=int(done.id)), EVERYTHING)
    assert (whole.reflection, whole.created_at) == ("Ask for the draught.", done.created_at)
    assert listed.model_dump().items() <= whole.model_dump().items()
    origin = whole.provenance
    assert (origin.recorded_by, origin.via, origin.origin) == ("ann", "cstp", "wire")


async def test_an_episode_is_found_by_meaning_with_a_model(tmp_path: Path, stores: Stores) -> None:
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", SeededEmbedder())
    await shown(engine, (await write(engine, ANN, lesson("Berth a ship"))).seq)
    params = FindEpisodesParams(query="Berth a ship\n\nMeasure first.")
    (match,) = (await engine.find_episodes(params, EVERYTHING)).episodes
    assert match.distance == pytest.approx(0.0, abs=1e-5)
    engine.close()


async def test_equal_episodes_are_two_and_one_key_stores_one(engine: Engine) -> None:
    first, second = [await write(engine, ANN, lesson("Bake bread")) for _ in range(2)]
    assert first.id != second.id
    done = await asyncio.gather(*(write(engine, ANN, lesson("Bake cake"), "key") for _ in range(6)))
    assert len({one.id for one in done}) == 1
    assert [one.created for one in done if isinstance(one, StoreEpisodeResult)].count(True) == 1
    assert engine.records.counts().get(Kind.EPISODE, 0) == 3


async def test_a_too_sensitive_episode_is_neither_read_nor_found(engine: Engine) -> None:
    done = await write(engine, ANN, lesson("Pay wages", sensitivity=Sensitivity.SENSITIVE, project="shop"))
    await shown(engine, done.seq)
    with pytest.raises(NotFound):
        await engine.get_episode(GetEpisodeParams(id=int(done.id)), Viewer())
    assert await found_episodes(engine, "wages", viewer=Viewer()) == []
    shop = Viewer(Sensitivity.SENSITIVE, frozenset({"shop"}))
    assert await found_episodes(engine, "wages", viewer=shop) == ["Pay wages"]
    assert await found_episodes(engine, "wages", viewer=replace(shop, projects=frozenset({"bank"}))) == []


async def test_a_turn_is_identified_by_its_place_and_two_without_a_place_are_two(engine: Engine) -> None:
    first = await remembered(engine, ANN, turn("ok"))
    again = await remembered(engine, ANN, turn("ok"))
    changed = await remembered(engine, ANN, turn("no"))
    assert [one.status for one in (first, again, changed)] == ["created", "unchanged", "changed"]
    assert first.id == again.id == changed.id
    assert 0 < again.seq <= first.seq  # of the memory itself
    loose = [await remembered(engine, ANN, turn("ok", None)) for _ in range(2)]
    assert loose[0].id != loose[1].id
    notes = [await remembered(engine, ANN, memory(content="ok")) for _ in range(2)]
    assert notes[0].id != notes[1].id
    assert (engine.records.counts().get(Kind.TURN, 0), engine.records.counts().get(Kind.ARTIFACT, 0)) == (3, 2)


async def test_the_content_before_is_kept_as_a_revision(engine: Engine) -> None:
    id = (await remembered(engine, ANN, page("The pilot boards at noon."))).id
    await remembered(engine, ANN, page("The pilot boards at one."))
    (stored,) = engine.records.reads.find([(Kind.ARTIFACT, id)], None)
    assert stored.revision == 2
    with read_transaction(engine.records.store, Author("ann", "cstp", datetime.now(UTC))) as transaction:
        contents = [one.record.content for one in transaction.revisions(stored)]  # type: ignore[union-attr]
    assert contents == ["The pilot boards at noon.", "The pilot boards at one."]


async def test_a_long_text_is_cut_as_on_ingest_and_its_passages_go_when_it_gets_short(engine: Engine) -> None:
    done = await remembered(engine, ANN, page(LONG, sensitivity=Sensitivity.SENSITIVE, project="shop"))
    assert done.num_chunks > 1
    stored = engine.records.reads.by_ids(Kind.ARTIFACT_CHUNK, engine.records.ids(Kind.ARTIFACT_CHUNK))
    assert len(stored) == done.num_chunks
    assert {(one.facets.project, one.facets.sensitivity) for one in stored.values()} == {("shop", 1)}
    assert {one.origin.recorded_by for one in stored.values()} == {"ann"}
    short = await remembered(engine, ANN, page("Short.", sensitivity=Sensitivity.SENSITIVE, project="shop"))
    assert (short.id, short.status, short.num_chunks) == (done.id, "changed", 0)
    assert engine.records.counts().get(Kind.ARTIFACT_CHUNK, 0) == 0


async def test_events_belong_to_their_source_and_stay_until_replaced(engine: Engine) -> None:
    event = GivenEvent(category="Commitment", narrative="Ann promised a berth", actors=[GivenActor(ref="Ann")])
    first = await remembered(engine, ANN, turn("A berth is yours.", events=(event,)))
    same = await remembered(engine, ANN, turn("A berth is yours.", events=(event,)))
    left = await remembered(engine, ANN, turn("A berth is yours indeed."))
    assert (same.status, left.status) == ("unchanged", "changed")
    assert first.events == same.events == left.events
    none = await remembered(engine, ANN, turn("A berth is yours indeed.", events=()))
    assert (none.status, none.events, engine.records.counts().get(Kind.EVENT, 0)) == ("changed", [], 0)


async def test_a_remembered_record_is_recalled_at_once(engine: Engine) -> None:
    event = GivenEvent(category="Commitment", narrative="Ann promised a zeppelin")
    asked = memory(content="The mast is free.", title="Masts", events=(event,))
    await shown(engine, (await remembered(engine, ANN, asked)).seq)
    for words in ("mast", "zeppelin"):
        answer = await engine.recall(RecallParams(query=words), EVERYTHING)
        assert [one.id for one in answer.results], words


async def test_another_agents_memory_is_left_alone_and_an_admin_may_change_it(engine: Engine) -> None:
    mine = await remembered(engine, ANN, turn("ok"))
    assert (await remembered(engine, BEN, turn("ok"))).status == "unchanged", "it says the same"
    with pytest.raises(Forbidden):
        await write(engine, BEN, turn("no"))
    done = await remembered(engine, ADMIN, turn("no"))
    assert (done.id, done.status) == (mine.id, "changed")
    assert engine.records.counts().get(Kind.TURN, 0) == 1


async def test_a_hidden_memory_is_neither_taken_over_nor_betrayed(engine: Engine) -> None:
    secret = await remembered(engine, ANN, turn("The code is 7.", sensitivity=Sensitivity.SENSITIVE))
    for content in ("The code is 7.", "No code."):
        done = await remembered(engine, PUBLIC, turn(content))
        assert done.id != secret.id
    assert done.status == "changed", "its own is the one that it sees"
    elsewhere = WriteCaller("zoe", Viewer(Sensitivity.SENSITIVE, frozenset({"bank"})), WRITE)
    assert (await remembered(engine, elsewhere, turn("The code is 7."))).status == "created"
    (stored,) = engine.records.reads.find([(Kind.TURN, secret.id)], None)
    assert isinstance(stored.record, Turn)
    assert (stored.record.content, stored.revision) == ("The code is 7.", 1)


async def test_one_turn_in_two_projects_is_two(engine: Engine) -> None:
    ids = {(await remembered(engine, ANN, turn("ok", project=name))).id for name in ("shop", "bank", None)}
    assert len(ids) == 3


async def test_file_content_stays_the_files(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text(TURNS)
    await engine.ingest([file], Options())
    assert (await remembered(engine, ADMIN, turn("From a file."))).status == "unchanged"
    with pytest.raises(Conflict) as refused:
        await write(engine, ADMIN, turn("From an agent."))
    assert (refused.value.reason, refused.value.found) == ("fileOwned", "the file turns.jsonl")


async def test_an_expiring_memory_is_kept_with_its_time_and_the_past_is_refused(engine: Engine) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    id = (await remembered(engine, ANN, page("Noon.", expires_at=soon))).id
    (stored,) = engine.records.reads.find([(Kind.ARTIFACT, id)], None)
    assert stored.expires_at == soon
    assert (await remembered(engine, ANN, page("Noon.", expires_at=soon))).status == "unchanged"
    assert (await remembered(engine, ANN, page("Noon."))).status == "changed"
    with pytest.raises(InvalidParams, match="expiresAt"):
        await write(engine, ANN, page("Noon.", expires_at=datetime(2020, 1, 1, tzinfo=UTC)))


async def test_two_concurrent_calls_of_one_turn_remember_one(engine: Engine) -> None:
    done = await asyncio.gather(*(remembered(engine, ANN, turn("ok")) for _ in range(6)))
    assert len({one.id for one in done}) == 1
    assert sorted(one.status for one in done) == ["created", *["unchanged"] * 5]


async def test_the_events_of_a_memory_stay_its_owners_when_another_agent_amends_it(engine: Engine) -> None:
    await remembered(engine, ANN, page("Two tides", events=(GivenEvent(category="Seen", narrative="Two tides."),)))
    amended = await remembered(
        engine, ADMIN, page("Three tides", events=(GivenEvent(category="Seen", narrative="Three tides."),))
    )
    (event,) = amended.events
    with pytest.raises(Forbidden):
        await write(engine, BEN, forget(event.id))
    done = await write(engine, ANN, forget(event.id))
    assert isinstance(done, ForgetResult)
    assert done.kind == "event"


async def test_an_amended_memory_keeps_events_attached_by_other_agents(engine: Engine) -> None:
    id = (await remembered(engine, ANN, page("Two tides"))).id
    engine.records.put(
        [written(Kind.EVENT, id="evt_1", agent="ben", artifact_id=id, category="Seen", narrative="A low tide.")],
        None,
    )
    amended = await remembered(
        engine, ANN, page("Three tides", events=(GivenEvent(category="Seen", narrative="Three tides."),))
    )
    assert [one.narrative for one in amended.events] == ["Three tides."]
    assert len(engine.records.ids(Kind.EVENT)) == 2
