"""Decision writes by agents, through the engine: complete, once, found at once, and never on another agent's record."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.store.records import open_records
from cognition_engines.store.transfer.copy import copy_records
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound
from cstp.values.decision_links import LinkDecisionsParams, UnlinkDecisionsParams
from cstp.values.decision_reads import GetDecisionParams
from cstp.values.decision_searches import QueryDecisionsParams, QueryFilters
from cstp.values.decision_writes import RecordDecisionResult, SetStatusParams
from tests.stored import Quiet
from tests.stores import Stores
from tests.writing.written import new, review, update, write

SCOPES = frozenset({"read", "write", "review"})
ANN = WriteCaller("ann", EVERYTHING, SCOPES)
BEN = WriteCaller("ben", EVERYTHING, SCOPES)
JUDGE = WriteCaller("judge", EVERYTHING, frozenset({"ratify"}))
ADR = "# Use a queue\n\n* Status: accepted\n* Date: 2024-03-01\n\n## Context\n\nWe poll a table.\n"


async def titles(engine: Engine, words: str, viewer: Viewer = EVERYTHING, **filters: Any) -> list[str]:
    await engine.reached(engine.records.last_seq(), seconds=20.0)
    found = await engine.query_decisions(QueryDecisionsParams(query=words, filters=QueryFilters(**filters)), viewer)
    return [one.title for one in found.decisions]


async def shown(engine: Engine, id: str) -> tuple[str | None, str | None]:
    (one,) = engine.records.reads.find([(Kind.DECISION, id)], None)
    return one.record.status, one.record.outcome  # type: ignore[union-attr]


async def test_a_recorded_decision_is_found_by_all_its_words_and_by_its_filters(engine: Engine) -> None:
    asked = new("Keep orders in PostgreSQL\nBackups are known", context="Outages", tags=["db", "shop"], feature="cart")
    done = await write(engine, ANN, asked)
    assert isinstance(done, RecordDecisionResult)
    assert (done.created, done.status, done.revision) == (True, "pending", 1)
    for words in ("PostgreSQL", "backups", "outages"):
        assert await titles(engine, words) == ["Keep orders in PostgreSQL"]
    for found in (
        {"tags": ["db", "shop"]},
        {"feature": "CART"},
        {"agent": "ann"},
        {"current": True},
        {"as_of": done.timestamp},
    ):
        assert await titles(engine, "orders", **found) == ["Keep orders in PostgreSQL"], found
    before = done.timestamp - timedelta(days=1)
    for other in ({"tags": ["db", "x"]}, {"agent": "ben"}, {"has_outcome": True}, {"as_of": before}, {"pr": "1"}):
        assert await titles(engine, "orders", **other) == [], other


async def test_a_dry_run_checks_everything_and_writes_nothing(engine: Engine) -> None:
    last = engine.records.last_seq()
    assert (await write(engine, ANN, new("Bake bread"), "key", dry_run=True)).indexed is False
    with pytest.raises(NotFound):
        await write(engine, ANN, new("Bake bread", supersedes=("dec_0",)), dry_run=True)
    assert (sum(engine.records.counts().values()), engine.records.last_seq()) == (0, last)
    assert (await write(engine, ANN, new("Bake cake"), "key")).id, "the key was not spent"


async def test_updates_at_once_lose_none(engine: Engine) -> None:
    id = (await write(engine, ANN, new("Bake bread"))).id
    names = ("feature", "pr", "category", "pattern")
    await asyncio.gather(*(write(engine, ANN, update(id, **{name: name})) for name in names))
    (one,) = engine.records.reads.find([(Kind.DECISION, id)], None)
    assert one.revision == 5
    decision: Any = one.record
    assert (decision.feature, decision.pr, decision.category, decision.details.pattern) == names


async def test_the_last_review_is_shown_and_an_update_keeps_it(engine: Engine) -> None:
    id = (await write(engine, ANN, new("Bake bread"))).id
    await write(engine, ANN, review(id, "failure"))
    other = await write(engine, BEN, review(id, "partial"))
    assert (other.self_review, other.previous_outcome) == (False, "failure")  # type: ignore[union-attr]
    await write(engine, ANN, update(id, context="Later"))
    assert await shown(engine, id) == ("reviewed", "partial")


async def test_only_ratifiers_accept_and_an_agent_keeps_to_its_own_drafts(engine: Engine) -> None:
    id = (await write(engine, ANN, new("Bake bread"))).id
    await write(engine, ANN, SetStatusParams(id=id, status="draft", reason="not yet"))
    with pytest.raises(Forbidden, match="ratify"):
        await write(engine, ANN, SetStatusParams(id=id, status="accepted", reason="I say so"))
    with pytest.raises(Forbidden, match="admin"):
        await write(engine, BEN, SetStatusParams(id=id, status="draft", reason="no"))
    done = await write(engine, JUDGE, SetStatusParams(id=id, status="accepted", reason="agreed"))
    assert (done.previous, done.ratified_by) == ("draft", "judge")  # type: ignore[union-attr]
    with pytest.raises(Forbidden, match="ratify"):
        await write(engine, ANN, SetStatusParams(id=id, status="pending", reason="take it back"))


async def test_a_supersession_takes_effect_with_acceptance_and_ends_with_its_link(engine: Engine) -> None:
    old = (await write(engine, ANN, new("Bake bread"))).id
    successor = (await write(engine, ANN, new("Bake cake", supersedes=(old,)))).id
    assert await shown(engine, old) == ("pending", None), "not before"
    accepted = await write(engine, JUDGE, SetStatusParams(id=successor, status="accepted", reason="agreed"))
    assert await shown(engine, old) == ("superseded", None)
    assert await titles(engine, "bake", current=True) == ["Bake cake"]
    third = (await write(engine, ANN, new("Bake pie", supersedes=(successor,)))).id
    await write(engine, JUDGE, SetStatusParams(id=third, status="accepted", reason="agreed"))
    assert await shown(engine, old) == ("superseded", None), "though its successor is superseded in turn"
    assert accepted.seq < engine.records.last_seq()
    await write(engine, ANN, UnlinkDecisionsParams(source_id=successor, target_id=old, edge_type="supersedes"))
    assert await shown(engine, old) == ("pending", None)
    engine.records.delete(Kind.DECISION, [third])
    assert await shown(engine, successor) == ("accepted", None), "a successor that is gone supersedes nothing"


async def test_a_decision_with_fewer_readers_supersedes_nothing_and_the_author_is_warned(engine: Engine) -> None:
    old = (await write(engine, ANN, new("Bake bread"))).id
    done = await write(engine, ANN, new("Bake cake", supersedes=(old,), sensitivity=Sensitivity.SENSITIVE))
    assert [one.code for one in done.warnings] == ["supersessionWithoutEffect"]  # type: ignore[union-attr]
    await write(engine, ANN, review(done.id))
    assert await shown(engine, old) == ("pending", None)


@pytest.mark.parametrize(
    ("projects", "asked", "stored"),
    [(None, None, None), (None, "x", "x"), ({"a"}, None, "a"), ({"a"}, "a", "a"), ({"a", "b"}, "b", "b")],
)
async def test_a_record_gets_a_project_of_its_author(
    engine: Engine, projects: set[str] | None, asked: str | None, stored: str | None
) -> None:
    viewer = Viewer(Sensitivity.NORMAL, None if projects is None else frozenset(projects))
    done = await write(engine, WriteCaller("ann", viewer, SCOPES), new("Bake bread", project=asked))
    (one,) = engine.records.reads.find([(Kind.DECISION, done.id)], viewer)
    assert one.facets.project == stored


async def test_nobody_writes_a_record_they_could_not_see(engine: Engine) -> None:
    several = WriteCaller("ann", Viewer(Sensitivity.NORMAL, frozenset({"a", "b"})), SCOPES)
    for wrong, member in (({}, "project"), ({"project": "c"}, "project")):
        with pytest.raises(InvalidParams) as refused:
            await write(engine, several, new("Bake bread", **wrong))
        assert [one.field for one in refused.value.violations] == [member]
    with pytest.raises(InvalidParams) as refused:
        await write(engine, several, new("Bake bread", project="a", sensitivity=Sensitivity.SENSITIVE))
    assert [one.field for one in refused.value.violations] == ["sensitivity"]
    assert sum(engine.records.counts().values()) == 0


async def test_a_file_owns_its_record_and_reviews_survive(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "docs/adr/0001-use-a-queue.md"
    file.parent.mkdir(parents=True)
    file.write_text(ADR)
    await engine.ingest([file], Options())
    (id,) = engine.records.ids(Kind.DECISION)
    for refused in (update(id, context="x"), SetStatusParams(id=id, status="draft", reason="x")):
        with pytest.raises(Conflict, match="fileOwned"):
            await write(engine, ANN, refused)
    own = (await write(engine, ANN, new("Use a log"))).id
    await write(engine, ANN, review(id, "failure"))
    await write(engine, ANN, LinkDecisionsParams(source_id=own, target_id=id, edge_type="supersedes"))
    await write(engine, ANN, review(own))
    assert await shown(engine, id) == ("accepted", "failure"), "who may not ratify takes nothing out of force"
    await write(engine, JUDGE, SetStatusParams(id=own, status="accepted", reason="agreed"))
    assert await shown(engine, id) == ("superseded", "failure")
    file.write_text(ADR.replace("poll", "ask"))
    assert (await engine.ingest([file], Options())).changed == 1
    assert await shown(engine, id) == ("superseded", "failure")


async def test_copies_hold_writes_of_agents(engine: Engine, tmp_path: Path, stores: Stores) -> None:
    old = (await write(engine, ANN, new("Bake bread"), "key")).id
    successor = (await write(engine, ANN, new("Bake cake", supersedes=(old,)))).id
    await write(engine, ANN, update(old, context="Ovens are free"))
    await write(engine, ANN, review(successor, "partial"))
    for make in (LinkDecisionsParams, UnlinkDecisionsParams):
        await write(engine, ANN, make(source_id=old, target_id=successor, edge_type="relates_to"))
    target = open_records(f"sqlite:///{tmp_path}/copy/records.sqlite3")
    copy_records(engine.records.store, target.store, Quiet())
    for id in (old, successor):
        ((one,), (copied,)) = (records.reads.find([(Kind.DECISION, id)], None) for records in (engine.records, target))
        assert (copied.record, copied.facets, copied.revision) == (one.record, one.facets, one.revision)
        assert (copied.recorded_at, copied.origin.recorded_by) == (one.recorded_at, "ann")
    target.close()
    again = Engine.open(f"sqlite:///{tmp_path}/copy/records.sqlite3", tmp_path / "others", None)
    assert (await write(again, ANN, new("Bake bread"), "key")).id == old
    asked = GetDecisionParams(id=successor)
    kept = [(await one.get_decision(asked, EVERYTHING)).decision for one in (engine, again)]
    assert [[link.ended_by for link in found.ended_links or ()] for found in kept] == [["ann"], ["ann"]]
    again.close()
