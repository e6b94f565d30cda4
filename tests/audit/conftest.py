"""A server, and a store that takes no audit rows."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from tests.serving import serve

__all__ = ["serve"]


@contextmanager
def refusing(url: str) -> Iterator[None]:
    """The store takes no audit rows."""
    database = sa.create_engine(url)
    with database.begin() as connection:
        connection.execute(sa.text("ALTER TABLE audit_head RENAME TO elsewhere"))
    try:
        yield
    finally:
        with database.begin() as connection:
            connection.execute(sa.text("ALTER TABLE elsewhere RENAME TO audit_head"))
        database.dispose()
