"""Decisions to rows and back."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
import sqlalchemy as sa

from cognition_engines.models import Decision, Reason, Sensitivity
from cognition_engines.records.schema import decisions
from cognition_engines.records.values import FloatArray, Origin, Stored

Cell: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = Sequence[Any]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SENSITIVITIES: Final = tuple(Sensitivity)

# `stored` unpacks a row by position, in the order of the table.
SELECT_STORED: Final = sa.select(decisions)


def content(decision: Decision, origin: Origin) -> dict[str, Cell]:
    """The content of a row: all its columns but `key`, `seq` and `updated_at`."""
    return {
        "id": decision.id,
        "title": decision.title,
        "text": decision.text,
        "category": decision.category,
        "confidence": decision.confidence,
        "stakes": decision.stakes,
        "status": decision.status,
        "status_text": decision.status_text,
        "outcome": decision.outcome,
        "date": None if decision.date is None else microseconds(decision.date),
        "reasons": _json([(reason.type, reason.text) for reason in decision.reasons]),
        "tags": _json(decision.tags),
        "supersedes": _json(decision.supersedes),
        "superseded_by": _json(decision.superseded_by),
        "project": decision.project,
        "sensitivity": int(decision.sensitivity),
        "source": origin.source,
        "ordinal": origin.ordinal,
        "ingested_as": origin.ingested_as,
        "digest": origin.digest,
    }


def stored(row: Row) -> Stored:
    """The value of one row of `SELECT_STORED`."""
    (
        key,
        seq,
        id,
        title,
        category,
        confidence,
        stakes,
        status,
        status_text,
        outcome,
        date,
        reasons,
        tags,
        supersedes,
        superseded_by,
        project,
        sensitivity,
        source,
        ordinal,
        ingested_as,
        digest,
        updated_at,
        text,
    ) = row
    decision = Decision(
        id,
        title,
        text,
        category,
        confidence,
        stakes,
        status,
        status_text,
        outcome,
        None if date is None else moment(date),
        () if reasons == "[]" else tuple([Reason(kind, words) for kind, words in orjson.loads(reasons)]),
        () if tags == "[]" else tuple(orjson.loads(tags)),
        () if supersedes == "[]" else tuple(orjson.loads(supersedes)),
        () if superseded_by == "[]" else tuple(orjson.loads(superseded_by)),
        project,
        _SENSITIVITIES[sensitivity],
    )
    return Stored(key, seq, decision, Origin(source, ordinal, ingested_as, digest), moment(updated_at))


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970; `moment` must be aware."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The UTC time that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def window_rows(key: int, model: str, vectors: FloatArray) -> list[dict[str, Cell]]:
    """The rows of table `vectors` for one decision."""
    return [
        {"key": key, "model": model, "window": window, "vector": vector.tobytes()}
        for window, vector in enumerate(vectors.astype("<f4", copy=False))
    ]


def matrix(vectors: Sequence[bytes]) -> FloatArray:
    """Cells of the column `vector`, all of one model, as one read-only array (vectors, dimensions)."""
    if not vectors:
        return np.empty((0, 0), np.float32)
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).astype(np.float32, copy=False)


def _json(value: Sequence[object]) -> str:
    return orjson.dumps(value).decode()
