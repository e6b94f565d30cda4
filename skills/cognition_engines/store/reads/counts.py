"""Record counts by kind and by embedding model, and a model's vector dimension."""

import sqlalchemy as sa

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.schema import DIMENSION, TABLES, meta, records, vectors


def counts_of(connection: sa.Connection) -> dict[Kind, int]:
    """Count the records of each kind."""
    statement = sa.select(records.c.kind, sa.func.count()).group_by(records.c.kind).order_by(records.c.kind)
    return {Kind(kind): number for kind, number in connection.execute(statement)}


def governing_of(connection: sa.Connection) -> int:
    """Count the decisions with patterns or names in `affects`."""
    table = TABLES[Kind.DECISION]
    found: int = connection.execute(sa.select(sa.func.count()).where(table.c.governs.is_not(None))).scalar_one()
    return found


def models_of(connection: sa.Connection) -> dict[str, int]:
    """Count the records with vectors, for each embedding model."""
    # every record with vectors has a window 0
    statement = sa.select(vectors.c.model, sa.func.count()).where(vectors.c.window == 0).group_by(vectors.c.model)
    return {row[0]: row[1] for row in connection.execute(statement.order_by(vectors.c.model))}


def stored_dimension(connection: sa.Connection, model: str) -> int | None:
    """Return the dimension of the stored vectors of `model`; None before there were any."""
    noted = connection.execute(sa.select(meta.c.value).where(meta.c.name == DIMENSION + model)).scalar_one_or_none()
    return None if noted is None else int(noted)
