"""Whether something was committed, asked so cheaply that it can be asked twenty times a second."""

from typing import Final

import sqlalchemy as sa

from cognition_engines.store.database import Store
from cognition_engines.store.schema import counter
from cognition_engines.store.transactions import failures

_VERSION: Final = sa.text("PRAGMA data_version")
_SEQ: Final = sa.select(counter.c.seq)


class ChangeWatch:
    """One connection that has no transaction open between two looks. For one thread.

    SQLite counts the commits of other connections; of PostgreSQL the last `seq` is read.
    """

    def __init__(self, store: Store) -> None:
        self._engine = store.reader
        self._embedded = store.reader.dialect.name == "sqlite"
        self._connection: sa.Connection | None = None
        self._last: int | None = None

    def changed(self) -> bool:
        """Whether there was a commit since this was asked the last time; True the first time, and after a failure.

        Raises ComponentFailed while the database does not answer.
        """
        with failures():
            if self._connection is None:
                self._connection = self._connect()
            try:
                with self._connection.begin():
                    value: int = self._connection.execute(_VERSION if self._embedded else _SEQ).scalar_one()
            except sa.exc.DBAPIError:
                self.close()
                raise
        before, self._last = self._last, value
        return value != before

    def close(self) -> None:
        """Closes the connection; `changed` opens another one."""
        connection, self._connection, self._last = self._connection, None, None
        if connection is not None:
            with failures():
                connection.close()

    def _connect(self) -> sa.Connection:
        connection = self._engine.connect()
        if not self._embedded:  # each look is one statement
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # closed at the end, and not given back to the pool
        return connection
