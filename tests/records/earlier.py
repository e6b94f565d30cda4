"""Databases as earlier versions of the program made them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config


def first_schema(url: str) -> AbstractContextManager[sa.Connection]:
    """A new database with the tables of the first schema, before it is closed."""
    return earlier_schema(url, "0001")


@contextmanager
def earlier_schema(url: str, revision: str) -> Iterator[sa.Connection]:
    """A new database with the tables of a schema, before it is closed."""
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", "cognition_engines.records:migrations")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        yield connection
    engine.dispose()
