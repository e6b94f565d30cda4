"""Runs the migrations inside the transaction of the connection that `upgrading.upgrade` hands over."""

from alembic import context

from cognition_engines.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
