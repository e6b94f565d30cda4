"""Times of a decision, and refusals: they show nothing hidden from the author."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from cognition_engines.engine import Engine
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Conflict, InvalidParams
from cstp.values.decision_links import LinkDecisionsParams, UnlinkDecisionsParams
from cstp.values.decision_reads import GetDecisionParams
from cstp.values.records import ChangesParams
from tests.writing.written import new, review, update, write

SCOPES = frozenset({"read", "write", "review"})
ANN = WriteCaller("ann", EVERYTHING, SCOPES)
NARROW = WriteCaller("ben", Viewer(), SCOPES)
EARLY, LATE = datetime(2030, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)
ADR = "# Use a queue\n\n* Status: proposed\n* Date: 2024-03-01\n\n## Context\n\nWe poll a table.\n"


async def known(engine: Engine, id: str, at: datetime) -> tuple[str | None, str | None]:
    found = (await engine.get_decision(GetDecisionParams(id=id, known_at=at), EVERYTHING)).decision
    return found.status, found.outcome


@pytest.mark.parametrize(("before", "after"), [("valid_to", "valid_from"), ("valid_from", "valid_to")])
async def test_no_update_lets_a_decision_end_before_it_begins(engine: Engine, before: str, after: str) -> None:
    times = {"valid_to": (EARLY, EARLY), "valid_from": (LATE, LATE)}
    id = (await write(engine, ANN, new("Bake bread", **{before: times[before][0]}))).id
    with pytest.raises(InvalidParams) as refused:
        await write(engine, ANN, update(id, **{after: times[after][1]}))
    assert [one.field for one in refused.value.violations] == [f"updates.{to_camel(after)}"]
    await write(engine, ANN, update(id, valid_from=EARLY, valid_to=LATE))


async def test_a_circle_closing_in_a_hidden_decision_is_no_refusal(engine: Engine) -> None:
    one, other = [(await write(engine, ANN, new(f"Bake {n}"))).id for n in range(2)]
    hidden = (await write(engine, ANN, new("Bake x", sensitivity=Sensitivity.SENSITIVE))).id
    for source, target in ((one, hidden), (hidden, other)):
        await write(engine, ANN, LinkDecisionsParams(source_id=source, target_id=target, edge_type="depends_on"))
    back = LinkDecisionsParams(source_id=other, target_id=one, edge_type="depends_on")
    with pytest.raises(Conflict, match="state"):
        await write(engine, ANN, back, dry_run=True)
    await write(engine, ANN, back.model_copy(update={"edge_type": "relates_to"}))  # may close a circle
    assert (await write(engine, NARROW, back)).id == other


async def test_the_state_known_at_a_time_follows_reviews_and_successors(engine: Engine) -> None:
    old = await write(engine, ANN, new("Bake bread"))
    successor = await write(engine, ANN, new("Bake cake", supersedes=(old.id,)))
    await write(engine, ANN, review(successor.id))
    assert await known(engine, old.id, LATE) == ("superseded", None)
    assert await known(engine, successor.id, LATE) == ("reviewed", "success")
    for id in (old.id, successor.id):
        assert await known(engine, id, successor.timestamp) == ("pending", None)


async def test_a_files_decision_is_known_as_before_its_review(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "docs/adr/0001-use-a-queue.md"
    file.parent.mkdir(parents=True)
    file.write_text(ADR)
    await engine.ingest([file], Options())
    (id,) = engine.records.ids(Kind.DECISION)
    read = datetime.now(UTC)
    await write(engine, ANN, review(id))
    assert await known(engine, id, read) == ("proposed", None)
    assert await known(engine, id, LATE) == ("reviewed", "success")


async def test_a_repeated_call_shows_nothing_its_author_sees_no_longer(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_text('{"kind": "decision", "id": "one", "title": "Use a queue"}')
    await engine.ingest([file], Options())
    (id,) = engine.records.ids(Kind.DECISION)
    first = await write(engine, NARROW, review(id), "key")
    assert await write(engine, NARROW, review(id), "key") == first
    await engine.ingest([file], Options(sensitivity=Sensitivity.SENSITIVE))
    with pytest.raises(Conflict) as refused:
        await write(engine, NARROW, review(id), "key")
    assert (refused.value.id, refused.value.reason) == (None, "idempotency")


async def test_a_link_is_a_change_only_for_viewers_of_both_of_its_ends(engine: Engine) -> None:
    async def changed(viewer: Viewer, after: int) -> list[str]:
        return [one.id for one in (await engine.following.read(ChangesParams(since=after), viewer)).changes]

    open_one = (await write(engine, ANN, new("Bake bread"))).id
    secret = await write(engine, ANN, new("Buy the mill", sensitivity=Sensitivity.SENSITIVE))
    for make in (LinkDecisionsParams, UnlinkDecisionsParams):
        for source, target in ((open_one, secret.id), (secret.id, open_one)):
            last = engine.records.last_seq()
            done = await write(engine, ANN, make(source_id=source, target_id=target, edge_type="relates_to"))
            assert done.seq > last
            assert await changed(Viewer(), last) == []
            assert await changed(EVERYTHING, last) == [secret.id]
    other = new("Sell cake", project="cafe")
    third = (await write(engine, ANN, new("Sell rolls", project="shop"))).id
    source = (await write(engine, ANN, other)).id
    last = engine.records.last_seq()
    done = await write(engine, ANN, LinkDecisionsParams(source_id=source, target_id=third, edge_type="relates_to"))
    assert done.seq > last
    for project in ("cafe", "shop"):
        assert await changed(Viewer(projects=frozenset({project})), last) == []
