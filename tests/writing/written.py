"""Records as written by agents: put into a store directly, or by the engine's methods."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from cognition_engines.drafts.ids import digest, with_place
from cognition_engines.engine import Engine
from cognition_engines.kinds.registry import validate_record
from cognition_engines.kinds.spec import WRITTEN, Kind, Origin
from cognition_engines.models import Sensitivity
from cognition_engines.queries.answers.record_values import LEVELS
from cognition_engines.store.values import Entry, FloatArray
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_links import LinkDecisionsParams, UnlinkDecisionsParams
from cstp.values.decision_writes import (
    Affected,
    DecisionUpdates,
    GivenAlternative,
    GivenEvidence,
    GivenReason,
    GivenSource,
    RecordDecisionParams,
    ReviewDecisionParams,
    SetStatusParams,
    UpdateDecisionParams,
)
from cstp.values.decisions import AffectedPart, Alternative, CitedSource, Evidence, Reason
from cstp.values.episodes import StoreEpisodeParams
from cstp.values.knowledge import StoreKnowledgeParams
from cstp.values.memories import RememberParams
from cstp.values.records import ForgetParams, PutRecordsParams
from cstp.values.writes import WriteParams


def written(
    kind: Kind,
    agent: str = "ann",
    expires_at: datetime | None = None,
    vectors: FloatArray | None = None,
    **members: Any,
) -> Entry:
    """Return a record as an agent writes it, under the given id."""
    record = validate_record(
        kind, {name: value for name, value in members.items() if name != "id" or kind is Kind.EPISODE}
    )
    if kind is not Kind.EPISODE:
        record = replace(record, id=members["id"])  # type: ignore[arg-type]
    origin = Origin(WRITTEN, 0, None, digest(record, 0), identity=token_hex(16), recorded_by=agent, via="cstp")
    return Entry(record, with_place(origin), vectors, expires_at=expires_at)


_GIVEN: Final = {
    Reason: GivenReason,
    Alternative: GivenAlternative,
    AffectedPart: Affected,
    CitedSource: GivenSource,
    Evidence: GivenEvidence,
}


def _given(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return members as parameters take them, from members of records."""

    def one(value: Any) -> Any:
        if isinstance(value, Sensitivity):
            return LEVELS[value]
        if isinstance(value, list | tuple):
            return [one(item) for item in value]
        if type(value) in _GIVEN:
            return _GIVEN[type(value)](**asdict(value))
        return value

    return {name: one(value) for name, value in members.items() if value is not None}


def new(decision: str, confidence: float = 0.5, **others: Any) -> RecordDecisionParams:
    return RecordDecisionParams(decision=decision, confidence=confidence, **_given(others))


def update(id: str, **values: Any) -> UpdateDecisionParams:
    own = {name: values.pop(name) for name in ("expected_revision", "reason") if name in values}
    return UpdateDecisionParams(id=id, updates=DecisionUpdates(**_given(values)), **own)


def review(id: str, outcome: Any = "success", **others: Any) -> ReviewDecisionParams:
    return ReviewDecisionParams(id=id, outcome=outcome, **_given(others))


def memory(content: str, **others: Any) -> RememberParams:
    return RememberParams(content=content, **_given(others))


def episode(query: str, reward: float, reflection: str, **others: Any) -> StoreEpisodeParams:
    return StoreEpisodeParams(query=query, reward=reward, reflection=reflection, **_given(others))


def knowledge(records: Sequence[dict[str, Any]], **others: Any) -> StoreKnowledgeParams:
    return StoreKnowledgeParams(records=list(records), **_given(others))


def forget(id: str, **others: Any) -> ForgetParams:
    return ForgetParams(id=id, **others, confirm=True)


async def write(
    engine: Engine, writer: WriteCaller, params: WriteParams, key: str | None = None, dry_run: bool = False
) -> Any:
    """Return the result of the method with these parameters."""
    methods: Mapping[type[WriteParams], Any] = {
        RecordDecisionParams: engine.record_decision,
        UpdateDecisionParams: engine.update_decision,
        ReviewDecisionParams: engine.review_decision,
        SetStatusParams: engine.set_status,
        LinkDecisionsParams: engine.link_decisions,
        UnlinkDecisionsParams: engine.unlink_decisions,
        RememberParams: engine.remember,
        StoreEpisodeParams: engine.store_episode,
        StoreKnowledgeParams: engine.store_knowledge,
        ForgetParams: engine.forget,
        PutRecordsParams: engine.put_records,
    }
    asked = params.model_copy(update={"idempotency_key": key, "dry_run": dry_run})
    return await methods[type(params)](asked, writer)
