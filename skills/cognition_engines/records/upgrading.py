"""From any schema to the newest, and from none. Loads alembic, which a start over the newest is faster without."""

from typing import Final
from uuid import uuid4

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from cognition_engines.errors import ConfigurationError
from cognition_engines.records.open import revision_of, without_deadline
from cognition_engines.records.schema import HEAD, counter, meta, metadata

_MIGRATION_LOCK: Final = 6_021_887_411  # any number that nothing else in the database uses


def upgrade(connection: sa.Connection, named: str) -> None:
    """Bring the tables up to date. Raises ConfigurationError for those of a newer version of the program."""
    without_deadline(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if connection.execute(sa.text("SHOW server_encoding")).scalar_one() != "UTF8":
            raise ConfigurationError(f"{named}: the PostgreSQL database must have the encoding UTF8")
    config = _migrations()
    revision = revision_of(connection)
    if revision is not None and not is_known(revision):
        raise ConfigurationError(
            f"{named}: a newer version of this program wrote the database (its schema is {revision}, "
            f"the newest known here is {HEAD}): upgrade the program"
        )
    if revision is None:
        _create(connection, config)
        return
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _create(connection: sa.Connection, config: Config) -> None:
    """Makes the newest tables at once in a database without any, which takes a fifth of the way through all schemas."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(meta.insert().values(name="store_id", value=uuid4().hex))
    connection.execute(counter.insert().values(seq=0))
    MigrationContext.configure(connection).stamp(ScriptDirectory.from_config(config), HEAD)


def is_known(revision: str) -> bool:
    """Whether this version of the program has that schema, or had it once."""
    return revision in {script.revision for script in ScriptDirectory.from_config(_migrations()).walk_revisions()}


def _migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", "cognition_engines.records:migrations")
    return config
