"""Rows to what is stored, and what is stored to rows."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import kind_of, spec_of
from cognition_engines.kinds.spec import Facets, Origin
from cognition_engines.models import Sensitivity
from cognition_engines.spaces import OPEN
from cognition_engines.store.codec import COLUMNS, UNREADABLE, Cell, microseconds, moment, place_key, record_of
from cognition_engines.store.schema import TABLES, records
from cognition_engines.store.values import Entry, FloatArray, StoredRecord

Row: TypeAlias = Sequence[Any]

_SENSITIVITIES: Final = tuple(Sensitivity)
# The columns of an origin, in the order of its fields.
ORIGIN: Final = tuple(field.name for field in fields(Origin))
_GUARDED_AS: Final = ORIGIN.index("guarded_as")
_SPINE: Final = (
    "key",
    "seq",
    "id",
    "project",
    "sensitivity",
    "own_project",
    "own_sensitivity",
    "at",
    "context",
    "system",
    "importance",
    "parent",
    "since",
    "until",
    "author",
    "people",
    "recorded_at",
    "updated_at",
    "revision",
    "expires_at",
    *ORIGIN,
)


def _select(kind: Kind) -> sa.Select[Any]:
    spine = [records.c[name] for name in _SPINE]
    content = [TABLES[kind].c[column.name] for column in COLUMNS[kind]]
    return sa.select(*spine, *content).join_from(records, TABLES[kind])


# `stored` unpacks a row of these by position.
SELECT_STORED: Final[Mapping[Kind, sa.Select[Any]]] = {kind: _select(kind) for kind in Kind}


def spine_of(entry: Entry) -> dict[str, Cell]:
    """The row of an entry in `records` but `key`, `seq` and `updated_at`, as if it belonged to no artifact."""
    record, origin, own = entry.record, entry.origin, spec_of(entry.record).facets(entry.record)
    return {
        "kind": int(kind_of(record)),
        "id": str(record.id),
        "own_project": record.project,
        "own_sensitivity": None if record.sensitivity is None else int(record.sensitivity),
        **facet_cells(own),
        **{name: getattr(origin, name) for name in ORIGIN},
        "guarded_as": None if origin.guarded_as is None else int(origin.guarded_as),
        "expires_at": None if entry.expires_at is None else microseconds(entry.expires_at),
        "source_key": place_key(origin.place),
    }


def origin_of(cells: Sequence[Any]) -> Origin:
    """The origin of the cells of `ORIGIN`."""
    values = list(cells)
    if values[_GUARDED_AS] is not None:
        values[_GUARDED_AS] = _SENSITIVITIES[values[_GUARDED_AS]]
    return Origin(*values)


def facet_cells(facets: Facets) -> dict[str, Cell]:
    """The cells of facets, by column."""
    return {
        "project": facets.project,
        "sensitivity": int(facets.sensitivity),
        "at": None if facets.at is None else microseconds(facets.at),
        "context": facets.context,
        "system": facets.system,
        "importance": facets.importance,
        "parent": facets.parent,
        "since": None if facets.since is None else microseconds(facets.since),
        "until": OPEN if facets.until is None else microseconds(facets.until),
        "author": facets.author,
        "people": orjson.dumps(facets.people).decode() if facets.people else None,
    }


def people_of(cell: str | None) -> tuple[str, ...]:
    """Return the names of the cell `people`."""
    return () if cell is None else tuple(orjson.loads(cell))


def stored(kind: Kind, row: Row) -> StoredRecord:
    """The value of one row of `SELECT_STORED[kind]`."""
    (
        key,
        seq,
        id,
        project,
        sensitivity,
        own_project,
        own_sensitivity,
        at,
        context,
        system,
        importance,
        parent,
        since,
        until,
        author,
        people,
        recorded_at,
        updated_at,
        revision,
        expires_at,
        *others,
    ) = row
    try:
        level, time = _SENSITIVITIES[sensitivity], None if at is None else moment(at)
        begin, end = None if since is None else moment(since), None if until == OPEN else moment(until)
        recorded, updated = moment(recorded_at), moment(updated_at)
        expires = None if expires_at is None else moment(expires_at)
        origin = origin_of(others[: len(ORIGIN)])
        named = people_of(people)
    except UNREADABLE as error:
        raise ComponentFailed("records", f"the {kind.label} {id} is damaged in the database") from error
    facets = Facets(project, level, time, context, system, importance, parent, begin, end, author, named)
    record = record_of(kind, id, own_project, own_sensitivity, others[len(ORIGIN) :])
    return StoredRecord(key, seq, kind, record, facets, origin, updated, recorded, revision, expires)


def window_rows(key: int, model: str, vectors: FloatArray) -> list[dict[str, Cell]]:
    """The rows of table `vectors` for one record."""
    return [
        {"key": key, "model": model, "window": window, "vector": vector.tobytes()}
        for window, vector in enumerate(vectors.astype("<f4", copy=False))
    ]


def matrix(vectors: Sequence[bytes]) -> FloatArray:
    """Cells of the column `vector`, all of one model, as one read-only array (vectors, dimensions)."""
    if not vectors:
        return np.empty((0, 0), np.float32)
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).astype(np.float32, copy=False)
