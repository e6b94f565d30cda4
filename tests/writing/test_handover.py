"""Agents' decisions become decisions of files: exported, merged, ingested; reviews and links stay."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine
from cognition_engines.exchange.decision_files import decision_files
from cognition_engines.ingest.options import Options, Summary
from cognition_engines.models import EVERYTHING, Decision, Sensitivity
from cognition_engines.set_aside import SetAside
from cognition_engines.store.reads.decisions import DecisionHistory
from cstp.errors import Conflict
from cstp.values.decision_links import LinkDecisionsParams
from cstp.values.decision_reads import GetDecisionParams
from cstp.values.decision_writes import SetStatusParams
from cstp.values.decisions import AffectedPart, Alternative, Reason
from tests.writing.test_decisions import ANN, BEN, JUDGE, titles
from tests.writing.written import new, review, update, write


@dataclass(frozen=True)
class Repository:
    """A checkout, and the engine that reads it."""

    folder: Path
    engine: Engine

    def export(self, project: str | None = None) -> list[Path]:
        """Write the files, as `cstp export --decisions` does."""
        made = []
        for one in decision_files(self.engine.records, SetAside(), project):
            made.append(self.folder / one.name)
            made[-1].write_text(one.text, encoding="utf-8")
        return made

    async def ingest(self, **options: Any) -> Summary:
        return await self.engine.ingest([self.folder], Options(**options))

    async def whole(self, id: str) -> DecisionHistory:
        found = self.engine.records.decisions.history(id, EVERYTHING)
        assert found is not None
        return found

    async def decision(self, id: str) -> Decision:
        record = (await self.whole(id)).stored.record
        assert isinstance(record, Decision)
        return record


@pytest.fixture
def repository(tmp_path: Path, engine: Engine) -> Repository:
    folder = tmp_path / "checkout" / "docs" / "adr"
    folder.mkdir(parents=True)
    (folder.parents[1] / ".git").mkdir()
    return Repository(folder, engine)


WHOLE = new(
    "Keep orders in PostgreSQL\nBackups are known.",
    0.8,
    category="storage",
    stakes="high",
    context="Orders must survive: a power cut.",
    reasons=(Reason("analysis", 'it is "durable"', 0.7), Reason("empirical", "tried")),
    alternatives=(Alternative("SQLite", "one writer"),),
    tags=("db", "shop: orders"),
    feature="cart",
    affects=(AffectedPart("path", "orders/**"),),
    project="shop",
    sensitivity=Sensitivity.SENSITIVE,
)


async def test_an_exported_merged_and_ingested_decision_is_the_same(repository: Repository) -> None:
    engine = repository.engine
    id = (await write(engine, ANN, WHOLE)).id
    other = (await write(engine, ANN, new("Use a queue", project="shop", sensitivity=Sensitivity.SENSITIVE))).id
    await write(engine, BEN, review(id, "success"))
    await write(
        engine, BEN, LinkDecisionsParams(source_id=id, target_id=other, edge_type="depends_on", context="until\nspring")
    )
    before = await repository.decision(id)
    files = repository.export()
    assert len(files) == 2
    assert f"* depends on {other}: until spring" in files[0].read_text() + files[1].read_text()

    done = await repository.ingest()
    assert (done.changed, done.new, done.rejected, done.warnings) == (2, 0, (), ())
    after = await repository.whole(id)
    decision = await repository.decision(id)
    kept = ("id", "title", "category", "confidence", "stakes", "tags", "reasons", "project", "sensitivity", "affects")
    assert [getattr(decision, name) for name in kept] == [getattr(before, name) for name in kept]
    assert decision.text.startswith(before.text)
    assert before.date is not None
    assert decision.date == before.date.replace(microsecond=0), "dates of files are whole seconds"
    assert (decision.status, decision.outcome) == ("reviewed", "success")
    assert decision.metadata == {"feature": "cart"}
    assert [one.outcome for one in after.reviews] == ["success"]
    assert [(one.source, one.target) for one in after.links] == [(id, other)]
    assert (after.stored.origin.is_written, after.stored.origin.path[:9]) == (False, "docs/adr/")
    assert await titles(engine, "postgresql") == ["Keep orders in PostgreSQL"]

    with pytest.raises(Conflict) as refused:
        await write(engine, ANN, update(id, pr="7"))
    assert refused.value.reason == "fileOwned"
    assert (await write(engine, BEN, review(id, "failure"))).id == id, "files' decisions are reviewed like others"
    assert (await repository.ingest()).unchanged == 2
    assert (await repository.decision(id)).outcome == "failure"
    assert repository.export() == [], "what a file has is not exported"


async def test_the_content_of_the_merged_file_is_the_decision_from_then_on(repository: Repository) -> None:
    engine = repository.engine
    id = (await write(engine, ANN, new("Bake bread", 0.4))).id
    began = datetime.now(UTC)
    (file,) = repository.export()
    file.write_text(file.read_text().replace('status: "pending"', "status: accepted") + "\nAgreed on Monday.\n")
    assert (await repository.ingest()).changed == 1
    decision = await repository.decision(id)
    assert (decision.status, decision.text) == ("accepted", "Agreed on Monday.")
    assert await titles(engine, "monday") == ["Bake bread"]
    asked = [GetDecisionParams(id=id, known_at=at) for at in (began, datetime.now(UTC))]
    texts = [(await engine.get_decision(one, EVERYTHING)).decision.text for one in asked]
    assert texts == ["", "Agreed on Monday."]
    file.write_text(file.read_text().replace("Monday", "Tuesday"))
    assert (await repository.ingest()).changed == 1
    assert (await repository.decision(id)).text == "Agreed on Tuesday."


async def test_a_decision_changed_after_the_export_stays_the_agents(repository: Repository) -> None:
    engine = repository.engine
    id = (await write(engine, ANN, new("Bake bread"))).id
    repository.export()
    await write(engine, ANN, update(id, context="Ovens are free"))
    (problem,) = (await repository.ingest()).rejected
    assert "changed after it was exported; export it again" in problem.reason
    assert (await repository.whole(id)).stored.origin.is_written
    repository.export()
    assert (await repository.ingest()).changed == 1
    assert "Ovens are free" in (await repository.decision(id)).text


async def test_a_status_set_after_the_export_is_a_change(repository: Repository) -> None:
    engine = repository.engine
    id = (await write(engine, ANN, new("Bake bread"))).id
    repository.export()
    await write(engine, JUDGE, SetStatusParams(id=id, status="rejected", reason="no oven"))
    assert len((await repository.ingest()).rejected) == 1
    assert (await repository.decision(id)).status == "rejected"


@pytest.mark.parametrize("line", ["", "cstp-export: 0000\n", "cstp-export: " + "0" * 64 + "\n"])
async def test_a_file_without_the_hash_of_the_content_takes_nothing_over(repository: Repository, line: str) -> None:
    id = (await write(repository.engine, ANN, new("Bake bread"))).id
    text = (
        f"---\nid: {id}\n{line}status: accepted\n---\n# Steal bread\n\n## Context\n\nHunger.\n\n## Decision\n\nYes.\n"
    )
    (repository.folder / "0001-steal.md").write_text(text)
    done = await repository.ingest()
    assert (await repository.decision(id)).title == "Bake bread"
    assert (await repository.whole(id)).stored.origin.is_written
    assert (len(done.rejected), done.new) == ((1, 0) if line else (0, 1)), "an id alone is one of the repository"


async def test_a_second_file_of_the_same_decision_is_refused(repository: Repository) -> None:
    id = (await write(repository.engine, ANN, new("Bake bread"))).id
    (file,) = repository.export()
    (repository.folder / "copy.md").write_text(file.read_text())
    done = await repository.ingest()
    assert (done.changed, done.read) == (1, 2)
    assert (await repository.whole(id)).stored.origin.is_written is False
    assert len((await repository.whole(id)).revisions) == 1


async def test_a_dry_run_reports_the_change_and_takes_nothing_over(repository: Repository) -> None:
    id = (await write(repository.engine, ANN, new("Bake bread"))).id
    repository.export()
    assert (await repository.ingest(dry_run=True)).changed == 1
    assert (await repository.whole(id)).stored.origin.is_written


async def test_an_unknown_decision_is_new_under_its_id(repository: Repository, tmp_path: Path) -> None:
    await write(repository.engine, ANN, new("Bake bread"))
    repository.export()
    other = Engine.open(f"sqlite:///{tmp_path / 'other.sqlite3'}", tmp_path / "other", None)
    try:
        assert (await other.ingest([repository.folder])).new == 1
    finally:
        other.close()


async def test_only_decisions_of_a_named_project_are_exported(repository: Repository) -> None:
    await write(repository.engine, ANN, new("Bake bread", project="shop"))
    await write(repository.engine, ANN, new("Paint it"))
    assert [path.name.rpartition("-")[0] for path in repository.export("shop")] == ["bake-bread"]


PUBLISHED = """\
id: 5f3a9c1e
summary: Keep orders in PostgreSQL
decision: Keep orders in PostgreSQL
category: storage
confidence: 0.85
stakes: high
status: reviewed
date: '2026-01-05T10:00:00+00:00'
context: Orders must survive a power cut.
reasons:
- type: analysis
  text: It is durable.
  strength: 0.8
recorded_by: ann
outcome: success
actual_result: No order was lost.
lessons: Try restores as well.
reviewed_at: '2026-03-01T10:00:00+00:00'
"""


async def test_a_decision_of_the_published_server_keeps_its_outcome(repository: Repository) -> None:
    (repository.folder / "2026-01-05-decision-5f3a9c1e.yaml").write_text(PUBLISHED, encoding="utf-8")
    summary = await repository.ingest()
    assert (summary.new, len(summary.rejected)) == (1, 0)
    whole = await repository.whole("5f3a9c1e")
    decision = whole.stored.record
    assert isinstance(decision, Decision)
    assert (decision.title, decision.outcome, decision.confidence) == ("Keep orders in PostgreSQL", "success", 0.85)
    for text in ("## actual_result\n\nNo order was lost.", "## lessons\n\nTry restores as well."):
        assert text in decision.text  # a searched text
    with pytest.raises(Conflict) as refused:
        await write(repository.engine, ANN, update("5f3a9c1e", category="data"))
    assert refused.value.reason == "fileOwned"
