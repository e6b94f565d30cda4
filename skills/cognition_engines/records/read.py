"""Reading; the functions are described in `Records`. What a viewer may not see, the database leaves out."""

import os
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from cognition_engines.models import Viewer
from cognition_engines.records.open import Store
from cognition_engines.records.rows import SELECT_STORED, Row, stored
from cognition_engines.records.schema import counter, decisions, dimension_name, meta, vectors
from cognition_engines.records.transactions import pages, reading, scanning
from cognition_engines.records.values import SourceRow, Stored

FLOAT_BYTES: Final = 4


def last_seq(store: Store) -> int:
    with reading(store) as connection:
        value: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
        return value


def count(store: Store) -> int:
    with scanning(store) as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(decisions)).scalar_one()


def models(store: Store) -> dict[str, int]:
    with scanning(store) as connection:
        return models_of(connection)


def models_of(connection: sa.Connection) -> dict[str, int]:
    """See `Records.models`; inside a transaction."""
    # whatever has vectors has a window 0
    statement = sa.select(vectors.c.model, sa.func.count()).where(vectors.c.window == 0).group_by(vectors.c.model)
    return {row[0]: row[1] for row in connection.execute(statement.order_by(vectors.c.model))}


def dimension(store: Store, model: str) -> int | None:
    with reading(store) as connection:
        return stored_dimension(connection, model)


def stored_dimension(connection: sa.Connection, model: str) -> int | None:
    """The dimension of the vectors stored of `model`; None before there were any."""
    noted = connection.execute(sa.select(meta.c.value).where(meta.c.name == dimension_name(model))).scalar_one_or_none()
    if noted is not None:
        return int(noted)
    # a store from before it was noted
    length = sa.select(sa.func.length(vectors.c.vector)).where(vectors.c.model == model).limit(1)
    size: int | None = connection.execute(length).scalar_one_or_none()
    return None if size is None else size // FLOAT_BYTES


def windows(store: Store, model: str, up_to: int) -> int:
    statement = (
        sa.select(sa.func.count())
        .select_from(vectors.join(decisions))
        .where(vectors.c.model == model, decisions.c.seq <= up_to)
    )
    with scanning(store) as connection:
        return connection.execute(statement).scalar_one()


def get(store: Store, id: str, viewer: Viewer | None) -> Stored | None:
    statement = SELECT_STORED.where(decisions.c.id == id, *([] if viewer is None else _visible(viewer)))
    with reading(store) as connection:
        row = connection.execute(statement).one_or_none()
    return None if row is None else stored(row)


def by_keys(store: Store, keys: Sequence[int], viewer: Viewer) -> dict[int, Stored]:
    statement = SELECT_STORED.where(*_visible(viewer))
    found: list[Row] = []
    with reading(store) as connection:
        for page in pages(keys):
            found += connection.execute(statement.where(decisions.c.key.in_(page))).all()
    return {value.key: value for value in map(stored, found)}


def by_ids(store: Store, ids: Sequence[str]) -> dict[str, Stored]:
    found: list[Row] = []
    with reading(store) as connection:
        for page in pages(ids):
            found += connection.execute(SELECT_STORED.where(decisions.c.id.in_(page))).all()
    return {value.decision.id: value for value in map(stored, found)}


def sources_under(store: Store, folder: str) -> list[SourceRow]:
    if not os.path.isabs(folder):
        raise ValueError("folder: must be an absolute path")
    prefix = folder.rstrip(os.sep) + os.sep
    # not LIKE: SQLite's ignores case, and % and _ are part of names
    under = sa.func.substr(decisions.c.source, 1, len(prefix)) == prefix
    columns = decisions.c.id, decisions.c.source, decisions.c.ordinal, decisions.c.ingested_as
    with scanning(store) as connection:
        rows = connection.execute(sa.select(*columns).where(under).order_by(decisions.c.key)).all()
    return [SourceRow(*row) for row in rows]


def without_vectors(store: Store, model: str, after_key: int, limit: int) -> list[Stored]:
    if limit < 1:
        raise ValueError("limit: must be at least 1")
    has_vectors = sa.exists().where(vectors.c.key == decisions.c.key, vectors.c.model == model)
    statement = SELECT_STORED.where(decisions.c.key > after_key, ~has_vectors).order_by(decisions.c.key).limit(limit)
    with scanning(store) as connection:
        rows = connection.execute(statement).all()
    return [stored(row) for row in rows]


def _visible(viewer: Viewer) -> list[sa.ColumnElement[bool]]:
    """The conditions that `Viewer.sees` states, as SQL."""
    conditions: list[sa.ColumnElement[bool]] = [decisions.c.sensitivity <= int(viewer.clearance)]
    if viewer.projects is not None:
        conditions.append(decisions.c.project.in_(sorted(viewer.projects)))
    return conditions
