"""A server, and a store whose audit writes fail."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from tests.serving import serve

__all__ = ["serve"]


@contextmanager
def refusing(url: str) -> Iterator[None]:
    """Make audit writes of the store fail."""
    database = sa.create_engine(url)
    with database.begin() as connection:
        connection.execute(sa.text("ALTER TABLE audit_head RENAME TO elsewhere"))
    try:
        yield
    finally:
        with database.begin() as connection:
            connection.execute(sa.text("ALTER TABLE elsewhere RENAME TO audit_head"))
        database.dispose()
