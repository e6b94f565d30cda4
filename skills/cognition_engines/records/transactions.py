"""Transactions over an open store, and what a failing database becomes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.records.open import WAIT, Store
from cognition_engines.records.schema import counter

T = TypeVar("T")

_PAGE: Final = 1000  # SQLite takes 32,766 variables


@contextmanager
def failures() -> Iterator[None]:
    """Turn errors of the database into `ComponentFailed`, whose text tells nothing of statements or rows."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        raise ComponentFailed("records", type(error).__name__) from error


@contextmanager
def reading(store: Store) -> Iterator[sa.Connection]:
    """A transaction that sees one state of the database from its first read to its last."""
    with failures(), store.reader.begin() as connection:
        yield connection


@contextmanager
def writing(store: Store) -> Iterator[sa.Connection]:
    """A transaction that holds the counter, so that no other writer runs before it has committed."""
    with failures(), store.writer.begin() as connection:
        if connection.dialect.name == "postgresql":  # on SQLite, BEGIN IMMEDIATE has done it
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT}s'")
            connection.execute(sa.select(counter.c.seq).with_for_update())
        yield connection


def allocate(connection: sa.Connection, count: int) -> range:
    """The next `count` values of `seq`, inside a `writing` transaction."""
    statement = sa.update(counter).values(seq=counter.c.seq + count).returning(counter.c.seq)
    last: int = connection.execute(statement).scalar_one()
    return range(last - count + 1, last + 1)


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """`values` in pieces that fit one statement."""
    for start in range(0, len(values), _PAGE):
        yield values[start : start + _PAGE]
