"""Records as agents write them, put into a store directly."""

from dataclasses import replace
from datetime import datetime
from secrets import token_hex
from typing import Any

from cognition_engines.drafts.ids import digest, with_place
from cognition_engines.kinds.decisions import ReviewContent
from cognition_engines.kinds.registry import validate_record
from cognition_engines.kinds.spec import WRITTEN, Kind, Origin
from cognition_engines.store.values import Entry, FloatArray
from cognition_engines.writing.requests import RecordDecision, ReviewDecision, UpdateDecision
from cognition_engines.writing.stated_decisions import stated_decision


def written(
    kind: Kind,
    agent: str = "ann",
    expires_at: datetime | None = None,
    vectors: FloatArray | None = None,
    **members: Any,
) -> Entry:
    """A record as an agent writes it, under the id that it is given."""
    record = validate_record(
        kind, {name: value for name, value in members.items() if name != "id" or kind is Kind.EPISODE}
    )
    if kind is not Kind.EPISODE:
        record = replace(record, id=members["id"])  # type: ignore[arg-type]
    origin = Origin(WRITTEN, 0, None, digest(record, 0), identity=token_hex(16), recorded_by=agent, via="cstp")
    return Entry(record, with_place(origin), vectors, expires_at=expires_at)


def new(decision: str, confidence: float = 0.5, **others: Any) -> RecordDecision:
    """A call that records a decision; some of its members are the call's, the others are fields."""
    own = {name: others.pop(name) for name in ("project", "sensitivity", "supersedes", "review_in") if name in others}
    return RecordDecision(stated=stated_decision(decision=decision, confidence=confidence, **others), **own)


def update(id: str, **values: Any) -> UpdateDecision:
    expected = values.pop("expected", None)
    names = tuple(values)
    return UpdateDecision(id=id, names=names, stated=stated_decision(**values), expected_revision=expected)


def review(id: str, outcome: Any = "success") -> ReviewDecision:
    return ReviewDecision(id=id, outcome=outcome, content=ReviewContent())
