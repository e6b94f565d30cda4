"""Supersessions stated by files: an accepted successor takes the predecessor out of force."""

import json
from datetime import UTC, datetime
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
from cstp.values.decision_reads import GetDecisionParams, GetStatsParams, ListDecisionsParams
from cstp.values.decision_searches import QueryDecisionsParams, QueryFilters
from cstp.values.decision_writes import SetStatusParams
from tests.stored import Quiet
from tests.writing.written import new, review, write

ANN = WriteCaller("ann", EVERYTHING, frozenset({"read", "write", "review", "ratify", "admin"}))
OLD = {"id": "old", "title": "Lanterns burn oil", "status": "accepted", "date": "2020-01-01"}
NEW = {"id": "new", "title": "Lanterns burn gas", "status": "accepted", "date": "2024-01-01"}


async def read(engine: Engine, folder: Path, name: str, *decisions: dict[str, Any], **options: Any) -> Any:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in decisions))
    return await engine.ingest([file], Options(**options))


async def current(engine: Engine, viewer: Viewer = EVERYTHING, **filters: Any) -> set[str]:
    """Return ids of the decisions in force, by a search, asserting that a list and the counts agree."""
    await engine.reached(engine.records.last_seq(), seconds=20.0)
    wanted = QueryFilters(**(filters or {"current": True}))
    found = await engine.query_decisions(QueryDecisionsParams(query="lanterns", filters=wanted, limit=50), viewer)
    ids = {one.id for one in found.decisions}
    if not filters:
        listed = await engine.list_decisions(ListDecisionsParams(current=True, limit=50), viewer)
        assert {one.id for one in listed.decisions} == ids
        counts = await engine.count_decisions(GetStatsParams(), viewer)
        assert (counts.current, counts.total - counts.current >= counts.superseded) == (len(ids), True)
        assert counts.superseded == counts.by_status.get("superseded", 0)
    return ids


async def status(engine: Engine, id: str) -> str | None:
    """Return the status, asserting that a reading as of now agrees."""
    asked = [GetDecisionParams(id=id, known_at=at) for at in (None, datetime.now(UTC))]
    first, second = [(await engine.get_decision(one, EVERYTHING)).decision.status for one in asked]
    assert first == second
    return first


@pytest.mark.parametrize("says", ["old", "new", "both"])
@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
async def test_files_supersede_in_any_order(engine: Engine, tmp_path: Path, says: str, order: tuple[str, str]) -> None:
    stated = {
        "old": OLD | ({"supersededBy": "new"} if says != "new" else {}),
        "new": NEW | ({"supersedes": "old"} if says != "old" else {}),
    }
    for name in order:
        await read(engine, tmp_path, name, stated[name])
    assert (await current(engine), await status(engine, "old")) == ({"new"}, "superseded")
    assert await current(engine, as_of=datetime(2022, 1, 1, tzinfo=UTC)) == {"old"}
    assert await current(engine, as_of=datetime(2025, 1, 1, tzinfo=UTC)) == {"new"}


async def test_the_old_decision_is_in_force_until_the_acceptance(engine: Engine, tmp_path: Path) -> None:
    files = tmp_path
    await read(engine, files, "old", OLD)
    for state, expected in (
        ("proposed", {"old", "new"}),
        ("accepted", {"new"}),
        ("parked", {"old", "new"}),  # an unknown word
        ("rejected", {"old"}),
        ("accepted", {"new"}),
        ("deprecated", set()),  # the old decision was replaced while the new one was in force
    ):
        await read(engine, files, "new", NEW | {"status": state, "supersedes": "old"})
        assert await current(engine) == expected, state
    await read(engine, files, "new", NEW | {"supersedes": "another"})
    assert await current(engine) == {"old", "new"}, "it names another one now"
    await read(engine, files, "new", NEW | {"supersedes": "old"})
    engine.records.delete(Kind.DECISION, ["new"])
    assert await current(engine) == {"old"}


async def test_a_status_superseded_has_the_date_of_its_successor_as_its_end(engine: Engine, tmp_path: Path) -> None:
    await read(engine, tmp_path, "both", OLD | {"status": "superseded"}, NEW | {"supersedes": "old"})
    assert await current(engine, as_of=datetime(2022, 1, 1, tzinfo=UTC)) == {"old"}
    assert await current(engine) == {"new"}


async def test_files_and_agents_supersede_each_other(engine: Engine, tmp_path: Path) -> None:
    files = tmp_path
    wood = (await write(engine, ANN, new("Lanterns burn wood"))).id
    await write(engine, ANN, SetStatusParams(id=wood, status="accepted", reason="agreed"))
    await read(engine, files, "new", NEW | {"supersedes": wood})
    assert (await current(engine), await status(engine, wood)) == ({"new"}, "superseded")
    glow = (await write(engine, ANN, new("Lanterns glow"))).id
    await read(engine, files, "old", OLD | {"supersededBy": glow})
    await write(engine, ANN, review(glow, "success"))
    assert await status(engine, "old") == "accepted", "a review ratifies nothing"
    await write(engine, ANN, SetStatusParams(id=glow, status="accepted", reason="agreed"))
    assert (await current(engine), await status(engine, "old")) == ({"new", glow}, "superseded")


async def test_an_unknown_successor_is_a_warning_and_ends_nothing(engine: Engine, tmp_path: Path) -> None:
    done = await read(engine, tmp_path, "old", OLD | {"supersededBy": "gone"}, NEW | {"supersededBy": "None yet."})
    (warning,) = [one.reason for one in done.warnings if "successor" in one.reason]
    assert warning == "1 decision names a successor that is not here, for example gone"
    assert (await status(engine, "old"), await status(engine, "new")) == ("superseded", "accepted")
    assert await current(engine) == {"new"}
    done = await read(engine, tmp_path, "gone", OLD | {"id": "gone", "title": "Lanterns rest"})
    assert [one.reason for one in done.warnings] == []


@pytest.mark.parametrize("hidden", [{"sensitivity": "sensitive"}, {"project": "mill"}])
async def test_a_hidden_successor_ends_nothing(engine: Engine, tmp_path: Path, hidden: dict[str, str]) -> None:
    own = {"project": "harbour"}
    await read(engine, tmp_path, "both", OLD | own, NEW | own | hidden | {"supersedes": "old"})
    narrow = Viewer(Sensitivity.NORMAL, frozenset({"harbour"}))
    assert (await current(engine, narrow), await current(engine)) == ({"old"}, {"old", "new"})


async def test_a_copy_shows_supersessions_of_files(engine: Engine, tmp_path: Path) -> None:
    await read(engine, tmp_path, "new", NEW | {"status": "proposed", "supersedes": "old"})
    await read(engine, tmp_path, "old", OLD | {"status": "proposed"})
    await write(engine, ANN, review("new", "success"))
    assert await status(engine, "old") == "superseded"
    target = open_records(f"sqlite:///{tmp_path}/copy/records.sqlite3")
    copy_records(engine.records.store, target.store, Quiet())
    for id in ("old", "new"):
        (one,), (copied,) = (records.reads.find([(Kind.DECISION, id)], None) for records in (engine.records, target))
        assert (copied.record, copied.facets) == (one.record, one.facets)
    target.close()


@pytest.mark.parametrize("folders", [["harbour"], ["harbour", "island"]])
async def test_an_id_of_files_in_several_folders_means_none(engine: Engine, tmp_path: Path, folders: list[str]) -> None:
    successor = "---\nid: gas\nstatus: accepted\nsupersedes: oil\n---\n# Lanterns burn gas\n\n## Decision\n\nGas.\n"
    files = {"mainland": successor} | dict.fromkeys(
        folders, "---\nid: oil\nstatus: accepted\n---\n# Lanterns burn oil\n\n## Decision\n\nOil.\n"
    )
    for folder, text in files.items():
        (tmp_path / folder / "adr").mkdir(parents=True)
        (tmp_path / folder / "adr" / "lanterns.md").write_text(text)
        await engine.ingest([tmp_path / folder], Options())
    assert len(await current(engine)) == (1 if len(folders) == 1 else 3)
