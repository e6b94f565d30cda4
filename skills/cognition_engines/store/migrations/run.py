"""Creates or migrates the tables. Loads alembic, which a start over the newest schema is faster without."""

from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from cognition_engines.errors import ConfigurationError
from cognition_engines.store.database import refuse_unknown, without_deadline

_MIGRATION_LOCK: Final = 6_021_887_411  # any number that nothing else in the database uses


def upgrade(connection: sa.Connection, named: str) -> None:
    """Create the tables, or bring them up to date. Raises ConfigurationError for those of another program version."""
    without_deadline(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if connection.execute(sa.text("SHOW server_encoding")).scalar_one() != "UTF8":
            raise ConfigurationError(f"{named}: the PostgreSQL database must have the encoding UTF8")
    refuse_unknown(connection, named)
    config = Config()
    config.set_main_option("script_location", "cognition_engines.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
